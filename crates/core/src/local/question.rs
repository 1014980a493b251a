//! What a device needs to know about a task.

use rand_core::CryptoRng;

use super::device::randomise;
use super::report::Payload;
use super::task::{Answer, Domain, Memoisation, Task, TaskId, TimePrecision};
use crate::error::Result;

/// What a device needs to know about a task, in any form.
pub trait Question {
    /// The hash of the whole task.
    fn id(&self) -> TaskId;

    /// What the device does when it is asked again.
    fn memoisation(&self) -> Memoisation;

    /// How many answers the lifetime ε pays for.
    fn lifetime_answers(&self) -> u64;

    /// How precisely reports say when they were made.
    fn time_precision(&self) -> TimePrecision;

    /// Has it ended, at a second since 1970?
    fn has_expired(&self, second: u64) -> bool;

    /// Is it an answer of the domain?
    fn takes(&self, answer: &Answer) -> bool;

    /// Randomises an answer; the randomness is used for nothing else, and nothing is remembered.
    ///
    /// # Errors
    /// If the answer is not in the domain.
    fn randomise<R: CryptoRng + ?Sized>(&self, answer: &Answer, rng: &mut R) -> Result<Payload>;
}

impl Question for Task {
    fn id(&self) -> TaskId {
        self.id()
    }

    fn memoisation(&self) -> Memoisation {
        self.memoisation()
    }

    fn lifetime_answers(&self) -> u64 {
        self.lifetime_answers()
    }

    fn time_precision(&self) -> TimePrecision {
        self.time_precision()
    }

    fn has_expired(&self, second: u64) -> bool {
        self.has_expired(second)
    }

    fn takes(&self, answer: &Answer) -> bool {
        match (self.domain(), answer) {
            (Domain::Choices(choices), Answer::Choice(choice)) => *choice < choices.len() as u64,
            (Domain::Integers { .. } | Domain::Numbers(_), Answer::Number(_))
            | (Domain::Texts { .. }, Answer::Text(_)) => true,
            _ => false,
        }
    }

    fn randomise<R: CryptoRng + ?Sized>(&self, answer: &Answer, rng: &mut R) -> Result<Payload> {
        randomise(&self.randomiser(), answer, rng)
    }
}
