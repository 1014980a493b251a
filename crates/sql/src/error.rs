//! Errors: what went wrong, and what to write instead.

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Errors of this crate. No text depends on the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A problem with a table that does not depend on its rows: no such file, no header, a column with two types.
    #[error("table {table}: {reason}")]
    Table {
        /// The user's name for the table.
        table: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The text is not SQL, or not a single query.
    #[error("invalid query: {0}")]
    Syntax(String),
    /// No such table, column or function, or mismatched types.
    #[error("{0}")]
    Name(String),
    /// Valid SQL, but no noise would hide one unit in its answer.
    #[error("{what} cannot be answered privately: {why}")]
    NotPrivate {
        /// The user's own words.
        what: String,
        /// The reason, and what to write instead.
        why: String,
    },
    /// Valid SQL that is not supported, whether or not it could be answered privately.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The user's own words.
        what: String,
        /// What to write instead.
        why: String,
    },
    /// It can be answered privately, but not by several parties together.
    #[error("{what} cannot be answered by several parties together: {why}")]
    NotJoint {
        /// The user's own words.
        what: String,
        /// The reason, and what to write instead.
        why: String,
    },
    /// A column that is summed or ranked has no clamping bounds.
    #[error("{column} needs bounds, chosen without looking at the data: add --bounds {column}=LO..HI")]
    Bounds {
        /// The user's own expression.
        column: String,
    },
    /// The query exceeds a limit.
    #[error(transparent)]
    TooLarge(#[from] crate::algebra::TooLarge),
    /// An option is wrong or missing.
    #[error("{0}")]
    Option(String),
    /// A mechanism's parameters are out of range.
    #[error(transparent)]
    Mechanism(#[from] reticent::Error),
    /// The rows could not be read to the end. The text is always the same, since the reason may depend on the rows.
    #[error("the table could not be read to its end; what was charged stays charged")]
    Reading,
}

impl Error {
    /// A problem with a table.
    pub(crate) fn table(table: &str, reason: impl Into<String>) -> Self {
        Self::Table { table: table.into(), reason: reason.into() }
    }

    /// A query that has no private form.
    pub(crate) fn not_private(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NotPrivate { what: what.into(), why: why.into() }
    }

    /// Unsupported SQL.
    pub(crate) fn unsupported(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), why: why.into() }
    }

    /// A query that parties cannot answer together.
    pub(crate) fn not_joint(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NotJoint { what: what.into(), why: why.into() }
    }

    /// Whether the request is at fault, rather than the machine.
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Reading)
    }
}

impl From<reticent_table::Error> for Error {
    fn from(error: reticent_table::Error) -> Self {
        match error {
            reticent_table::Error::Table { table, reason } => Self::Table { table, reason },
            other => Self::Option(other.to_string()),
        }
    }
}

/// The message for an unknown name, with the closest known one.
pub(crate) fn no_such(kind: &str, name: &str, known: &[&str]) -> String {
    let close = |other: &&&str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let nearest = known.iter().min_by_key(close).filter(|other| close(other) <= 1 + name.len() / 3);
    match nearest {
        Some(nearest) => format!("there is no {kind} {name}; did you mean {nearest}?"),
        None if known.is_empty() => format!("there is no {kind} {name}"),
        None => format!("there is no {kind} {name}; there are {}", known.join(", ")),
    }
}
