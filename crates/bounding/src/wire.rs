//! Serialisation of jobs and parts, for work in another process.
//!
//! The first byte is the version of the format, the rest is [`postcard`]'s. Reading arbitrary bytes gives a value or an
//! error, and allocates no more memory than a small multiple of their length.
//!
//! # Privacy
//! Both sides see the bytes. The checks on reading protect against accidents, not against a planner that requests other
//! statistics than it should.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{Field, Schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::choice::ChoiceKey;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::keys::{Keys, PublicKeys};
use crate::kind::{Kind, column_of_texts};
use crate::layout::{ContributionCaps, Layout};
use crate::totals::Sums;

/// Increases with every change to the meaning of the bytes, and to the rules by which rows are cut, converted, chosen
/// and added up: one query follows one set of rules.
const VERSION: u8 = 3;

/// Serialises a value.
///
/// # Errors
/// If part of it cannot be serialised, such as a path that is not UTF-8.
pub fn write<T: Serialize>(what: &str, value: &T) -> Result<Vec<u8>> {
    postcard::to_extend(value, vec![VERSION])
        .map_err(|error| Error::Bytes(format!("{what} cannot be written: {error}")))
}

/// Reads the bytes written by [`write()`].
///
/// # Errors
/// If the bytes are invalid; the text says that `what` cannot be read.
pub fn read<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<T> {
    let broken = |why: String| Error::Bytes(format!("{what} cannot be read: {why}"));
    let Some((&version, rest)) = bytes.split_first() else { return Err(broken("no bytes".to_owned())) };
    if version != VERSION {
        return Err(broken(format!("it is of version {version}, not {VERSION}; run the same release everywhere")));
    }
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        Ok((_, rest)) => Err(broken(format!("{} bytes too many", rest.len()))),
        Err(error) => Err(broken(error.to_string())),
    }
}

/// A column.
#[derive(Serialize, Deserialize)]
enum Cells {
    /// As returned by [`Kind::words`].
    Words(Kind, Vec<Option<u64>>),
    Texts(Vec<Option<String>>),
}

impl Cells {
    fn of(column: &ArrayRef) -> Result<Self> {
        match Kind::of(column.data_type()).filter(|kind| kind.can_group()) {
            None => Err(Error::Bytes(format!("a column of type {} cannot be written", column.data_type()))),
            Some(Kind::Text) => {
                Ok(Self::Texts(column.as_string_view().iter().map(|text| text.map(str::to_owned)).collect()))
            }
            Some(kind) => {
                let mut words = Vec::new();
                kind.words(column, &mut words);
                let cell = |(row, word)| column.is_valid(row).then_some(word);
                Ok(Self::Words(kind, words.into_iter().enumerate().map(cell).collect()))
            }
        }
    }

    fn into_column(self) -> ArrayRef {
        match self {
            Self::Words(kind, words) => kind.column_of_words(words.into_iter()),
            Self::Texts(texts) => column_of_texts(texts.iter().map(Option::as_deref)),
        }
    }
}

const JOB: &str = "a bounding job";

#[derive(Serialize, Deserialize)]
struct JobBytes {
    columns: Vec<(String, Kind)>,
    layout: Layout,
    caps: Option<ContributionCaps>,
    keys: Option<Vec<Cells>>,
    choice: ChoiceKey,
}

pub(crate) fn write_job(job: &Job) -> Result<Vec<u8>> {
    let unknown = |field: &Field| Error::Bytes(format!("{JOB} cannot be written: `{}` has no such type", field.name()));
    let column = |field: &Arc<Field>| match Kind::of(field.data_type()) {
        Some(kind) => Ok((field.name().clone(), kind)),
        None => Err(unknown(field)),
    };
    let cells = |keys: &PublicKeys| keys.columns.iter().map(Cells::of).collect::<Result<_>>();
    let bytes = JobBytes {
        columns: job.schema.fields().iter().map(column).collect::<Result<_>>()?,
        layout: job.layout.clone(),
        caps: job.caps,
        keys: job.keys.as_ref().map(cells).transpose()?,
        choice: job.choice.clone(),
    };
    write(JOB, &bytes)
}

pub(crate) fn read_job(bytes: &[u8]) -> Result<Job> {
    let JobBytes { columns, layout, caps, keys, choice } = read(JOB, bytes)?;
    let field = |(name, kind): (String, Kind)| Field::new(name, kind.data_type(), true);
    let schema = Arc::new(Schema::new(columns.into_iter().map(field).collect::<Vec<_>>()));
    let keys = keys.map(|columns| PublicKeys { columns: columns.into_iter().map(Cells::into_column).collect() });
    Ok(Job { schema, layout, caps, keys, choice })
}

const PART: &str = "a part of the statistics";

#[derive(Serialize, Deserialize)]
struct PartBytes {
    keys: Vec<Cells>,
    items: Vec<Option<Cells>>,
    sums: Sums,
}

/// The contents of a part's bytes, of which only the types and lengths of keys have been checked.
pub(crate) struct Told {
    pub keys: Vec<ArrayRef>,
    pub items: Vec<Option<ArrayRef>>,
    pub sums: Sums,
}

pub(crate) fn write_part(keys: &[ArrayRef], items: &[Option<ArrayRef>], sums: Sums) -> Result<Vec<u8>> {
    let keys = keys.iter().map(Cells::of).collect::<Result<_>>()?;
    let items = items.iter().map(|items| items.as_ref().map(Cells::of).transpose()).collect::<Result<_>>()?;
    write(PART, &PartBytes { keys, items, sums })
}

pub(crate) fn read_part(bytes: &[u8], keys: &Keys) -> Result<Told> {
    let told: PartBytes = read(PART, bytes)?;
    let columns: Vec<ArrayRef> = told.keys.into_iter().map(Cells::into_column).collect();
    if !keys.suit(&columns) {
        return Err(Error::Bytes(format!("{PART} cannot be read: it has other keys than the job")));
    }
    let items = told.items.into_iter().map(|items| items.map(Cells::into_column)).collect();
    Ok(Told { keys: columns, items, sums: told.sums })
}
