//! What a device must not forget, in a folder: one file per task, under a name that reveals nothing without the key.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use reticent::local::{Device, Memory};
use reticent::noise::Entropy;
use reticent_durable::{private, replace};

use crate::error::{Error, Result};

const KEY: &str = "key";
const LOCK: &str = "lock";

/// A folder used by one process at a time: two at once could both spend.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

/// The device of this folder, which is created with a fresh key if it is missing.
///
/// # Errors
/// [`Error::Device`] if the folder cannot be used, or another process is using it.
pub fn device(path: &Path, entropy: &mut Entropy) -> Result<Device<Folder>> {
    let failed =
        |error: &dyn std::fmt::Display| Error::Device { path: path.display().to_string(), reason: error.to_string() };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).map_err(|error| failed(&error))?;
    let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(path.join(LOCK));
    let lock = lock.map_err(|error| failed(&error))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(failed(&"another process is using it; wait until it is done")),
        Err(TryLockError::Error(error)) => return Err(failed(&error)),
    }
    let key = path.join(KEY);
    let bytes = match fs::read(&key) {
        Ok(bytes) => {
            bytes.try_into().map_err(|_| failed(&"its key is damaged; a new one would spend the budget again"))?
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let fresh = Device::new_key(entropy)?;
            replace(&key, &fresh).map_err(|error| failed(&error))?;
            fresh
        }
        Err(error) => return Err(failed(&error)),
    };
    Ok(Device::new(bytes, Folder { path: path.into(), _lock: lock }))
}

impl Memory for Folder {
    fn read(&self, name: &str) -> reticent::Result<Option<String>> {
        match fs::read_to_string(self.path.join(name)) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(reticent::Error::Memory(error.to_string())),
        }
    }

    fn write(&mut self, name: &str, text: &str) -> reticent::Result<()> {
        replace(&self.path.join(name), text.as_bytes()).map_err(|error| reticent::Error::Memory(error.to_string()))
    }
}
