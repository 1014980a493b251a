//! Counters whose memory may be seized.
//!
//! A curator may be trusted today and robbed tomorrow. These counters hold no exact sum, and nothing from which one
//! could be derived together with everything that was released: the memory itself is private.
//!
//! | counter | private even if the memory is seized | variance |
//! |---|---|---|
//! | [`PanPrivate`] | once, after any step, if counting ends there | about that of `binary` |
//! | [`PanPrivateSurviving`] | once, after any step, unnoticed: counting goes on | twice that of `binary` |
//!
//! **Not more than once.** A memory that is seized at two times, unnoticed at both, reveals how it changed in between;
//! for the change to be private whenever it is seized, every single step would need its own noise, which is the local
//! model with its error of √T/ε. No counter that is better than that survives two unannounced intrusions. If an
//! intrusion is noticed, stop, and start a new counter on top of the last release.
//!
//! For the same reason they cannot be saved: a state that is saved repeatedly is a state that is seized repeatedly. And
//! they need a horizon, which determines how much noise lies in memory from the first step on.
//!
//! # Memory
//! Protected is the counter's own memory between two steps, and between two events of an open step: its [`Seized`]
//! cells, the generator and what calls left on the stack.
//! - The cells live on the heap from the start and are never moved or grown; what is no longer needed is overwritten at
//!   once, the rest when the counter is dropped.
//! - *The generator would reveal all noise it ever made* if it could be run backwards, and all it will make if it were
//!   left alone. Before each step (before it is opened, and before it is closed) a fresh seed is mixed in (future noise
//!   cannot be predicted); after each step the generator is replaced by one that is seeded with its own output (past
//!   noise cannot be reproduced). Fresh seeds cost one system call per step.
//! - After each step the stack below the counter is overwritten, as far down as a step reaches.
//! - Not protected: the value in the caller's hands ([`Counter::advance_erasing`](super::Counter::advance_erasing)
//!   clears it), processor registers, and whatever the machine keeps. `docs/threat-model.md` lists it.
//!
//! | module | holds |
//! |---|---|
//! | [`past`] | [`PanPrivate`]: private for the past |
//! | [`surviving`] | [`PanPrivateSurviving`]: survives one unannounced intrusion |
//! | [`counter`] | [`SeizableCounter`]: either of them, running |
//! | [`keyed`] | [`SeizableKeyedCounter`]: one for each of several keys |
//! | `lanes` | the cells of both, and the generator |
//! | [`design`] | [`Design`]: what the two have in common |
//! | [`seized`] | [`Seized`]: what an intruder finds, for audits |
//! | `blocks` | the dyadic intervals behind both |

mod blocks;
pub mod counter;
pub mod design;
pub mod keyed;
mod lanes;
pub mod past;
pub mod seized;
pub mod surviving;
#[cfg(test)]
mod tests;

pub use counter::SeizableCounter;
pub use design::{Design, Noise};
pub use keyed::SeizableKeyedCounter;
pub use past::PanPrivate;
pub use seized::{Cell, Seized};
pub use surviving::PanPrivateSurviving;
