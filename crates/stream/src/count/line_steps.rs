//! One step per line.

use reticent::continual::Stream;
use reticent::secrets::burn_stack;
use zeroize::Zeroize;

use super::definition::Definition;
use super::engine::{Attention, Engine};
use super::error::{Error, Result};
use super::lines::Lines;
use super::reader::{Reader, Record};
use super::released::{Event, releases_per_step};
use crate::event::EVENT_FRAMES;

/// The number of lines counted before saving and showing: enough to make the slow disk writes rare, with little memory.
const MOST_AT_ONCE: usize = 1 << 17;

/// Counts lines as they arrive, skipping the first `skip`.
pub(super) fn run(engine: &mut Engine<'_>, lines: Lines, reader: Reader, skip: u64) -> Result<()> {
    let (definition, stream) = (engine.definition().clone(), engine.tally().stream().clone());
    let erase = lines.erases();
    let mut reading = Reading { lines, reader, definition, stream, skip, erase };
    if reading.definition.keyed() {
        return run_keyed(engine, reading);
    }
    // Erasing works line by line, in a vector that never moves.
    let at_once = if erase { 1 } else { MOST_AT_ONCE };
    let mut values = Vec::with_capacity(at_once);
    let mut more = true;
    loop {
        // Lines that arrived with the header are already in the buffer.
        while reading.read(at_once, &mut values) > 0 {
            let attention = engine.close(&values);
            values.clear();
            if erase {
                values.zeroize();
                burn_stack::<EVENT_FRAMES>();
            }
            if attention? == Attention::Left {
                return Ok(());
            }
        }
        if !more {
            return Ok(());
        }
        more = reading.lines.fill().map_err(|_| Error::Reading)?;
    }
}

/// The same with keys: every line is one event, and all keys are released after it.
fn run_keyed(engine: &mut Engine<'_>, mut reading: Reading) -> Result<()> {
    let mut steps: Vec<Vec<Event>> = Vec::new();
    let mut more = true;
    loop {
        loop {
            let at_once = (MOST_AT_ONCE / releases_per_step(engine.tally())).max(1);
            let Reading { lines, reader, skip, .. } = &mut reading;
            let seen = lines.each(at_once, |line| {
                if *skip > 0 {
                    *skip -= 1;
                } else {
                    let Record { value, key, .. } = reader.record(line);
                    // A line without a key counts nothing, but its step is released all the same.
                    steps.push(key.map(|key| (key, value)).into_iter().collect());
                }
            });
            if seen == 0 {
                break;
            }
            let attention = engine.close_keyed(&steps)?;
            steps.clear();
            if attention == Attention::Left {
                return Ok(());
            }
        }
        if !more {
            return Ok(());
        }
        more = reading.lines.fill().map_err(|_| Error::Reading)?;
    }
}

struct Reading {
    lines: Lines,
    reader: Reader,
    definition: Definition,
    stream: Stream,
    skip: u64,
    erase: bool,
}

impl Reading {
    /// Reads lines, in its own stack frame that can be overwritten afterwards; returns the number of lines.
    #[inline(never)]
    fn read(&mut self, limit: usize, values: &mut Vec<i64>) -> usize {
        let Self { lines, reader, definition, stream, skip, erase } = self;
        lines.each(limit, |line| {
            if *skip > 0 {
                *skip -= 1;
            } else {
                values.push(definition.admit(stream, reader.value(line)));
            }
            if *erase {
                reader.erase();
            }
        })
    }
}
