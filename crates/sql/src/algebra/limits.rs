//! Limits on the size of a request, checked before anything recursive runs.

use std::time::{Duration, Instant};

use reticent_bounding::Interrupt;

use super::data::Data;

/// How long preparing a query may take, with its public tables, and what is made of released values: neither costs any
/// budget, so nobody must be able to keep a service busy with them.
const LONGEST: Duration = Duration::from_secs(10);

/// The largest request that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of SQL.
    pub bytes: usize,
    /// Tokens of SQL: words, numbers, string literals and signs.
    pub tokens: usize,
    /// Steps of the parser, which reads nested text again for every possible reading of its surroundings.
    pub steps: usize,
    /// Bytes of stack of the parsing thread. A statement can nest as deeply as it has tokens, and walking it takes a
    /// kilobyte or two per level. Memory is only taken from the machine as it is used.
    pub stack: usize,
    /// Nesting depth of expressions and sub-queries.
    pub depth: usize,
    /// Operators and expressions of the algebra; shared ones count once.
    pub nodes: usize,
    /// Patterns of LIKE and regular expressions: each takes up to a few megabytes.
    pub patterns: usize,
    /// SELECTs, joins and UNIONs: a row passes through all of them, nested on the stack.
    pub operators: usize,
    /// Columns of a relation.
    pub columns: usize,
    /// Columns of all relations together: each has its names.
    pub all_columns: usize,
    /// Bytes of a name, which every relation that has the column copies.
    pub name: usize,
    /// Rows of a public table, or of a relation computed from public tables.
    pub public_rows: usize,
    /// Bytes that all such tables take that are in memory at the same time, with the sets and tables for lookups.
    pub public_bytes: usize,
    /// How many of these bytes are in use already.
    pub public_held: usize,
    /// Pairs of public rows that a join may compare.
    pub public_pairs: usize,
    /// Rows that one private row may become through joins with public tables: without a limit a short query might never
    /// end.
    pub copies: usize,
    /// Rows that all operators together process for one private row, with those of sub-queries that are computed again
    /// for each use.
    pub work: usize,
    /// Texts that functions can make longer, up to [`MOST_TEXT`](reticent_table::MOST_TEXT) bytes each, over all rows
    /// that one private row becomes: 256 MiB in all. A single row must not exhaust memory.
    pub long_texts: usize,
    /// When to give up; never for rows that the caller protects, where whether it ends in time could depend on them.
    pub deadline: Option<Instant>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 100_000,
            tokens: 20_000,
            steps: 2_000_000,
            stack: 256 << 20,
            depth: 200,
            nodes: 20_000,
            patterns: 100,
            operators: 250,
            columns: 2000,
            all_columns: 100_000,
            name: 1000,
            public_rows: 5_000_000,
            public_bytes: 1 << 30,
            public_held: 0,
            public_pairs: 1 << 27,
            copies: 1 << 20,
            work: 1 << 22,
            long_texts: 1 << 12,
            deadline: None,
        }
    }
}

/// A request exceeds a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the query is too large: {what} (limit: {most})")]
pub struct TooLarge {
    what: String,
    most: usize,
}

impl TooLarge {
    /// `what` describes the excess, `most` is the limit.
    pub fn new(what: impl Into<String>, most: usize) -> Self {
        Self { what: what.into(), most }
    }
}

impl Limits {
    /// The limits of one computation with public tables or released values, which starts now.
    pub fn from_now() -> Self {
        Self { deadline: Some(Instant::now() + LONGEST), ..Self::default() }
    }

    /// Whether there is time left.
    pub fn has_time(&self) -> bool {
        self.deadline.is_none_or(|deadline| Instant::now() < deadline)
    }

    /// Checks that a table that is not private is small enough to be kept in memory.
    ///
    /// # Errors
    /// If it is too large.
    pub fn check_public(&self, data: &Data) -> Result<(), TooLarge> {
        self.check_size(data.rows(), data.bytes())
    }

    /// How many bytes public values may still take.
    pub fn public_left(&self) -> usize {
        self.public_bytes.saturating_sub(self.public_held)
    }

    /// Stops at the deadline.
    pub fn interrupt(&self) -> Interrupt {
        self.deadline.map_or_else(Interrupt::new, Interrupt::at)
    }

    /// The error if there is no time left.
    pub fn out_of_time(&self) -> TooLarge {
        TooLarge::new("preparing it takes too many seconds", LONGEST.as_secs() as usize)
    }

    /// The error for public tables that take too many bytes.
    pub fn too_many_bytes(&self) -> TooLarge {
        TooLarge::new("the bytes of public tables do not fit in memory", self.public_bytes)
    }

    /// Checks a number of rows and bytes.
    ///
    /// # Errors
    /// If either exceeds its limit, or there is no time left.
    pub fn check_size(&self, rows: usize, bytes: usize) -> Result<(), TooLarge> {
        if !self.has_time() {
            return Err(self.out_of_time());
        }
        if rows > self.public_rows {
            return Err(TooLarge::new("the rows of public tables do not fit in memory", self.public_rows));
        }
        if bytes > self.public_left() {
            return Err(self.too_many_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::algebra::{Expr, Plain, Value};

    #[test]
    fn without_time_nothing_public_is_computed() {
        let table = Arc::new(Plain::Table(Arc::new(Data::unit_row())));
        let relation = Plain::Filter(table, Expr::constant(Value::Boolean(true)));
        let (none, enough) = (Limits { deadline: Some(Instant::now()), ..Limits::default() }, Limits::from_now());
        assert!(relation.compute(&Data::unit_row(), &enough).is_ok());
        assert!(relation.compute(&Data::unit_row(), &none).unwrap_err().to_string().contains("too many seconds"));
        assert_eq!(Limits::default().deadline, None, "rows that the caller protects have no clock");
    }
}
