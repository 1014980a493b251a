//! Make any statistic private: split a table into random disjoint blocks, run a program or query on each block in its
//! own process, and release what the blocks agree on.
//!
//! One privacy unit changes the answer of one block, whatever the statistic is, so the statistic itself need not be
//! private. The mathematics is in [`reticent::mechanism::subsample`]; this crate adds tables, processes and timing.
//!
//! ```
//! use std::ffi::OsString;
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use reticent::Permit;
//! use reticent_subsample::{
//!     Environment, Outcome, Parameters, Plan, Schedule, Split, Statistic, Subsample, Summary, Table, Trial,
//! };
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("people.csv");
//! std::fs::write(&path, "age\n".to_owned() + &"36\n".repeat(600)).unwrap();
//! let plan = Plan::new(Parameters {
//!     split: Split::Blocks(30),
//!     schedule: Schedule::unpadded(Duration::from_secs(20)),
//!     ..Parameters::new("1".parse()?, Summary::Mean { bounds: "0..100".parse()? })
//! })?;
//! let script = ["NR > 1 {sum += $1} END {print sum / (NR - 1)}"].map(OsString::from);
//! let statistic = Statistic::program(Path::new("awk"), &script)?;
//! let subsample = Subsample::new(plan, statistic, Table::open(&path)?, Environment::best())?;
//! subsample.try_out(&Trial::Invented)?; // no row has been read yet
//! let kept = subsample.release(&mut Permit::unaccounted()?, || ())?;
//! assert!(kept.unanswered.is_some_and(|unanswered| unanswered.of == 30));
//! match kept.outcome {
//!     Outcome::Mean { value, half_width, .. } => assert!((value - 36.0).abs() < 5.0 * half_width),
//!     other => println!("{other:?}"), // a refusal, with probability 1/1000
//! }
//! # Ok::<(), reticent_subsample::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `plan` | [`Plan`]: how the answers become a release, and under which guarantee |
//! | `split` | [`Split`]: what the statistic runs on: blocks, samples, or the whole table |
//! | `release` | from rows to a release |
//! | `table` | [`Table`]: its header before the charge, its rows after it, split into blocks |
//! | `cells` | writing CSV lines |
//! | `statistic` | [`Statistic`]: the program that runs on every block |
//! | [`block_sql`] | what that program does for a statistic in SQL |
//! | `environment` | [`Environment`]: what a run sees of the system |
//! | `run` | one run: a process that reads a block and prints an answer |
//! | `schedule` | [`Schedule`]: when runs start, and how many run at a time |
//! | `subsample` | [`Subsample`]: all of it together |
//! | `trial` | [`Trial`]: made-up rows on which the statistic is tried before the charge |
//! | `dry_run` | [`DryRun`]: the cost and the probability of a refusal, without spending anything |
//! | [`kept`] | [`Kept`]: the outcome, as stored in a ledger |
//! | `error` | the one error type |
//!
//! # What is not promised
//! - A run that looks beyond its block (at a file that another run left behind, or at the table itself) breaks the
//!   guarantee. [`Environment::best`] cuts off the network and hides other processes where the system allows it, and
//!   reports what it could not do.
//! - Reading and splitting the rows takes time that grows with the table.
//!
//! Process management is Unix-specific: on other systems this crate is empty.
#![cfg(unix)]

pub mod block_sql;
mod cells;
mod dry_run;
mod environment;
mod error;
pub mod kept;
mod plan;
mod release;
mod run;
mod schedule;
mod split;
mod statistic;
mod subsample;
mod table;
mod trial;

pub use dry_run::DryRun;
pub use environment::{Environment, Isolation};
pub use error::{Error, ProgramFault, Result, TableFault};
pub use kept::{Kept, Outcome};
pub use plan::{Mechanism, Parameters, Plan, Summary, Unit};
pub use schedule::Schedule;
pub use split::Split;
pub use statistic::{Statistic, Worker};
pub use subsample::Subsample;
pub use table::Table;
pub use trial::Trial;
