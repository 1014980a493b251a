//! Which ledger and which dataset are meant.

use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent_ledger::Location;
use reticent_ledger::storage::replace::sync_directory;

use crate::exit::usage;

/// The variable that names the ledger for whoever does not say `--ledger`.
const VARIABLE: &str = "RETICENT_LEDGER";

/// The ledger that is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Where it is.
    pub location: Location,
    /// Was it named, with `--ledger` or by the environment? Then what is charged must have been registered there. Otherwise it is the user's own, in
    /// which whatever is asked about is accounted for, without a limit unless one was set.
    pub named: bool,
}

impl Place {
    /// As `--ledger` says; else as the environment says; else in the user's data directory.
    ///
    /// # Errors
    /// If nothing tells where the user's data is, or what is named is neither a file nor a server.
    pub fn new(named: Option<&str>) -> Result<Self> {
        let named = named.map(str::to_owned).or_else(|| std::env::var(VARIABLE).ok().filter(|place| !place.is_empty()));
        let location = match &named {
            Some(named) => named.parse()?,
            None => Location::File(own_file()?),
        };
        Ok(Self { location, named: named.is_some() })
    }

    /// Makes the folder of the user's own ledger, which nobody else may look into.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_folder(&self) -> Result<()> {
        let Location::File(file) = &self.location else { return Ok(()) };
        let Some(folder) = file.parent().filter(|folder| !self.named && !folder.as_os_str().is_empty()) else {
            return Ok(());
        };
        make_durably(folder).map_err(|error| {
            let folder = folder.display();
            usage(format!(
                "the folder of your ledger, {folder}, cannot be made: {error}; name a ledger with --ledger, or account for \
                 nothing with --no-ledger"
            ))
        })
    }
}

/// Makes a folder and those it is in, for their owner only; each is durable when the one around it is.
fn make_durably(folder: &Path) -> std::io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        make_durably(parent)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    // Somebody else may make it at the same time.
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    sync_directory(folder)
}

fn own_file() -> Result<PathBuf> {
    let folder = dirs::data_dir().ok_or_else(|| {
        usage(format!(
            "where your data is kept is not known (HOME is not set); name a ledger with --ledger or {VARIABLE}"
        ))
    })?;
    Ok(folder.join("reticent").join("ledger.sqlite"))
}
