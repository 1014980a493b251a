//! Errors: before any row is read, and after.

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors before any row is read. No text depends on the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A problem with a table that does not depend on its rows: no such file, no header, a column with two types.
    #[error("table {table}: {reason}")]
    Table {
        /// The table, as the user named it.
        table: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// A text file in UTF-16, for which no encoding was chosen.
    #[error("table {table}: {file} is text in UTF-16; choose the encoding utf-16, or save it in UTF-8")]
    Utf16 {
        /// The table, as the user named it.
        table: String,
        /// The file's name, without its folder.
        file: String,
    },
}

/// The table could not be read to the end.
///
/// This is the only error after a table has been opened. It does not say why, because the reason may depend on the
/// rows: a decoder's message can quote a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the table could not be read to its end")]
pub struct Broken;
