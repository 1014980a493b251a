//! What an adversary sees.

use std::collections::BTreeSet;

use serde::Serialize;

use super::mask::MaskSeed;
use super::plan::Plan;
use super::transcript::Transcript;
use crate::error::{Error, Result};

/// An adversary that holds a set of parties: passive, and with unlimited time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adversary {
    parties: u32,
    held: BTreeSet<u32>,
}

impl Adversary {
    /// An adversary that holds these parties, counted from 0, among `parties`.
    ///
    /// # Errors
    /// If there is no such party, or if no party is left.
    pub fn holding(parties: u32, held: impl IntoIterator<Item = u32>) -> Result<Self> {
        let held: BTreeSet<u32> = held.into_iter().collect();
        if let Some(&stranger) = held.iter().find(|&&party| party >= parties) {
            return Err(Error::parameter(
                "party",
                stranger,
                "less than the number of parties: they are counted from 0",
            ));
        }
        if held.len() >= parties as usize {
            let allowed = "less than the number of parties: if all parties collude, no rows are left to protect";
            return Err(Error::parameter("number of colluders", held.len(), allowed));
        }
        Ok(Self { parties, held })
    }

    /// An adversary that holds all parties but one.
    ///
    /// # Errors
    /// If there is no such party.
    pub fn all_but(parties: u32, honest: u32) -> Result<Self> {
        if honest >= parties {
            return Err(Error::parameter("party", honest, "less than the number of parties: they are counted from 0"));
        }
        Self::holding(parties, (0..parties).filter(|&party| party != honest))
    }

    /// The parties that it holds, in order.
    pub fn held(&self) -> impl Iterator<Item = u32> + '_ {
        self.held.iter().copied()
    }

    /// The others, in order.
    pub fn honest(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.parties).filter(|party| !self.held.contains(party))
    }
}

/// What one held party knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Held {
    /// Its number, counted from 0.
    pub party: u32,
    /// Its exact numbers, clamped.
    pub statistic: Vec<i64>,
    /// Its share of the noise.
    pub noise: Vec<i64>,
    /// The secret shared with each other party; empty in broadcast.
    pub seeds: Vec<HeldSeed>,
}

/// The secret that a held party shares with another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HeldSeed {
    /// The other party.
    pub peer: u32,
    /// The secret.
    pub seed: [u8; 32],
}

/// Everything that an adversary sees: every message, and everything that its parties knew.
///
/// # Privacy
/// This is what the guarantee of a [`Plan`] is about, and what the auditor tests: `reticent audit masked`. Only a
/// simulation produces one; a party that runs on its own shows none of it to anyone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct View {
    /// Every message.
    pub transcript: Transcript,
    /// The held parties, in order.
    pub held: Vec<Held>,
    /// The others.
    pub honest: Vec<u32>,
}

impl View {
    /// The messages of the honest parties, in order, without the masks that the adversary knows. Everything in the view
    /// that depends on their rows is in these; for the masked protocol, in their sum.
    ///
    /// If only one party is honest, this is its numbers with its share of the noise, unmasked.
    pub fn unmasked(&self, plan: &Plan) -> Vec<Vec<u64>> {
        let spoken = self.transcript.rounds().last().expect("a view is of a run that has ended");
        let mut messages: Vec<Vec<u64>> = self.honest.iter().map(|&party| spoken[party as usize].clone()).collect();
        debug_assert!(messages.iter().all(|message| message.len() == plan.cells()));
        for (&honest, words) in self.honest.iter().zip(&mut messages) {
            let known = self.held.iter().flat_map(|held| held.seeds.iter().map(move |seed| (held.party, seed)));
            for (held, shared) in known.filter(|(_, shared)| shared.peer == honest) {
                // The other's mask cancels the honest one's.
                MaskSeed::new(honest, &mut shared.seed.clone()).apply(held, words);
            }
        }
        messages
    }

    /// The sum of what the honest parties sent, without masks: numbers and noise.
    pub fn honest_sums(&self, plan: &Plan) -> Vec<i64> {
        let mut sums = vec![0u64; plan.cells()];
        for message in self.unmasked(plan) {
            sums.iter_mut().zip(message).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        sums.into_iter().map(u64::cast_signed).collect()
    }
}
