//! How a process protects its memory.

/// The protections in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Care {
    /// Every line is erased as soon as it is counted, and freed memory is overwritten.
    pub erase: bool,
    /// Core dumps are disabled, and no other process of the same user can read the memory.
    pub hide: bool,
}

impl Care {
    /// All protections if they are `needed`, otherwise none.
    ///
    /// In unoptimised builds, which nobody installs, a test can turn them off to show that it would detect a leak.
    /// Optimised builds do not have this switch.
    pub fn new(needed: bool) -> Self {
        let mut care = Self { erase: needed, hide: needed };
        #[cfg(debug_assertions)]
        if let Some(test) = std::env::var_os("RETICENT_TEST_SEIZURE") {
            care.hide = false;
            care.erase &= test != "keep";
        }
        // A no-op that silences the lint.
        #[cfg(not(debug_assertions))]
        let _ = &mut care;
        care
    }

    /// Keeps other processes from dumping or reading the memory.
    ///
    /// # Errors
    /// If the operating system refuses.
    #[cfg(target_os = "linux")]
    pub fn apply(self) -> std::io::Result<()> {
        use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
        #[cfg(debug_assertions)]
        if !self.erase {
            crate::never();
        }
        if self.hide {
            setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
            set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        }
        Ok(())
    }

    /// This system has no such call: disabling core dumps is up to the user.
    ///
    /// # Errors
    /// None.
    #[cfg(not(target_os = "linux"))]
    pub fn apply(self) -> std::io::Result<()> {
        Ok(())
    }
}
