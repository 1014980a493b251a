//! What can go wrong.

use datafusion::error::DataFusionError;

/// A result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no answer.
///
/// # Privacy
/// No text depends on a row: what is said is either about things outside the rows (a file, a header, a type) or fixed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A table cannot be offered, for a reason that lies outside its rows.
    #[error("{table}: {reason}")]
    Table {
        /// The table as it was asked for, `name=location`.
        table: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// Reading broke off after the charge. Why is not said: it may depend on the rows.
    #[error("the table could not be read to its end; what was charged stays charged")]
    Reading,
}

impl Error {
    /// What an error that comes out of a running plan becomes. Below the noise no expression can fail, so only reading
    /// can, and whatever the engine says about it may quote a row.
    pub fn while_reading(_: DataFusionError) -> Self {
        Self::Reading
    }
}

impl From<Error> for DataFusionError {
    /// So that an error can pass through the engine.
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}
