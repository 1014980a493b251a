//! A clock that stands still as long as anything can still happen.
//!
//! Waiting for a party that has vanished means waiting for a deadline. On a wall clock that takes long, or the deadline
//! comes too early for parties that are merely slow. So here time passes only when nothing else can happen: when all
//! remaining parties are waiting, and every message has been received. Then the earliest deadline expires.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use reticent_party::transport::{Arrival, Heard, Transport};

/// How often a waiting party checks the clock. It affects only how soon a test finishes.
const LOOK: Duration = Duration::from_millis(5);
/// Nothing takes this long unless something is broken.
const NEVER: Duration = Duration::from_secs(600);

/// What a party is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// It is working, or has not joined yet.
    Works,
    /// It is waiting for others, until this deadline.
    Waits(Instant),
    /// It no longer listens.
    Gone,
}

struct State {
    /// By index.
    parties: Vec<Doing>,
    /// What was sent and not yet received: sender, recipient, frame.
    under_way: Vec<(usize, usize, Vec<u8>)>,
}

/// The clock of all parties taking part.
pub struct Clock {
    state: Mutex<State>,
    changed: Condvar,
}

impl Clock {
    /// For a village of this size, of which the `absent` ones never join.
    pub fn new(parties: usize, absent: &[usize]) -> Self {
        let doing = |place| if absent.contains(&place) { Doing::Gone } else { Doing::Works };
        let state = State { parties: (0..parties).map(doing).collect(), under_way: Vec::new() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// One party's connections, on this clock.
    pub fn of<T: Transport>(self: &Arc<Self>, place: usize, inner: T) -> Timed<T> {
        Timed { inner: Some(inner), clock: Arc::clone(self), place }
    }

    /// Waits until all others are waiting for this party and have received everything they sent to each other.
    pub fn until_all_wait_for(&self, place: usize) {
        let busy = |state: &mut State| {
            let works = |(other, doing): (usize, &Doing)| other != place && *doing == Doing::Works;
            state.parties.iter().enumerate().any(works) || state.under_way.iter().any(|&(_, to, _)| to != place)
        };
        let state = self.state.lock().unwrap();
        let (_state, timeout) = self.changed.wait_timeout_while(state, NEVER, busy).unwrap();
        assert!(!timeout.timed_out(), "the others never met");
    }

    fn change<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        let changed = change(&mut self.state.lock().unwrap());
        self.changed.notify_all();
        changed
    }
}

impl State {
    /// Whether this party's deadline has expired.
    fn is_up(&self, place: usize) -> bool {
        let deadline = |doing: &Doing| if let Doing::Waits(deadline) = doing { Some(*deadline) } else { None };
        let earliest = self.parties.iter().filter_map(deadline).min();
        !self.parties.contains(&Doing::Works) && self.under_way.is_empty() && deadline(&self.parties[place]) == earliest
    }

    /// Marks it as no longer listening.
    fn go(&mut self, place: usize) {
        self.parties[place] = Doing::Gone;
        self.under_way.retain(|&(_, to, _)| to != place);
    }
}

/// Connections on a clock. Dropping them kills the party; but everything it sent before is received.
pub struct Timed<T> {
    inner: Option<T>,
    clock: Arc<Clock>,
    place: usize,
}

impl<T: Transport> Transport for Timed<T> {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        self.clock.change(|state| {
            if state.parties[to] != Doing::Gone {
                state.under_way.push((self.place, to, frame.to_vec()));
            }
        });
        self.inner.as_mut().expect("it is not closed").send(to, frame);
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        let (place, inner) = (self.place, self.inner.as_mut().expect("it is not closed"));
        self.clock.change(|state| state.parties[place] = Doing::Waits(deadline));
        loop {
            let arrival = inner.receive(deadline.min(Instant::now() + LOOK));
            let over = self.clock.change(|state| {
                let over = arrival.is_some() || state.is_up(place) || Instant::now() >= deadline;
                if over {
                    state.parties[place] = Doing::Works;
                }
                if let Some(Arrival { from, heard: Heard::Frame(frame) }) = &arrival {
                    state.under_way.retain(|said| (said.0, said.1, &said.2) != (*from, place, frame));
                }
                over
            });
            if over {
                return arrival;
            }
        }
    }

    fn close(mut self, deadline: Instant) {
        self.clock.change(|state| state.go(self.place));
        self.inner.take().expect("it is not closed").close(deadline);
    }
}

impl<T> Drop for Timed<T> {
    fn drop(&mut self) {
        if self.inner.is_none() {
            return;
        }
        let unheard = |state: &mut State| state.under_way.iter().any(|&(from, ..)| from == self.place);
        let state = self.clock.state.lock().unwrap();
        let waited = self.clock.changed.wait_timeout_while(state, NEVER, unheard);
        let (mut state, timeout) = waited.unwrap();
        state.go(self.place);
        assert!(!timeout.timed_out() || std::thread::panicking(), "what was said was never heard");
    }
}
