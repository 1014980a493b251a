//! Reading a task file.

use std::path::Path;

use anyhow::Result;
use reticent::local::Task;

use crate::exit::usage;

/// A task from a file: TOML, or JSON if its name ends in `.json`.
pub fn read(path: &Path) -> Result<Task> {
    let failed = |error: &dyn std::fmt::Display| usage(format!("the task {}: {}", path.display(), plain(error)));
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    match path.extension().is_some_and(|ending| ending == "json") {
        true => serde_json::from_str(&text).map_err(|error| failed(&error)),
        false => toml::from_str(&text).map_err(|error| failed(&error)),
    }
}

/// What a parser says, without the line break at its end.
fn plain(error: &dyn std::fmt::Display) -> String {
    error.to_string().trim_end().to_owned()
}
