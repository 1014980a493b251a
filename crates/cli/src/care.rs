//! How a process keeps its memory to itself.

use reticent::continual::Kind;

/// How careful the process is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Care {
    /// Every line is erased as soon as it is counted, and freed memory is overwritten.
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
        #[cfg(debug_assertions)]
        if !self.erase {
            reticent_erase::never();
        }
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
