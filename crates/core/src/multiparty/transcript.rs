//! All messages of a protocol.

use serde::{Deserialize, Serialize};

/// What every party sent, round by round, in the order of the parties. The result is a function of it.
///
/// Both protocols have one round that depends on rows. What comes before it on a network (greetings, public keys) does not.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Transcript {
    rounds: Vec<Vec<Vec<u64>>>,
}

impl Transcript {
    /// An empty transcript.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a round: one message of each party.
    pub fn push(&mut self, messages: Vec<Vec<u64>>) {
        self.rounds.push(messages);
    }

    /// All rounds, each with one message of each party.
    pub fn rounds(&self) -> &[Vec<Vec<u64>>] {
        &self.rounds
    }
}
