//! What can go wrong.

use std::io;

/// Why rows could not be bounded. No text of it depends on what is in a row.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The job does not suit its schema, or a batch does not suit the job.
    #[error("{0}")]
    Job(String),
    /// The memory limit is too low, and writing rows to disk would not help or is not allowed.
    #[error("out of memory: raise the memory limit, or ask for fewer groups")]
    Memory,
    /// Temporary files could not be written or read.
    #[error("cannot use the folder for temporary files: {0}")]
    Disk(io::ErrorKind),
    /// [`Interrupt`](crate::Interrupt) said so: the time limit is over, or someone pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// These are not the bytes of a job or part.
    #[error("{0}")]
    Bytes(String),
}

/// What the functions of this crate return.
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
