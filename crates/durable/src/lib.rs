//! Files that are on disk when a call returns, and intact after a crash.
//!
//! The storage layer shared by ledgers, streams, collectors, aggregators, token stores and client devices. It knows
//! nothing about what it stores.
//!
//! ```
//! use reticent_durable::replace;
//!
//! # let folder = tempfile::tempdir()?;
//! let path = folder.path().join("epoch");
//! replace(&path, b"1")?;
//! replace(&path, b"2")?; // after a crash: 1 or 2, never empty and never half-written
//! assert_eq!(std::fs::read(&path)?, b"2");
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`mod@replace`] | small files that are replaced as a whole |
//! | [`opening`] | [`Opening`]: opens an SQLite file so that its commits are durable |
//! | [`database`] | [`Database`]: such a file, which is reopened after a failure |
//! | [`files`] | [`Files`]: file operations other than SQLite's own; tests substitute failing disks |
//! | [`file_id`] | [`FileId`]: the identity of the file at a path |
//!
//! # What is not promised
//! A disk that reports a write as durable when it is not can lose data.

pub mod database;
pub mod file_id;
pub mod files;
pub mod opening;
pub mod replace;

pub use database::{Access, Database, FromFailure};
pub use file_id::FileId;
pub use files::{Files, Held, SystemFiles};
pub use opening::{Failure, Form, Journal, Opening};
pub use replace::{beside, private, replace, sync_directory};
