//! What can be counted when the memory may be seized.

use reticent::Error as CoreError;
use reticent::continual::CounterKind;
use reticent::message;

use super::definition::Definition;
use super::error::{Error, Result};

impl Definition {
    /// Checks that a counter of this kind can count this way without leaving raw values in memory or, if it is to be
    /// `saved`, on disk.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check_seizable(&self, kind: CounterKind, saved: bool) -> Result<()> {
        if !kind.is_pan_private() {
            return Ok(());
        }
        if saved {
            let reason = CoreError::CannotBeSaved { counter: kind.name() }.to_string();
            return Err(Error::combination("save", reason));
        }
        if self.timeline.is_some() {
            let advice = message!(
                "a {kind} counter takes one line per step: the sum of an open step of time would be raw data in memory; leave \
                 ",
                ["step"],
                " out"
            );
            return Err(Error::combination("step", advice));
        }
        Ok(())
    }
}
