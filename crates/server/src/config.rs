//! The service's configuration: a TOML file, or defaults.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reticent::local::Task;
use reticent_ledger::Location;
use reticent_sql::RunLimits;
use reticent_sql::limits::{bytes, duration, machine_memory};
use reticent_sql::settings::policy::{Budget, Rules};
use reticent_stream::Draft;
use serde::Deserialize;

use crate::error::{Error, Result};

/// The default address to listen on.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// The default time limit of a query.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// A configuration file. Paths in it are relative to its folder.
///
/// # Example
/// ```
/// let config: reticent_server::Config = r#"
///     listen = "127.0.0.1:8080"
///     [[table]]
///     name = "staff"
///     file = "staff.csv"
///     policy = { unit = "row", bounds = { salary = "0..200000" }, budget = { epsilon = 3, delta = "1e-7" } }
///     [[stream]]
///     name = "visits"
///     step = "1m"
///     epsilon = 1
/// "#.parse()?;
/// assert_eq!(config.tables[0].name, "staff");
/// # Ok::<(), reticent_server::Error>(())
/// ```
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
    /// The data directory.
    pub data_dir: Option<PathBuf>,
    /// The ledger: a file, or postgres://…; by default a file in the data directory.
    pub ledger: Option<String>,
    /// Also keeps the ledger's newest hash in this file: nothing is charged if the ledger lacks that entry.
    pub anchor: Option<PathBuf>,
    /// The NATS server to read events from.
    pub nats: Option<String>,
    /// Limits on requests and connections.
    #[serde(default)]
    pub limits: Limits,
    /// Limits on each query.
    #[serde(default)]
    pub query: QueryConfig,
    /// Budgets, registered unless they exist.
    #[serde(default, rename = "dataset")]
    pub datasets: Vec<DatasetConfig>,
    /// Tables for queries.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableConfig>,
    /// Streams, created unless they exist.
    #[serde(default, rename = "stream")]
    pub streams: Vec<Draft>,
    /// Surveys of the local model.
    #[serde(default, rename = "survey")]
    pub surveys: Vec<SurveyConfig>,
    /// The file's folder, to which paths are relative.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

/// Limits on requests and connections.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Requests per second, for each token.
    pub requests_per_second: u32,
    /// Requests at once, for each token.
    pub burst: u32,
    /// Bytes in one request, after decompression.
    pub body_bytes: usize,
    /// Simultaneous queries; others wait. One caller has at most all but one of them.
    pub queries: usize,
    /// Simultaneous connections; beyond them only health, metrics, events and reports are served, if they arrive
    /// quickly.
    pub connections: usize,
    /// Connections from one address. Defaults to a quarter of all, or to all if only this machine can connect, so that
    /// all can come through a proxy on it.
    pub connections_per_address: Option<usize>,
    /// Connections that may follow a stream. Defaults to half of all.
    pub followers: Option<usize>,
    /// Followers with one token. Defaults to a quarter of all connections.
    pub followers_per_token: Option<usize>,
    /// Bytes in one request to an open survey, which needs no token.
    pub open_body_bytes: usize,
    /// Bytes of request bodies in memory at a time, a quarter of them for one token (or one address, for open surveys),
    /// but never less than the largest request needs; further requests wait a second, and then get 503.
    pub bodies_bytes: usize,
    /// Seconds within which the head of a request, and then its body, must arrive, and after which a client that reads
    /// nothing of a reply is cut off.
    pub request_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_per_second: 1000,
            burst: 2000,
            body_bytes: 16 << 20,
            queries: 2,
            connections: 1024,
            connections_per_address: None,
            followers: None,
            followers_per_token: None,
            open_body_bytes: 64 << 10,
            bodies_bytes: 512 << 20,
            request_seconds: 30,
        }
    }
}

/// Limits on each query. A query that exceeds them fails and stays charged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryConfig {
    /// Memory, such as `4GiB`. Defaults to a quarter of the machine's.
    #[serde(alias = "memory-limit")]
    pub memory_limit: Option<String>,
    /// Time, such as `10m`, which is the default.
    #[serde(alias = "time-limit")]
    pub time_limit: Option<String>,
    /// Threads. Defaults to one per core.
    pub threads: Option<NonZero<usize>>,
    /// The folder for rows that do not fit in memory. Defaults to the system's temporary folder.
    #[serde(alias = "temp-dir")]
    pub temp_dir: Option<PathBuf>,
}

impl Config {
    /// The limits on each query.
    ///
    /// # Errors
    /// If a limit is invalid, or the folder does not exist.
    pub(crate) fn run_limits(&self) -> Result<RunLimits> {
        let wrong =
            |field: &'static str, text: &str, why: String| Error::field(field, format!("{field} = {text:?}: {why}"));
        let QueryConfig { memory_limit, time_limit, threads, temp_dir } = &self.query;
        let memory = match memory_limit {
            Some(text) => bytes(text).map_err(|why| wrong("query.memory_limit", text, why))?,
            None => machine_memory() / 4,
        };
        let time = match time_limit {
            Some(text) => duration(text).map_err(|why| wrong("query.time_limit", text, why))?,
            None => TIME_LIMIT,
        };
        let folder = temp_dir.as_ref().map(|folder| PathBuf::from(self.path(&folder.to_string_lossy())));
        if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(wrong("query.temp_dir", &folder.to_string_lossy(), "there is no such folder".into()));
        }
        Ok(RunLimits { memory: Some(memory), time: Some(time), threads: threads.map(NonZero::get), folder })
    }
}

/// A dataset with its budget.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatasetConfig {
    /// Its name.
    pub name: String,
    /// The privacy unit that the budget protects.
    pub unit: String,
    /// Which inputs are neighbours.
    pub adjacency: Option<String>,
    /// The total budget.
    pub budget: Budget,
}

/// A table for queries.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableConfig {
    /// Its name in SQL.
    pub name: String,
    /// A file, a folder or a pattern, or a table of a database: `postgresql://…?table=SCHEMA.TABLE`.
    pub file: String,
    /// Whether the table is public and needs no protection.
    #[serde(default)]
    pub public: bool,
    /// What separates the values of a CSV file: `,`, `;`, `|` or `tab`. Defaults to the one that is most frequent in its
    /// header.
    pub delimiter: Option<String>,
    /// The encoding of a text file that is not in UTF-8: `latin1`, `windows-1252` or `utf-16`.
    pub encoding: Option<String>,
    /// The dataset whose budget is charged. Defaults to the table's name.
    pub dataset: Option<String>,
    /// Its policy: a file, or inline.
    pub policy: Option<PolicyConfig>,
}

/// A table's policy.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum PolicyConfig {
    /// In a separate file.
    File(PathBuf),
    /// Inline.
    Inline(Box<Rules>),
}

/// A survey of the local model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyConfig {
    /// Its name in URLs.
    pub name: String,
    /// Its task: a file, or inline.
    pub task: SurveyTask,
    /// Whether anyone may answer, without a token.
    #[serde(default)]
    pub open: bool,
}

/// A survey's task.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum SurveyTask {
    /// In a separate file.
    File(PathBuf),
    /// Inline.
    Inline(Box<Task>),
}

impl std::str::FromStr for Config {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let config: Self = toml::from_str(text).map_err(|error| Error::asked(misread(text, &error)))?;
        config.limits.check()?;
        Ok(config)
    }
}

/// What is wrong and where, without the value, which may contain a password.
fn misread(text: &str, error: &toml::de::Error) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let number = text.get(..start).unwrap_or_default().matches('\n').count();
    let key = text.lines().nth(number).and_then(|line| line.split_once('=')).map_or("", |(key, _)| key.trim());
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let key = if !key.is_empty() && key.chars().all(is_key) { format!(" ({key})") } else { String::new() };
    format!("line {}{key}: {}", number + 1, error.message())
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// If the file is missing or not a valid configuration.
    pub fn read(path: &Path) -> Result<Self> {
        let failed =
            |error: &dyn std::fmt::Display| Error::asked(format!("the configuration {}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
        let mut config: Self = text.parse().map_err(|error| failed(&error))?;
        config.folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).map(Into::into);
        if let (Some(folder), Some(directory)) = (&config.folder, &mut config.data_dir) {
            *directory = folder.join(&directory);
        }
        Ok(config)
    }

    /// The location of a ledger named in the configuration.
    ///
    /// # Errors
    /// If it is neither a file nor a server.
    pub(crate) fn place_of_ledger(&self, place: &str) -> Result<Location> {
        Ok(match place.parse()? {
            Location::File(path) => Location::File(self.path(&path.to_string_lossy()).into()),
            server => server,
        })
    }

    /// Resolves a path in the configuration.
    pub(crate) fn path(&self, path: &str) -> String {
        let is_database = matches!(path.parse(), Ok(Location::Postgres(_)));
        match &self.folder {
            Some(folder) if !is_database && !Path::new(path).is_absolute() => {
                folder.join(path).to_string_lossy().into_owned()
            }
            _ => path.to_owned(),
        }
    }
}

impl Limits {
    /// The most connections from one address.
    pub(crate) fn connections_per_address(&self, loopback: bool) -> usize {
        let default = if loopback { self.connections } else { self.connections / 4 };
        self.connections_per_address.unwrap_or(default.max(1))
    }

    /// The most followers, in total and with one token.
    pub(crate) fn followers(&self) -> (usize, usize) {
        let share = |given: Option<usize>, parts: usize| given.unwrap_or((self.connections / parts).max(1));
        (share(self.followers, 2), share(self.followers_per_token, 4))
    }

    /// The most bytes of request bodies from one sender.
    pub(crate) fn bodies_bytes_each(&self) -> usize {
        (self.bodies_bytes / 4).max(self.largest_request())
    }

    /// The memory for the largest request: twice its size, as it may be compressed.
    fn largest_request(&self) -> usize {
        self.body_bytes.max(self.open_body_bytes).saturating_mul(2)
    }

    fn check(&self) -> Result<()> {
        let zero = [
            ("limits.requests_per_second", self.requests_per_second == 0),
            ("limits.burst", self.burst == 0),
            ("limits.body_bytes", self.body_bytes == 0),
            ("limits.open_body_bytes", self.open_body_bytes == 0),
            ("limits.queries", self.queries == 0),
            ("limits.connections", self.connections == 0),
            ("limits.connections_per_address", self.connections_per_address == Some(0)),
            ("limits.followers", self.followers == Some(0)),
            ("limits.followers_per_token", self.followers_per_token == Some(0)),
            ("limits.request_seconds", self.request_seconds == 0),
        ];
        if let Some((name, _)) = zero.into_iter().find(|(_, zero)| *zero) {
            return Err(Error::field(name, format!("{name} is 0, but it must be at least 1")));
        }
        let (name, largest) = ("limits.bodies_bytes", self.largest_request());
        if self.bodies_bytes < largest {
            let message = format!(
                "{name} is {}, but it must be at least {largest}: twice the largest request, which may be compressed",
                self.bodies_bytes
            );
            return Err(Error::field(name, message));
        }
        Ok(())
    }
}
