//! An aggregator's two processes: a long-running one that receives reports, and one that collects a batch and exits.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use reticent_ledger::{DurableLedger, Location};
use reticent_party::file;
use reticent_party::keys::PrivateKey;
use reticent_party::times::{self, Times};
use reticent_party::transport::Mesh;
use serde::Deserialize;

use crate::collect::{Aggregator, Collected};
use crate::error::{Error, Result};
use crate::rounds::{Rounds, largest_frame};
use crate::store::Store;
use crate::task::{Site, Task};
use crate::upload::Reception;

/// An aggregator's own configuration file. Relative paths are resolved against the file's directory.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `task` | the task file, the same for all aggregators | – |
/// | `aggregator` | which of the task's aggregators this is | – |
/// | `key` | the private key file | – |
/// | `store` | the file with its shares of reports; never delete it during the task's lifetime | – |
/// | `ledger`, `dataset` | the budget to charge for each batch | – |
/// | `listen` | the address it listens on for other aggregators | the task's `address` |
/// | `listen_reports` | the address it listens on for clients | the task's `reports` |
/// | `join_seconds` | how long to wait for the others to join | 600 |
/// | `round_seconds` | how long each later round may take | 120 |
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "documented in the table above")]
pub struct Config {
    pub task: PathBuf,
    pub aggregator: String,
    pub key: PathBuf,
    pub store: PathBuf,
    pub ledger: String,
    pub dataset: String,
    pub listen: Option<String>,
    pub listen_reports: Option<String>,
    #[serde(default = "times::join_seconds")]
    pub join_seconds: u64,
    #[serde(default = "times::round_seconds")]
    pub round_seconds: u64,
}

impl Config {
    /// Reads a configuration file.
    ///
    /// # Errors
    /// If the file is missing or not a valid configuration.
    pub fn read(path: &Path) -> Result<Self> {
        let (mut config, folder) = file::config::<Self>(path)?;
        for place in [&mut config.task, &mut config.key, &mut config.store] {
            *place = folder.join(&*place);
        }
        file::ledger_in(folder, &mut config.ledger);
        Times::check(config.join_seconds, config.round_seconds).map_err(|error| Error::form(path, error))?;
        Ok(config)
    }

    fn times(&self) -> Times {
        Times::of_seconds(self.join_seconds, self.round_seconds)
    }
}

/// An aggregator with everything it has on its own machine.
#[derive(Debug)]
pub struct Process {
    config: Config,
    task: Task,
    place: usize,
    key: PrivateKey,
}

impl Process {
    /// Reads everything the configuration names.
    ///
    /// # Errors
    /// If something is missing, or the key is not the task's.
    pub fn new(config: Config) -> Result<Self> {
        let task = Task::read(&config.task)?;
        let place = task.place(&config.aggregator)?;
        let key = PrivateKey::read(&config.key)?;
        let site = &task.aggregators()[place];
        if site.key != key.public() {
            let allowed = format!("that of {} in the task, {}", site.name, site.key);
            return Err(Error::parameter("the key", key.public(), allowed));
        }
        Ok(Self { config, task, place, key })
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// This aggregator's entry in the task.
    pub fn site(&self) -> &Site {
        &self.task.aggregators()[self.place]
    }

    /// This aggregator's report store.
    ///
    /// # Errors
    /// If it cannot be used.
    pub fn store(&self) -> Result<Store> {
        Store::open(&self.config.store, &self.task, self.place)
    }

    /// A listener for reports, to be started with [`Reception::run`].
    ///
    /// # Errors
    /// If the address cannot be bound, or the store cannot be used.
    pub fn reception(&self) -> Result<Reception> {
        let listener = listen(self.config.listen_reports.as_ref().unwrap_or(&self.site().reports))?;
        Reception::new(&self.task, self.place, &self.key, listener, self.store()?)
    }

    /// Collects one batch together with the other aggregators.
    ///
    /// # Errors
    /// See [`Aggregator::collect`].
    pub fn collect(&self) -> Result<Collected> {
        let ledger = DurableLedger::open(&self.config.ledger.parse::<Location>()?)?;
        let mut store = self.store()?;
        let listener = listen(self.config.listen.as_ref().unwrap_or(&self.site().address))?;
        let roster: Vec<_> = self.task.aggregators().iter().map(Site::member).collect();
        let mesh = Mesh::start(&roster, self.place, &self.key, listener, largest_frame(&self.task))?;
        let mut rounds = Rounds::new(&self.task, self.place, mesh, self.config.times())?;
        let dataset = &self.config.dataset;
        let collected =
            Aggregator::new(&self.task, self.place, &self.key, &mut store, &ledger, dataset)?.collect(&mut rounds);
        rounds.close();
        collected
    }
}

fn listen(address: &str) -> Result<TcpListener> {
    TcpListener::bind(address).map_err(|error| Error::network(format!("listening on {address}"), error))
}
