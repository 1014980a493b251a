//! What parties say to each other, and what may be learned from it.
//!
//! m parties, each with rows of its own, want one statistic of all rows together. They speak in rounds: in each, every party
//! sends one message that all others see. All messages together are the [`Transcript`]; the result is a function of it.
//! Nobody is asked to trust anybody: an adversary may hold any set of parties, and has then a [`View`], the transcript and all
//! that those parties knew. A protocol promises ε if the views on neighbouring inputs (which differ in one unit of one party
//! that it does not hold) are as close as ε-differential privacy asks. With m = 1 that is the curator, with one party for
//! each row the local model.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | [`Plan`]: what all parties agree on; a party's share, its message, the result |
//! | [`protocol`] | [`Protocol`]: broadcast, or masked against so many colluders |
//! | [`share`] | [`Share`]: one party's noisy statistic, before it is masked |
//! | [`mask`] | [`MaskSeed`]: what two parties have in common, and masks that cancel out |
//! | [`transcript`] | [`Transcript`]: everything that was said |
//! | [`view`] | [`View`]: what an [`Adversary`] sees that holds some of the parties |
//! | [`simulation`] | [`Simulation`]: all parties in one process |
//! | [`trust`] | what one count costs in accuracy, whoever is trusted |
//! | `loss` | what more colluders than planned for can learn |
//!
//! # What is not promised
//! Parties are passive in these proofs: they follow the protocol and are curious. One that sends another number than it should
//! falsifies the result, and nothing here finds it out. It does not learn more about others by it: what an honest party says
//! depends on its own rows, its own noise and the seeds that it has agreed on with each other party, and not on anybody's
//! numbers. The masked protocol promises *computational* privacy: its masks are as good as the key agreement and ChaCha20.

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
pub use plan::Plan;
pub use protocol::Protocol;
pub use share::Share;
pub use simulation::Simulation;
pub use transcript::Transcript;
pub use view::{Adversary, Held, HeldSeed, View};
