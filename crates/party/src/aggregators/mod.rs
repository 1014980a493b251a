//! Many untrusted clients, two or three aggregators: nobody sees an answer, and nobody can send one that is none.
//!
//! | module | holds |
//! |---|---|
//! | [`task`] | [`Task`]: what clients and aggregators agree on |
//! | [`statistic`] | [`Statistic`]: what is asked of each client, and what comes out |
//! | [`report`] | [`Report`]: one client's answer, in shares |
//! | [`store`] | [`Store`]: what an aggregator keeps, and which reports were ever opened |
//! | [`collect`] | [`Aggregator`]: one collection, round by round |
//! | [`rounds`] | [`Rounds`]: messages between aggregators, over a network or in one process |
//! | [`mod@simulate`] | all aggregators and clients in one process |
//! | [`record`] | [`Record`]: what was opened, signed by all; whoever has it is the collector |
//! | [`process`] | [`Process`]: an aggregator on its own machine |
//! | [`mod@upload`] | reports on their way from clients to aggregators |
//! | [`fault`] | [`Fault`]: how a collection ends without a result |
//! | `view` | what aggregators that pool all they know see of a batch: for audits, with the feature `test-util` |
//! | `scheme`, `sums`, `field` | Prio3 as bytes; shares of sums; signed numbers in a prime field |
//! | `batch`, `verification_key` | sets of reports; the key that no aggregator chooses |

mod batch;
pub mod collect;
pub mod fault;
mod field;
pub mod process;
pub mod record;
pub mod report;
pub mod rounds;
mod scheme;
pub mod simulate;
pub mod statistic;
pub mod store;
mod sums;
pub mod task;
#[cfg(test)]
mod tests;
pub mod upload;
mod verification_key;
#[cfg(feature = "test-util")]
pub mod view;

pub use collect::{Aggregator, Collected};
pub use fault::Fault;
pub use process::{Config, Process};
pub use record::Record;
pub use report::Report;
pub use rounds::Rounds;
pub use simulate::{Simulated, simulate};
pub use statistic::{Answer, Statistic};
pub use store::{Received, Store};
pub use task::{Draft, Site, Task};
pub use upload::{Reception, upload};
