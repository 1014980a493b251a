//! What one line says.

use anyhow::Result;
use reticent_stream::integer;
use serde::{Deserialize, Serialize};

use super::csv::CsvLine;
use super::{ndjson, timeline};
use crate::exit::usage;

/// How lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// One whole number a line.
    Text,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON object a line.
    Ndjson,
}

impl Input {
    /// Its name as an argument.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Csv => "csv",
            Self::Ndjson => "ndjson",
        }
    }
}

/// Which parts of a line matter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fields {
    /// How lines are written.
    pub input: Input,
    /// Whether a line counts 1 if it says anything, whatever that is.
    pub events: bool,
    /// The name of the value's column; the whole line if there is none.
    pub column: Option<String>,
    /// The name of the time's column.
    pub time: Option<String>,
    /// The name of the key's column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What a line says: everything that cannot be read is 0, or has no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// How much it counts.
    pub value: i64,
    /// When it happened, in milliseconds since 1970.
    pub time: Option<i64>,
    /// Whose it is, if there are keys.
    pub key: Option<Box<str>>,
}

/// Reads lines, each for itself: whatever a line says, it is one record, and changes nothing about the next.
///
/// # Privacy
/// That is what keeps the size of a change bounded: if a line could make others disappear (an open quote in CSV, say), one
/// line would move all later steps.
#[derive(Debug)]
pub enum Parser {
    /// See [`Input::Text`].
    Text {
        /// See [`Fields::events`].
        events: bool,
    },
    /// See [`Input::Csv`].
    Csv {
        /// Takes lines apart.
        line: CsvLine,
        /// See [`Fields::events`].
        events: bool,
        /// The place of the value's column.
        column: Option<usize>,
        /// The place of the time's column.
        time: Option<usize>,
        /// The place of the key's column.
        key: Option<usize>,
    },
    /// See [`Input::Ndjson`].
    Ndjson(Fields),
}

impl Parser {
    /// For lines with these fields; `header` is asked for the first line if there must be one.
    pub fn new(fields: &Fields, name: &str, header: impl FnOnce() -> Result<Option<Vec<u8>>>) -> Result<Self> {
        Ok(match fields.input {
            Input::Text => Self::Text { events: fields.events },
            Input::Ndjson => Self::Ndjson(fields.clone()),
            Input::Csv => {
                let header = header()?.ok_or_else(|| usage(format!("{name} has no header line; CSV needs one")))?;
                if let Some(what) = reticent_sql::foreign_format(&header) {
                    return Err(usage(format!("{name} {what}")));
                }
                let mut line = CsvLine::new();
                line.read(header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&header));
                let mut place = |column: &Option<String>| match column {
                    Some(column) => place(&mut line, column, name).map(Some),
                    None => Ok(None),
                };
                let (column, time, key) = (place(&fields.column)?, place(&fields.time)?, place(&fields.key)?);
                line.erase();
                Self::Csv { line, events: fields.events, column, time, key }
            }
        })
    }

    /// What a line says.
    pub fn record(&mut self, bytes: &[u8]) -> Record {
        match self {
            Self::Text { .. } => Record { value: self.value(bytes), time: None, key: None },
            Self::Csv { line, events, column, time, key } => {
                line.read(bytes);
                let value = match column {
                    Some(place) => line.cell(*place).map_or(0, |cell| value_of(cell, *events)),
                    None => i64::from(line.cells() > 0),
                };
                let time = time.and_then(|place| line.cell(place)).and_then(timeline::parse);
                let key = key.and_then(|place| line.cell(place)).and_then(|cell| std::str::from_utf8(cell).ok());
                Record { value, time, key: key.map(Into::into) }
            }
            Self::Ndjson(fields) => ndjson::record(fields, bytes),
        }
    }

    /// The value of a line alone.
    #[inline]
    pub fn value(&mut self, bytes: &[u8]) -> i64 {
        match self {
            Self::Text { events } => value_of(bytes, *events),
            _ => self.record(bytes).value,
        }
    }

    /// Forgets the last line.
    pub fn erase(&mut self) {
        if let Self::Csv { line, .. } = self {
            line.erase();
        }
    }
}

/// What a text counts: the number that it says, or 1 if it says anything.
#[inline]
fn value_of(text: &[u8], events: bool) -> i64 {
    if events { i64::from(!text.trim_ascii().is_empty()) } else { integer::parse(text).unwrap_or(0) }
}

/// The place of a column. The other names are not shown: a file without a header has a row in this place.
fn place(line: &mut CsvLine, column: &str, name: &str) -> Result<usize> {
    let mut places = (0..line.cells()).filter(|&place| line.cell(place) == Some(column.as_bytes()));
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(usage(format!("{name} has no column {column}; its first line must name the columns"))),
        (Some(_), Some(_)) => Err(usage(format!("{name} has several columns {column}; their names must differ"))),
    }
}
