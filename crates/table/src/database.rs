//! The identity of tables in databases.

/// A table of a database, however it is reached.
///
/// Its name is that of its dataset in a ledger: `postgresql://SERVER/DATABASE/SCHEMA.TABLE`. The server is the system
/// identifier of its data, which does not depend on how it is reached and is the same for its replicas; where the role
/// may not ask for it, the address and port at which the server says it was reached. Characters other than letters,
/// digits, `_`, `-` and `$` are percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseTable {
    /// The name of its database.
    pub(crate) database: String,
    pub(crate) name: String,
    pub(crate) sharing: Vec<String>,
}

impl DatabaseTable {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its database: the beginning of its own.
    pub fn database(&self) -> &str {
        &self.database
    }

    /// The names of all tables of the database that may hold a row of it, itself included: its partitions, the tables
    /// that it is a partition of, and materialised views of any of them.
    pub fn sharing(&self) -> &[String] {
        &self.sharing
    }

    /// Whether the other table may hold a row of this one.
    pub fn shares_rows_with(&self, other: &Self) -> bool {
        self.sharing.contains(&other.name)
    }
}
