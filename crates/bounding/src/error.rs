//! Errors.

use std::io;

/// Why rows could not be bounded. No text depends on the contents of a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job does not match its schema, or a batch does not match the job.
    #[error("{0}")]
    Job(String),
    /// The memory limit is too low, and spilling rows to disk would not help or is not allowed.
    #[error("out of memory: raise the memory limit, or ask for fewer groups")]
    Memory,
    /// Temporary files could not be written or read.
    #[error("cannot use the folder for temporary files: {0}")]
    Disk(io::ErrorKind),
    /// Stopped by [`Interrupt`](crate::Interrupt): the time limit has passed, or the user pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// The bytes are not those of a job or part.
    #[error("{0}")]
    Bytes(String),
}

/// The crate's result.
pub type Result<T> = std::result::Result<T, Error>;

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Disk(error.kind())
    }
}

/// Fails with the reason why a job cannot be done.
pub(crate) fn refuse<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::Job(reason.into()))
}
