//! Where entries are stored: the interface between a ledger's rules and what makes them durable.
//!
//! | module | holds |
//! |---|---|
//! | `sqlite` | [`Sqlite`]: one file, several processes |
//! | `postgres` | one database, several machines; with the feature of that name |
//! | `location` | the text form of a ledger's location |

pub(crate) mod location;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;

#[cfg(feature = "postgres")]
pub use postgres::Postgres;
pub use sqlite::Sqlite;

use crate::entry::Row;
use crate::error::Result;
use crate::run::Holder;

/// Stores rows.
pub trait Storage: Send {
    /// Runs `work` with all other writers excluded. When this returns `Ok`, the appended rows are durable; otherwise
    /// either all or none of them were written.
    ///
    /// # Errors
    /// Those of `work`, in which case nothing is written; [`Error::Storage`](crate::Error::Storage) if the disk or the
    /// server fails.
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()>;

    /// Runs `work` on a consistent snapshot of what is durable.
    ///
    /// # Errors
    /// Those of `work`; [`Error::Storage`](crate::Error::Storage) if the disk or the server fails.
    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()>;

    /// Makes a write that changes nothing, to see whether writing works again after a failure.
    ///
    /// # Errors
    /// As for [`Storage::write`].
    fn try_writing(&mut self) -> Result<()>;

    /// What the storage itself finds wrong with its files or tables, in words.
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
    /// The newest row that charged a dataset under these terms.
    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>>;
    /// The newest row for each set of terms under which a dataset was charged, without reading the others.
    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>>;
    /// The row that recorded the release of a charge, and the release.
    fn release(&mut self, charge: u64) -> Result<Option<(Row, String)>>;
    /// Holds a lock, from now on until the storage is dropped or this process ends, in whatever way; does nothing if it is
    /// held already. A storage holds one at a time.
    fn hold(&mut self, holder: Holder) -> Result<()>;
    /// Whether a process holds this lock.
    fn is_held(&mut self, holder: Holder) -> Result<bool>;
    /// Appends a row, and the release that it records.
    fn append(&mut self, row: &Row, release: Option<&str>) -> Result<()>;
}

/// A fault: a row that reading from the first entry never reaches.
fn numbered_before_the_first(number: i64) -> String {
    format!("a row is numbered {number}, before the first entry: it was inserted by hand")
}

/// A fault: a release without an entry.
fn release_without_entry(number: i64) -> String {
    format!("there is a release for entry {number}, which does not keep one")
}
