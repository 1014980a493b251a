//! Transports that record frames, change them, or die.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use reticent_party::message::Kind;
use reticent_party::transport::{Arrival, Heard, Transport};

/// The kind of message that a frame claims to be.
pub fn kind(frame: &[u8]) -> Option<Kind> {
    let kinds = [Kind::Hello, Kind::Ready, Kind::Contribution, Kind::Seal, Kind::Done, Kind::Abort];
    kinds.into_iter().find(|kind| frame.get(16) == Some(&kind.code()))
}

/// All frames that a party has sent: recipient and frame.
pub type Record = Arc<Mutex<Vec<(usize, Vec<u8>)>>>;

/// Whether a record contains a frame of this kind.
pub fn has(record: &Record, wanted: Kind) -> bool {
    record.lock().unwrap().iter().any(|(_, frame)| kind(frame) == Some(wanted))
}

/// What happens to a frame.
pub enum Fate {
    /// It is sent unchanged.
    Sent,
    /// These are sent instead.
    Instead(Vec<Vec<u8>>),
    /// The party dies: all its connections are cut, and it receives and sends nothing.
    Death,
}

/// A transport on which each frame has a fate.
pub struct Wire<T, F> {
    inner: Option<T>,
    record: Record,
    fate: F,
}

impl<T: Transport, F: FnMut(usize, &[u8]) -> Fate> Wire<T, F> {
    pub fn new(inner: T, record: &Record, fate: F) -> Self {
        Self { inner: Some(inner), record: Arc::clone(record), fate }
    }
}

/// Everything is sent unchanged.
pub fn honest(_: usize, _: &[u8]) -> Fate {
    Fate::Sent
}

impl<T: Transport, F: FnMut(usize, &[u8]) -> Fate> Transport for Wire<T, F> {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        let Some(inner) = &mut self.inner else { return };
        let frames = match (self.fate)(to, frame) {
            Fate::Sent => vec![frame.to_vec()],
            Fate::Instead(frames) => frames,
            Fate::Death => {
                self.inner = None;
                return;
            }
        };
        for frame in frames {
            inner.send(to, &frame.as_slice().into());
            self.record.lock().unwrap().push((to, frame));
        }
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        self.inner.as_mut()?.receive(deadline)
    }

    fn close(self, deadline: Instant) {
        if let Some(inner) = self.inner {
            inner.close(deadline);
        }
    }
}

/// A transport on which one party's last message arrives after what another one made of it.
pub struct Overtaken<T> {
    inner: T,
    slow: usize,
    /// What has arrived from the slow one since its last message.
    held: VecDeque<Arrival>,
    overtaken: bool,
}

impl<T: Transport> Overtaken<T> {
    pub fn new(inner: T, slow: usize) -> Self {
        Self { inner, slow, held: VecDeque::new(), overtaken: false }
    }
}

impl<T: Transport> Transport for Overtaken<T> {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        self.inner.send(to, frame);
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        loop {
            if let Some(arrival) = self.held.pop_front_if(|_| self.overtaken) {
                return Some(arrival);
            }
            let arrival = self.inner.receive(deadline)?;
            let is_last = matches!(&arrival.heard, Heard::Frame(frame) if kind(frame) == Some(Kind::Abort));
            if arrival.from != self.slow {
                self.overtaken |= is_last;
            } else if !self.overtaken && (is_last || !self.held.is_empty()) {
                self.held.push_back(arrival);
                continue;
            }
            return Some(arrival);
        }
    }

    fn close(self, deadline: Instant) {
        self.inner.close(deadline);
    }
}
