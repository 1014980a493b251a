//! The head of a ledger, kept elsewhere.
//!
//! A hash chain reveals changed, removed or reordered entries, but not an older copy of the whole ledger, a truncated
//! one, or one rewritten from the start. The hash of the last entry, kept out of the attacker's reach, reveals these
//! too.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use reticent_durable::{beside, private, replace};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::hash::Hash;

/// How long to wait for other processes that move the anchor, which takes them milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to sleep in between.
const PAUSE: Duration = Duration::from_millis(1);

/// The newest entry of a ledger at some point in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The ledger's unique id.
    pub ledger: String,
    /// The entry's number.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
}

/// A file that holds a [`Head`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    path: PathBuf,
}

impl Anchor {
    /// An anchor at `path`; the file need not exist yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Reads the anchor; `None` if the file does not exist yet.
    ///
    /// # Errors
    /// If the file cannot be read or is not an anchor.
    pub fn read(&self) -> Result<Option<Head>> {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failure("read", &error)),
        };
        let head = serde_json::from_str(&text);
        head.map(Some).map_err(|_| Error::NotAnchored(format!("{} is damaged, or not an anchor", self.path.display())))
    }

    /// Moves the anchor forward, durably; never backward, even if other processes move it at the same time.
    ///
    /// # Errors
    /// If the file cannot be written or belongs to another ledger.
    pub fn advance(&self, head: &Head) -> Result<()> {
        let failed = |error: io::Error| self.failure("written", &error);
        let _lock = self.lock().map_err(failed)?;
        if let Some(held) = self.read()? {
            if held.ledger != head.ledger {
                return Err(self.other_ledger());
            }
            if held.number >= head.number {
                return Ok(());
            }
        }
        let text = serde_json::to_string(head).expect("a head is plain data") + "\n";
        replace(&self.target(), text.as_bytes()).map_err(failed)
    }

    /// Checks that the anchor can be moved, before any budget is spent.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn prepare(&self) -> Result<()> {
        let prepared = self.lock().and_then(|_lock| {
            let held = fs::read(self.target())?;
            replace(&self.target(), &held)
        });
        prepared.map_err(|error| self.failure("written", &error))
    }

    fn lock(&self) -> io::Result<File> {
        let path = beside(&self.target(), ".lock");
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(&path)?;
        // Anyone who can open the file can hold the lock. A file owned by someone else keeps its permissions.
        #[cfg(unix)]
        let _ = lock.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600));
        let since = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let message = format!("another process holds {}", path.display());
                    return Err(io::Error::new(ErrorKind::TimedOut, message));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// The file itself, with symbolic links resolved, so that replacing it keeps the links.
    fn target(&self) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.clone())
    }

    pub(crate) fn missing(&self) -> Error {
        let path = self.path.display();
        Error::NotAnchored(format!("there is no anchor {path}; `reticent ledger verify --anchor {path}` creates one"))
    }

    fn other_ledger(&self) -> Error {
        Error::NotAnchored(format!("{} is the anchor of another ledger", self.path.display()))
    }

    fn failure(&self, doing: &str, error: &io::Error) -> Error {
        let reason = format!("{} could not be {doing}: {error}", self.path.display());
        Error::Storage { doing: "anchored", reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_anchor_moves_forward_only() {
        let folder = tempfile::tempdir().unwrap();
        let anchor = Anchor::new(folder.path().join("head.json"));
        assert_eq!(anchor.read().unwrap(), None);
        let head = |number| Head { ledger: "a".into(), number, hash: Hash::NONE };
        anchor.advance(&head(2)).unwrap();
        anchor.advance(&head(1)).unwrap();
        assert_eq!(anchor.read().unwrap(), Some(head(2)));
        anchor.advance(&head(3)).unwrap();
        assert_eq!(anchor.read().unwrap(), Some(head(3)));
        let other = Head { ledger: "b".into(), ..head(4) };
        assert!(matches!(anchor.advance(&other), Err(Error::NotAnchored(_))));
        #[cfg(unix)]
        {
            // Others cannot hold the lock. A symbolic link stays one, and its target moves.
            let lock = fs::metadata(folder.path().join("head.json.lock")).unwrap().permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&lock) & 0o077, 0);
            let link = folder.path().join("link.json");
            std::os::unix::fs::symlink(folder.path().join("head.json"), &link).unwrap();
            Anchor::new(&link).advance(&head(5)).unwrap();
            assert!(link.is_symlink());
            assert_eq!(anchor.read().unwrap(), Some(head(5)));
        }
        fs::write(folder.path().join("head.json"), "{").unwrap();
        assert!(matches!(anchor.read(), Err(Error::NotAnchored(_))));
    }
}
