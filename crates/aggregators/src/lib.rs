//! Many untrusted clients and two or three aggregators: no aggregator sees an answer, and invalid answers are rejected.
//!
//! Each client splits its answer into shares, one per aggregator, with a proof (also in shares) that it is valid: yes
//! or no, a number in a range, one of several buckets. Each share goes over TLS to its own aggregator. The aggregators
//! verify the proofs together, add up their shares of the valid answers, and each adds its own noise to its sum. The
//! opened shares add up to the noisy sums: a [`Record`], signed by all. See [`simulate()`] for all of it in one
//! process.
//!
//! # Privacy
//! *Who is protected*: each report, under Replace adjacency: its content, not the fact that it was sent. Every
//! aggregator sees that a client has sent something; the numbers of counted and of dropped reports are published. A
//! person who reports in several batches is in several releases: each aggregator's ledger is charged ε per batch and
//! composes the charges.
//!
//! *Against whom*: an adversary who sees everything that is published, controls any number of clients, and knows
//! everything that up to t = `colluders` aggregators know. Those lack the others' shares, so all they learn of an
//! answer is (1) that it is valid, from the proof, and (2) the noisy sums. The noise of the m − t others is at least
//! that of one curator ([`Plan`](reticent::multiparty::Plan), with secret shares in place of masks), so (2) is
//! ε-differentially private; beyond t the loss is [`Plan::loss_against`](reticent::multiparty::Plan::loss_against),
//! until all collude and see everything. With t = m − 1 every aggregator adds a whole curator's noise: one honest
//! aggregator is enough, and the result has m times the variance. This holds whatever the others do: they may send
//! wrong messages, drop all reports but one, or add no noise of their own.
//!
//! *Assumptions*: shares are pseudorandom (TurboSHAKE128) and proofs reveal nothing else (Prio3's own proof of privacy;
//! \[DPRS23\]), so the guarantee is computational. It does **not** depend on the soundness of the proofs: an honest
//! client's answer is in range because its own program put it there, and the sensitivity is derived from that. Noise is
//! added modulo a prime; that is post-processing of a sum that was never reduced.
//!
//! # Accuracy
//! Proofs protect the *result*: a client can submit any valid answer, once, and nothing else; a report that is
//! malformed, for another task, invalid, or a duplicate is dropped and does not count. But the aggregators must be
//! trusted for the result: one that lies about its share falsifies the sums, one that spoils its part of the
//! verification drops reports, and neither is detected if it is consistent. Detected before anything is opened: a
//! different task, a different verification key, different messages to different aggregators, malformed or oversized
//! messages, silence.
//!
//! # Batches
//! A batch is a set of at least `minimum_reports` reports that all aggregators have and accept. Each aggregator charges
//! its ledger, then durably stores which reports are in the batch, then its noisy share, and only then sends the share.
//! No report is ever in two batches. If a collection fails after that, only the same batch can be opened again, with
//! the same share and no further charge, or it is abandoned together with its reports ([`Store::abandon`]).
//!
//! | module | holds |
//! |---|---|
//! | `task` | [`Task`]: what clients and aggregators agree on |
//! | `statistic` | [`Statistic`]: what clients are asked, and what is released |
//! | `report` | [`Report`]: one client's answer, in shares |
//! | `store` | [`Store`]: an aggregator's shares, and which reports were ever opened |
//! | `collect` | [`Aggregator`]: one collection, round by round; in `opening`, the charge and what follows it |
//! | `rounds` | [`Rounds`]: messages between aggregators, over a network or in one process |
//! | `simulate` | all aggregators and clients in one process |
//! | `record` | [`Record`]: the opened result, signed by all; anyone who has it can be the collector |
//! | `process` | [`Process`]: an aggregator on its own machine |
//! | `upload` | sending reports from clients to aggregators |
//! | `guests` | how many clients an aggregator serves at a time, and which connections are closed first |
//! | `fault` | [`Fault`]: how a collection ends without a result |
//! | `error` | the error type |
//! | `view` | a coalition's view of a batch: for audits, with the feature `test-util` |
//! | `scheme`, `sums`, `field` | Prio3 as bytes; shares of sums; signed numbers in a prime field |
//! | `batch`, `verification_key` | sets of reports; the key that no aggregator chooses |

mod batch;
mod collect;
mod error;
mod fault;
mod field;
mod guests;
mod process;
mod record;
mod report;
mod rounds;
mod scheme;
mod simulate;
mod statistic;
mod store;
mod sums;
mod task;
#[cfg(test)]
mod tests;
mod upload;
mod verification_key;
#[cfg(feature = "test-util")]
pub mod view;

pub use collect::{Aggregator, Collected};
pub use error::{Error, Result};
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
