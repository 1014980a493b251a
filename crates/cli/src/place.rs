//! Which ledger and which dataset to use.

use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent_durable::sync_directory;
use reticent_ledger::Location;

use crate::exit::usage;

/// The variable that names the ledger if `--ledger` is not given.
const VARIABLE: &str = "RETICENT_LEDGER";

/// The ledger to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its location.
    pub location: Location,
    /// Whether it was named, with `--ledger` or by the environment. Then a dataset must have been registered there to
    /// be charged. Otherwise it is the user's own, in which every dataset is accounted for, without a limit unless one
    /// was set.
    pub named: bool,
}

impl Place {
    /// From `--ledger`, otherwise from the environment, otherwise in the user's data directory.
    ///
    /// # Errors
    /// If the user's data directory is unknown, or the name is neither a file nor a server.
    pub fn new(named: Option<&str>) -> Result<Self> {
        let named = named.map(str::to_owned).or_else(|| std::env::var(VARIABLE).ok().filter(|place| !place.is_empty()));
        let location = match &named {
            Some(named) => named.parse()?,
            None => Location::File(own_file()?),
        };
        Ok(Self { location, named: named.is_some() })
    }

    /// Creates the folder of the user's own ledger, readable by nobody else.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn make_folder(&self) -> Result<()> {
        let Location::File(file) = &self.location else { return Ok(()) };
        let Some(folder) = file.parent().filter(|folder| !self.named && !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        make_durably(folder).map_err(|error| {
            let folder = folder.display();
            usage(format!(
                "the folder of your ledger, {folder}, cannot be created: {error}; name a ledger with --ledger, or turn off \
                 accounting with --no-ledger"
            ))
        })
    }
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
    let folder = dirs::data_dir().ok_or_else(|| {
        usage(format!("your data directory is unknown (HOME is not set); name a ledger with --ledger or {VARIABLE}"))
    })?;
    Ok(folder.join("reticent").join("ledger.sqlite"))
}
