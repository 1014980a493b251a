//! An in-memory disk that loses power and fails: a file system for SQLite, for tests.
//!
//! A [`Disk`] is registered with SQLite under its own name. It logs every change. From this log a [`Replay`] makes the
//! [`Image`]s that a power cut may leave at any point, and a disk can be loaded from an image again.
//! Any call can be made to [fail](Disk::fail).
//!
//! ```
//! use crash_disk::{Disk, Replay, Survivors};
//! use rusqlite::{Connection, OpenFlags};
//!
//! let disk = Disk::new();
//! let open = || Connection::open_with_flags_and_vfs("a.sqlite", OpenFlags::default(), disk.system()).unwrap();
//! let connection = open();
//! connection.execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (x); INSERT INTO t VALUES (1)").unwrap();
//!
//! let mut replay = Replay::new(&disk.image());
//! disk.log().iter().for_each(|change| replay.step(change));
//! drop(connection);
//! disk.load(&replay.image(Survivors::Nothing));
//! assert_eq!(open().query_row("SELECT x FROM t", [], |row| row.get::<_, i64>(0)), Ok(1));
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`disk`] | [`Disk`]: files as programs see them, and the log of changes |
//! | [`replay`] | [`Replay`]: what a power cut leaves |
//! | [`fault`] | which calls fail, and how |
//! | `content` | the bytes of a file, cheap to copy |
//! | `locks` | who may read and write a file, and its shared memory |
//! | `random` | a small seeded generator |
//! | `vfs` | the C functions that SQLite calls; all `unsafe` is here |
//!
//! # What is modelled
//! - A write or truncation is durable once its file is synced. Until then it may reach the disk or not, independently
//!   of all others and in any order; and of a write any 512-byte sectors may. Bytes next to a write are never damaged
//!   (SQLite's unix file system assumes the same: "powersafe overwrite"). The unwritten part of an extended file reads
//!   as zeros.
//! - A new or deleted name is durable once its directory is synced: by a delete that requests it, by the first sync of
//!   a journal or log after it was opened (as in SQLite's unix file system), or on request. Until then each name may be
//!   in any state since. There is one directory.
//! - A failed sync [loses](Operation::LoseWrites) what it should have written: programs can still read it, but no later
//!   sync writes it. Linux behaves like this.
//! - Shared memory is lost. Locks are honoured between connections of one process.
//!
//! # What is not modelled
//! Bit rot, misdirected writes, disks that lie about a sync (but see [`Replay::ignore_syncs`]), and file systems whose
//! new sectors contain something other than zeros.

mod content;
pub mod disk;
pub mod fault;
mod locks;
mod random;
pub mod replay;
mod vfs;

pub use disk::{Disk, Operation};
pub use fault::{Call, Failure, Fault};
pub use random::Random;
pub use replay::{Image, Replay, Survivors};
