//! Places beyond the connection limit, for short requests. Slow connections cannot occupy them.
//!
//! If no place is free for a new connection, one whose request has not arrived yet gives way: the oldest of the source
//! that has the most, among the new connection's own source and those with more places than that. So only a flood from
//! many sources at once, not slow requests, can keep out a request that arrives in one piece.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Reserved places, limited in total and per source.
#[derive(Debug)]
pub struct Reserve {
    most: usize,
    each: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    seated: BTreeMap<u64, Seated>,
}

#[derive(Debug)]
struct Seated {
    source: IpAddr,
    /// Notified to give way; `None` once its request has arrived.
    leave: Option<Arc<Notify>>,
}

/// A reserved place, until it is dropped.
#[derive(Debug)]
pub struct Seat {
    reserve: Arc<Reserve>,
    number: u64,
    leave: Arc<Notify>,
}

impl Reserve {
    /// `most` places, of which one source can have `each`.
    pub fn new(most: usize, each: usize) -> Arc<Self> {
        Arc::new(Self { most, each, state: Mutex::default() })
    }

    /// A place; `None` if no connection gives way.
    pub fn take(self: &Arc<Self>, source: IpAddr) -> Option<Seat> {
        let mut state = self.lock();
        let own = state.seated.values().filter(|seated| seated.source == source).count();
        if state.seated.len() >= self.most || own >= self.each {
            let number = state.gives_way(source, own)?;
            state.seated.remove(&number)?.leave?.notify_one();
        }
        let (number, leave) = (state.next, Arc::new(Notify::new()));
        state.next += 1;
        state.seated.insert(number, Seated { source, leave: Some(Arc::clone(&leave)) });
        Some(Seat { reserve: Arc::clone(self), number, leave })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The connection that gives way to another one of `source`, which has `own`.
    fn gives_way(&self, source: IpAddr, own: usize) -> Option<u64> {
        let mut of_source: HashMap<IpAddr, usize> = HashMap::new();
        self.seated.values().for_each(|seated| *of_source.entry(seated.source).or_default() += 1);
        let waited_for = self.seated.iter().filter(|(_, seated)| seated.leave.is_some());
        let candidates = waited_for.filter_map(|(number, seated)| {
            let has = of_source[&seated.source];
            (seated.source == source || has > own).then_some((has, Reverse(*number)))
        });
        candidates.max().map(|(_, Reverse(number))| number)
    }
}

impl Seat {
    /// The request has arrived: the place is now kept until it is answered.
    pub fn arrived(&self) {
        if let Some(seated) = self.reserve.lock().seated.get_mut(&self.number) {
            seated.leave = None;
        }
    }

    /// Waits until the connection must give way, which may never happen.
    pub async fn given_up(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.reserve.lock().seated.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn of(last: u8) -> IpAddr {
        [127, 0, 0, last].into()
    }

    #[test]
    fn the_oldest_request_that_has_not_arrived_gives_way() {
        let reserve = Reserve::new(4, 3);
        let seats = [2, 2, 2, 3].map(|last| reserve.take(of(last)).unwrap());
        let gone = || seats.each_ref().map(|seat| seat.given_up().now_or_never().is_some());
        seats[0].arrived();
        let newcomer = reserve.take(of(4)).unwrap();
        assert_eq!(gone(), [false, true, false, false], "of the source that has the most");
        let again = reserve.take(of(2)).unwrap();
        assert_eq!(gone(), [false, false, true, false], "of its own, and not of one that has less");
        [&seats[0], &newcomer, &again].iter().for_each(|seat| seat.arrived());
        let other = reserve.take(of(5)).unwrap();
        assert_eq!(gone(), [false, false, false, true]);
        other.arrived();
        assert!(reserve.take(of(6)).is_none(), "all are being answered");
        drop((seats, newcomer, again));
        assert_eq!(reserve.lock().seated.len(), 1);
    }
}
