//! The connections of an aggregator: how many there may be, and who gives way to one more.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Whoever has said what it wants may then be silent for so long before it gives way.
const PATIENCE: Duration = Duration::from_secs(1);

/// Connections, so many at a time. If there is one more, one that is silent gives way: of the address that has the most, the one
/// that has been silent longest. So idle connections keep nobody out.
#[derive(Debug)]
pub(super) struct Guests {
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
    address: IpAddr,
    stream: TcpStream,
    /// Has it said what it wants?
    spoke: bool,
    /// Since when it is waited for; `None` while what it said is being dealt with.
    silent: Option<Instant>,
}

/// A connection's place, until it is dropped.
#[derive(Debug)]
pub(super) struct Ticket<'guests> {
    guests: &'guests Guests,
    number: u64,
}

impl Guests {
    pub fn new(most: usize) -> Self {
        Self { most, state: Mutex::default() }
    }

    /// A place; `None` if all are taken and nobody is silent.
    ///
    /// # Errors
    /// If the connection is gone.
    pub fn admit(&self, stream: &TcpStream) -> io::Result<Option<Ticket<'_>>> {
        let (address, stream) = (stream.peer_addr()?.ip(), stream.try_clone()?);
        let mut state = self.lock();
        if state.guests.len() >= self.most {
            let Some(number) = state.gives_way(Instant::now()) else { return Ok(None) };
            if let Some(guest) = state.guests.remove(&number) {
                // Its thread reads the end, and ends.
                let _ = guest.stream.shutdown(Shutdown::Both);
            }
        }
        let number = state.next;
        state.next += 1;
        state.guests.insert(number, Guest { address, stream, spoke: false, silent: Some(Instant::now()) });
        Ok(Some(Ticket { guests: self, number }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn gives_way(&self, now: Instant) -> Option<u64> {
        let mut of_address: HashMap<IpAddr, usize> = HashMap::new();
        self.guests.values().for_each(|guest| *of_address.entry(guest.address).or_default() += 1);
        let silent = self.guests.iter().filter_map(|(number, guest)| {
            let silent = now.saturating_duration_since(guest.silent?);
            (!guest.spoke || silent >= PATIENCE).then_some((of_address[&guest.address], silent, *number))
        });
        silent.max().map(|(_, _, number)| number)
    }
}

impl Ticket<'_> {
    /// Reads from the connection, which is silent until something comes.
    pub fn hear<T>(&self, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.note(|guest| guest.silent = Some(Instant::now()));
        let heard = read();
        self.note(|guest| guest.silent = None);
        heard
    }

    /// It has said what it wants.
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
