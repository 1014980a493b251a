//! An aggregator's files in the formats of today, made by the program, must open with whatever the code becomes.
//!
//! A change of a format must raise its version and add a fixture. These stay as they are: they must still open, or be refused with a text
//! that `docs/formats.md` tells. What is hashed and signed must stay the same to the byte: hash and signatures are checked.

use std::fs;
use std::path::{Path, PathBuf};

use reticent_aggregators::{Record, Store, Task};
use rusqlite::Connection;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

#[test]
fn the_file_and_the_record_of_an_aggregator_of_version_1_say_what_they_said() {
    let task = Task::read(&fixture("vote.toml")).unwrap();
    assert_eq!(task.hash().to_string(), "c62413cf5dcc8a4d2f8ed3d11bc6374fd699ddc50c10bd98d2ba74410464de2f");
    let record = Record::read(&fs::read_to_string(fixture("record.json")).unwrap(), &task).unwrap();
    assert_eq!((record.reports(), record.dropped(), record.sums(&task).unwrap()), (3, 0, vec![3]));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ngo.reports");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&fs::read_to_string(fixture("aggregator-1.sql")).unwrap()).unwrap();
    let store = Store::open(&path, &task, 0).unwrap();
    assert_eq!((store.waiting().unwrap(), store.pending().unwrap()), (2, None));
    assert_eq!(store.record().unwrap(), Some(record));
    drop(store);
    assert!(Store::open(&path, &task, 1).unwrap_err().to_string().contains("another task or aggregator"));
    connection.pragma_update(None, "user_version", 2).unwrap();
    let refused = Store::open(&path, &task, 0).unwrap_err().to_string();
    assert!(refused.ends_with("not an aggregator's store, or from another version"), "{refused}");
}
