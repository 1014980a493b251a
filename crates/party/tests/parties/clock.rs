//! A clock that stands still while anything can still happen.
//!
//! Whoever waits for somebody that has vanished waits for a deadline. On the clock of the wall that takes long, or it comes too early
//! for those that are only slow. So here time passes when nothing else can: when all parties that are left wait, and everything that
//! was said has been heard. Then the earliest deadline is over.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use reticent_party::transport::{Arrival, Heard, Transport};

/// How often somebody who waits looks at the clock. Nothing depends on it but how soon a test is over.
const LOOK: Duration = Duration::from_millis(5);
/// Nothing waits so long unless something is broken.
const NEVER: Duration = Duration::from_secs(600);

/// What a party does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Something, or it has not come yet.
    Works,
    /// It waits for others, until then.
    Waits(Instant),
    /// It hears nothing any more.
    Gone,
}

struct State {
    /// By place.
    parties: Vec<Doing>,
    /// What was said and not yet heard: by whom, to whom, what.
    under_way: Vec<(usize, usize, Vec<u8>)>,
}

/// The clock of all parties that take part.
pub struct Clock {
    state: Mutex<State>,
    changed: Condvar,
}

impl Clock {
    /// For a village of so many, of which `absent` ones never come.
    pub fn new(parties: usize, absent: &[usize]) -> Self {
        let doing = |place| if absent.contains(&place) { Doing::Gone } else { Doing::Works };
        let state = State { parties: (0..parties).map(doing).collect(), under_way: Vec::new() };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The connections of one party, by this clock.
    pub fn of<T: Transport>(self: &Arc<Self>, place: usize, inner: T) -> Timed<T> {
        Timed { inner: Some(inner), clock: Arc::clone(self), place }
    }

    /// Waits until all others wait for this party and have heard all that they said to each other.
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
    /// Is the time of this party over?
    fn is_up(&self, place: usize) -> bool {
        let deadline = |doing: &Doing| if let Doing::Waits(deadline) = doing { Some(*deadline) } else { None };
        let earliest = self.parties.iter().filter_map(deadline).min();
        !self.parties.contains(&Doing::Works) && self.under_way.is_empty() && deadline(&self.parties[place]) == earliest
    }

    /// It hears nothing more.
    fn go(&mut self, place: usize) {
        self.parties[place] = Doing::Gone;
        self.under_way.retain(|&(_, to, _)| to != place);
    }
}

/// Connections by a clock. When they are dropped, the party dies; but all that it said before is heard.
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
