//! Time steps.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use reticent::continual::Stream;

use super::definition::Definition;
use super::engine::{Attention, Engine};
use super::error::{Error, Result};
use super::lines::Lines;
use super::reader::{Reader, Record};
use super::released::{Event, releases_per_step};
use crate::clock::{Clock, milliseconds};
use crate::timeline::Timeline;

/// The number of steps released before saving and showing.
const MOST_AT_ONCE: usize = 1 << 16;
/// The number of batches of lines that may wait to be counted.
const WAITING: usize = 16;
/// The clock is read at least this often, in case it was set.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The content of steps that are still open.
#[derive(Debug)]
enum OpenSteps {
    /// Without keys: sums.
    Sums(BTreeMap<u64, i128>),
    /// With keys: events.
    Events(BTreeMap<u64, Vec<Event>>),
}

impl OpenSteps {
    fn new(definition: &Definition) -> Self {
        if definition.keyed() { Self::Events(BTreeMap::new()) } else { Self::Sums(BTreeMap::new()) }
    }

    fn add(&mut self, step: u64, value: i64, key: Option<Box<str>>) {
        match self {
            Self::Sums(sums) => *sums.entry(step).or_default() += i128::from(value),
            Self::Events(events) => events.entry(step).or_default().extend(key.map(|key| (key, value))),
        }
    }

    /// Closes steps up to `last`.
    fn close(&mut self, engine: &mut Engine<'_>, last: u64) -> Result<Attention> {
        let mut attention = Attention::Listens;
        while attention == Attention::Listens && engine.tally().steps() < last {
            let first = engine.tally().steps() + 1;
            let steps = (first..=last).take((MOST_AT_ONCE / releases_per_step(engine.tally())).max(1));
            attention = match self {
                Self::Sums(sums) => {
                    // Saturating changes by no more than the sum does.
                    let nearest = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
                    engine.close(&steps.map(|step| nearest(sums.remove(&step).unwrap_or(0))).collect::<Vec<_>>())?
                }
                Self::Events(events) => engine
                    .close_keyed(&steps.map(|step| events.remove(&step).unwrap_or_default()).collect::<Vec<_>>())?,
            };
        }
        Ok(attention)
    }
}

/// Reads everything, then releases every step: for a file, or a period in the past.
///
/// # Privacy
/// The step of an event depends only on its own time. Events of steps that an earlier process released are ignored,
/// since it may have counted them.
pub(super) fn run_at_once(
    engine: &mut Engine<'_>,
    mut lines: Lines,
    mut reader: Reader,
    timeline: Timeline,
) -> Result<()> {
    let (definition, stream) = (engine.definition().clone(), engine.tally().stream().clone());
    let (released, last) = (engine.tally().steps(), stream.steps().expect("checked: there is an end"));
    check_not_over(released, last)?;
    let mut open = OpenSteps::new(&definition);
    let mut more = true;
    while more {
        more = lines.fill().map_err(|_| Error::Reading)?;
        lines.each(usize::MAX, |line| {
            let Record { value, time, key } = reader.record(line);
            if let Some(step) =
                time.and_then(|time| timeline.step_of(time)).filter(|step| (released + 1..=last).contains(step))
            {
                open.add(step, definition.admit(&stream, value), key);
            }
        });
    }
    open.close(engine, last).map(|_| ())
}

/// Releases every step when its time is over, while events arrive.
///
/// # Privacy
/// Steps are closed by the clock, never by an event: if an event with a late time could close them, it would decide in
/// which step all later events count. An event counts in the step of its own time, or in the current step if that is
/// later; both depend only on the event itself and the clock. After a restart, events of steps released before it are
/// ignored, since they may have been counted. So each event enters the sum at most once.
pub(super) fn run_live(
    engine: &mut Engine<'_>,
    lines: Lines,
    reader: Reader,
    timeline: Timeline,
    clock: &dyn Clock,
) -> Result<()> {
    let (definition, stream) = (engine.definition().clone(), engine.tally().stream().clone());
    let released = engine.tally().steps();
    let timed = definition.fields.time.is_some();
    let mut open = OpenSteps::new(&definition);
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    std::thread::spawn(move || read(lines, reader, &definition, &stream, &sender));
    let last = engine.tally().stream().steps().unwrap_or(u64::MAX);
    check_not_over(released, last)?;
    let mut present = released + 1;
    loop {
        present = present.max(timeline.step_of(milliseconds(clock)).unwrap_or(0));
        if open.close(engine, (present - 1).min(last))? == Attention::Left || present > last {
            return Ok(());
        }
        let left = timeline.end_of(present).saturating_sub(milliseconds(clock));
        let sleep = Duration::from_millis(left.try_into().unwrap_or(0)).min(LONGEST_SLEEP);
        match receiver.recv_timeout(sleep) {
            Ok(Some(records)) => {
                let begun = timeline.step_of(milliseconds(clock)).is_some();
                for Record { value, time, key } in records {
                    let own =
                        if timed { time.and_then(|time| timeline.step_of(time)) } else { begun.then_some(present) };
                    if let Some(step) = own.filter(|step| *step > released && *step <= last) {
                        open.add(step.max(present), value, key);
                    }
                }
            }
            Ok(None) => return Err(Error::Reading),
            Err(RecvTimeoutError::Timeout) => {}
            // The input has ended: close the current step with what it has. Later steps have not begun; a saved counter
            // can still continue with them.
            Err(RecvTimeoutError::Disconnected) => return open.close(engine, present).map(|_| ()),
        }
    }
}

/// # Errors
/// If all steps were released by an earlier process.
fn check_not_over(released: u64, last: u64) -> Result<()> {
    if released >= last { Err(reticent::Error::HorizonReached { horizon: last }.into()) } else { Ok(()) }
}

/// Parses lines and sends the records, until the input ends or fails (then it sends `None`), or the receiver is gone.
fn read(
    mut lines: Lines,
    mut reader: Reader,
    definition: &Definition,
    stream: &Stream,
    sender: &mpsc::SyncSender<Option<Vec<Record>>>,
) {
    let mut more = true;
    loop {
        let mut records = Vec::new();
        lines.each(usize::MAX, |line| {
            let Record { value, time, key } = reader.record(line);
            records.push(Record { value: definition.admit(stream, value), time, key });
        });
        if sender.send(Some(records)).is_err() || !more {
            return;
        }
        more = match lines.fill() {
            Ok(more) => more,
            Err(_) => return drop(sender.send(None)),
        };
    }
}
