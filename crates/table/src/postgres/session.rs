//! Connections to a database, all in one snapshot.

use std::fmt::{self, Debug, Formatter};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reticent_postgres::Address;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio_postgres::Client;

use super::catalogue::{Relation, describe};
use crate::Broken;

/// How long a server has to hear that a connection ends.
const GOODBYE: Duration = Duration::from_millis(200);

/// Set in each transaction, so that a connection pooler cannot lose it. Nothing that other roles create is run, nothing
/// is filtered, and a lock is waited for only so long. With workers in parallel, ranges of blocks would be divided again.
const SETTINGS: &str = "
    SET LOCAL search_path = pg_catalog, pg_temp;
    SET LOCAL row_security = off;
    SET LOCAL lock_timeout = '60s';
    SET LOCAL idle_in_transaction_session_timeout = 0;
    SET LOCAL jit = off;
    SET LOCAL max_parallel_workers_per_gather = 0;
";

/// The catalogue answers soon.
const LOOK: &str = "BEGIN READ ONLY; SET LOCAL statement_timeout = '60s'";

/// Rows take as long as they take.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY; SET LOCAL statement_timeout = 0";

/// A setting that older servers do not have. It is asked for in a query, which takes a snapshot.
const NO_TIMEOUT: &str = "SELECT pg_catalog.set_config('transaction_timeout', '0', true)
    WHERE pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL";

/// A connection, with what keeps it going.
pub struct Connection {
    /// Taken when it is dropped.
    runtime: Option<Runtime>,
    client: Option<Client>,
}

impl Connection {
    /// Opens a connection. It must not be used inside an asynchronous runtime, whose threads it would block.
    fn open(address: &Address) -> Result<Self, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("no connection can be opened: {error}"))?;
        let client = runtime.block_on(async {
            let (client, driver) = address.connect_inside().await.map_err(|error| error.to_string())?;
            tokio::spawn(driver);
            Ok::<_, String>(client)
        })?;
        Ok(Self { runtime: Some(runtime), client: Some(client) })
    }

    /// Opens a connection to look at the catalogue.
    pub fn to_look(address: &Address) -> Result<Self, String> {
        let connection = Self::open(address)?;
        let begun = connection.block_on(connection.client().batch_execute(&format!("{LOOK}; {SETTINGS}")));
        begun.map_err(|error| format!("{address}: {}", reticent_postgres::chain(&error)))?;
        Ok(connection)
    }

    /// Runs something that waits for the server.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.as_ref().expect("until it is dropped").block_on(work)
    }

    pub fn client(&self) -> &Client {
        self.client.as_ref().expect("until it is dropped")
    }
}

impl Drop for Connection {
    /// Takes leave of the server, which otherwise logs a lost connection.
    fn drop(&mut self) {
        drop(self.client.take());
        let Some(runtime) = self.runtime.take() else { return };
        if Handle::try_current().is_err() {
            take_leave(runtime);
        } else {
            // An asynchronous runtime must not be kept waiting. Without a thread, the runtime just ends.
            let _ = std::thread::Builder::new().spawn(|| take_leave(runtime));
        }
    }
}

/// Waits until the driver has ended, which it does when the client is gone.
fn take_leave(runtime: Runtime) {
    runtime.block_on(async {
        let ended = async {
            while Handle::current().metrics().num_alive_tasks() > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let _ = tokio::time::timeout(GOODBYE, ended).await;
    });
    runtime.shutdown_background();
}

/// A database, some of its tables, and the snapshot in which they are read.
pub struct Database {
    address: Address,
    /// The same for all ways to reach it.
    name: String,
    relations: Vec<Relation>,
    session: Mutex<Session>,
}

#[derive(Default)]
enum Session {
    #[default]
    Unopened,
    Open {
        /// For other connections.
        snapshot: String,
        /// Connections in the snapshot that nobody uses.
        idle: Vec<Connection>,
    },
    /// A second snapshot could have other rows.
    Lost,
}

impl Database {
    pub fn new(address: Address, name: String, relations: Vec<Relation>) -> Self {
        Self { address, name, relations, session: Mutex::default() }
    }

    /// The same database, with other tables and a snapshot of their own.
    pub fn with(&self, relations: Vec<Relation>) -> Self {
        Self::new(self.address.clone(), self.name.clone(), relations)
    }

    /// Whether it is the same database.
    pub fn is(&self, other: &Self) -> bool {
        self.name == other.name
    }

    /// Whether both are reached with the same login, in the same way.
    pub fn is_reached_like(&self, other: &Self) -> bool {
        self.address.is_like(&other.address)
    }

    pub fn relation(&self, table: usize) -> &Relation {
        &self.relations[table]
    }

    /// A connection in the snapshot, which is taken by the first.
    pub fn connection(&self) -> Result<Connection, Broken> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *session {
            Session::Lost => Err(Broken),
            Session::Open { snapshot, idle } => {
                if let Some(connection) = idle.pop() {
                    return Ok(connection);
                }
                let snapshot = snapshot.clone();
                // Others need not wait for this.
                drop(session);
                self.join(&snapshot)
            }
            Session::Unopened => {
                *session = Session::Lost;
                let (connection, snapshot) = self.start()?;
                *session = Session::Open { snapshot, idle: Vec::new() };
                Ok(connection)
            }
        }
    }

    /// Keeps a connection that has read what it was asked for.
    pub fn keep(&self, connection: Connection) {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Session::Open { idle, .. } = &mut *session {
            idle.push(connection);
        }
    }

    /// Takes the snapshot, in which the tables must be as they were when they were opened. They are locked before, so
    /// that they stay so; the lock excludes nobody who reads or writes rows.
    fn start(&self) -> Result<(Connection, String), Broken> {
        let connection = Connection::open(&self.address).map_err(|_| Broken)?;
        let mut statements = format!("{READ}; {SETTINGS}");
        for relation in self.relations.iter().filter(|relation| relation.can_be_locked) {
            statements += &format!("LOCK TABLE {} IN ACCESS SHARE MODE;", relation.quoted());
        }
        statements += NO_TIMEOUT;
        let snapshot = connection.block_on(async {
            let client = connection.client();
            client.batch_execute(&statements).await.map_err(|_| Broken)?;
            let row =
                client.query_one("SELECT pg_catalog.pg_export_snapshot()::text", &[]).await.map_err(|_| Broken)?;
            for relation in &self.relations {
                let now = describe(client, &relation.schema, &relation.table).await.map_err(|_| Broken)?;
                if now.as_ref() != Some(relation) {
                    return Err(Broken);
                }
            }
            row.try_get::<_, String>(0).map_err(|_| Broken)
        })?;
        Ok((connection, snapshot))
    }

    fn join(&self, snapshot: &str) -> Result<Connection, Broken> {
        if !snapshot.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
            return Err(Broken);
        }
        let connection = Connection::open(&self.address).map_err(|_| Broken)?;
        let statements = format!("{READ}; SET TRANSACTION SNAPSHOT '{snapshot}'; {SETTINGS} {NO_TIMEOUT}");
        connection.block_on(connection.client().batch_execute(&statements)).map_err(|_| Broken)?;
        Ok(connection)
    }
}

impl Debug for Database {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}
