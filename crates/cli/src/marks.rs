//! Recognises other file formats where lines are expected.

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
        Some(kind) if kind.is_table => {
            Err(usage(format!("{name} {} and has no lines; write its rows as CSV or NDJSON", kind.what)))
        }
        Some(kind) => Err(usage(format!("{name} {kind}"))),
    }
}
