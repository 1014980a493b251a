//! Recognises files of other kinds where lines are expected.

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
