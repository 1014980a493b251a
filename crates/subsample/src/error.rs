//! The one error type of this crate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;

use crate::environment::PATH;
use crate::schedule::in_words;
use crate::trial::ROWS;

/// What can go wrong. No error text depends on the rows of the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is out of range, or does not fit the others.
    #[error("{parameter} is {value}, but it must be {allowed}")]
    Parameter {
        /// The parameter's name.
        parameter: &'static str,
        /// The value that was given.
        value: String,
        /// What is allowed.
        allowed: &'static str,
    },

    /// A request that cannot be fulfilled as it was made; the message says what to write instead.
    #[error("{0}")]
    Request(Message),

    /// The program cannot be run.
    #[error("the program {}", .fault.of(.program))]
    Program {
        /// The program as it was named.
        program: String,
        /// What is wrong with it.
        fault: ProgramFault,
    },

    /// The query does not fit these columns.
    #[error("{0}")]
    Sql(reticent_sql::Error),

    /// The table cannot be used; known before any row is read.
    #[error("{}", .fault.of(.table))]
    Table {
        /// The table's name.
        table: String,
        /// What is wrong with it.
        fault: TableFault,
    },

    /// The statistic had no answer for any of the made-up rows.
    #[error(
        "the program {program} has no answer for {} (it failed, printed {}, or took longer than {limit:?})",
        rows_of(.file.as_deref()), .printed
    )]
    NoTrialAnswer {
        /// The program.
        program: String,
        /// The file with the made-up rows; `None` if the rows were invented here.
        file: Option<PathBuf>,
        /// What was printed instead of an answer, in words.
        printed: &'static str,
        /// The time limit of a run.
        limit: Duration,
    },

    /// The made-up rows have other columns than the table.
    #[error("{}: its columns must be those of the table: {}", .file.display(), .columns.join(", "))]
    TrialColumns {
        /// The file with the made-up rows.
        file: PathBuf,
        /// The table's columns.
        columns: Vec<String>,
    },

    /// The directory for the runs could not be created.
    #[error("the runs need a scratch directory in {}: {reason}", .folder.display())]
    Scratch {
        /// Where it should have been created.
        folder: PathBuf,
        /// The system's error message.
        reason: String,
    },

    /// The rows could not be read to their end. The text is the same whatever the reason, because the reason may depend
    /// on the rows.
    #[error("the table could not be read to its end; what was charged stays charged")]
    Reading,

    /// A text that is not the outcome of a subsample.
    #[error("the stored outcome of this request is not a subsample")]
    NotAnOutcome,

    /// A mechanism's parameter is out of range, a permit does not cover the release, or the system has no randomness.
    #[error(transparent)]
    Core(#[from] reticent::Error),
}

/// `Result` with this crate's [`Error`](enum@Error).
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Core(error) => error.class(),
            Self::Sql(error) => error.class(),
            Self::Scratch { .. } | Self::Reading | Self::NotAnOutcome => Class::Machine,
            _ => Class::Request,
        }
    }

    fn message(&self) -> Message {
        match self {
            Self::Parameter { parameter: "default", value, .. } => {
                message!(["default"], " is {value}, but with ", ["numeric"], " it must be a number")
            }
            Self::Program { program, fault } => {
                let fault = fault.of(program);
                message!(["program"], " {fault}")
            }
            Self::Sql(error) => message!(["sql"], ": {error}"),
            Self::NoTrialAnswer { program, file, printed: nothing, limit } => {
                let (rows, limit) = (rows_of(file.as_deref()), in_words(*limit));
                message!(
                    ["program"],
                    " {program} has no answer for {rows} (it failed, printed {nothing}, or took longer than {limit}), so nothing is \
                     charged; give it rows that you made up with ",
                    ["trial"],
                    " FILE, or say with ",
                    ["default"],
                    " VALUE what counts for a block without an answer"
                )
            }
            Self::Request(message) => message.clone(),
            Self::TrialColumns { .. } => message!(["trial"], " {self}"),
            Self::Scratch { .. } => message!("set TMPDIR to a directory that can be written: {self}"),
            Self::Core(error) => error.message(),
            other => other.to_string().into(),
        }
    }
}

/// Why a program cannot be run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramFault {
    /// It was named without a slash, and is not in the runs' `PATH`.
    NotInPath {
        /// Whether the working directory has a file of this name.
        here: bool,
    },
    /// The system does not let us read it.
    Unreadable(String),
    /// It is a folder, or something else that is not a file.
    NotAFile,
    /// Its permissions do not allow it to be run.
    NotExecutable,
    /// Its first line is `#!` and nothing else.
    NoInterpreter,
    /// The interpreter in its first line does not exist.
    InterpreterMissing(String),
    /// The interpreter that `env` should find is not in the runs' `PATH`.
    InterpreterNotInPath(String),
}

impl ProgramFault {
    /// The error message for a program of this name.
    pub fn of(&self, program: &str) -> String {
        match self {
            Self::NotInPath { here } => {
                let hint = if *here { format!("; write ./{program} for the file here") } else { String::new() };
                format!("{program} is not in the runs' PATH, {PATH}{hint}")
            }
            Self::Unreadable(reason) => format!("{program} cannot be used: {reason}"),
            Self::NotAFile => format!("{program} is not a file"),
            Self::NotExecutable => format!("{program} is not executable; run chmod +x {program}"),
            Self::NoInterpreter => format!("{program} has an empty #! line"),
            Self::InterpreterMissing(name) => format!("{program} asks for {name}, which does not exist"),
            Self::InterpreterNotInPath(name) => format!(
                "{program} asks for {name}, which is not in the runs' PATH, {PATH}; write its full path after #!"
            ),
        }
    }
}

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableFault {
    /// The system does not let us read it.
    Unreadable(String),
    /// It is a folder.
    Directory,
    /// Its first line is empty or missing.
    NoHeader,
    /// Its format has no header.
    FormatWithoutColumns,
    /// Its format is not CSV, and the file is not valid in that format.
    Format(String),
    /// It has no such column.
    NoColumn {
        /// The column.
        column: String,
        /// The column that may have been meant.
        nearest: Option<String>,
    },
    /// Several columns have this name.
    SeveralColumns {
        /// The column.
        column: String,
    },
}

impl TableFault {
    /// The error message for a table of this name.
    fn of(&self, table: &str) -> String {
        match self {
            Self::Unreadable(reason) => format!("cannot read {table}: {reason}"),
            Self::Directory => format!("{table} is a directory; name a file"),
            Self::NoHeader => format!("{table} has no header; its first line must name the columns"),
            Self::FormatWithoutColumns => {
                format!("{table} has no header, so a run would not know its columns; make it CSV or Parquet")
            }
            Self::Format(reason) => reason.clone(),
            Self::NoColumn { column, nearest: Some(nearest) } => {
                format!("{table} has no column {column}; is it {nearest}?")
            }
            Self::NoColumn { column, nearest: None } => {
                format!("{table} has no column {column}; its first line must name the columns")
            }
            Self::SeveralColumns { column } => {
                format!("{table} has several columns {column}; their names must differ")
            }
        }
    }
}

/// The rows of a trial, in words.
fn rows_of(file: Option<&Path>) -> String {
    match file {
        Some(file) => format!("the rows in {}", file.display()),
        None => format!("{ROWS} rows of integers, nor for an empty table"),
    }
}
