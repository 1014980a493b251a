//! The rows of a table.

use std::fmt::{self, Debug, Formatter};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use tokio_postgres::CopyOutStream;

use super::decode::Decoder;
use super::session::{Connection, Database};
use crate::Broken;
use crate::request::Column;

/// A batch that is not full is handed on after this long, even if it is empty, so that whoever waits for rows can stop.
const TICK: Duration = Duration::from_millis(250);
/// No part has fewer blocks, unless the table does: 8 MiB, as blocks are usually.
const SMALLEST_PART: i64 = 1024;

/// A table of a database, to be read in parts: ranges of blocks, each from a connection of its own.
#[derive(Clone)]
pub struct Rows {
    database: Arc<Database>,
    table: usize,
    parts: usize,
    /// The first block of every part after the first that reads anything, determined when the first of them is read.
    cuts: Arc<OnceLock<Option<Vec<u32>>>>,
}

impl Rows {
    pub fn new(database: Arc<Database>, table: usize, most: usize) -> Self {
        let parts = if database.relation(table).has_ranges { most } else { 1 };
        Self { database, table, parts, cuts: Arc::default() }
    }

    /// How many parts there are at most.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// The rows of a part; `None` if it has none.
    pub fn read(&self, part: usize, columns: &[Column], schema: SchemaRef) -> Result<Option<Batches>, Broken> {
        let relation = self.database.relation(self.table);
        let mut connection = None;
        let cuts = self.cuts.get_or_init(|| {
            if self.parts == 1 {
                return Some(Vec::new());
            }
            let opened = self.database.connection().ok()?;
            let blocks = blocks(&opened, &relation.stored).ok()?;
            connection = Some(opened);
            let parts = (blocks / SMALLEST_PART).clamp(1, i64::try_from(self.parts).unwrap_or(1));
            (1..parts).map(|part| u32::try_from(blocks * part / parts).ok()).collect()
        });
        let cuts = cuts.as_ref().ok_or(Broken)?;
        if part > cuts.len() {
            if let Some(connection) = connection {
                self.database.keep(connection);
            }
            return Ok(None);
        }
        let connection = connection.map_or_else(|| self.database.connection(), Ok)?;
        let found = |column: &Column| relation.attribute(&column.name).ok_or(Broken);
        let found = columns.iter().map(found).collect::<Result<Vec<_>, _>>()?;
        let attributes: Vec<_> = found.iter().map(|(attribute, _)| *attribute).collect();
        let kinds: Vec<_> = found.iter().zip(columns).map(|((_, kind), column)| (*kind, column.form)).collect();
        // The last part has all blocks that are left, also those that the table has gained.
        let first = if part == 0 { 0 } else { cuts[part - 1] };
        let statement = relation.copy(&attributes, (first, cuts.get(part).copied()));
        let decoder = Decoder::new(&kinds, schema)?;
        let stream = connection.block_on(connection.client().copy_out(&statement)).map_err(|_| Broken)?;
        let copying = Copying { stream: Box::pin(stream), connection, database: self.database.clone() };
        Ok(Some(Batches { copying: Some(copying), decoder }))
    }
}

impl Debug for Rows {
    /// Omits where the table is cut, which depends on its rows.
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} parts of {:?}", self.parts, self.database.relation(self.table).quoted())
    }
}

/// The number of blocks of the largest of these tables.
fn blocks(connection: &Connection, tables: &[u32]) -> Result<i64, Broken> {
    let sql = "SELECT coalesce(max(pg_catalog.pg_relation_size(oid)
            / pg_catalog.current_setting('block_size')::pg_catalog.int8), 0)::pg_catalog.int8
        FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS t(oid)";
    let row = connection.block_on(connection.client().query_one(sql, &[&tables])).map_err(|_| Broken)?;
    row.try_get(0).map_err(|_| Broken)
}

struct Copying {
    stream: Pin<Box<CopyOutStream>>,
    connection: Connection,
    database: Arc<Database>,
}

/// Batches of rows, of which some may be empty.
pub struct Batches {
    /// `None` at the end.
    copying: Option<Copying>,
    decoder: Decoder,
}

impl Batches {
    fn advance(&mut self) -> Result<Option<RecordBatch>, Broken> {
        let Some(Copying { stream, connection, .. }) = &mut self.copying else { return Ok(None) };
        let decoder = &mut self.decoder;
        let received = async {
            while !decoder.is_full() {
                match stream.next().await {
                    Some(bytes) => decoder.add(&bytes.map_err(|_| Broken)?)?,
                    None => return Ok(true),
                }
            }
            Ok(false)
        };
        // Nothing is lost if it is interrupted: only waiting for the next row can be.
        let received = connection.block_on(async { tokio::time::timeout(TICK, received).await });
        if received.unwrap_or(Ok(false))? {
            if !self.decoder.is_complete() {
                return Err(Broken);
            }
            if let Some(Copying { stream, connection, database }) = self.copying.take() {
                drop(stream);
                database.keep(connection);
            }
        }
        self.decoder.take().map(Some)
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
