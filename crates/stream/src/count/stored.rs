//! What a ledger stores for a request: all releases, as one text.

use reticent::Error as CoreError;
use reticent::continual::Tally;
use reticent::message;
use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::engine::{Attention, Audience, Engine, HalfWidth};
use super::error::{Error, Result};
use super::lines::Lines;
use super::mode::Mode;
use super::reader::Reader;
use super::released::{Highest, Released};
use super::source::Source;
use crate::plan::Plan;

/// Requests with more releases are too large to be stored in one piece; save the stream instead.
pub const MOST_RELEASES: u64 = 1 << 20;

/// All releases of a request.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCount {
    /// The releases, in order.
    pub releases: Vec<Released>,
    /// Whether there were more lines than steps.
    pub horizon_reached: bool,
}

impl StoredCount {
    /// Counts everything and returns the releases as a text for the ledger to store. Nothing is shown before that.
    ///
    /// # Errors
    /// If reading fails. More lines than steps are not an error but [part of the outcome](StoredCount::horizon_reached).
    pub fn count(definition: Definition, tally: Tally, lines: Lines, reader: Reader, mode: Mode) -> Result<String> {
        let mut kept = Self::default();
        let engine = Engine::new(definition, tally, None, None, &mut kept)?;
        match engine.count(lines, reader, mode, 0) {
            Err(Error::Core(CoreError::HorizonReached { .. })) => kept.horizon_reached = true,
            other => other?,
        }
        serde_json::to_string(&kept).map_err(|_| Error::NotACount)
    }

    /// Parses a stored text.
    ///
    /// # Errors
    /// If it is not a count.
    pub fn from_text(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| Error::NotACount)
    }

    /// Shows the stored releases to an audience, with the same result as when they were counted.
    ///
    /// # Errors
    /// [`HorizonReached`](CoreError::HorizonReached) if there were more lines than steps; if the output fails.
    pub fn show(&self, plan: &Plan, audience: &mut dyn Audience) -> Result<()> {
        let half_width = |step, level| plan.strategy().shape(step).half_width(level);
        if audience.show(&self.releases, &mut Highest::default(), &half_width)? == Attention::Listens {
            audience.end()?;
        }
        match plan.stream().steps() {
            Some(horizon) if self.horizon_reached => Err(CoreError::HorizonReached { horizon }.into()),
            _ => Ok(()),
        }
    }

    /// Checks that the input is a file with a name, and the releases of a plan are few enough to be stored in one piece.
    ///
    /// # Errors
    /// If not.
    pub fn check(plan: &Plan, source: &Source) -> Result<()> {
        if source.stream || source.path.is_none() {
            let advice = message!(
                ["request"],
                " keeps all releases and prints them at the end, so the input must be a file with a name; for a stream that goes \
                 on, use ",
                ["save"]
            );
            return Err(Error::combination("request", advice));
        }
        let per_step = match plan {
            Plan::One(_) => 1,
            Plan::Keyed(_, keys) => keys.len().max(1) as u64,
        };
        match plan.stream().steps() {
            Some(steps) if steps.saturating_mul(per_step) <= MOST_RELEASES => Ok(()),
            _ => {
                let advice = message!(
                    ["request"],
                    " keeps all releases in the ledger, at most {MOST_RELEASES} of them; give a smaller ",
                    ["horizon"],
                    ", or \
                     use ",
                    ["save"]
                );
                Err(Error::combination("horizon", advice))
            }
        }
    }
}

impl Audience for StoredCount {
    fn show(&mut self, releases: &[Released], _: &mut Highest, _: HalfWidth<'_>) -> Result<Attention> {
        self.releases.extend_from_slice(releases);
        Ok(Attention::Listens)
    }

    fn end(&mut self) -> Result<Attention> {
        Ok(Attention::Listens)
    }
}
