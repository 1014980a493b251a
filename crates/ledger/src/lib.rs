//! Privacy budgets that survive crashes: charged first, never refunded, exact, hash-chained.
//!
//! A *dataset* has a budget. A *charge* uses up part of it, durably, before the data is touched; a *receipt* proves the
//! charge, which yields a [`Permit`](reticent::Permit). The release is stored, and returned when the same request is
//! made again.
//!
//! ```
//! use reticent::ledger::{Charge, Ledger, OnInterruption, ReleaseOutcome, RunResult};
//! use reticent::mechanism::Laplace;
//! use reticent::privacy::{Adjacency, Epsilon, Guarantee};
//! use reticent_ledger::{Dataset, DurableLedger, Location};
//!
//! # let folder = tempfile::tempdir()?;
//! let place = Location::File(folder.path().join("ledger.sqlite"));
//! let ledger = DurableLedger::create(&place)?;
//! let limit = Guarantee::Pure("1".parse()?);
//! ledger.register(&Dataset::limited("people".into(), limit, "row".into(), Some(Adjacency::AddRemove), false)?)?;
//!
//! let epsilon: Epsilon = "0.6".parse()?;
//! let charge = Charge::new("people", "monday", Guarantee::Pure(epsilon.clone())).caller("ada").description("headcount");
//! let count = |mut permit| -> Result<RunResult, Box<dyn std::error::Error>> {
//!     let count = Laplace::new(1, &epsilon)?.release(1234, &mut permit)?;
//!     Ok(RunResult::Released(count.value().to_string()))
//! };
//! let ReleaseOutcome::Fresh(shown) = ledger.release(&charge, OnInterruption::Recompute, count)? else { panic!("asked before") };
//!
//! // Repeating the request costs nothing and returns the same release; a second charge of this size does not fit.
//! assert_eq!(ledger.release(&charge, OnInterruption::Recompute, count)?, ReleaseOutcome::Replayed(shown));
//! let other = Charge { request: "tuesday".into(), ..charge };
//! assert!(ledger.release(&other, OnInterruption::Recompute, count).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `budget` | [`Budget`], [`Spend`]: what still fits |
//! | `durable`, `reading` | [`DurableLedger`]: what a ledger does, and what it says |
//! | `account` | [`Account`]: what a dataset may spend and has spent |
//! | `rules`, `chain` | what happens within one transaction |
//! | `run` | which charges are being computed, and by which processes |
//! | `entry` | [`Entry`], [`Event`]: entries, each with the hash of the one before |
//! | `limit` | a limit for a dataset that had none |
//! | `claims` | same rows, one budget: which dataset a request is charged to, and which datasets conflict with that |
//! | `files` | [`Owner`]: the datasets that the rows of a file belong to |
//! | `history` | [`Record`]: the ledger's history, entry by entry |
//! | `keys` | [`public_keys`]: public keys that a user lists, or names a file of |
//! | `component` | [`Component`]: ε, δ and ρ, each with its own limit |
//! | `place` | [`Place`]: which ledger to use, a named one or the user's own |
//! | [`accounting`] | accounting for a program that releases statistics about files |
//! | `notice` | [`Notice`]: what the user hears about charges |
//! | [`registration`] | datasets as users name and register them |
//! | `verify` | [`Verdict`]: detection of tampering |
//! | `anchor` | [`Anchor`]: the newest hash, kept elsewhere, which reveals a restored older copy |
//! | [`storage`] | SQLite and PostgreSQL |
//! | `group` | one commit for all waiting threads |
//! | `witness` | what this process has seen, which an older copy lacks |
//! | `hash` | [`Hash`](struct@Hash): SHA-256 |
//! | `error` | [`Error`]: the error type |
//!
//! # What is not promised
//! Anyone who can write to the storage can restore an older copy of all of it, or write a new chain. A running process
//! notices that entries it has seen are gone; beyond that only an [`Anchor`] out of the attacker's reach reveals it.
//! The ledger adds up the costs it is given: it does not know whether a mechanism satisfies its guarantee. A copied or
//! renamed dataset is a new one.
//!
//! # Features
//! - `postgres` (default): a ledger shared by several machines.

mod account;
pub mod accounting;
mod anchor;
mod budget;
mod chain;
mod claims;
mod component;
mod durable;
mod entry;
mod error;
mod files;
mod group;
mod hash;
mod history;
mod keys;
mod limit;
mod notice;
mod place;
mod reading;
pub mod registration;
mod rules;
mod run;
pub mod storage;
mod verify;
mod witness;

pub use account::{Account, FailureKind, MOST_INTERRUPTED, Registration, Suspension};
pub use anchor::{Anchor, Head};
pub use budget::{Budget, Overdraft, Spend};
pub use claims::{ChargedDataset, Use, dataset_of, dataset_of_file};
pub use component::Component;
pub use durable::{DurableLedger, LONGEST_NAME, fresh_id};
pub use entry::{Dataset, Entry, Event, Keys, Row, Terms};
pub use error::{Error, Result};
pub use files::Owner;
pub use hash::Hash;
pub use history::{Record, Summary};
pub use keys::public_keys;
pub use notice::Notice;
pub use place::{Place, named_by_environment};
pub use run::{Holder, Run};
pub use storage::location::Location;
pub use verify::{Finding, Inspection, Verdict};
