//! Where entries are kept: the seam between the rules of a ledger and what makes it durable.
//!
//! | module | holds |
//! |---|---|
//! | [`sqlite`] | one file, several processes |
//! | `postgres` | one database, several machines; behind the feature of this name |
//! | `location` | how a place is written |

pub mod location;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod sqlite;

use crate::entry::Row;
use crate::error::Result;

/// Keeps rows.
pub trait Storage: Send {
    /// Runs `work` while nobody else writes. When this returns `Ok`, what was appended is durable; otherwise it may be there
    /// or not, but all of it or nothing.
    ///
    /// # Errors
    /// Those of `work`, after which nothing is written; [`Error::Storage`](crate::Error::Storage) if the disk or the server
    /// fails.
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()>;

    /// Runs `work` on what was durable at one moment.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Storage`](crate::Error::Storage) if the disk or the server fails.
    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()>;

    /// Writes, and changes nothing: after a failure, can it be written to again?
    ///
    /// # Errors
    /// As [`Storage::write`].
    fn try_writing(&mut self) -> Result<()>;

    /// What the storage itself finds wrong with its files, in words.
    ///
    /// # Errors
    /// [`Error::Storage`](crate::Error::Storage) if they cannot be read.
    fn faults(&mut self) -> Result<Vec<String>>;
}

/// The rows, within one transaction.
pub trait Pages {
    /// The newest row.
    fn last(&mut self) -> Result<Option<Row>>;
    /// A row by its number.
    fn row(&mut self, number: u64) -> Result<Option<Row>>;
    /// Up to `most` rows with numbers greater than `after`, in order.
    fn rows(&mut self, after: u64, most: u32) -> Result<Vec<Row>>;
    /// The row that registered a dataset.
    fn registration(&mut self, dataset: &str) -> Result<Option<Row>>;
    /// All rows that registered datasets, in order.
    fn registrations(&mut self) -> Result<Vec<Row>>;
    /// The row that charged a request.
    fn charge(&mut self, dataset: &str, request: &str) -> Result<Option<Row>>;
    /// The newest row that charged a dataset under such terms.
    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>>;
    /// The newest row of each of the terms under which a dataset was charged, without a look at the others.
    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>>;
    /// The row that kept the release of a charge, and the release.
    fn release(&mut self, charge: u64) -> Result<Option<(Row, String)>>;
    /// Adds a row after the last, and the release that it keeps.
    fn append(&mut self, row: &Row, release: Option<&str>) -> Result<()>;
}

/// A fault: a row that reading from the first entry on never meets.
fn numbered_before_the_first(number: i64) -> String {
    format!("a row is numbered {number}, before the first entry: it was put there")
}

/// A fault: a release that belongs to nothing.
fn release_without_entry(number: i64) -> String {
    format!("there is a release for entry {number}, which keeps none")
}
