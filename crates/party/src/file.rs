//! Files written by people.

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::str::FromStr;

use reticent_ledger::Location;
use serde::de::DeserializeOwned;

use crate::error::{Error, Result};

/// Parses a task file of at most `most` bytes; `limit` is that limit in words.
///
/// # Errors
/// If the file is missing, larger, or not a valid task.
pub fn task<T: FromStr<Err: Display>>(path: &Path, most: u64, limit: &str) -> Result<T> {
    let failed = |error| Error::file("read", path, error);
    if fs::metadata(path).map_err(failed)?.len() > most {
        return Err(Error::parameter("the task file", path.display(), limit));
    }
    let text = fs::read_to_string(path).map_err(failed)?;
    text.parse().map_err(|error| Error::form(path, error))
}

/// Parses a configuration file; also returns the directory that its paths are relative to.
///
/// # Errors
/// If the file is missing or not a valid configuration.
pub fn config<T: DeserializeOwned>(path: &Path) -> Result<(T, &Path)> {
    let text = fs::read_to_string(path).map_err(|error| Error::file("read", path, error))?;
    let config = toml::from_str(&text).map_err(|error| Error::form(path, error))?;
    Ok((config, path.parent().unwrap_or(Path::new(""))))
}

/// Resolves a ledger file against a directory.
pub fn ledger_in(folder: &Path, ledger: &mut String) {
    if let Ok(Location::File(file)) = ledger.parse() {
        *ledger = folder.join(file).display().to_string();
    }
}
