//! A party's process: m organisations, each with its own rows, release one statistic over all rows; none trusts any
//! other.
//!
//! All parties share the same [`Task`] file; each has its own [`Config`], [`PrivateKey`], ledger and [`Statistic`]: the
//! task's SQL over its own tables ([`OwnRows`]), or your own. [`run()`] does the rest; [`simulate()`] runs all parties in one
//! process:
//!
//! ```
//! use reticent_party::{Error, PrivateKey, Statistic, Task, simulate};
//!
//! struct Patients(i64);
//!
//! impl Statistic for Patients {
//!     fn check(&self, task: &Task) -> Result<(), Error> {
//!         assert_eq!((task.cells().len(), task.sensitivity()), (1, 1)); // one number, to which each patient adds 1
//!         Ok(())
//!     }
//!
//!     fn exact(&mut self, _: &Task, _: [u8; 32]) -> Result<Vec<i64>, String> {
//!         Ok(vec![self.0])
//!     }
//! }
//!
//! let mut text = r#"
//!     title = "Patients with influenza"
//!     session = "2026, week 46"
//!     protocol = "masked"
//!     colluders = 1
//!     epsilon = 1
//!     unit = "row"
//!     adjacency = "add-remove"
//!     sql = "SELECT COUNT(*) FROM visits"
//!     bound = 1000000
//!     sensitivity = 1
//!     cells = ["patients"]
//! "#.to_owned();
//! for name in ["st-mary", "st-john", "st-anne"] {
//!     let key = PrivateKey::generate()?.public();
//!     text += &format!("[[party]]\nname = \"{name}\"\nkey = \"{key}\"\naddress = \"{name}.example:7001\"\n");
//! }
//! let simulated = simulate(&text.parse()?, vec![Patients(120), Patients(80), Patients(200)])?;
//! assert!((simulated.release.value()[0] - 400).abs() < 100);
//! assert!(simulated.transcript.verify(None).is_sound());
//! # Ok::<(), reticent_party::Error>(())
//! ```
//!
//! | module | holds |
//! |---|---|
//! | [`keys`] | a party's identity |
//! | [`task`] | what all parties agree on, hashed into every message |
//! | `config` | what only one party knows |
//! | `query` | the task's SQL: the check that it has the task's numbers, and its answer (feature `sql`) |
//! | `run` | a party's process, from its configuration to its result |
//! | `simulate` | all parties in one process |
//! | `view` | what all parties but one learn together (feature `sql`) |
//! | `session` | the rounds |
//! | [`message`] | signed messages, as bytes |
//! | [`transport`] | mutual TLS between all parties, or an in-memory network |
//! | `transcript` | all signed messages of an attempt, and their verification |
//! | `state` | which attempts were used |
//! | `charge` | a party's own ledger |
//! | [`words`] | the guarantee in words |
//! | `abort` | how an attempt ends without a result |
//! | [`times`] | timeouts |
//! | [`file`](mod@file) | files written by people |
//! | [`hex`] | bytes as text |
//! | `error` | the error type |
//!
//! # What is promised
//! The privacy guarantee holds against honest-but-curious parties that collude: see
//! [`Plan`](reticent::multiparty::Plan). A party that vanishes, lies about the task, replays messages, sends invalid
//! ones, or sends different messages to different parties makes every honest party abort; of an honest party's rows it
//! learns nothing but, at most, the masked noisy share.
//!
//! # What is not promised
//! - A party can falsify the sum by lying about its own numbers, undetectably.
//! - Some parties hear the last message before others, so one may have the result of an attempt that others aborted.
//!   Each new attempt is therefore charged anew.
//! - The time at which a contribution is sent reveals how long a party's query took.
//! - Anyone who can reach a party's address can keep it busy; strangers are cut off when they cannot prove a key in the
//!   task.
//!
//! # Features
//! - `sql` (default): the statistic is the task's SQL, checked against the task. Without it there is no SQL engine: for
//!   statistics of your own, and for `reticent-aggregators`, which has its keys, connections and files from here.

mod abort;
mod charge;
mod config;
mod error;
pub mod file;
pub mod hex;
pub mod keys;
pub mod message;
#[cfg(feature = "sql")]
mod query;
mod run;
mod session;
mod simulate;
mod state;
pub mod task;
pub mod times;
mod transcript;
pub mod transport;
#[cfg(feature = "sql")]
mod view;
pub mod words;

pub use abort::{Abort, Reason};
pub use config::Config;
pub use error::{Error, Result};
pub use hex::{Digest, Hex};
pub use keys::{PrivateKey, PublicKey};
#[cfg(feature = "sql")]
pub use query::{CheckedTask, OwnRows};
pub use run::{Outcome, Party, Statistic, check, run};
pub use simulate::{Simulated, simulate};
pub use state::State;
pub use task::{Cell, Draft, Member, Task};
pub use times::Times;
pub use transcript::{Transcript, Verdict};
#[cfg(feature = "sql")]
pub use view::{Seen, view};
