//! Files that are on the disk when a call returns, and whole after a crash.
//!
//! What a ledger, a stream, a collector, a store of tokens and a person's own device have in common when they keep
//! something. Nothing here knows what is kept.
//!
//! ```
//! use reticent_durable::replace;
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("epoch");
//! replace(&path, b"1")?;
//! replace(&path, b"2")?; // after a crash: 1 or 2, never nothing and never half of it
//! assert_eq!(std::fs::read(&path)?, b"2");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mod@replace`] | small files that are replaced as a whole |
//! | [`database`] | [`Database`]: an SQLite file whose commits are durable |
//! | [`files`] | [`Files`]: what is done to files beside what SQLite does; tests put failing disks in its place |
//! | [`file_id`] | [`FileId`]: which file a path leads to |
//!
//! # What is not promised
//! A disk that says that it has written and has not loses what it was given.

pub mod database;
pub mod file_id;
pub mod files;
pub mod replace;

pub use database::{Access, Database, Failure, Form, FromFailure};
pub use file_id::FileId;
pub use files::{Files, SystemFiles};
pub use replace::{beside, private, replace, sync_directory};
