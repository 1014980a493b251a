//! What can be counted when the memory may be seized.

use anyhow::Result;
use reticent::Error;
use reticent::continual::Kind;

use super::arguments::Arguments;
use super::definition::Definition;
use super::record::Input;
use crate::exit::usage;

/// Is everything that is asked for possible without raw values staying in memory or on disk?
///
/// # Errors
/// If not, saying what to do instead.
pub fn check(kind: Kind, definition: &Definition, arguments: &Arguments) -> Result<()> {
    if !kind.is_pan_private() {
        return Ok(());
    }
    if arguments.save.is_some() {
        return Err(usage(Error::CannotBeSaved { counter: kind.name() }.to_string()));
    }
    if definition.timeline.is_some() {
        return Err(usage(format!(
            "a {kind} counter takes one line a step: the sum of an open step of time would be raw data in memory; leave \
             --step out"
        )));
    }
    if definition.fields.input == Input::Ndjson {
        return Err(usage(format!(
            "a {kind} counter reads text or CSV, not NDJSON: its parser would leave copies of the data in memory"
        )));
    }
    Ok(())
}
