//! How the service is set up: a TOML file, or nothing at all.

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

/// Where it listens unless told otherwise.
pub const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// How long a query may take unless told otherwise.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// What a configuration file says. Paths in it are relative to its folder.
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
    /// Where to listen.
    pub listen: Option<SocketAddr>,
    /// Where everything is kept.
    pub data_dir: Option<PathBuf>,
    /// The ledger: a file, or postgres://…; by default a file in the data directory.
    pub ledger: Option<String>,
    /// Keeps the ledger's newest hash in this file, too: nothing is charged if the ledger does not continue it.
    pub anchor: Option<PathBuf>,
    /// A NATS server, to take events from.
    pub nats: Option<String>,
    /// What a token may ask for.
    #[serde(default)]
    pub limits: Limits,
    /// What a query may use.
    #[serde(default)]
    pub query: QueryConfig,
    /// Budgets, to be registered if they are not.
    #[serde(default, rename = "dataset")]
    pub datasets: Vec<DatasetConfig>,
    /// Tables for queries.
    #[serde(default, rename = "table")]
    pub tables: Vec<TableConfig>,
    /// Streams, to be created if they are not.
    #[serde(default, rename = "stream")]
    pub streams: Vec<Draft>,
    /// Surveys of the local model.
    #[serde(default, rename = "survey")]
    pub surveys: Vec<SurveyConfig>,
    /// Where the file is: paths are relative to it.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

/// What a token may ask for.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// So many requests a second, for each token.
    pub requests_per_second: u32,
    /// And so many at once.
    pub burst: u32,
    /// So many bytes in one request, after it was unpacked.
    pub body_bytes: usize,
    /// So many queries at a time; others wait.
    pub queries: usize,
    /// So many connections at a time; beyond them only health, events and reports are answered, if they come quickly.
    pub connections: usize,
    /// So many of them from one address; a quarter unless given, and all where only this machine can connect, so that all may come
    /// through a proxy on it.
    pub connections_per_address: Option<usize>,
    /// So many connections may follow a stream; half of all unless given.
    pub followers: Option<usize>,
    /// So many of them with one token; a quarter of all connections unless given.
    pub followers_per_token: Option<usize>,
    /// So many bytes in one request to an open survey, for which nobody needs a token.
    pub open_body_bytes: usize,
    /// So many bytes of requests in memory at a time, a quarter of them with one token (or from one address, for open surveys), but
    /// never less than the largest request needs; requests beyond wait a second, and are told to come again.
    pub bodies_bytes: usize,
    /// Head and body of a request must each have arrived after so many seconds.
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

/// What a query may use. One that needs more fails, and stays charged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueryConfig {
    /// How much memory each, as in `4GiB`; a quarter of the machine's unless given.
    #[serde(alias = "memory-limit")]
    pub memory_limit: Option<String>,
    /// How long it may take, as in `10m`, which it is unless given.
    #[serde(alias = "time-limit")]
    pub time_limit: Option<String>,
    /// How many threads each; one for each core unless given.
    pub threads: Option<NonZero<usize>>,
    /// Where rows are written that do not fit in memory; the system's folder for temporary files unless given.
    #[serde(alias = "temp-dir")]
    pub temp_dir: Option<PathBuf>,
}

impl Config {
    /// What a query may use.
    ///
    /// # Errors
    /// If a limit is none, or the folder is not there.
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
    /// Whose privacy the budget protects.
    pub unit: String,
    /// Which inputs are neighbours.
    pub adjacency: Option<String>,
    /// All that may ever be spent.
    pub budget: Budget,
}

/// A table for queries.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableConfig {
    /// What it is called in SQL.
    pub name: String,
    /// A file, a folder or a pattern.
    pub file: String,
    /// Is it nobody's secret?
    #[serde(default)]
    pub public: bool,
    /// Whose budget is charged; the table's name unless given.
    pub dataset: Option<String>,
    /// What is known of it: a file, or the same in place.
    pub policy: Option<PolicyConfig>,
}

/// What is known of a table.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum PolicyConfig {
    /// In a file of its own.
    File(PathBuf),
    /// In place.
    Inline(Box<Rules>),
}

/// A survey of the local model.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SurveyConfig {
    /// As addresses call it.
    pub name: String,
    /// What is asked, how, and for how long: a file, or the same in place.
    pub task: SurveyTask,
    /// May anybody answer, without a token?
    #[serde(default)]
    pub open: bool,
}

/// What a survey asks.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum SurveyTask {
    /// In a file of its own.
    File(PathBuf),
    /// In place.
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

/// What is wrong and where, without the value, which may hold a password.
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
    /// If there is none, or it says what a configuration does not.
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

    /// A ledger as the configuration means it.
    ///
    /// # Errors
    /// If it is neither a file nor a server.
    pub(crate) fn place_of_ledger(&self, place: &str) -> Result<Location> {
        Ok(match place.parse()? {
            Location::File(path) => Location::File(self.path(&path.to_string_lossy()).into()),
            server => server,
        })
    }

    /// A path as the configuration means it.
    pub(crate) fn path(&self, path: &str) -> String {
        match &self.folder {
            Some(folder) if !Path::new(path).is_absolute() => folder.join(path).to_string_lossy().into_owned(),
            _ => path.to_owned(),
        }
    }
}

impl Limits {
    /// So many connections of one address.
    pub(crate) fn connections_per_address(&self, loopback: bool) -> usize {
        let default = if loopback { self.connections } else { self.connections / 4 };
        self.connections_per_address.unwrap_or(default.max(1))
    }

    /// So many followers, and so many with one token.
    pub(crate) fn followers(&self) -> (usize, usize) {
        let share = |given: Option<usize>, parts: usize| given.unwrap_or((self.connections / parts).max(1));
        (share(self.followers, 2), share(self.followers_per_token, 4))
    }

    /// So many bytes of requests of one sender.
    pub(crate) fn bodies_bytes_each(&self) -> usize {
        (self.bodies_bytes / 4).max(self.largest_request())
    }

    /// Twice its bytes: it may be packed.
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
                "{name} is {}, but it must be at least {largest}: twice the largest request, which may be packed",
                self.bodies_bytes
            );
            return Err(Error::field(name, message));
        }
        Ok(())
    }
}
