//! Recognises other file formats where lines are expected.

use std::path::Path;

use anyhow::Result;

use crate::exit::usage;

/// Refuses input that begins like a compressed file, Parquet, UTF-16 or similar, which has no lines.
///
/// # Privacy
/// The first bytes may belong to a row. No text begins with these bytes; that an input does is public, as the threat
/// model states.
///
/// # Errors
/// If the input begins like such a file.
pub fn refuse_foreign(name: &str, start: &[u8]) -> Result<()> {
    match reticent_sql::foreign_format(start) {
        None => Ok(()),
        // Renaming the file would not help where lines are expected.
        Some(what) => Err(usage(match what.split_once("; let its name") {
            Some((what, _)) => format!("{name} {what} and has no lines; write its rows as CSV or NDJSON"),
            None => format!("{name} {what}"),
        })),
    }
}

/// Refuses a file whose extension, in lower case, stands for a format without lines. Nothing is read: the first line
/// may hold data.
///
/// # Errors
/// If the extension is that of a table without lines, or of a compressed file.
pub fn refuse_extension(path: &Path, extension: &str) -> Result<()> {
    let name = path.display();
    match extension {
        "parquet" | "arrow" | "feather" | "ipc" | "xlsx" | "xls" | "ods" | "sqlite" => {
            Err(usage(format!("{name} has no lines; `reticent count` reads CSV, NDJSON or one number per line")))
        }
        "gz" | "zst" | "bz2" | "xz" | "zip" => Err(usage(format!(
            "{name} is compressed; unpack it first, or count what comes out of a pipe, as in gunzip -c … | reticent count -"
        ))),
        _ => Ok(()),
    }
}
