//! A counter on disk.
//!
//! Three files: the state itself; beside it `.epoch`, the newest epoch, so that an older state put back is noticed; and
//! `.lock`, held while a process counts. The state is replaced as a whole, and durably, before anything it covers is shown:
//! whatever was shown is in it, so noise for a shown step is never drawn again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use reticent::continual::{SavedTally, TallySaving};
use reticent_durable::{beside, private, replace};
use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::printer::Highest;
use super::released::Released;
use crate::exit::usage;

/// How states are written.
pub const VERSION: u32 = 1;

/// What is saved.
#[derive(Debug, Serialize, Deserialize)]
pub struct State<T> {
    /// How it is written: [`VERSION`].
    pub version: u32,
    /// How lines become steps.
    pub definition: Definition,
    /// The largest release before those that may not have been shown.
    pub highest: Highest,
    /// The last releases, which may not have been shown when the process ended.
    pub unshown: Vec<Released>,
    /// The counter after them: a [`TallySaving`], which is read back as a [`SavedTally`].
    pub counter: T,
    /// The ledger that it was charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
}

/// Where a counter is saved.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl Store {
    /// For a new counter.
    ///
    /// # Errors
    /// If there is one already, another process counts, or the place cannot be written to.
    pub fn create(path: &Path) -> Result<Self> {
        let store = Self::lock(path)?;
        if path.exists() {
            let path = path.display();
            return Err(usage(format!("{path} exists already; go on from it with --resume, or name another file")));
        }
        // An epoch is never lowered: it would make an older state look new.
        match store.epoch() {
            Ok(None) => replace(&store.epoch_path(), b"0\n").map_err(|error| unusable(path, &error))?,
            // Somebody began, and was refused or interrupted before anything was counted.
            Ok(Some(0)) => {}
            Ok(Some(_)) | Err(_) => {
                let (epoch, path) = (store.epoch_path(), path.display());
                return Err(usage(format!(
                    "{} is left of a counter that was saved as {path}; remove it to start anew, or name another file",
                    epoch.display()
                )));
            }
        }
        Ok(store)
    }

    /// For a counter that was saved, and the newest epoch that is known.
    ///
    /// # Errors
    /// If there is none, it cannot be read, or another process counts.
    pub fn open(path: &Path) -> Result<(Self, State<SavedTally>, u64)> {
        let name = path.display();
        if !path.exists() {
            return Err(usage(format!("there is no saved counter {name}; leave --resume out to start one")));
        }
        let store = Self::lock(path)?;
        let text = fs::read(path).map_err(|error| unusable(path, &error))?;
        let state = serde_json::from_slice::<State<SavedTally>>(&text).ok().filter(|state| state.version == VERSION);
        let state = state.ok_or_else(|| anyhow!("{name} is damaged, or not a saved counter"))?;
        let epoch = store.epoch().ok().flatten().ok_or_else(|| {
            let epoch = store.epoch_path();
            anyhow!("{} is missing or damaged: whether {name} is the newest state cannot be told", epoch.display())
        })?;
        Ok((store, state, epoch))
    }

    fn lock(path: &Path) -> Result<Self> {
        let lock_path = beside(path, ".lock");
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(lock_path)
            .map_err(|error| unusable(path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.into(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                Err(anyhow!("another process is counting with {}; wait for it to end", path.display()))
            }
            Err(TryLockError::Error(error)) => Err(unusable(path, &error)),
        }
    }

    /// Durable when it returns.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn save(&self, state: &State<TallySaving<'_>>) -> Result<()> {
        let text = serde_json::to_vec(state)?;
        // The state first: if the process dies in between, the newer state is still good.
        replace(&self.path, &text)
            .and_then(|()| replace(&self.epoch_path(), format!("{}\n", state.counter.epoch()).as_bytes()))
            .map_err(|error| anyhow!("saving {} failed: {error}; what was not saved is not shown", self.path.display()))
    }

    /// The newest epoch; `None` if none was written.
    fn epoch(&self) -> io::Result<Option<u64>> {
        match fs::read_to_string(self.epoch_path()) {
            Ok(text) => text.trim().parse().map(Some).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn epoch_path(&self) -> PathBuf {
        beside(&self.path, ".epoch")
    }
}

fn unusable(path: &Path, error: &io::Error) -> anyhow::Error {
    usage(format!("--save cannot use {}: {error}", path.display()))
}
