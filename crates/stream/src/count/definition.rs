//! What is read from a line, and how lines become steps.

use std::str::FromStr;

use reticent::continual::{Stream, Unit};
use reticent::privacy::Adjacency;
use serde::{Deserialize, Serialize};

use super::error::{Error, Result};
use crate::timeline::Timeline;

/// How lines become steps: what is saved with a counter besides its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// What is read from a line.
    pub fields: Fields,
    /// Time steps; `None` if every line is a step.
    pub timeline: Option<Timeline>,
}

/// Which parts of a line matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fields {
    /// The input format.
    pub input: Input,
    /// Whether every nonempty line (or cell) counts as 1.
    pub events: bool,
    /// The column of the value; `None` if the whole line is the value.
    pub column: Option<String>,
    /// The column of the time.
    pub time: Option<String>,
    /// The column of the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The input format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// One integer per line.
    Text,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object per line.
    Ndjson,
    /// A Parquet file, one row per line.
    Parquet,
    /// An Arrow file, one row per line.
    Arrow,
}

impl Input {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Text, Self::Csv, Self::Ndjson, Self::Parquet, Self::Arrow];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }

    /// The format that a file extension, in lower case, stands for, if any.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "csv" => Some(Self::Csv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "parquet" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            _ => None,
        }
    }

    /// Whether its columns have types. Such a file is read from its end, and cannot be a pipe.
    pub fn is_typed(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow)
    }
}

impl FromStr for Input {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || Error::Parameter {
            parameter: "input",
            value: text.into(),
            allowed: "text, csv, ndjson, parquet or arrow",
        };
        Self::ALL.into_iter().find(|input| input.name() == text).ok_or_else(wrong)
    }
}

impl Definition {
    /// Whether there is one counter per key.
    pub fn keyed(&self) -> bool {
        self.fields.key.is_some()
    }

    /// How much one line or event counts in a stream: see [`Stream::clamp`].
    pub fn admit(&self, stream: &Stream, value: i64) -> i64 {
        let one_unit = match self.timeline {
            // A time step is a sum of events. If the step is the unit, the counter clamps the sum.
            Some(_) => stream.unit() != Unit::Step,
            // A line is one value, unless the user declares it to be a sum of events.
            None => stream.adjacency() == Adjacency::Replace || stream.unit() == Unit::Step,
        };
        if one_unit { stream.clamp(value) } else { value }
    }
}
