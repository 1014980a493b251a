//! An aggregator's client connections: how many there may be, and which one makes room for a new one.
//!
//! | when a new connection arrives and | then |
//! |---|---|
//! | a connection is idle, from the same source or from one that has more | that one is closed |
//! | all are busy, and another source has at least two more | the slowest of the source that has the most is closed |
//! | otherwise | the new one is closed, and its client retries |
//!
//! So neither idle nor trickling connections keep other sources out. A source is an IPv4 address or an IPv6 /64
//! network, which is what one subscriber has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Ipv6Addr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection that has sent its request may be silent this long before it counts as idle.
const PATIENCE: Duration = Duration::from_secs(1);

/// A limited number of connections, of which one source may have at most three quarters: connections whose reports are
/// being stored are never closed, and must not take up all places.
#[derive(Debug)]
pub(crate) struct Guests {
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    guests: BTreeMap<u64, Guest>,
}

#[derive(Debug)]
struct Guest {
    source: IpAddr,
    stream: TcpStream,
    /// Whether it has sent its request.
    spoke: bool,
    /// When waiting for it began; `None` while its data is being processed.
    silent: Option<Instant>,
    /// How long it could still be waited for at that time: the slowest has the least.
    credit: Duration,
}

/// A connection's place, freed when dropped.
#[derive(Debug)]
pub(crate) struct Ticket<'guests> {
    guests: &'guests Guests,
    number: u64,
}

impl Guests {
    pub fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// A place; `None` if this source has used all of its places and no connection can be closed.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn admit(&self, stream: &TcpStream) -> io::Result<Option<Ticket<'_>>> {
        let (source, stream) = (source(stream.peer_addr()?.ip()), stream.try_clone()?);
        let mut state = self.lock();
        let own = state.guests.values().filter(|guest| guest.source == source).count();
        if state.guests.len() >= self.most || own >= self.most * 3 / 4 {
            let Some(number) = state.gives_way(source, own, Instant::now()) else { return Ok(None) };
            if let Some(guest) = state.guests.remove(&number) {
                // Its thread reads end of file, and stops.
                let _ = guest.stream.shutdown(Shutdown::Both);
            }
        }
        let number = state.next;
        state.next += 1;
        let guest = Guest { source, stream, spoke: false, silent: Some(Instant::now()), credit: Duration::MAX };
        state.guests.insert(number, guest);
        Ok(Some(Ticket { guests: self, number }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The connection to close for a new one from `source`, which has `own` already.
    fn gives_way(&self, source: IpAddr, own: usize, now: Instant) -> Option<u64> {
        let mut of_source: HashMap<IpAddr, usize> = HashMap::new();
        self.guests.values().for_each(|guest| *of_source.entry(guest.source).or_default() += 1);
        let waited_for = self.guests.iter().filter_map(|(number, guest)| {
            let silent = now.saturating_duration_since(guest.silent?);
            let idle = !guest.spoke || silent >= PATIENCE;
            let has = of_source[&guest.source];
            let gives_way = if idle { guest.source == source || has > own } else { has > own + 1 };
            gives_way.then(|| (has, idle, Reverse(guest.credit.saturating_sub(silent)), *number))
        });
        waited_for.max().map(|(.., number)| number)
    }
}

impl Ticket<'_> {
    /// Reads from the connection, for at most `credit`; it counts as silent until something arrives.
    pub fn hear<T>(&self, credit: Duration, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.note(|guest| (guest.silent, guest.credit) = (Some(Instant::now()), credit));
        let heard = read();
        self.note(|guest| guest.silent = None);
        heard
    }

    /// Notes that it has sent its request.
    pub fn spoke(&self) {
        self.note(|guest| guest.spoke = true);
    }

    fn note(&self, change: impl FnOnce(&mut Guest)) {
        if let Some(guest) = self.guests.lock().guests.get_mut(&self.number) {
            change(guest);
        }
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        self.guests.lock().guests.remove(&self.number);
    }
}

/// The source of an address.
fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::tests::dial;
    use std::net::TcpListener;

    /// Connections from the sources 127.0.0.N, as the listener sees them.
    fn coming(sources: &[u8]) -> Vec<TcpStream> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let come = |&last: &u8| {
            let _client = dial([127, 0, 0, last], listener.local_addr().unwrap()).unwrap();
            listener.accept().unwrap().0
        };
        sources.iter().map(come).collect()
    }

    #[test]
    fn one_source_does_not_take_all_places() {
        let (guests, streams) = (Guests::new(8), coming(&[[2; 7].as_slice(), &[3, 3]].concat()));
        // All of them are having their reports stored, so none is closed.
        let admit = |stream| {
            let ticket = guests.admit(stream).unwrap()?;
            ticket.hear(Duration::MAX, || Ok(())).unwrap();
            Some(ticket)
        };
        let tickets: Vec<_> = streams.iter().map(admit).collect();
        let admitted: Vec<bool> = tickets.iter().map(Option::is_some).collect();
        assert_eq!(admitted, [true, true, true, true, true, true, false, true, true]);
    }

    #[test]
    fn the_slowest_of_the_largest_source_gives_way_to_a_smaller_one() {
        let (guests, streams) = (Guests::new(4), coming(&[2, 2, 2, 3, 4, 3]));
        let credits = [5, 3, 4, 1].map(Duration::from_secs);
        let admit = |stream| guests.admit(stream).unwrap();
        let mut tickets: Vec<_> = streams.iter().take(4).map(admit).collect();
        for (ticket, credit) in tickets.iter().zip(credits) {
            // None is silent, however long this takes.
            let busy = |guest: &mut Guest| {
                (guest.spoke, guest.silent, guest.credit) =
                    (true, Instant::now().checked_add(Duration::from_secs(3600)), credit);
            };
            ticket.as_ref().unwrap().note(busy);
        }
        let numbers = || guests.lock().guests.keys().copied().collect::<Vec<_>>();
        tickets.push(admit(&streams[4]));
        assert_eq!(numbers(), [0, 2, 3, 4], "the second has the least credit of its source");
        tickets[4].as_ref().unwrap().hear(Duration::MAX, || Ok(())).unwrap();
        assert!(admit(&streams[5]).is_none(), "two of one source, and one of each other, are fair");
    }
}
