//! An in-memory network with a liar in it, on which time passes only when nothing else can happen: when all are waiting
//! and have received everything. Then the earliest deadline expires. So slow and fast machines get the same result, and
//! nobody really waits.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

use reticent_party::transport::{Arrival, Heard, Transport};

/// Changes an aggregator's messages: takes the recipient and the frame; `None` to send nothing.
pub type Lie = Box<dyn FnMut(usize, Vec<u8>) -> Option<Vec<u8>> + Send>;

/// What is on its way to one aggregator, and what that one is doing.
#[derive(Default)]
struct Ear {
    arrivals: VecDeque<Arrival>,
    waits_until: Option<Instant>,
    gone: bool,
}

#[derive(Default)]
struct Network {
    ears: Mutex<Vec<Ear>>,
    changed: Condvar,
}

/// An aggregator's end of the network, behind a liar.
pub struct Lying {
    me: usize,
    network: Arc<Network>,
    lie: Lie,
}

/// A network in which the last aggregator lies.
pub fn network(aggregators: usize, lie: Lie) -> Vec<Lying> {
    let ears = Mutex::new((0..aggregators).map(|_| Ear::default()).collect());
    let (network, mut lie) = (Arc::new(Network { ears, ..Network::default() }), Some(lie));
    let end = |me: usize| {
        let last = if me + 1 == aggregators { lie.take() } else { None };
        Lying { me, network: Arc::clone(&network), lie: last.unwrap_or_else(|| Box::new(|_, frame| Some(frame))) }
    };
    (0..aggregators).map(end).collect()
}

/// Whether this one's deadline has expired.
fn is_up(ears: &[Ear], me: usize) -> bool {
    let mut left = ears.iter().filter(|ear| !ear.gone);
    let earliest = ears.iter().filter_map(|ear| ear.waits_until).min();
    left.all(|ear| ear.waits_until.is_some() && ear.arrivals.is_empty()) && ears[me].waits_until == earliest
}

impl Transport for Lying {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        if let Some(frame) = (self.lie)(to, frame.to_vec()) {
            let arrival = Arrival { from: self.me, heard: Heard::Frame(frame) };
            self.network.ears.lock().unwrap()[to].arrivals.push_back(arrival);
            self.network.changed.notify_all();
        }
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        let mut ears = self.network.ears.lock().unwrap();
        ears[self.me].waits_until = Some(deadline);
        self.network.changed.notify_all();
        let waits = |ears: &mut Vec<Ear>| ears[self.me].arrivals.is_empty() && !is_up(ears, self.me);
        ears = self.network.changed.wait_while(ears, waits).unwrap();
        ears[self.me].waits_until = None;
        ears[self.me].arrivals.pop_front()
    }

    fn close(self, _: Instant) {}
}

impl Drop for Lying {
    fn drop(&mut self) {
        if let Ok(mut ears) = self.network.ears.lock() {
            ears[self.me].gone = true;
        }
        self.network.changed.notify_all();
    }
}
