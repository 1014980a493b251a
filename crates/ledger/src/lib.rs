//! Privacy budgets that survive everything: charged first, never refunded, exact, hash-chained.
//!
//! A *dataset* has a budget. A *charge* takes a part of it, durably, before the data is touched; a *receipt* proves it, and a
//! [`Permit`](reticent::Permit) is had for it. What is released is kept and given back to whoever asks the same again.
//!
//! See [`DurableLedger`] for an example.
//!
//! | module | holds |
//! |---|---|
//! | [`budget`] | what a dataset may spend, has spent, and what would still fit |
//! | [`durable`] | [`DurableLedger`]: what is asked of a ledger |
//! | [`account`] | what a dataset may spend and has spent |
//! | `rules`, `chain` | what happens within one transaction |
//! | [`entry`] | what is written down, each entry with the hash of the one before |
//! | `limit` | a limit for a dataset that had none |
//! | [`claims`] | same rows, one budget: which dataset a request is charged to, and which datasets stand against that |
//! | [`files`] | which file it is, whatever it is called, and whose rows it holds |
//! | [`history`] | what was written down, entry by entry |
//! | [`verify`] | whether everything is as it was written |
//! | [`anchor`] | the newest hash, kept elsewhere, which betrays an older copy put back |
//! | [`storage`] | SQLite and PostgreSQL |
//! | `group` | one commit for all threads that wait |
//! | `witness` | what this process has seen, which an older copy put in its place does not hold |
//! | [`hash`] | SHA-256 |
//! | [`error`] | the one error type |
//!
//! # What is not promised
//! Whoever can write to the storage can put back an older copy of all of it, or write a new chain. A process that runs notices
//! that what it saw before is gone; beyond that only an [`anchor`] out of their reach betrays it. The ledger adds up what it is told: it does not know whether a mechanism keeps its promise.
//! Someone who copies or renames a dataset has a new one.
//!
//! # Features
//! - `postgres` (default): a ledger that several machines share.

pub mod account;
pub mod anchor;
pub mod budget;
mod chain;
pub mod claims;
pub mod durable;
pub mod entry;
pub mod error;
pub mod files;
mod group;
pub mod hash;
pub mod history;
mod limit;
mod rules;
pub mod storage;
pub mod verify;
mod witness;

pub use account::{Account, Registration};
pub use anchor::{Anchor, Head};
pub use budget::{Budget, Overdraft, Spend};
pub use claims::{Subject, Use, dataset_of_file};
pub use durable::{DurableLedger, fresh_id};
pub use entry::{Dataset, Entry, Event, Terms};
pub use error::{Error, Result};
pub use files::{FileId, Owner};
pub use history::Record;
pub use storage::location::Location;
pub use verify::{Finding, Verdict};
