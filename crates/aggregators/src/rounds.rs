//! Rounds of messages between aggregators, over any [`Transport`].
//!
//! | bytes of a frame | content |
//! |---|---|
//! | 32 | the task's hash |
//! | 16 | the sender's session: random, new in each process |
//! | 4 | the number of the round in the session, from 0, little-endian |
//! | 1 | the kind of round, or that the sender gives up |
//! | … | the message |

use std::sync::Arc;
use std::time::Instant;

use reticent_party::hex::{Digest, Hex, sha256};
use reticent_party::times::Times;
use reticent_party::transport::{Heard, Transport};

use crate::collect::PORTION_BYTES;
use crate::error::{Error, Result};
use crate::fault::{Fault, Misdeed, Round};
use crate::record::Record;
use crate::report::random;
use crate::scheme::NONCE_BYTES;
use crate::store::most_waiting;
use crate::task::Task;

const SESSION_BYTES: usize = 16;
const HEADER_BYTES: usize = 32 + SESSION_BYTES + 4 + 1;
/// Sent in place of a kind of round: the sender gives up.
const GIVES_UP: u8 = u8::MAX;

/// Exchanges messages with all other aggregators, and hashes all of them.
pub struct Rounds<T> {
    task: Task,
    place: usize,
    transport: T,
    times: Times,
    session: [u8; SESSION_BYTES],
    number: u32,
    peers: Vec<Peer>,
    head: Digest,
}

/// What was received from one aggregator.
#[derive(Default, Clone)]
struct Peer {
    session: Option<[u8; SESSION_BYTES]>,
    /// Its message in this round, and in the next one if it is ahead.
    messages: [Option<(u8, Vec<u8>)>; 2],
}

/// The largest frame of this task, in bytes.
pub fn largest_frame(task: &Task) -> usize {
    let (offer, lengths) = (NONCE_BYTES * most_waiting(task) as usize, task.scheme().lengths());
    let sums = task.scheme().nothing().length();
    HEADER_BYTES + offer.max(PORTION_BYTES).max(lengths.verifier).max(sums).max(Record::most_bytes(task))
}

impl<T: Transport> Rounds<T> {
    /// The rounds of one collection.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn new(task: &Task, place: usize, transport: T, times: Times) -> Result<Self> {
        let mut session = [0; SESSION_BYTES];
        random(&mut session)?;
        let peers = vec![Peer::default(); task.aggregators().len()];
        Ok(Self { task: task.clone(), place, transport, times, session, number: 0, peers, head: task.hash() })
    }

    /// Sends `message` to all others; returns the messages of all, in the task's order, with `message` in its own
    /// place.
    ///
    /// # Errors
    /// If an aggregator sends nothing in time, something out of place, or more than `limit` bytes.
    pub(crate) fn exchange(&mut self, round: Round, message: Vec<u8>, limit: usize) -> Result<Vec<Vec<u8>>> {
        self.say(round as u8, &message);
        let wait = if self.number == 0 { self.times.join } else { self.times.round };
        let deadline = Instant::now() + wait;
        while let Some(missing) = self.missing() {
            let Some(arrival) = self.transport.receive(deadline) else {
                return Err(fault(&self.task, round, Misdeed::Vanished, missing));
            };
            let heard = match arrival.heard {
                Heard::Frame(frame) => self.hear(arrival.from, &frame),
                Heard::Oversized => Err(Misdeed::Oversized),
                // It reconnects, or is missed at the deadline.
                Heard::Lost => Ok(()),
            };
            heard.map_err(|misdeed| fault(&self.task, round, misdeed, arrival.from))?;
        }
        let mut messages = Vec::with_capacity(self.peers.len());
        for place in 0..self.peers.len() {
            if place == self.place {
                messages.push(message.clone());
                continue;
            }
            let ahead = self.peers[place].messages[1].take();
            let (kind, heard) = std::mem::replace(&mut self.peers[place].messages[0], ahead).expect("none is missing");
            let misdeed = match kind {
                kind if kind != round as u8 => Misdeed::Malformed,
                _ if heard.len() > limit => Misdeed::Oversized,
                _ => {
                    messages.push(heard);
                    continue;
                }
            };
            return Err(fault(&self.task, round, misdeed, place));
        }
        let digests: Vec<Digest> = messages.iter().map(|message| sha256([message.as_slice()])).collect();
        let said = digests.iter().map(|digest| digest.0.as_slice());
        self.head = sha256([self.head.0.as_slice(), &[round as u8]].into_iter().chain(said));
        self.number += 1;
        Ok(messages)
    }

    /// The hash of all messages so far, in order.
    pub(crate) fn head(&self) -> Digest {
        self.head
    }

    /// Tells all others not to wait.
    pub(crate) fn give_up(&mut self) {
        self.say(GIVES_UP, &[]);
    }

    /// Stops sending; returns when all others have received everything, or after a short while.
    pub fn close(self) {
        self.transport.close(Instant::now() + self.times.linger);
    }

    fn say(&mut self, kind: u8, message: &[u8]) {
        let number = self.number.to_le_bytes();
        let parts: [&[u8]; 5] = [&self.task.hash().0, &self.session, &number, &[kind], message];
        let frame: Arc<[u8]> = parts.concat().into();
        for place in (0..self.peers.len()).filter(|&place| place != self.place) {
            self.transport.send(place, &frame);
        }
    }

    fn missing(&self) -> Option<usize> {
        let silent = |(place, peer): (usize, &Peer)| place != self.place && peer.messages[0].is_none();
        self.peers.iter().enumerate().position(silent)
    }

    fn hear(&mut self, from: usize, frame: &[u8]) -> std::result::Result<(), Misdeed> {
        let (header, message) = frame.split_first_chunk::<HEADER_BYTES>().ok_or(Misdeed::Malformed)?;
        let (task, rest) = header.split_first_chunk::<32>().expect("the header is that long");
        let (session, rest) = rest.split_first_chunk::<SESSION_BYTES>().expect("the header is that long");
        let (number, rest) = rest.split_first_chunk::<4>().expect("the header is that long");
        if Hex(*task) != self.task.hash() {
            return Err(Misdeed::OtherTask);
        }
        let (peer, number) = (&mut self.peers[from], u32::from_le_bytes(*number));
        // A restarted peer has lost what it sent, which does not matter before everyone is there.
        if self.number == 0 && number == 0 && peer.session.is_some_and(|known| known != *session) {
            *peer = Peer::default();
        }
        if *peer.session.get_or_insert(*session) != *session || rest[0] == GIVES_UP {
            return Err(Misdeed::Vanished);
        }
        let place = match number.checked_sub(self.number) {
            // Repeated on a new connection.
            None => return Ok(()),
            Some(ahead @ 0..=1) => ahead as usize,
            Some(_) => return Err(Misdeed::Malformed),
        };
        peer.messages[place].get_or_insert_with(|| (rest[0], message.to_vec()));
        Ok(())
    }
}

/// The fault of the aggregator at this index; without an index, no aggregator is named.
pub(crate) fn fault(task: &Task, round: Round, misdeed: Misdeed, culprit: usize) -> Error {
    let culprit = task.aggregators().get(culprit).map(|site| site.name.clone());
    Error::Collection(Box::new(Fault { round, misdeed, culprit }))
}

/// The messages, if each is exactly `N` bytes long.
pub(crate) fn exactly<const N: usize>(task: &Task, round: Round, messages: &[Vec<u8>]) -> Result<Vec<[u8; N]>> {
    let read = |(place, message): (usize, &Vec<u8>)| {
        let fixed = message.as_slice().try_into();
        fixed.map_err(|_| fault(task, round, Misdeed::Malformed, place))
    };
    messages.iter().enumerate().map(read).collect()
}
