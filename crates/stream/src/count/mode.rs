//! How steps are closed.

use reticent::message;

use super::definition::Definition;
use super::engine::Engine;
use super::error::{Error, Result};
use super::lines::Lines;
use super::reader::Reader;
use super::{line_steps, time_steps};
use crate::clock::{Clock, SystemClock, milliseconds};
use crate::timeline::Timeline;

/// How steps are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Every line is a step.
    Lines,
    /// Time steps, all released after the whole input was read.
    AtOnce(Timeline),
    /// Time steps that the clock closes while events arrive.
    Live(Timeline),
}

impl Mode {
    /// The mode for this number of steps, or for an unbounded stream if `None`. `stream` means that more input may
    /// arrive at any time.
    ///
    /// # Errors
    /// If the time steps have no end although the input has one, or events need a time and have none.
    pub fn new(definition: &Definition, steps: Option<u64>, stream: bool, clock: &dyn Clock) -> Result<Self> {
        let Some(timeline) = definition.timeline else { return Ok(Self::Lines) };
        let over = steps.is_some_and(|steps| timeline.end_of(steps) <= milliseconds(clock));
        if stream && !over {
            return Ok(Self::Live(timeline));
        }
        if steps.is_none() {
            let advice =
                message!("a file has an end: give ", ["to"], " TIME or ", ["horizon"], " T instead of ", ["unbounded"]);
            return Err(Error::combination("unbounded", advice));
        }
        if definition.fields.time.is_none() {
            let advice = message!(
                "name the column that holds the times with ",
                ["time"],
                " (only a live stream can do without)"
            );
            return Err(Error::combination("time", advice));
        }
        Ok(Self::AtOnce(timeline))
    }
}

impl Engine<'_> {
    /// Counts lines as they arrive, until the input ends, the last step is closed, or nobody is reading. With one step
    /// per line, the first `skip` lines are skipped.
    ///
    /// # Errors
    /// If reading, saving or showing fails; if there are more lines than steps.
    pub fn count(mut self, lines: Lines, reader: Reader, mode: Mode, skip: u64) -> Result<()> {
        let counted = match mode {
            Mode::Lines => line_steps::run(&mut self, lines, reader, skip),
            Mode::AtOnce(timeline) => time_steps::run_at_once(&mut self, lines, reader, timeline),
            Mode::Live(timeline) => time_steps::run_live(&mut self, lines, reader, timeline, &SystemClock),
        };
        self.finish(counted)
    }
}
