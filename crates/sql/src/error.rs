//! What can go wrong, and what to write instead.

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong. No text depends on the rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A fact about a table that lies outside its rows: no such file, no header, a column with two types.
    #[error("table {table}: {reason}")]
    Table {
        /// The user's name of the table.
        table: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The text is not SQL, or not one query.
    #[error("the SQL cannot be read: {0}")]
    Syntax(String),
    /// No such table, column or function, or types that do not fit.
    #[error("{0}")]
    Name(String),
    /// It is SQL, but cannot be answered privately.
    #[error("{what} cannot be answered privately: {why}")]
    NotPrivate {
        /// The user's own words.
        what: String,
        /// The reason, and what to write instead.
        why: String,
    },
    /// It can be answered privately, but not by several parties together.
    #[error("{what} cannot be asked of several parties together: {why}")]
    NotJoint {
        /// The user's own words.
        what: String,
        /// The reason, and what to write instead.
        why: String,
    },
    /// A column that is summed or ranked has no bounds.
    #[error("{column} needs bounds, chosen without looking at the data: add --bounds {column}=LO..HI")]
    Bounds {
        /// The user's own expression.
        column: String,
    },
    /// An option that is wrong or missing.
    #[error("{0}")]
    Option(String),
    /// A mechanism's parameters are out of its range.
    #[error(transparent)]
    Mechanism(#[from] reticent::Error),
    /// The rows could not be read to their end. One text, whatever the reason: it may depend on the rows.
    #[error("the table could not be read to its end; what was charged stays charged")]
    Reading,
}

impl Error {
    /// A table's own fault.
    pub(crate) fn table(table: &str, reason: impl Into<String>) -> Self {
        Self::Table { table: table.into(), reason: reason.into() }
    }

    /// Something that is no private query.
    pub(crate) fn not_private(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NotPrivate { what: what.into(), why: why.into() }
    }

    /// Something that parties cannot be asked together.
    pub(crate) fn not_joint(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::NotJoint { what: what.into(), why: why.into() }
    }

    /// What an error that comes out of a running plan becomes. Below the noise no expression can fail, so only reading
    /// can, and whatever the engine says about it may quote a row.
    pub fn while_reading(_: DataFusionError) -> Self {
        Self::Reading
    }

    /// Is it what the user asked, rather than the machine?
    pub fn is_usage(&self) -> bool {
        !matches!(self, Self::Reading)
    }
}

impl From<Error> for DataFusionError {
    /// So that an error can pass through the engine.
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}

/// What the planner says, in our words; to be used before any row is read.
pub(crate) fn planning(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::SQL(error, _) => Error::Syntax(error.to_string()),
        DataFusionError::SchemaError(error, _) => Error::Name(match error.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let name = &field.name;
                let known: Vec<&str> = valid_fields.iter().map(|field| field.name.as_str()).collect();
                no_such("column", name, &known)
            }
            SchemaError::AmbiguousReference { field } => {
                format!("the column {} is in several tables; write the table before it, as in people.{0}", field.name)
            }
            other => other.to_string(),
        }),
        DataFusionError::Plan(text) | DataFusionError::NotImplemented(text) | DataFusionError::Internal(text) => {
            Error::Name(unfitting(text).unwrap_or_else(|| first_line(text)))
        }
        DataFusionError::Diagnostic(_, inner) | DataFusionError::Context(_, inner) => planning(inner),
        DataFusionError::Collection(errors) => {
            errors.first().map_or_else(|| Error::Name(error.strip_backtrace()), planning)
        }
        other => Error::Name(first_line(&other.strip_backtrace())),
    }
}

/// Types that do not fit a function, without the engine's list of signatures.
fn unfitting(text: &str) -> Option<String> {
    // What our own functions say, without what the engine says around it.
    if let Some((_, own)) = text.split_once("user-defined coercion failed with: Error during planning: ") {
        return own.split(". No function matches").next().map(str::to_owned);
    }
    if !text.contains("failed to match any signature") && !text.contains("Failed to coerce arguments") {
        return None;
    }
    let name = text.split('\'').nth(1)?.to_uppercase();
    let held = if text.contains("String") || text.contains("Utf8") { "text" } else { "such values" };
    Some(format!("{name} cannot be computed of {held}; write CAST(… AS DOUBLE) around a column that holds numbers"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// There is no such thing, and the nearest that there is.
pub(crate) fn no_such(kind: &str, name: &str, known: &[&str]) -> String {
    let close = |other: &&&str| strsim::damerau_levenshtein(&name.to_lowercase(), &other.to_lowercase());
    let nearest = known.iter().min_by_key(close).filter(|other| close(other) <= 1 + name.len() / 3);
    match nearest {
        Some(nearest) => format!("there is no {kind} {name}; did you mean {nearest}?"),
        None if known.is_empty() => format!("there is no {kind} {name}"),
        None => format!("there is no {kind} {name}; there are {}", known.join(", ")),
    }
}
