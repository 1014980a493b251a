//! A durable SQLite file.
//!
//! Uses write-ahead logging with `synchronous=FULL`: a commit returns once it is on disk.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::files::Files;
use crate::opening::{Failure, Form, Opening, reason};

/// A log longer than this is checkpointed outside of commits.
const LONG_LOG: u64 = 4 << 20;

/// An error returned by the work in a transaction.
pub trait FromFailure: From<Failure> {
    /// Whether the file itself failed; it is then reopened before its next use.
    fn is_failure(&self) -> bool;
}

/// Implements [`FromFailure`] for an error type with the variants `Damaged(String)` and `Storage { doing, reason }`.
#[macro_export]
macro_rules! from_failure {
    ($error:ty) => {
        impl From<$crate::Failure> for $error {
            fn from(failure: $crate::Failure) -> Self {
                match failure {
                    $crate::Failure::Foreign(what) | $crate::Failure::Damaged(what) => Self::Damaged(what),
                    $crate::Failure::Storage { doing, reason } => Self::Storage { doing, reason },
                }
            }
        }

        impl $crate::FromFailure for $error {
            fn is_failure(&self) -> bool {
                matches!(self, Self::Storage { .. } | Self::Damaged(_))
            }
        }
    };
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Creating the tables, and writing.
    Write,
    /// Reading what another process writes.
    Read,
}

/// A connection that is reopened after a failure.
#[derive(Debug)]
pub struct Database {
    form: Form,
    path: PathBuf,
    files: Box<dyn Files>,
    access: Access,
    connection: Option<Connection>,
}

impl Database {
    /// Opens a file. For writing, creates it and its tables if they are missing.
    ///
    /// # Errors
    /// If it cannot be opened or holds something else.
    pub fn open(path: &Path, files: Box<dyn Files>, access: Access, form: Form) -> Result<Self, Failure> {
        let mut database = Self { form, path: path.into(), files, access, connection: None };
        database.connect()?;
        Ok(database)
    }

    /// Runs `work` in one transaction, which is durable when this returns.
    ///
    /// # Errors
    /// Those of `work`, in which case nothing is written, and those of the file.
    pub fn write<T, E: FromFailure>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        self.transact(TransactionBehavior::Immediate, "written", work)
    }

    /// Runs `work` on a consistent snapshot of the durable state.
    ///
    /// # Errors
    /// Those of `work`, and those of the file.
    pub fn read<T, E: FromFailure>(&mut self, work: impl FnOnce(&Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        self.transact(TransactionBehavior::Deferred, "read", work)
    }

    /// Copies a long log into the database. This is not part of any commit, so no commit waits for it. Writers must
    /// call it from time to time: nothing else shortens the log.
    pub fn tidy(&mut self) {
        let long = self.files.length(&self.opening().log()).is_ok_and(|length| length.unwrap_or(0) > LONG_LOG);
        if let (true, Some(connection)) = (long, &self.connection) {
            // If it fails, everything is still in the log, and the next attempt copies it all again.
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
    }

    fn transact<T, E: FromFailure>(
        &mut self,
        behavior: TransactionBehavior,
        doing: &'static str,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let outcome: Result<T, E> = (|| {
            let connection = self.connect()?;
            let transaction = connection
                .transaction_with_behavior(behavior)
                .map_err(|error| Failure::storage(doing, reason(&error)))?;
            let value = work(&transaction)?;
            transaction.commit().map_err(|error| Failure::storage(doing, reason(&error)))?;
            Ok(value)
        })();
        if outcome.as_ref().is_err_and(FromFailure::is_failure) {
            self.connection = None;
        }
        outcome
    }

    fn connect(&mut self) -> Result<&mut Connection, Failure> {
        if self.connection.is_none() {
            self.connection = Some(self.open_connection()?);
        }
        Ok(self.connection.as_mut().expect("just opened"))
    }

    fn open_connection(&self) -> Result<Connection, Failure> {
        let opening = self.opening();
        let mut connection = opening.connect_or_create()?;
        match self.access {
            Access::Write => opening.prepare(&mut connection)?,
            // A writer may be about to create the tables.
            Access::Read if opening.is_empty(&connection)? => {}
            Access::Read => opening.identify(&connection)?,
        }
        Ok(connection)
    }

    fn opening(&self) -> Opening<'_> {
        Opening { path: &self.path, files: &*self.files, form: self.form }
    }
}
