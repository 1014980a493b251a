//! Parties within one process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use super::{Arrival, Heard, Transport};

/// One party's end of an in-memory network.
#[derive(Debug)]
pub struct Memory {
    me: usize,
    others: Vec<Sender<Arrival>>,
    inbox: Receiver<Arrival>,
}

impl Memory {
    /// A network of `parties` parties.
    pub fn network(parties: usize) -> Vec<Self> {
        let (others, inboxes): (Vec<_>, Vec<_>) = (0..parties).map(|_| channel()).unzip();
        let ends = inboxes.into_iter().enumerate();
        ends.map(|(me, inbox)| Self { me, others: others.clone(), inbox }).collect()
    }
}

impl Transport for Memory {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        // A party that is gone hears nothing.
        let _ = self.others[to].send(Arrival { from: self.me, heard: Heard::Frame(frame.to_vec()) });
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        self.inbox.recv_timeout(deadline.saturating_duration_since(Instant::now())).ok()
    }

    fn close(self, _: Instant) {}
}
