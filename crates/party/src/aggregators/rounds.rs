//! Rounds of messages between aggregators.

use std::sync::mpsc::{Receiver, Sender, channel};

use super::fault::{Fault, Misdeed, Round};
use super::task::Task;
use crate::error::{Error, Result};
use crate::hex::{Digest, sha256};

/// A way to say something to all other aggregators and to hear what all of them say: over a network, or in one process.
pub trait Rounds {
    /// Sends `message` to all others; returns what all said, in the task's order and with `message` in its own place.
    ///
    /// # Errors
    /// If somebody says nothing, or more than `limit` bytes.
    fn exchange(&mut self, round: Round, message: Vec<u8>, limit: usize) -> Result<Vec<Vec<u8>>>;
}

/// Rounds, and a hash of all that was said in them, in order.
pub(super) struct Heard<'rounds> {
    rounds: &'rounds mut dyn Rounds,
    head: Digest,
}

impl<'rounds> Heard<'rounds> {
    pub fn new(rounds: &'rounds mut dyn Rounds, task: &Task) -> Self {
        Self { rounds, head: task.hash() }
    }

    pub fn exchange(&mut self, round: Round, message: Vec<u8>, limit: usize) -> Result<Vec<Vec<u8>>> {
        let messages = self.rounds.exchange(round, message, limit)?;
        let digests: Vec<Digest> = messages.iter().map(|message| sha256([message.as_slice()])).collect();
        let said = digests.iter().map(|digest| digest.0.as_slice());
        self.head = sha256([self.head.0.as_slice(), &[round as u8]].into_iter().chain(said));
        Ok(messages)
    }

    /// The hash of all that was said so far.
    pub fn head(&self) -> Digest {
        self.head
    }
}

/// An aggregator is to blame.
pub(super) fn fault(task: &Task, round: Round, misdeed: Misdeed, culprit: usize) -> Error {
    let culprit = task.aggregators().get(culprit).map(|member| member.name.clone());
    Error::Collection(Box::new(Fault { round, misdeed, culprit }))
}

/// Messages of exactly so many bytes.
pub(super) fn exactly<const N: usize>(task: &Task, round: Round, messages: &[Vec<u8>]) -> Result<Vec<[u8; N]>> {
    let read = |(place, message): (usize, &Vec<u8>)| {
        let fixed = message.as_slice().try_into();
        fixed.map_err(|_| fault(task, round, Misdeed::Malformed, place))
    };
    messages.iter().enumerate().map(read).collect()
}

/// Rounds between threads of one process: for simulations.
pub struct LocalRounds {
    task: Task,
    place: usize,
    others: Vec<Option<(Sender<Vec<u8>>, Receiver<Vec<u8>>)>>,
}

impl LocalRounds {
    /// One for each aggregator of a task.
    pub fn all(task: &Task) -> Vec<Self> {
        let count = task.aggregators().len();
        let mut all: Vec<Self> = (0..count)
            .map(|place| Self { task: task.clone(), place, others: (0..count).map(|_| None).collect() })
            .collect();
        for low in 0..count {
            for high in low + 1..count {
                let ((to_high, from_low), (to_low, from_high)) = (channel(), channel());
                all[low].others[high] = Some((to_high, from_high));
                all[high].others[low] = Some((to_low, from_low));
            }
        }
        all
    }
}

impl Rounds for LocalRounds {
    fn exchange(&mut self, round: Round, message: Vec<u8>, limit: usize) -> Result<Vec<Vec<u8>>> {
        for (sender, _) in self.others.iter().flatten() {
            // Whoever is gone is found out below.
            let _ = sender.send(message.clone());
        }
        let hear = |(place, other): (usize, &Option<(Sender<Vec<u8>>, Receiver<Vec<u8>>)>)| match other {
            None => Ok(message.clone()),
            Some((_, receiver)) => match receiver.recv() {
                Ok(heard) if heard.len() > limit => Err(fault(&self.task, round, Misdeed::Oversized, place)),
                Ok(heard) => Ok(heard),
                Err(_) => Err(fault(&self.task, round, Misdeed::Vanished, place)),
            },
        };
        debug_assert!(self.others[self.place].is_none());
        self.others.iter().enumerate().map(hear).collect()
    }
}
