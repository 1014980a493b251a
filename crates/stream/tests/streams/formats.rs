//! A data directory in the formats of today, made by the program, must open with whatever the code becomes.
//!
//! Three streams of two events a step, whose noise is 0: five events were counted, so that two steps are released and the third is half
//! full. A change of a format must raise its version and add a fixture. These stay as they are: they must still open, or be refused with the
//! text that `docs/formats.md` tells. The checkpoint is `postcard`, without names: the order of fields is part of the format.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reticent::hexadecimal;
use reticent_ledger::{DurableLedger, Location};
use reticent_stream::count::{self, StoredCount};
use reticent_stream::{HandClock, Released, Stream, Streams};
use rusqlite::Connection;

const LEDGER: &str = include_str!("../fixtures/ledger-2.sql");
const STREAMS: &str = include_str!("../fixtures/streams-1.sql");
const OUTCOMES: &str = include_str!("../fixtures/outcomes.ndjson");
const PAN_PRIVATE: &str = include_str!("../fixtures/pan-private-1.hex");

fn load(path: &Path, dump: &str) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(dump).unwrap();
    connection
}

fn open(folder: &Path) -> Result<Streams, String> {
    let ledger = Arc::new(DurableLedger::open(&Location::File(folder.join("ledger.sqlite"))).unwrap());
    Streams::open(folder, ledger, Arc::new(HandClock::at(1_800_000_000_000))).map_err(|error| error.to_string())
}

fn directory() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    load(&folder.path().join("ledger.sqlite"), LEDGER);
    load(&folder.path().join("streams.sqlite"), STREAMS);
    let digits: String = PAN_PRIVATE.split_whitespace().collect();
    fs::create_dir(folder.path().join("pan-private")).unwrap();
    fs::write(folder.path().join("pan-private/taps.releases"), hexadecimal::read(&digits).unwrap()).unwrap();
    folder
}

fn values(stream: &Stream) -> Vec<Vec<i64>> {
    let values = |released: &Released| match released {
        Released::One(one) => vec![one.value],
        Released::Keyed(keyed) => keyed.values.iter().map(|(_, value)| *value).collect(),
    };
    stream.history(1, 10).unwrap().iter().map(|release| values(&release.released)).collect()
}

#[test]
fn streams_of_version_1_go_on_where_they_were() {
    let folder = directory();
    let streams = open(folder.path()).unwrap();
    assert!(streams.unopened().is_empty());
    let stream = |name| streams.get(name).expect("it is there");
    let (doors, total, taps) = (stream("doors"), stream("total"), stream("taps"));
    assert_eq!(values(&doors), [[1, 2], [5, 5]]);
    assert_eq!((values(&total), values(&taps)), (vec![vec![3], vec![10]], vec![vec![3], vec![10]]));

    // The fifth event was in the journal, and its id is remembered; a pan-private stream has lost it.
    let again =
        b"{\"id\": \"a5\", \"key\": \"north\", \"value\": 5}\n{\"id\": \"a6\", \"key\": \"south\", \"value\": 6}\n";
    for stream in [&doors, &total, &taps] {
        stream.ingest(stream.events_from_ndjson(again)).unwrap();
    }
    assert_eq!(values(&doors)[2], [10, 11]);
    assert_eq!((values(&total)[2][0], values(&taps)[2][0]), (21, 21));
    streams.stop();
}

#[test]
fn other_versions_are_refused() {
    let refused = |error: &str| error.ends_with("is damaged, or not from this version");
    let folder = directory();
    load(&folder.path().join("streams.sqlite"), "PRAGMA user_version = 2");
    assert!(refused(&open(folder.path()).expect_err("it is of another version")));

    let folder = directory();
    let log = folder.path().join("pan-private/taps.releases");
    let mut bytes = fs::read(&log).unwrap();
    let place = b"{\"version\":".len();
    assert_eq!(bytes[place], b'1');
    bytes[place] = b'2';
    fs::write(&log, bytes).unwrap();
    let streams = open(folder.path()).unwrap();
    assert!(streams.get("taps").is_none() && streams.get("doors").is_some(), "the others run");
    streams.stop();
}

/// What a ledger keeps for the requests of three counts carries no version: a change must read this fixture, and add another.
#[test]
fn kept_counts_read_back() {
    let released = |step, key: Option<&str>, value| count::Released { step, key: key.map(Into::into), value };
    let (north, south) = (Some("north"), Some("south"));
    let expected = [
        StoredCount { releases: vec![released(1, None, 0), released(2, None, -1)], horizon_reached: true },
        StoredCount {
            releases: vec![released(1, None, 2), released(2, None, 2), released(3, None, 9)],
            horizon_reached: false,
        },
        StoredCount {
            releases: vec![released(1, north, 1), released(1, south, 1), released(2, north, 1), released(2, south, 2)],
            horizon_reached: false,
        },
    ];
    let kept: Vec<StoredCount> = OUTCOMES.lines().map(|text| StoredCount::from_text(text).unwrap()).collect();
    assert_eq!(kept, expected);
    let written: Vec<String> = kept.iter().map(|kept| serde_json::to_string(kept).unwrap()).collect();
    assert_eq!(written, OUTCOMES.lines().collect::<Vec<_>>());
}
