//! Multiparty protocols: what parties send to each other, and what can be learned from it.
//!
//! m parties, each with its own rows, want one statistic of all rows together. They communicate in rounds: in each,
//! every party sends one message that all others see. All messages together are the [`Transcript`]; the result is a
//! function of it. No party has to trust another: an adversary may hold any set of parties, and then has a [`View`],
//! the transcript and everything that those parties knew. A protocol guarantees ε if the views on neighbouring inputs
//! (which differ in one unit of one party that the adversary does not hold) are as close as ε-differential privacy
//! requires. With m = 1 that is the curator model, with one party for each row the local model.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | [`Plan`]: what all parties agree on; a party's share, its message, the result |
//! | [`protocol`] | [`Protocol`]: broadcast, or masked against a number of colluders |
//! | [`share`] | [`Share`]: one party's noisy statistic, before it is masked |
//! | [`mask`] | [`MaskSeed`]: a secret shared by two parties, and masks that cancel out |
//! | [`transcript`] | [`Transcript`]: all messages |
//! | [`view`] | [`View`]: what an [`Adversary`] that holds some of the parties sees |
//! | [`simulation`] | [`Simulation`]: all parties in one process |
//! | [`trust`] | the accuracy of one count in each trust model |
//! | `loss` | the privacy loss against more colluders than planned for |
//!
//! # What is not promised
//! Parties are passive in these proofs: they follow the protocol but are curious. A party that sends a wrong number
//! falsifies the result, and nothing here detects it. It does not learn more about others that way: what an honest
//! party sends depends on its own rows, its own noise and the seeds that it has agreed on with each other party, and
//! not on anyone else's numbers. The masked protocol guarantees *computational* privacy: its masks are as good as the
//! key agreement and ChaCha20.

mod loss;
pub mod mask;
pub mod plan;
pub mod protocol;
pub mod share;
pub mod simulation;
#[cfg(test)]
mod tests;
pub mod transcript;
pub mod trust;
pub mod view;

pub use mask::MaskSeed;
pub use plan::{Plan, Sums};
pub use protocol::Protocol;
pub use share::Share;
pub use simulation::Simulation;
pub use transcript::Transcript;
pub use view::{Adversary, Held, HeldSeed, View};
