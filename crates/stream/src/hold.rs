//! A data directory belongs to one process at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reticent_durable::private;

use crate::error::{Error, Result};

/// The previous process may be just ending, or a child it started may not have released the inherited lock yet.
const PATIENCE: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Holds a directory for this process; released on drop, and by the system when the process ends.
#[derive(Debug)]
pub struct Hold {
    directory: PathBuf,
    _lock: File,
}

impl Hold {
    /// Takes hold of a directory, creating it if it does not exist.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process holds it; [`Error::Storage`] if it cannot be used.
    pub fn of(directory: &Path) -> Result<Self> {
        fs::create_dir_all(directory).map_err(|error| Error::storage("opened", error))?;
        let path = directory.join("lock");
        let unusable = |error: std::io::Error| Error::storage("opened", format!("{}: {error}", path.display()));
        let lock =
            private(OpenOptions::new().create(true).truncate(false).write(true)).open(&path).map_err(unusable)?;
        let since = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { directory: directory.into(), _lock: lock }),
                Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => return Err(Error::InUse(directory.display().to_string())),
                Err(TryLockError::Error(error)) => return Err(unusable(error)),
            }
        }
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }
}
