//! The format of a data directory's SQLite file.

pub(crate) use reticent_durable::{Access, Database};
use reticent_durable::{Form, Journal};

use crate::error::Error;

/// "RtSt": SQLite's application id, which marks the file as ours.
const APPLICATION: i64 = 0x5274_5374;
const VERSION: i64 = 1;
/// The counters of ten thousand keys are megabytes, written as a whole at the end of every step: fewer and larger
/// pages.
const PAGE_BYTES: u32 = 16 << 10;
/// How much of the file is cached, in KiB: what one step of ten thousand keys writes, and little more, since pages of
/// old releases would fill the rest.
const CACHE: u16 = 8 << 10;

const SCHEMA: &str = "
CREATE TABLE stream (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL, caller TEXT NOT NULL,
    request TEXT NOT NULL, ledger_head INTEGER NOT NULL, entry INTEGER, created INTEGER, id_key BLOB NOT NULL) STRICT;
CREATE TABLE checkpoint (stream INTEGER PRIMARY KEY, state BLOB NOT NULL) STRICT;
CREATE TABLE journal (number INTEGER PRIMARY KEY, stream INTEGER NOT NULL, sums BLOB NOT NULL) STRICT;
CREATE INDEX journal_of ON journal (stream);
CREATE TABLE seen (number INTEGER PRIMARY KEY, stream INTEGER NOT NULL, step INTEGER NOT NULL, ids BLOB NOT NULL) STRICT;
CREATE INDEX seen_in ON seen (stream, step);
CREATE TABLE source (
    stream INTEGER NOT NULL, name TEXT NOT NULL, position BLOB NOT NULL, PRIMARY KEY (stream, name)) STRICT, WITHOUT ROWID;
CREATE TABLE shown_key (
    stream INTEGER NOT NULL, place INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (stream, place)) STRICT, WITHOUT ROWID;
CREATE TABLE release (
    stream INTEGER NOT NULL, step INTEGER NOT NULL, closed INTEGER NOT NULL, half_width REAL NOT NULL,
    variance REAL NOT NULL, numbers BLOB NOT NULL, PRIMARY KEY (stream, step)) STRICT;
";

/// The file's format.
pub(crate) const FORM: Form = Form {
    application: APPLICATION,
    version: VERSION,
    schema: SCHEMA,
    journal: Journal::TidiedLog { page_bytes: PAGE_BYTES, cache_kib: CACHE },
};

reticent_durable::from_failure!(Error);

/// A failed statement.
pub(crate) fn failed(error: rusqlite::Error) -> Error {
    Error::storage("written", error)
}
