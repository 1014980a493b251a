//! Errors: what went wrong, and what to write instead.

use reticent::error::{Class, Explained};
use reticent::message;
use reticent::message::Message;

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
        reason: Message,
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
        why: Message,
    },
    /// Valid SQL that is not supported, whether or not it could be answered privately.
    #[error("{what} is not supported: {why}")]
    Unsupported {
        /// The user's own words.
        what: String,
        /// What to write instead.
        why: Message,
    },
    /// It can be answered privately, but not by several parties together.
    #[error("{what} cannot be answered by several parties together: {why}")]
    NotJoint {
        /// The user's own words.
        what: Message,
        /// The reason, and what to write instead.
        why: Message,
    },
    /// A column that is summed or ranked has no clamping bounds.
    #[error("{}", self.message())]
    Bounds {
        /// The user's own expression.
        column: String,
    },
    /// The query exceeds a limit.
    #[error(transparent)]
    TooLarge(#[from] crate::algebra::TooLarge),
    /// An option is wrong or missing.
    #[error("{0}")]
    Option(Message),
    /// A mechanism's parameters are out of range.
    #[error(transparent)]
    Mechanism(#[from] reticent::Error),
    /// Too much is computed from the released values. It depends on them alone.
    #[error(
        "the answer is too large: ask for fewer groups, or join fewer rows with the released values; what was charged stays charged"
    )]
    AnswerTooLarge,

    /// What the ledger stored for the request is something else.
    #[error("the stored outcome of this request is not the answer to a query")]
    NotAnAnswer,
    /// The rows could not be read to the end. The text is always the same, since the reason may depend on the rows.
    #[error("the table could not be read to its end; what was charged stays charged")]
    Reading,
}

impl Error {
    /// A problem with a table.
    pub(crate) fn table(table: &str, reason: impl Into<Message>) -> Self {
        Self::Table { table: table.into(), reason: reason.into() }
    }

    /// A query that has no private form.
    pub(crate) fn not_private(what: impl Into<String>, why: impl Into<Message>) -> Self {
        Self::NotPrivate { what: what.into(), why: why.into() }
    }

    /// Unsupported SQL.
    pub(crate) fn unsupported(what: impl Into<String>, why: impl Into<Message>) -> Self {
        Self::Unsupported { what: what.into(), why: why.into() }
    }

    /// A query that parties cannot answer together.
    pub(crate) fn not_joint(what: impl Into<Message>, why: impl Into<Message>) -> Self {
        Self::NotJoint { what: what.into(), why: why.into() }
    }

    /// An option that is wrong or missing.
    pub(crate) fn option(message: impl Into<Message>) -> Self {
        Self::Option(message.into())
    }
}

impl Explained for Error {
    fn class(&self) -> Class {
        match self {
            Self::Reading | Self::AnswerTooLarge | Self::NotAnAnswer => Class::Machine,
            // A failing source of randomness is the machine's fault.
            Self::Mechanism(error @ reticent::Error::Entropy(_)) => error.class(),
            _ => Class::Request,
        }
    }

    fn message(&self) -> Message {
        let about = |before: &str, what: &str, between: &str, why: &Message| {
            let text = message!("{before}{what}{between}");
            text.into_iter().chain(why.clone()).collect()
        };
        match self {
            Self::Table { table, reason } => about("table ", table, ": ", reason),
            Self::NotPrivate { what, why } => about("", what, " cannot be answered privately: ", why),
            Self::Unsupported { what, why } => about("", what, " is not supported: ", why),
            Self::NotJoint { what, why } => {
                let between: Message = " cannot be answered by several parties together: ".into();
                what.clone().into_iter().chain(between).chain(why.clone()).collect()
            }
            Self::Bounds { column } => {
                message!(
                    "{column} needs bounds, chosen without looking at the data: add ",
                    ["bounds"],
                    " {column}=LO..HI"
                )
            }
            Self::Option(message) => message.clone(),
            Self::Mechanism(error) => error.message(),
            other => other.to_string().into(),
        }
    }
}

impl From<reticent_table::Error> for Error {
    fn from(error: reticent_table::Error) -> Self {
        match error {
            reticent_table::Error::Table { table, reason } => Self::Table { table, reason: reason.into() },
            reticent_table::Error::Utf16 { table, file } => {
                let reason =
                    message!("{file} is text in UTF-16; choose ", ["encoding"], " utf-16, or save it in UTF-8");
                Self::Table { table, reason }
            }
            other => Self::option(other.to_string()),
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
