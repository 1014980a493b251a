//! A counter on disk.
//!
//! Three files: the state itself; next to it `.epoch`, the newest epoch, which reveals that an older state was
//! restored; and `.lock`, held while a process counts. The state is replaced atomically and durably before anything
//! that it covers is shown. So the state covers everything that was shown, and noise for a step that was shown is never
//! drawn again.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use reticent::continual::{SavedTally, TallySaving};
use reticent::ledger::{Accounting, Receipt};
use reticent::message;
use reticent_durable::{beside, private, replace};
use reticent_ledger::accounting::AccountingSettings;
use serde::{Deserialize, Serialize};

use super::definition::Definition;
use super::error::{Error, Result};
use super::released::{Highest, Released};

/// The version of the state format.
const VERSION: u32 = 1;

/// The saved state.
#[derive(Debug, Serialize, Deserialize)]
pub struct State<T> {
    version: u32,
    /// How lines become steps.
    pub definition: Definition,
    /// The largest releases, not counting those in `unshown`.
    pub(super) highest: Highest,
    /// The last releases, which may not have been shown when the process ended.
    pub(super) unshown: Vec<Released>,
    /// The counter after these releases: a [`TallySaving`], which is read back as a [`SavedTally`].
    pub counter: T,
    /// The ledger that it was charged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<String>,
}

impl State<SavedTally> {
    /// The accounting to go on with: where the counter was charged, unless the user names another ledger.
    ///
    /// # Errors
    /// If the user names another dataset, or a ledger for a counter that was never charged.
    pub fn settings(&self, given: &AccountingSettings) -> Result<AccountingSettings> {
        let unaccounted = *self.counter.accounting() == Accounting::Unaccounted;
        let (dataset, remembered) = match self.counter.accounting() {
            Accounting::Unaccounted => (given.dataset.clone(), None),
            Accounting::Charged(Receipt { dataset, .. }) => {
                if given.dataset.as_ref().is_some_and(|given| given != dataset) {
                    let advice = message!("the counter was charged to {dataset}; leave ", ["dataset"], " out");
                    return Err(Error::combination("dataset", advice));
                }
                (Some(dataset.clone()), self.ledger.clone())
            }
        };
        if unaccounted && given.ledger.is_some() {
            let advice = "the counter began without a ledger, and cannot be charged now; start a new one";
            return Err(Error::combination("ledger", advice));
        }
        Ok(AccountingSettings {
            ledger: if given.no_ledger { None } else { given.ledger.clone().or(remembered) },
            dataset,
            no_ledger: given.no_ledger || unaccounted,
            anchor: given.anchor.clone(),
            request: None,
        })
    }
}

impl<T> State<T> {
    pub(super) fn new(
        definition: Definition,
        highest: Highest,
        unshown: Vec<Released>,
        counter: T,
        ledger: Option<String>,
    ) -> Self {
        Self { version: VERSION, definition, highest, unshown, counter, ledger }
    }
}

/// Where a counter is saved.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    /// Locked while it is open.
    _lock: File,
}

impl Store {
    /// Creates the files for a new counter.
    ///
    /// # Errors
    /// If a counter already exists, another process is counting, or the path is not writable.
    pub fn create(path: &Path) -> Result<Self> {
        let store = Self::lock(path)?;
        if path.exists() {
            return Err(Error::Exists(path.display().to_string()));
        }
        // An epoch is never lowered: that would make an older state look new.
        match store.epoch() {
            Ok(None) => replace(&store.epoch_path(), b"0\n").map_err(|error| Error::unusable(path, &error))?,
            // An earlier attempt was refused or interrupted before anything was counted.
            Ok(Some(0)) => {}
            Ok(Some(_)) | Err(_) => {
                let (path, epoch) = store.names();
                return Err(Error::LeftOver { path, epoch });
            }
        }
        Ok(store)
    }

    /// Opens a saved counter: its state, and the newest known epoch.
    ///
    /// # Errors
    /// If it does not exist, cannot be read, or another process is counting.
    pub fn open(path: &Path) -> Result<(Self, State<SavedTally>, u64)> {
        if !path.exists() {
            return Err(Error::Absent(path.display().to_string()));
        }
        let store = Self::lock(path)?;
        let text = fs::read(path).map_err(|error| Error::unusable(path, &error))?;
        let state = serde_json::from_slice::<State<SavedTally>>(&text).ok().filter(|state| state.version == VERSION);
        let state = state.ok_or_else(|| Error::Damaged(path.display().to_string()))?;
        let epoch = store.epoch().ok().flatten().ok_or_else(|| {
            let (path, epoch) = store.names();
            Error::EpochLost { path, epoch }
        })?;
        Ok((store, state, epoch))
    }

    fn lock(path: &Path) -> Result<Self> {
        let lock_path = beside(path, ".lock");
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(lock_path)
            .map_err(|error| Error::unusable(path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.into(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(path.display().to_string())),
            Err(TryLockError::Error(error)) => Err(Error::unusable(path, &error)),
        }
    }

    /// Saves a state, durably.
    ///
    /// # Errors
    /// If the disk fails.
    pub(super) fn save(&self, state: &State<TallySaving<'_>>) -> Result<()> {
        let epoch = format!("{}\n", state.counter.epoch());
        // The state first: if the process crashes in between, the newer state is still valid.
        serde_json::to_vec(state)
            .map_err(io::Error::other)
            .and_then(|text| replace(&self.path, &text))
            .and_then(|()| replace(&self.epoch_path(), epoch.as_bytes()))
            .map_err(|error| Error::Unsaved { path: self.path.display().to_string(), reason: error.to_string() })
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

    /// The paths of the state and its epoch, for errors.
    fn names(&self) -> (String, String) {
        (self.path.display().to_string(), self.epoch_path().display().to_string())
    }
}
