//! Recognises files of other kinds where lines are expected.

use std::path::Path;

use anyhow::Result;

use crate::exit::usage;

/// Refuses input that begins like a compressed file, Parquet, UTF-16 and the like, which has no lines.
///
/// # Privacy
/// The first bytes may belong to a row. No text begins with these; that an input does is public, as the threat model
/// says.
///
/// # Errors
/// If it does.
pub fn refuse_foreign(name: &str, start: &[u8]) -> Result<()> {
    match reticent_sql::foreign_format(start) {
        None => Ok(()),
        // Another file name would not help where lines are read.
        Some(what) => Err(usage(match what.split_once("; let its name") {
            Some((what, _)) => format!("{name} {what} and has no lines; write its rows as CSV or NDJSON"),
            None => format!("{name} {what}"),
        })),
    }
}

/// Refuses what has no lines by the extension of its name, in lower case. Nothing is read: the first line may hold
/// data.
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
