//! A party's process: m organisations, each with rows of its own, release one statistic of all rows together; nobody trusts
//! anybody but itself.
//!
//! All parties have the same [`Task`] file; each has a [`Config`], a [`PrivateKey`], a ledger and a [`Statistic`] of its own: the task's
//! SQL over its own tables ([`query`]), or your own. [`run()`] does the rest; see [`simulate()`] for all of them in one process:
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
//! | [`keys`] | who a party is |
//! | [`task`] | what all parties agree on, hashed into every message |
//! | [`config`] | what one party alone knows |
//! | [`query`] | the task's SQL: the check that it has the task's numbers, and its answer (feature `sql`) |
//! | [`mod@run`] | a party's process, from its configuration to its result |
//! | [`aggregators`] | many untrusted clients, and two or three aggregators that add up what none of them sees |
//! | [`mod@simulate`] | all parties in one process |
//! | `session` | the rounds |
//! | [`message`] | what is said, as bytes under a signature |
//! | [`transport`] | mutual TLS between everybody and everybody, or a network in memory |
//! | [`transcript`] | all that was said, and whether it is as it was said |
//! | [`state`] | which attempts were used |
//! | `charge` | a party's own ledger |
//! | [`promise`] | the guarantee in words |
//! | [`mod@abort`] | how an attempt ends without a result |
//! | [`times`] | how long is waited for what |
//! | `file` | files that people write |
//! | [`hex`] | bytes as text |
//! | [`error`] | the one error type |
//!
//! # What is promised
//! Against parties that are honest but curious, and pool what they know: see [`Plan`](reticent::multiparty::Plan). A party that
//! vanishes, lies about the task, replays, or sends what is no message, or different messages to different parties, brings the
//! attempt to an end on every honest party; it learns nothing of an honest party's rows but, at the most, its masked noisy share.
//!
//! # What is not promised
//! - A party can falsify the sum by lying about its own numbers: nobody can know.
//! - The last word is heard by some before others. Someone may have the result of an attempt that was an abort for others; so each
//!   new attempt is charged anew.
//! - When a contribution is sent tells how long a party's query took.
//! - Anybody who can reach a party's address can keep it busy; strangers are cut off when they cannot prove a key of the task.
//!
//! # Features
//! - `sql` (default): the statistic is the task's SQL, checked against the task. Without it there is no SQL engine: for aggregators, and
//!   for statistics of your own.

pub mod abort;
pub mod aggregators;
mod charge;
pub mod config;
pub mod error;
mod file;
pub mod hex;
pub mod keys;
pub mod message;
pub mod promise;
#[cfg(feature = "sql")]
pub mod query;
pub mod run;
mod session;
pub mod simulate;
pub mod state;
pub mod task;
pub mod times;
pub mod transcript;
pub mod transport;

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
