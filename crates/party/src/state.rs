//! Which attempts a party has used: durable before anything is sent, so that none is ever used twice.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use reticent_durable::{private, replace};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::hex::Digest;

/// The version of the files.
const VERSION: u32 = 1;
/// Far more attempts than a task will ever need; an honest party never proposes more.
pub const MOST_ATTEMPTS: u32 = 1 << 30;

/// A party's state directory, locked by this process.
///
/// # Privacy
/// Two contributions to one attempt would be two shares for one charge. An attempt's number is durable here before it
/// is sent to anyone; after a crash at any later moment it is never used again. (If the directory is deleted or
/// restored from a backup, the ledger still refuses to charge an attempt twice.)
#[derive(Debug)]
pub struct State {
    directory: PathBuf,
    /// `None` if there is no directory: then it is read-only.
    _lock: Option<File>,
}

/// The content of one file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Attempts {
    version: u32,
    /// The lowest unused attempt.
    next: u32,
}

impl State {
    /// Opens a state directory, creating it if it is missing.
    ///
    /// # Errors
    /// [`Error::InUse`] if another process has it open; otherwise if it cannot be used.
    pub fn open(directory: &Path) -> Result<Self> {
        let failed = |error| Error::file("opened", directory, error);
        fs::create_dir_all(directory).map_err(failed)?;
        let path = directory.join("lock");
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(path).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { directory: directory.to_owned(), _lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(directory.display().to_string())),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// The same for reading only: a missing directory is not created, and counts as one without used attempts.
    ///
    /// # Errors
    /// As [`State::open`].
    pub fn open_to_read(directory: &Path) -> Result<Self> {
        match fs::exists(directory) {
            Ok(false) => Ok(Self { directory: directory.to_owned(), _lock: None }),
            _ => Self::open(directory),
        }
    }

    /// The lowest unused attempt of a task.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn next(&self, task: Digest) -> Result<u32> {
        let path = self.file(task);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(1),
            Err(error) => return Err(Error::file("read", &path, error)),
        };
        match serde_json::from_str(&text) {
            Ok(Attempts { version: VERSION, next }) if next >= 1 => Ok(next),
            _ => Err(Error::form(&path, "damaged, or from another version")),
        }
    }

    /// Durably marks this attempt and all before it as used.
    ///
    /// # Errors
    /// If this or a later one was already used, or the file cannot be written.
    pub fn mark_used(&self, task: Digest, attempt: u32) -> Result<()> {
        let next = self.next(task)?;
        if attempt < next || attempt > MOST_ATTEMPTS {
            let allowed = format!("from {next} to {MOST_ATTEMPTS}: an attempt is never used twice");
            return Err(Error::parameter("the attempt", attempt, allowed));
        }
        let text = serde_json::to_string(&Attempts { version: VERSION, next: attempt + 1 }).expect("it is plain data");
        let path = self.file(task);
        replace(&path, format!("{text}\n").as_bytes()).map_err(|error| Error::file("written", &path, error))
    }

    /// The default file for the transcript of an attempt.
    pub fn transcript(&self, task: Digest, attempt: u32) -> PathBuf {
        self.directory.join(format!("transcript-{task}-{attempt}.json"))
    }

    fn file(&self, task: Digest) -> PathBuf {
        self.directory.join(format!("attempts-{task}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::Hex;

    #[test]
    fn an_attempt_is_never_used_twice() {
        let folder = tempfile::tempdir().unwrap();
        let (task, other) = (Hex([1; 32]), Hex([2; 32]));
        let state = State::open(&folder.path().join("state")).unwrap();
        assert_eq!(state.next(task).unwrap(), 1);
        state.mark_used(task, 1).unwrap();
        assert!(state.mark_used(task, 1).is_err());
        state.mark_used(task, 5).unwrap();
        assert!(state.mark_used(task, 3).is_err());
        assert!(state.mark_used(task, MOST_ATTEMPTS + 1).is_err());
        assert_eq!((state.next(task).unwrap(), state.next(other).unwrap()), (6, 1));
        drop(state);
        assert_eq!(State::open(&folder.path().join("state")).unwrap().next(task).unwrap(), 6);
    }

    #[test]
    fn one_process_has_it_at_a_time_and_damage_is_not_taken_for_a_beginning() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        assert!(matches!(State::open(folder.path()), Err(Error::InUse(_))));
        let task = Hex([1; 32]);
        for damage in ["", "{\"version\":1}", "{\"version\":2,\"next\":1}", "{\"version\":1,\"next\":0}"] {
            fs::write(state.file(task), damage).unwrap();
            assert!(state.next(task).is_err() && state.mark_used(task, 9).is_err(), "{damage}");
        }
    }
}
