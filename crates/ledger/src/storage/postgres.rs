//! One database of a PostgreSQL server, version 12 or later, for several machines.
//!
//! Everything is in a separate schema, `reticent_ledger`. A writer locks the empty table `writing`, which excludes
//! other writers but neither readers nor the server's own maintenance. A role with `SELECT` and `INSERT` on `entry` and
//! `release`, `SELECT` on `format` and `UPDATE` on `writing` can do everything a ledger does, and cannot change
//! existing entries.
//!
//! # Other roles in the database
//! Names are resolved only among the server's own and in that schema: each transaction pins `search_path`, each table
//! and function is qualified, each argument has a type. Nothing that other roles create in `public` is ever run.
//! Nothing is written while anything in the schema could run foreign code or hide rows: triggers, rules, row-level
//! security, functions and operators that are not the server's own, tables with a different owner, or a role that may
//! create objects there.
//!
//! A role that may create schemas in the database could have created this one before us: its owner can delete charges,
//! and what looks like a table can run with the ledger's rights when it is read. So before anything in it is read, the
//! schema's owner must be a superuser, the owner of the database or the connecting role, and the schema must contain
//! only tables and their indexes. These three roles are trusted.
//!
//! # Durability
//! A commit returns when the server has synced it: `synchronous_commit` is `on` in every transaction, whatever the
//! server's default, and a server that runs without `fsync` or `full_page_writes`, or that continues after a failed
//! `fsync`, is refused.
//!
//! # Processes that compute
//! A process that computes a charge holds an advisory lock, from before its first such charge, on a connection of its
//! own: when the server has noticed that this connection is gone, so is the process. A server that is restarted forgets
//! all locks, and what was being computed then counts as lost.
//!
//! # Failures
//! After any failure the connection is closed, and the next use opens a new one. If the reply to a commit is lost, it
//! is unknown whether the commit was made; repeating the request with the same id settles it.
//!
//! The client waits for the server as long as the connection is alive: at most one minute for other writers and five
//! for a statement; a dead connection is noticed within a minute. It must not be used inside an asynchronous runtime,
//! whose threads it would block.

mod statements;

use std::collections::HashMap;
use std::fmt;

use postgres::error::SqlState;
use postgres::types::ToSql;
use postgres::{Client, Statement};
use reticent_postgres::{Address, chain};

use self::statements::{
    APPEND, CHARGE, FOREIGN, HELD, HOLD, KEEP, LAST, LAST_CHARGE, LAST_CHARGES, READ, REGISTRATION, REGISTRATIONS,
    RELEASE, RELEASED, ROW, ROWS, SCHEMA, SESSION, STRANGER, WRITE,
};
use super::{Pages, Storage};
use crate::entry::{Keys, Row};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::run::Holder;

const VERSION: i32 = 4;
/// The versions before interrupted runs were counted (3), and before charges said by which process they are computed (2).
/// They have the same tables.
const OLDER: [i32; 2] = [2, 3];
/// The advisory lock held while creating the schema: "RtLg".
const MAKING: i64 = 0x5274_4c67;

/// Settings with which a server could lose acknowledged commits.
const UNSAFE_SETTINGS: [(&str, &str); 3] = [("fsync", "off"), ("full_page_writes", "off"), ("data_sync_retry", "on")];

/// A ledger in a database.
pub struct Postgres {
    address: Address,
    /// Closed after a failure.
    connection: Option<Connection>,
    /// The connection that holds the lock of this process while it computes.
    holding: Option<Client>,
}

impl Postgres {
    /// Creates a ledger in a database, or opens an existing one. The database itself must exist.
    ///
    /// # Errors
    /// If the server cannot be reached or could lose acknowledged commits, or the schema holds something else.
    pub fn create(url: &str) -> Result<Self> {
        let mut storage = Self { address: address(url)?, connection: None, holding: None };
        let mut connection = storage.connect()?;
        connection.make_schema().map_err(|error| failure("created", &error))?;
        storage.check(&mut connection)?;
        storage.connection = Some(connection);
        Ok(storage)
    }

    /// Opens a ledger.
    ///
    /// # Errors
    /// [`Error::Missing`] if the database has none; [`Error::NotALedger`] if it is of another version or something
    /// else; [`Error::Storage`] if the server cannot be reached or could lose acknowledged commits.
    pub fn open(url: &str) -> Result<Self> {
        let mut storage = Self { address: address(url)?, connection: None, holding: None };
        let mut connection = storage.connect()?;
        storage.check(&mut connection)?;
        storage.connection = Some(connection);
        Ok(storage)
    }

    fn connect(&self) -> Result<Connection> {
        let mut client = self.address.connect().map_err(unreachable)?;
        let failed = |error: postgres::Error| failure("opened", &error);
        client.batch_execute(SESSION).map_err(failed)?;
        let refused = |reason| Err(Error::Storage { doing: "opened", reason });
        for (setting, dangerous) in UNSAFE_SETTINGS {
            let row =
                client.query_one("SELECT pg_catalog.current_setting($1::text, true)", &[&setting]).map_err(failed)?;
            if row.try_get::<_, Option<&str>>(0).map_err(failed)? == Some(dangerous) {
                return refused(format!(
                    "the server runs with {setting} = {dangerous} and could lose acknowledged commits; change the setting"
                ));
            }
        }
        let row = client.query_one("SELECT pg_catalog.current_setting('server_encoding')", &[]).map_err(failed)?;
        let encoding: String = row.try_get(0).map_err(failed)?;
        if encoding != "UTF8" {
            return refused(format!("the database is encoded in {encoding}; create one with ENCODING 'UTF8'"));
        }
        Ok(Connection { client, statements: HashMap::new() })
    }

    /// Checks that it is a ledger of this version with a trusted owner, whose tables all survive a crash.
    fn check(&self, connection: &mut Connection) -> Result<()> {
        let failed = |error: postgres::Error| failure("opened", &error);
        let Connection { client, .. } = connection;
        if let Some(row) = client.query(STRANGER, &[]).map_err(failed)?.first() {
            return Err(Error::Storage { doing: "opened", reason: foreign(row)? });
        }
        let look = "SELECT relname::text, relpersistence::text, relkind::text FROM pg_catalog.pg_class
            WHERE relnamespace = pg_catalog.to_regnamespace('reticent_ledger')";
        let mut tables = HashMap::new();
        for row in client.query(look, &[]).map_err(failed)? {
            let text = |column| row.try_get::<_, String>(column).map_err(failed);
            tables.insert(text(0)?, (text(1)?, text(2)?));
        }
        if tables.is_empty() {
            return Err(Error::Missing(self.address.to_string()));
        }
        let other = || Error::NotALedger(self.address.to_string());
        // Tables and indexes.
        if !tables.contains_key("format") || tables.values().any(|(_, kind)| !["r", "i"].contains(&kind.as_str())) {
            return Err(other());
        }
        if let Some((table, _)) = tables.iter().find(|(_, (persistence, _))| persistence != "p") {
            let reason = format!("its table {table} is not logged and would be empty after a server crash");
            return Err(Error::Storage { doing: "opened", reason });
        }
        let versions = client.query("SELECT version FROM reticent_ledger.format", &[]).map_err(failed)?;
        match versions.as_slice() {
            [row] => match row.try_get(0) {
                Ok(VERSION) => Ok(()),
                // From now on earlier versions of this program leave it alone. A role that only charges cannot do this.
                Ok(older) if OLDER.contains(&older) => {
                    let _ = client.execute("UPDATE reticent_ledger.format SET version = $1::integer", &[&VERSION]);
                    Ok(())
                }
                _ => Err(other()),
            },
            _ => Err(other()),
        }
    }

    /// A connection in a new transaction.
    fn begin(&mut self, statements: &str, doing: &'static str) -> Result<Connection> {
        if let Some(mut connection) = self.connection.take() {
            match connection.client.batch_execute(statements) {
                Ok(()) => return Ok(connection),
                // The server was restarted since the last use; nothing was lost.
                Err(_) if connection.client.is_closed() => {}
                Err(error) => return Err(failure(doing, &error)),
            }
        }
        let mut connection = self.connect()?;
        self.check(&mut connection)?;
        connection.client.batch_execute(statements).map_err(|error| failure(doing, &error))?;
        Ok(connection)
    }

    fn transact(&mut self, writes: bool, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        let (statements, doing) = if writes { (WRITE, "written") } else { (READ, "read") };
        // Moved out of `self`, so that a panic or a failure closes the connection.
        let connection = self.begin(statements, doing)?;
        let (address, client) = (&self.address, self.holding.take());
        let mut transaction =
            Transaction { connection, failed: None, lock: Lock { address, client, is_checked: false } };
        let outcome = if writes { transaction.refuse_foreign() } else { Ok(()) };
        let outcome = outcome.and_then(|()| work(&mut transaction));
        let Transaction { mut connection, failed, lock } = transaction;
        self.holding = lock.client;
        let mut end = |statement| connection.client.batch_execute(statement).map_err(|error| failure(doing, &error));
        match (outcome, failed) {
            // After a failed statement, the server acknowledges a COMMIT but rolls back.
            (_, Some(failed)) => return Err(failed),
            (Err(error @ (Error::Storage { .. } | Error::Damaged(_))), None) => return Err(error),
            (Err(error), None) => {
                if end("ROLLBACK").is_ok() {
                    self.connection = Some(connection);
                }
                return Err(error);
            }
            (Ok(()), None) => end("COMMIT")?,
        }
        self.connection = Some(connection);
        Ok(())
    }
}

/// Without the password.
impl fmt::Debug for Postgres {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Postgres({})", self.address)
    }
}

impl Storage for Postgres {
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.transact(true, work)
    }

    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.transact(false, work)
    }

    /// Assigning a transaction id forces its commit to be written to the disk.
    fn try_writing(&mut self) -> Result<()> {
        self.transact(true, &mut |_| Ok(()))?;
        let mut connection = self.begin("BEGIN; SET LOCAL synchronous_commit = on", "written")?;
        let written = connection.client.batch_execute("SELECT pg_catalog.txid_current(); COMMIT");
        written.map_err(|error| failure("written", &error))?;
        self.connection = Some(connection);
        Ok(())
    }

    /// The server checks its own files; this reports rows that are not valid entries and foreign objects.
    fn faults(&mut self) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        let mut connection = self.begin(READ, "read")?;
        let mut texts = |sql: &str| -> Result<Vec<i64>, postgres::Error> {
            connection.client.query(sql, &[])?.iter().map(|row| row.try_get(0)).collect()
        };
        let mut look = || -> Result<(), postgres::Error> {
            for number in texts("SELECT number FROM reticent_ledger.entry WHERE number < 1 LIMIT 100")? {
                faults.push(super::numbered_before_the_first(number));
            }
            let strays = "SELECT number FROM reticent_ledger.release AS r WHERE NOT EXISTS (
                SELECT FROM reticent_ledger.entry AS e WHERE e.number = r.number AND e.charge IS NOT NULL) LIMIT 100";
            for number in texts(strays)? {
                faults.push(super::release_without_entry(number));
            }
            Ok(())
        };
        look().map_err(|error| failure("read", &error))?;
        for row in connection.client.query(FOREIGN, &[]).map_err(|error| failure("read", &error))? {
            faults.push(foreign(&row)?);
        }
        connection.client.batch_execute("COMMIT").map_err(|error| failure("read", &error))?;
        self.connection = Some(connection);
        Ok(faults)
    }
}

struct Connection {
    client: Client,
    /// Prepared once each.
    statements: HashMap<&'static str, Statement>,
}

impl Connection {
    fn make_schema(&mut self) -> Result<(), postgres::Error> {
        // From the catalogue itself: a lookup by name would be cached, and miss a schema that others have since
        // created.
        let missing = "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'reticent_ledger')";
        // Any role can hold the advisory lock, so it is taken only if the schema must be created.
        if !self.client.query_one(missing, &[])?.try_get::<_, bool>(0)? {
            return Ok(());
        }
        let mut transaction = self.client.transaction()?;
        transaction.batch_execute("SET LOCAL search_path = pg_catalog, pg_temp; SET LOCAL synchronous_commit = on")?;
        transaction.execute("SELECT pg_catalog.pg_advisory_xact_lock($1::bigint)", &[&MAKING])?;
        if transaction.query_one(missing, &[])?.try_get(0)? {
            transaction.batch_execute(SCHEMA)?;
        }
        transaction.commit()
    }

    fn statement(&mut self, sql: &'static str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    fn query(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<postgres::Row>, postgres::Error> {
        let statement = self.statement(sql)?;
        self.client.query(&statement, parameters)
    }
}

/// What holds the lock of this process.
struct Lock<'storage> {
    address: &'storage Address,
    client: Option<Client>,
    /// Whether the connection is known to be alive.
    is_checked: bool,
}

impl Lock<'_> {
    /// Takes the lock, unless it is held.
    fn hold(&mut self, holder: Holder) -> Result<()> {
        let alive = |client: &mut Client| client.batch_execute("SELECT 1").is_ok();
        if !self.is_checked && !self.client.as_mut().is_some_and(alive) {
            let mut client = self.address.connect().map_err(unreachable)?;
            let lock = format!("{HOLD} SELECT pg_catalog.pg_advisory_xact_lock_shared({}::bigint);", holder.number());
            client.batch_execute(&lock).map_err(|error| failure("written", &error))?;
            self.client = Some(client);
        }
        self.is_checked = true;
        Ok(())
    }
}

struct Transaction<'storage> {
    connection: Connection,
    /// The first error: after it the server rejects all further statements.
    failed: Option<Error>,
    lock: Lock<'storage>,
}

impl Transaction<'_> {
    fn query(
        &mut self,
        sql: &'static str,
        parameters: &[&(dyn ToSql + Sync)],
        doing: &'static str,
    ) -> Result<Vec<postgres::Row>> {
        self.connection.query(sql, parameters).map_err(|error| {
            let failed = failure(doing, &error);
            self.failed.get_or_insert(failed).clone()
        })
    }

    /// Called before anything is written.
    fn refuse_foreign(&mut self) -> Result<()> {
        match self.query(FOREIGN, &[], "read")?.first() {
            Some(row) => Err(Error::Damaged(foreign(row)?)),
            None => Ok(()),
        }
    }

    fn all(&mut self, sql: &'static str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        self.query(sql, parameters, "read")?.iter().map(read_row).collect()
    }

    fn one(&mut self, sql: &'static str, parameters: &[&(dyn ToSql + Sync)]) -> Result<Option<Row>> {
        Ok(self.all(sql, parameters)?.pop())
    }
}

impl Pages for Transaction<'_> {
    fn last(&mut self) -> Result<Option<Row>> {
        self.one(LAST, &[])
    }

    fn row(&mut self, number: u64) -> Result<Option<Row>> {
        self.one(ROW, &[&signed(number)])
    }

    fn rows(&mut self, after: u64, most: u32) -> Result<Vec<Row>> {
        self.all(ROWS, &[&signed(after), &i64::from(most)])
    }

    fn registration(&mut self, dataset: &str) -> Result<Option<Row>> {
        self.one(REGISTRATION, &[&dataset])
    }

    fn registrations(&mut self) -> Result<Vec<Row>> {
        self.all(REGISTRATIONS, &[])
    }

    fn charge(&mut self, dataset: &str, request: &str) -> Result<Option<Row>> {
        self.one(CHARGE, &[&dataset, &request])
    }

    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>> {
        self.one(LAST_CHARGE, &[&dataset, &terms])
    }

    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>> {
        self.all(LAST_CHARGES, &[&dataset])
    }

    fn release(&mut self, charge: u64) -> Result<Option<(Row, String)>> {
        let Some(row) = self.one(RELEASED, &[&signed(charge)])? else { return Ok(None) };
        let texts = self.query(RELEASE, &[&signed(row.number)], "read")?;
        let missing = || Error::Damaged(format!("the release of entry {} is missing", row.number));
        let text = texts.first().and_then(|row| row.try_get(0).ok()).ok_or_else(missing)?;
        Ok(Some((row, text)))
    }

    fn hold(&mut self, holder: Holder) -> Result<()> {
        self.lock.hold(holder)
    }

    fn is_held(&mut self, holder: Holder) -> Result<bool> {
        let rows = self.query(HELD, &[&holder.number()], "read")?;
        rows.first().map_or(Ok(false), |row| row.try_get(0).map_err(|error| failure("read", &error)))
    }

    fn append(&mut self, row: &Row, release: Option<&str>) -> Result<()> {
        let Row { number, body, hash, keys: Keys { registered, dataset, request, terms, charge } } = row;
        let (number, hash, charge) = (signed(*number), hash.to_string(), charge.map(signed));
        let columns: [&(dyn ToSql + Sync); 8] = [&number, body, &hash, registered, dataset, request, terms, &charge];
        self.query(APPEND, &columns, "written")?;
        if let Some(text) = release {
            self.query(KEEP, &[&number, &text], "written")?;
        }
        Ok(())
    }
}

/// A foreign object, in printable form: anyone may have chosen its name.
fn foreign(row: &postgres::Row) -> Result<String> {
    let text: &str = row.try_get(0).map_err(|error| failure("read", &error))?;
    Ok(text.replace(char::is_control, "\u{fffd}"))
}

/// PostgreSQL's integers are signed; no ledger has 2^63 entries.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The content of a row never causes a database error: a damaged row is one that fails to open.
fn read_row(row: &postgres::Row) -> Result<Row> {
    let text = |column: usize| row.try_get::<_, Option<String>>(column).ok().flatten();
    let number = row.try_get::<_, i64>(0).map_err(|error| failure("read", &error))?.cast_unsigned();
    let charge = row.try_get::<_, Option<i64>>(7).ok().flatten().map(i64::cast_unsigned);
    let keys = Keys { registered: text(3), dataset: text(4), request: text(5), terms: text(6), charge };
    let hash = text(2).and_then(|hash| hash.parse().ok()).unwrap_or(Hash::NONE);
    Ok(Row { number, body: text(1).unwrap_or_default(), hash, keys })
}

/// A server's address, from its URL.
fn address(url: &str) -> Result<Address> {
    Address::parse(url).map_err(unreachable)
}

/// Why there is no connection, without a password.
fn unreachable(error: reticent_postgres::Error) -> Error {
    Error::Storage { doing: "opened", reason: error.to_string() }
}

/// Omits the server's DETAIL, which can quote a row.
fn failure(doing: &'static str, error: &postgres::Error) -> Error {
    let reason = match error.code() {
        Some(&SqlState::LOCK_NOT_AVAILABLE) => "it is locked by other processes".into(),
        Some(&SqlState::DISK_FULL) => "the server's disk is full".into(),
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => "it is read-only".into(),
        _ => match error.as_db_error() {
            Some(error) => format!("the server says: {}", error.message()),
            None => chain(error),
        },
    };
    Error::Storage { doing, reason }
}
