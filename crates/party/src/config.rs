//! What only one party knows: its key, its tables, its ledger.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use reticent_ledger::Location;
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::file;
use crate::times::{self, Times};

/// A party's own configuration file. Relative paths are resolved against the file's directory.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `task` | the task file, the same for all parties | – |
/// | `party` | which of the task's parties this is | – |
/// | `key` | the private key file | – |
/// | `listen` | the address it listens on | the task's address |
/// | `tables` | the query's tables: name and file, or `postgresql://…?table=SCHEMA.TABLE` | none |
/// | `ledger`, `dataset` | the budget to charge | – |
/// | `state` | the directory that records used attempts; never delete it | – |
/// | `transcript` | where to write the transcript | in the state directory |
/// | `join_seconds` | how long to wait for all parties to join | 600 |
/// | `round_seconds` | how long each later round may take, including the query | 120 |
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "documented in the table above")]
pub struct Config {
    pub task: PathBuf,
    pub party: String,
    pub key: PathBuf,
    pub listen: Option<SocketAddr>,
    #[serde(default)]
    pub tables: BTreeMap<String, PathBuf>,
    pub ledger: String,
    pub dataset: String,
    pub state: PathBuf,
    pub transcript: Option<PathBuf>,
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
        let paths = [&mut config.task, &mut config.key, &mut config.state];
        // A database is not in the folder.
        let is_database = |place: &Path| matches!(place.to_str().map(str::parse), Some(Ok(Location::Postgres(_))));
        let tables = config.tables.values_mut().filter(|place| !is_database(place));
        for place in paths.into_iter().chain(&mut config.transcript).chain(tables) {
            *place = folder.join(&*place);
        }
        file::ledger_in(folder, &mut config.ledger);
        Times::check(config.join_seconds, config.round_seconds).map_err(|error| Error::form(path, error))?;
        Ok(config)
    }

    /// The ledger's location.
    ///
    /// # Errors
    /// If it is neither a file nor a server address.
    pub fn ledger(&self) -> Result<Location> {
        Ok(self.ledger.parse()?)
    }

    /// The timeouts.
    pub fn times(&self) -> Times {
        Times::of_seconds(self.join_seconds, self.round_seconds)
    }
}

#[cfg(test)]
mod tests {
    use reticent::error::Explained;
    use std::fs;
    use std::time::Duration;

    use super::*;

    const TEXT: &str = "task = \"task.toml\"\nparty = \"a\"\nkey = \"a.key\"\nledger = \"a.sqlite\"\ndataset = \"d\"\n\
                        state = \"/var/a\"\ntables = { visits = \"visits.csv\", staff = \"postgresql://h/d?table=s.t\" }\n";

    #[test]
    fn paths_are_relative_to_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        fs::write(&path, TEXT).unwrap();
        let config = Config::read(&path).unwrap();
        assert_eq!(config.task, folder.path().join("task.toml"));
        assert_eq!(config.tables["visits"], folder.path().join("visits.csv"));
        assert_eq!(config.tables["staff"], Path::new("postgresql://h/d?table=s.t"));
        assert_eq!(config.state, Path::new("/var/a"));
        assert_eq!(config.ledger().unwrap(), Location::File(folder.path().join("a.sqlite")));
        assert_eq!(config.times().join, Duration::from_secs(600));
    }

    #[test]
    fn what_means_nothing_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        for (more, why) in
            [("tabels = 1", "tabels"), ("round_seconds = 0", "round_seconds is 0"), ("party = 3", "party")]
        {
            fs::write(&path, format!("{more}\n{TEXT}")).unwrap();
            let error = Config::read(&path).unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(why), "{error}");
        }
    }
}
