//! A data directory, a ledger and a clock that is moved by hand.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reticent_ledger::{DurableLedger, Location};
use reticent_stream::{Definition, HandClock, Released, StepRelease, Stream, Streams};

/// A full day, so that steps of any length begin here.
pub const START: i64 = 1_700_006_400_000;
/// So large that the noise on values up to 9 is 0 but once in more runs than there will be.
pub const EXACT: &str = "\nepsilon = '1000'\nallow_large_epsilon = true\n";
/// The same for values up to 100.
pub const EXACT_FOR_100: &str = "\nepsilon = '50000'\nallow_large_epsilon = true\n";

pub struct Bench {
    pub folder: tempfile::TempDir,
    pub ledger: Arc<DurableLedger>,
    pub clock: Arc<HandClock>,
}

impl Bench {
    pub fn new() -> Self {
        let folder = tempfile::tempdir_in(quick_folder()).unwrap();
        let place = Location::File(folder.path().join("ledger.sqlite"));
        let ledger = Arc::new(DurableLedger::create(&place).unwrap());
        Self { folder, ledger, clock: Arc::new(HandClock::at(START)) }
    }

    pub fn directory(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub fn open(&self) -> Streams {
        Streams::open(&self.directory(), Arc::clone(&self.ledger), self.clock.clone()).unwrap()
    }

    /// Moves the clock on, and closes what is due.
    pub fn advance(&self, streams: &Streams, milliseconds: u64) {
        self.clock.advance(Duration::from_millis(milliseconds));
        streams.close_due().unwrap();
    }

    /// How many entries the ledger has.
    pub fn entries(&self) -> u64 {
        self.ledger.head().unwrap().number
    }
}

/// A folder in memory, if there is one: what survives a process is the same there, and nothing waits for a disk.
fn quick_folder() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

pub fn definition(text: &str) -> Definition {
    toml::from_str(text).unwrap()
}

pub fn one(release: &StepRelease) -> i64 {
    match &release.released {
        Released::One(value) => value.value,
        Released::Keyed(_) => panic!("it has keys"),
    }
}

pub fn keyed(release: &StepRelease) -> Vec<(String, i64)> {
    match &release.released {
        Released::Keyed(keyed) => keyed.values.iter().map(|(key, value)| (key.to_string(), *value)).collect(),
        Released::One(_) => panic!("it has no keys"),
    }
}

pub fn send(stream: &Stream, lines: &str) {
    stream.ingest_ndjson(&mut lines.as_bytes().to_vec()).unwrap();
}

/// All releases.
pub fn all(stream: &Stream) -> Vec<StepRelease> {
    stream.history(1, usize::MAX).unwrap()
}
