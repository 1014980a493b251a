//! An aggregator that listens to clients over the network.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use reticent_party::transport::tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::*;
use crate::task::Task;
use crate::upload::{MOST_AT_ONCE, MOST_CONNECTIONS, UPLOAD, upload_to};
use crate::{Reception, Report, Store};

/// An aggregator that waits this long for slow clients.
fn listening(silence: Duration) -> (Task, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let key = PrivateKey::generate().unwrap();
    let mut draft = draft(&Statistic::Count, 2);
    draft.aggregators[0].key = key.public();
    draft.aggregators[0].reports = address.to_string();
    let task = Task::new(draft).unwrap();
    let mut reception = Reception::new(&task, 0, &key, listener, Store::in_memory(&task, 0).unwrap()).unwrap();
    reception.silence = silence;
    thread::spawn(|| reception.run());
    (task, address)
}

fn report(task: &Task) -> Report {
    Report::new(task, answers(&Statistic::Count, &[1]).remove(0)).unwrap()
}

/// If the server waited for idle connections to time out, all of them would be gone by the honest client's turn.
#[test]
fn idle_connections_give_way_one_by_one() {
    let (task, address) = listening(Duration::from_secs(60));
    // More from one source would themselves push out others.
    let mut idle: Vec<_> = (0..MOST_CONNECTIONS * 3 / 4).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(upload_to(&task, 0, &[report(&task)]).unwrap().kept, 1);
    let gone = idle.iter_mut().filter_map(|stream| {
        stream.set_nonblocking(true).unwrap();
        (!stream.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)).then_some(())
    });
    assert_eq!(gone.count(), 1);
}

/// A client that has announced how many shares will come, and then sends them byte by byte.
struct Dripping(StreamOwned<ClientConnection, TcpStream>);

impl Dripping {
    fn from(source: [u8; 4], task: &Task, address: SocketAddr) -> io::Result<Self> {
        let socket = dial(source, address)?;
        let config = tls::stranger(task.aggregators()[0].key);
        let connection = ClientConnection::new(config.into(), ServerName::try_from("party").unwrap());
        let mut stream = StreamOwned::new(connection.map_err(io::Error::other)?, socket);
        stream.write_all(&[&task.hash().0[..], &(MOST_AT_ONCE as u32).to_le_bytes()].concat())?;
        stream.flush()?;
        Ok(Self(stream))
    }

    /// Whether its connection is still open.
    fn drip(&mut self) -> bool {
        self.0.write_all(&[0]).and_then(|()| self.0.flush()).is_ok()
    }
}

/// A regression: they used to keep their places for as long as a whole upload may take.
#[cfg(target_os = "linux")]
#[test]
fn dripping_connections_of_some_sources_keep_no_other_out() {
    let (task, address) = listening(UPLOAD);
    let (dripping, stop) = (mpsc::channel(), mpsc::channel::<()>());
    let hostile = task.clone();
    thread::spawn(move || {
        let mut drips: Vec<Dripping> = Vec::new();
        for number in 0..MOST_CONNECTIONS {
            drips.extend(Dripping::from([127, 0, 0, 2 + number as u8 % 2], &hostile, address));
            drips.retain_mut(Dripping::drip);
        }
        while stop.1.try_recv() == Err(mpsc::TryRecvError::Empty) {
            drips.retain_mut(Dripping::drip);
            let _ = dripping.0.send(());
            thread::sleep(Duration::from_millis(50));
        }
    });
    // By then all have sent their request: before that, each could be closed as idle.
    assert_eq!(dripping.1.iter().take(20).count(), 20);
    let (sent, answered) = mpsc::channel();
    thread::spawn(move || sent.send(upload_to(&task, 0, &[report(&task)]).unwrap().kept));
    assert_eq!(answered.recv_timeout(UPLOAD / 2), Ok(1));
    drop(stop.0);
}

#[test]
fn a_client_that_drips_is_given_up_long_before_the_end() {
    let (task, address) = listening(Duration::from_secs(1));
    let start = Instant::now();
    let mut dripping = Dripping::from([127, 0, 0, 1], &task, address).unwrap();
    while dripping.drip() {
        assert!(start.elapsed() < UPLOAD / 2);
        thread::sleep(Duration::from_millis(50));
    }
}
