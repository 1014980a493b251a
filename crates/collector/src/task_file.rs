//! Reading a task file.

use std::fmt::Display;
use std::path::Path;

use reticent::local::Task;

use crate::error::{Error, Result};

/// Reads a task from a file: TOML, or JSON if its name ends in `.json`.
///
/// # Errors
/// [`Error::TaskFile`] if it cannot be read or is not a task.
pub fn read(path: &Path) -> Result<Task> {
    // Parsers' messages end with a line break.
    let failed = |error: &dyn Display| Error::TaskFile {
        path: path.display().to_string(),
        reason: error.to_string().trim_end().to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    match path.extension().is_some_and(|ending| ending == "json") {
        true => serde_json::from_str(&text).map_err(|error| failed(&error)),
        false => toml::from_str(&text).map_err(|error| failed(&error)),
    }
}
