//! How a process protects its memory.

use reticent::continual::CounterKind;

/// The protections in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Care {
    /// Every line is erased as soon as it is counted, and freed memory is overwritten.
    pub erase: bool,
    /// Core dumps are disabled, and no other process of the same user can read the memory.
    pub hide: bool,
}

impl Care {
    /// The protections for a counter.
    ///
    /// In unoptimised builds, which nobody installs, a test can turn them off, to show that it would find what it looks
    /// for. In optimised builds this does not exist.
    pub fn with(kind: CounterKind) -> Self {
        let needed = kind.is_pan_private();
        let mut care = Self { erase: needed, hide: needed };
        #[cfg(debug_assertions)]
        if let Some(test) = std::env::var_os("RETICENT_TEST_SEIZURE") {
            care.hide = false;
            care.erase &= test != "keep";
        }
        // A no-op that keeps the lint quiet.
        #[cfg(not(debug_assertions))]
        let _ = &mut care;
        care
    }

    /// Keeps the memory from being dumped or read.
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

    /// There is no such call on this system: disabling core dumps is up to the user.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn apply(self) -> std::io::Result<()> {
        Ok(())
    }
}
