//! Many untrusted clients, two or three aggregators: nobody sees an answer, and nobody can send one that is none.
//!
//! Each client splits its answer into shares, one for each aggregator, with a proof (in shares, too) that it is an answer: yes or
//! no, a number in a range, one of some buckets. Each share goes over TLS to its own aggregator. The aggregators verify the
//! proofs together, add up their shares of the answers that are some, and each adds noise of its own to its sum. Whoever adds up
//! what they open has the noisy sums: a [`Record`], signed by all. See [`simulate()`] for all of it in one process.
//!
//! # Privacy
//! *Who is protected*: each report, in the adjacency Replace: what it says, not that it was sent. That a client has sent something
//! is seen by every aggregator; how many reports were counted, and how many were dropped, is published. A person who reports in
//! several batches is in several releases: the ledger of each aggregator is charged ε for each batch and adds that up.
//!
//! *Against whom*: whoever sees all that is published, has any number of clients, and all that up to t = `colluders` aggregators
//! know. Those have no share of the others, so all that they learn of an answer is (1) that it is one, from the proof, and (2) the
//! noisy sums. The noise of the m − t others is that of one curator at least
//! ([`Plan`](reticent::multiparty::Plan), with secret shares where masks are), so (2) is ε-differentially private; beyond t
//! it is [`Plan::loss_against`](reticent::multiparty::Plan::loss_against), until all collude and see everything. With t = m − 1
//! every aggregator adds the noise of a whole curator: one honest one is enough, and the result has m times the variance.
//! This holds whatever the others do: they may send wrong messages, drop all reports but one, or add no noise of their own.
//!
//! *What it rests on*: that shares are as good as random (TurboSHAKE128) and that proofs tell nothing else (Prio3's own proof of
//! privacy; \[DPRS23\]): it is computational. It does **not** rest on the soundness of proofs: an honest client's answer is in
//! its range because its own program put it there, and that is what the sensitivity is derived from. Noise is added modulo a
//! prime; that is post-processing of a sum that was never reduced.
//!
//! # Accuracy
//! Proofs protect the *result*: a client can say anything that is an answer, once, and nothing else; a report that is malformed,
//! of another task, proves nothing, or has a number that came before is dropped and counts as nothing. But aggregators must be
//! trusted for the result: one that lies about its share falsifies the sums, one that spoils its part of proofs drops reports, and
//! neither is found out if it keeps to its lie. What is found out before anything is opened: another task, another
//! verification key, different words to different aggregators, malformed or oversized messages, silence.
//!
//! # Batches
//! A batch is the set of the reports that all aggregators have and accept, of at least `minimum_reports`. Each aggregator
//! charges its ledger, then makes durable which reports are in the batch, then makes durable its noisy share, then says it. No report is ever
//! in two batches. If a collection ends after that, only the same batch is opened again, with the same share and no further charge,
//! or it is given up with its reports ([`Store::abandon`]).
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
//! | `guests` | how many clients an aggregator hears at a time, and who gives way |
//! | [`fault`] | [`Fault`]: how a collection ends without a result |
//! | `view` | what aggregators that pool all they know see of a batch: for audits, with the feature `test-util` |
//! | `scheme`, `sums`, `field` | Prio3 as bytes; shares of sums; signed numbers in a prime field |
//! | `batch`, `verification_key` | sets of reports; the key that no aggregator chooses |

mod batch;
pub mod collect;
pub mod fault;
mod field;
mod guests;
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
