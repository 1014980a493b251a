//! Tables of PostgreSQL databases, version 12 or later.
//!
//! A table is opened from the catalogue alone: its kind, and the names and types of its columns. Its rows are read with
//! `COPY (SELECT …) TO STDOUT (FORMAT BINARY)`, in one read-only snapshot for all tables of a query and every time that
//! they are read.
//!
//! # Privacy
//! What the server computes must not be able to fail because of a row, nor depend on rows in any other way:
//! - Only columns are pushed down, never conditions or functions of a query. The one exception is the length of a text
//!   or of bytes, which is total: a longer cell than any that can be used is NULL before it is sent, so that one row
//!   never takes more memory than 64 KiB for each column that was asked for. (`octet_length` reads the header of a value
//!   and no more; `char` without a small limit is cast to text before, which only removes its padding.)
//! - Only tables, partitioned tables and materialised views are read. A view, a foreign table, a column that is
//!   computed when it is read, or row-level security would run expressions of others on the rows.
//! - The database must be encoded in UTF-8, because a conversion could fail.
//! - Sizes and statistics of the tables are not looked at when a table is opened. Once rows are read, the number of
//!   blocks decides how they are divided.
//!
//! Whatever goes wrong after a table has been opened is [`Broken`](crate::Broken), including a table that has been
//! altered since.

mod catalogue;
mod decode;
mod identity;
mod numeric;
mod read;
mod session;

use std::sync::Arc;

use reticent_postgres::Address;

use self::catalogue::Relation;
pub use self::read::Rows;
use self::session::{Connection, Database};
use crate::DatabaseTable;
use crate::typed::Columns;

/// A table of a database, opened.
#[derive(Debug)]
pub struct Opened {
    pub columns: Columns,
    pub identity: DatabaseTable,
    pub place: Place,
}

/// Where the rows of a table are.
#[derive(Debug, Clone)]
pub struct Place {
    database: Arc<Database>,
    /// Which of the database's tables it is.
    table: usize,
}

/// Opens the table that a URL names. The error contains no password.
pub fn open(url: &str) -> Result<Opened, String> {
    let (address, table) = Address::parse_with_table(url).map_err(|error| error.to_string())?;
    let Some(table) = table else {
        return Err("it names no table; end the URL with ?table=SCHEMA.TABLE".to_owned());
    };
    let (schema, table) = identity::parse(&table)?;
    let connection = Connection::to_look(&address)?;
    let (relation, identity) = connection.block_on(catalogue::open(connection.client(), &schema, &table))?;
    let columns = relation.columns()?;
    let database = Database::new(address, identity.database().to_owned(), vec![relation]);
    Ok(Opened { columns, identity, place: Place { database: Arc::new(database), table: 0 } })
}

impl Place {
    /// The rows, to be read in at most this many parts.
    pub fn rows(&self, most: usize) -> Rows {
        Rows::new(self.database.clone(), self.table, most)
    }

    /// Makes all tables of one database share a snapshot. The error says which of them, by its place, is reached in
    /// another way than the first.
    pub fn share(places: &mut [&mut Self]) -> Result<(), usize> {
        let mut shared: Vec<(Arc<Database>, Vec<usize>)> = Vec::new();
        for (number, place) in places.iter().enumerate() {
            match shared.iter_mut().find(|(database, _)| database.is(&place.database)) {
                None => shared.push((place.database.clone(), vec![number])),
                Some((database, _)) if !database.is_reached_like(&place.database) => return Err(number),
                Some((_, numbers)) => numbers.push(number),
            }
        }
        for (database, numbers) in shared.iter().filter(|(_, numbers)| numbers.len() > 1) {
            let relations = numbers.iter().map(|&number| places[number].relation().clone()).collect();
            let together = Arc::new(database.with(relations));
            for (table, &number) in numbers.iter().enumerate() {
                *places[number] = Self { database: together.clone(), table };
            }
        }
        Ok(())
    }

    fn relation(&self) -> &Relation {
        self.database.relation(self.table)
    }
}
