//! What the process itself does when its memory may be seized.

use std::hint::black_box;

use anyhow::Result;
use reticent::Error;
use reticent::continual::Kind;
use zeroize::Zeroize;

use super::arguments::Arguments;
use super::definition::Definition;
use super::record::Input;
use crate::exit::usage;

/// How careful the process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Care {
    /// Every line is erased as soon as it is counted.
    pub erase: bool,
    /// No core dump may be written, and no other process of the same user may look into the memory.
    pub hide: bool,
}

impl Care {
    /// For a counter.
    ///
    /// Unoptimised builds, which nobody installs, can be told by a test to do without: it must see that it would find what
    /// it looks for. In optimised builds this does not exist.
    pub fn with(kind: Kind) -> Self {
        let needed = kind.is_pan_private();
        let mut care = Self { erase: needed, hide: needed };
        #[cfg(debug_assertions)]
        if let Some(test) = std::env::var_os("RETICENT_TEST_SEIZURE") {
            care.hide = false;
            care.erase &= test != "keep";
        }
        // The optimiser has nothing to do here; the lint has.
        #[cfg(not(debug_assertions))]
        let _ = &mut care;
        care
    }

    /// Keeps the memory from being written to disk or read.
    ///
    /// # Errors
    /// If the operating system refuses.
    #[cfg(target_os = "linux")]
    pub fn apply(self) -> std::io::Result<()> {
        use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
        if self.hide {
            setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
            set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        }
        Ok(())
    }

    /// Where there is no way to say so, core dumps are the user's to switch off.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn apply(self) -> std::io::Result<()> {
        Ok(())
    }
}

/// 64 KiB: more than reading a line, counting it and printing the release takes, also in unoptimised builds.
const BURNT_BYTES: usize = 1 << 16;

/// Overwrites the stack below the caller's frame, where functions that it called before kept their variables.
#[inline(never)]
pub fn burn_stack() {
    let mut frame = [0u8; BURNT_BYTES];
    frame.zeroize();
    black_box(&frame);
}

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
