//! Which ledger to use: a named one, or the user's own.

use std::path::{Path, PathBuf};

use reticent::message;
use reticent_durable::sync_directory;

use crate::durable::DurableLedger;
use crate::error::{Error, Result};
use crate::storage::location::Location;

/// The variable that names the ledger if nothing else does.
const VARIABLE: &str = "RETICENT_LEDGER";

/// The ledger to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its location.
    pub location: Location,
    /// Whether it was named, by an argument or by the environment. Then a dataset must have been registered there to be
    /// charged. Otherwise it is the user's own, in which every dataset is accounted for, without a limit unless one was
    /// set.
    pub named: bool,
}

impl Place {
    /// The ledger that is named, otherwise that of `$RETICENT_LEDGER`, otherwise the one in the user's data directory.
    ///
    /// # Errors
    /// If the user's data directory is unknown, or the name is neither a file nor a server.
    pub fn new(named: Option<&str>) -> Result<Self> {
        let named = named.map(str::to_owned).or_else(named_by_environment);
        let location = match &named {
            Some(named) => named.parse()?,
            None => Location::File(own_file()?),
        };
        Ok(Self { location, named: named.is_some() })
    }

    /// Opens the ledger to charge it; the user's own is created if it does not exist.
    ///
    /// # Errors
    /// If it does not exist or cannot be used.
    pub fn open(&self) -> Result<DurableLedger> {
        if self.named {
            return DurableLedger::open(&self.location);
        }
        self.make_folder()?;
        DurableLedger::create(&self.location).map_err(|error| Error::Own(self.location.to_string(), Box::new(error)))
    }

    /// Opens the ledger, or creates it; and whether it was created.
    ///
    /// # Errors
    /// If it cannot be used or created.
    pub fn open_or_create(&self) -> Result<(DurableLedger, bool)> {
        match DurableLedger::open(&self.location) {
            Err(Error::Missing(_)) => {
                self.make_folder()?;
                Ok((DurableLedger::create(&self.location)?, true))
            }
            other => Ok((other?, false)),
        }
    }

    /// Opens the ledger for reading; `None` if it does not exist.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open_to_read(&self) -> Result<Option<DurableLedger>> {
        match DurableLedger::open_to_read(&self.location) {
            Err(Error::Missing(_)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Creates the folder of the user's own ledger, readable by nobody else.
    fn make_folder(&self) -> Result<()> {
        let Location::File(file) = &self.location else { return Ok(()) };
        let Some(folder) = file.parent().filter(|folder| !self.named && !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        make_durably(folder).map_err(|error| {
            let folder = folder.display();
            Error::Request(message!(
                "the folder of your ledger, {folder}, cannot be created: {error}; name a ledger with ",
                ["ledger"],
                ", or turn off accounting with ",
                ["no-ledger"]
            ))
        })
    }
}

/// The ledger that the environment names.
pub fn named_by_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().filter(|place| !place.is_empty())
}

/// Creates a folder and its parents, for their owner only; each is durable when its parent is.
fn make_durably(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_durably(parent)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    // Another process may create it at the same time.
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    sync_directory(folder)
}

fn own_file() -> Result<PathBuf> {
    // Tests leave the user's own ledger alone.
    let folder = if cfg!(test) { None } else { dirs::data_dir() };
    let folder = folder.ok_or_else(|| {
        Error::Request(message!(
            "your data directory is unknown (HOME is not set); name a ledger with ",
            ["ledger"],
            " or {VARIABLE}"
        ))
    })?;
    Ok(folder.join("reticent").join("ledger.sqlite"))
}
