//! SQLite behaves on such a disk as on any other.

use std::time::Duration;

use crash_disk::{Call, Disk, Failure, Fault};
use rusqlite::{Connection, ErrorCode, OpenFlags, Result};

fn open(disk: Disk) -> Connection {
    let connection = Connection::open_with_flags_and_vfs("a.sqlite", OpenFlags::default(), disk.system()).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    connection.execute_batch("PRAGMA journal_mode = wal; PRAGMA synchronous = full").unwrap();
    connection
}

fn count(connection: &Connection) -> Result<i64> {
    connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))
}

#[test]
fn connections_see_each_other_and_wait_for_each_other() {
    let disk = Disk::new();
    let (one, two) = (open(disk), open(disk));
    one.execute_batch("CREATE TABLE t (x); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(count(&two), Ok(0));
    let busy = two.execute_batch("BEGIN IMMEDIATE").unwrap_err();
    assert_eq!(busy.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    one.execute_batch("COMMIT").unwrap();
    assert_eq!(count(&two), Ok(1));
    assert!(disk.length("a.sqlite-wal").is_some());
    drop(one);
    assert!(disk.length("a.sqlite-wal").is_some(), "the other still uses it");
    drop(two);
    assert_eq!(disk.length("a.sqlite-wal"), None);
    assert_eq!(count(&open(disk)), Ok(1));
}

#[test]
fn failures_are_told_as_sqlite_tells_them() {
    let disk = Disk::new();
    let connection = open(disk);
    connection.execute_batch("CREATE TABLE t (x)").unwrap();
    let fails = |call, failure| {
        disk.fail(Fault { from: 0, times: Fault::LASTING, calls: vec![call], failure });
        let error = connection.execute_batch("INSERT INTO t VALUES (1)").unwrap_err();
        disk.heal();
        error.sqlite_error_code().unwrap()
    };
    assert_eq!(fails(Call::Write, Failure::Full), ErrorCode::DiskFull);
    assert_eq!(fails(Call::Write, Failure::Device), ErrorCode::SystemIoFailure);
    assert_eq!(fails(Call::Write, Failure::ReadOnly), ErrorCode::ReadOnly);
    assert_eq!(fails(Call::Sync, Failure::Device), ErrorCode::SystemIoFailure);
    assert_eq!(count(&connection), Ok(0));
    connection.execute_batch("INSERT INTO t VALUES (1)").unwrap();
    assert_eq!(count(&connection), Ok(1));
}
