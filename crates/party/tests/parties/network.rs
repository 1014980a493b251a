//! Connections are cut; strangers connect; a party restarts.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use reticent_party::transport::{Arrival, Heard, Mesh, Transport};
use reticent_party::{PrivateKey, Reason};

use crate::clock::Clock;
use crate::proxy::cutting;
use crate::village::{LARGEST, Plan, Village, abort};

/// How far each connection gets, in bytes from the dialling side: some end during the handshake, some during messages.
const CUTS: [usize; 8] = [100, 300, 600, 700, 900, 1100, 1500, 2000];

#[test]
fn connections_that_are_cut_come_back() {
    let mut cuts = Vec::new();
    let village = Village::behind(Plan { parties: 4, cells: 200, ..Plan::default() }, |address| {
        let (own, cut) = cutting(address, CUTS.to_vec());
        cuts.push(cut);
        own
    });
    village.check(village.all(|place| village.run(place)));
    let cut: usize = cuts.iter().map(|cut| cut.load(Ordering::SeqCst)).sum();
    // None of them gets far enough to last to the end. Nobody dials the last party.
    assert_eq!(cut, (village.parties() - 1) * CUTS.len());
}

/// In a place that dials others, and in one that is dialled.
#[test]
fn a_stranger_in_the_place_of_a_party_is_not_heard_and_hears_nothing() {
    thread::scope(|scope| {
        for place in [0, 2] {
            scope.spawn(move || stranger_in_the_place_of(place));
        }
    });
}

fn stranger_in_the_place_of(place: usize) {
    let village = Village::new(Plan::default());
    let stranger = PrivateKey::generate().unwrap();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let heard = scope.spawn(|| {
            let listener = village.listener(place);
            let mut mesh = Mesh::start(village.task.parties(), place, &stranger, listener, LARGEST).unwrap();
            for peer in 0..village.parties() {
                mesh.send(peer, &b"let me in"[..].into());
            }
            let mut heard = Vec::new();
            while !over.load(Ordering::SeqCst) {
                heard.extend(mesh.receive(Instant::now() + Duration::from_millis(50)));
            }
            // A connection may seem to be up until the other side has seen the key.
            heard.retain(|arrival| arrival.heard != Heard::Lost);
            heard
        });
        let honest: Vec<usize> = (0..village.parties()).filter(|&honest| honest != place).collect();
        let clock = Arc::new(Clock::new(village.parties(), &[place]));
        let run = |honest: usize| {
            let (village, clock) = (&village, Arc::clone(&clock));
            let run = move || village.run_over(honest, &village.task, |mesh| clock.of(honest, mesh));
            (honest, scope.spawn(run))
        };
        let parties: Vec<_> = honest.into_iter().map(run).collect();
        let results: Vec<_> = parties.into_iter().map(|(honest, party)| (honest, party.join().unwrap())).collect();
        over.store(true, Ordering::SeqCst);
        assert_eq!(heard.join().unwrap(), []);
        for (honest, result) in results {
            let abort = abort(result);
            assert_eq!((abort.reason, abort.culprit), (Reason::Vanished, Some(format!("p{place}"))));
            assert!(!abort.charged && village.charges(honest) == 0);
        }
    });
}

#[test]
fn strangers_do_not_disturb_an_honest_run() {
    let village = Village::new(Plan::default());
    let over = AtomicBool::new(false);
    let outcomes = thread::scope(|scope| {
        for place in 0..village.parties() {
            let (address, over) = (village.task.parties()[place].address.clone(), &over);
            scope.spawn(move || {
                // Some send nothing, some garbage, some what looks like the beginning of TLS.
                let beginnings: [&[u8]; 4] = [b"", b"GET / HTTP/1.1\r\n\r\n", &[0x16, 3, 1, 0xff, 0xff], &[0xff; 64]];
                let mut open = Vec::new();
                for beginning in beginnings.iter().cycle().take(40) {
                    if over.load(Ordering::SeqCst) {
                        break;
                    }
                    let mut stream = TcpStream::connect(&address).unwrap();
                    let _ = stream.write_all(beginning);
                    // Silent ones stay connected.
                    if beginning.is_empty() && open.len() < 4 {
                        open.push(stream);
                    }
                }
            });
        }
        let outcomes = village.all(|place| village.run(place));
        over.store(true, Ordering::SeqCst);
        outcomes
    });
    village.check(outcomes);
}

/// A process that is restarted before all have joined may rejoin with a new attempt.
#[test]
fn a_party_that_starts_again_before_everybody_is_there() {
    let village = Village::new(Plan::default());
    let (heard, is_heard) = channel();
    let outcomes = thread::scope(|scope| {
        let waiting = scope.spawn(|| village.run(1));
        // Its first life ends when it has heard from the waiting party.
        let first_life =
            village.run_over(2, &village.task, |mesh| Listener { inner: Some(mesh), mortal: true, heard: None });
        assert!(first_life.is_err());
        let second_life = scope.spawn(|| {
            let heard = Some(heard);
            village.run_over(2, &village.task, |mesh| Listener { inner: Some(mesh), mortal: false, heard })
        });
        // The waiting party has spoken on the new connection, and is done with the old one.
        is_heard.recv().unwrap();
        let late = scope.spawn(|| village.run(0));
        vec![late.join().unwrap(), waiting.join().unwrap(), second_life.join().unwrap()]
    });
    let outcomes = village.check(outcomes);
    assert_eq!(outcomes[0].transcript.attempt, 2);
    assert!((0..3).all(|place| village.charges(place) == 1));
}

/// Signals when it receives something, or dies of it.
struct Listener<T> {
    inner: Option<T>,
    mortal: bool,
    heard: Option<Sender<()>>,
}

impl<T: Transport> Transport for Listener<T> {
    fn send(&mut self, to: usize, frame: &Arc<[u8]>) {
        if let Some(inner) = &mut self.inner {
            inner.send(to, frame);
        }
    }

    fn receive(&mut self, deadline: Instant) -> Option<Arrival> {
        let arrival = self.inner.as_mut()?.receive(deadline)?;
        if let Some(heard) = self.heard.take() {
            heard.send(()).unwrap();
        }
        if self.mortal {
            self.inner = None;
        }
        Some(arrival).filter(|_| !self.mortal)
    }

    fn close(self, deadline: Instant) {
        if let Some(inner) = self.inner {
            inner.close(deadline);
        }
    }
}
