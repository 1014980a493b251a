//! How large a request may be. Checked before anything that calls itself runs.

use super::data::Data;

/// How large a request may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of SQL.
    pub bytes: usize,
    /// Words, numbers, texts and signs of SQL.
    pub tokens: usize,
    /// Steps of the parser, which reads nested text again for every way in which what is around it can be read.
    pub steps: usize,
    /// Bytes of stack of the thread on which it is read: the deepest statement that the number of tokens allows is as deep as it has
    /// tokens, and what walks through it takes a kilobyte or two a level. Only what is used is ever taken from the machine.
    pub stack: usize,
    /// Levels of expressions and sub-queries.
    pub depth: usize,
    /// Operators and expressions of the algebra; what is shared counts once.
    pub nodes: usize,
    /// Patterns of LIKE and regular expressions: each takes up to some megabytes.
    pub patterns: usize,
    /// SELECTs, joins and UNIONs: a row goes through all of them, one inside the other on the stack.
    pub operators: usize,
    /// Columns of a relation.
    pub columns: usize,
    /// Rows of a public table, or of what is computed from some.
    pub public_rows: usize,
    /// Bytes that they take.
    pub public_bytes: usize,
    /// Pairs of public rows that a join may compare.
    pub public_pairs: usize,
    /// Rows that one private row may become by its joins with public tables: without a limit a short query would never end.
    pub copies: usize,
    /// Texts that functions can make longer, up to [`MOST_TEXT`](reticent_table::MOST_TEXT) bytes, of all rows that one private row
    /// becomes: 256 MiB of them. A single row must not fill the memory.
    pub long_texts: usize,
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
            public_rows: 5_000_000,
            public_bytes: 1 << 30,
            public_pairs: 1 << 27,
            copies: 1 << 20,
            long_texts: 1 << 12,
        }
    }
}

/// A request is larger than a limit allows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the query is too large: {what}, and at most {most} are allowed")]
pub struct TooLarge {
    what: String,
    most: usize,
}

impl TooLarge {
    /// There is more than allowed.
    pub fn new(what: impl Into<String>, most: usize) -> Self {
        Self { what: what.into(), most }
    }
}

impl Limits {
    /// Is a table that is nobody's secret small enough to be kept in memory?
    ///
    /// # Errors
    /// If it is not.
    pub fn check_public(&self, data: &Data) -> Result<(), TooLarge> {
        self.check_size(data.rows(), data.bytes())
    }

    /// Public tables take more bytes than are allowed.
    pub fn too_many_bytes(&self) -> TooLarge {
        TooLarge::new("public tables do not fit in memory: bytes", self.public_bytes)
    }

    /// Are so many rows, and bytes, few enough?
    ///
    /// # Errors
    /// If they are not.
    pub fn check_size(&self, rows: usize, bytes: usize) -> Result<(), TooLarge> {
        if rows > self.public_rows {
            return Err(TooLarge::new("public rows do not fit in memory", self.public_rows));
        }
        if bytes > self.public_bytes {
            return Err(self.too_many_bytes());
        }
        Ok(())
    }
}
