//! Clients' reports on their way: each share over TLS to its own aggregator, and to nobody else.
//!
//! A client proves nothing about itself; that it talks with the aggregator of the task, the aggregator's key proves. The client
//! says the task's hash (32 bytes), how many shares come (4 bytes, little-endian) and the shares, which all have the same length.
//! The aggregator answers when they are on its disk: one byte, and how many it kept and refused (4 bytes each).

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use zeroize::Zeroizing;

use super::guests::{Guests, Ticket};
use super::report::{Report, share_length};
use super::store::{Received, Store};
use super::task::Task;
use crate::error::{Error, Result};
use crate::keys::PrivateKey;
use crate::transport::tls;

/// The most shares of one upload.
pub const MOST_AT_ONCE: usize = 1 << 16;
/// Uploads that are read at the same time; see [`Guests`] for who gives way to one more.
pub(super) const MOST_CONNECTIONS: usize = 64;
/// How long the other side may be silent.
const SILENCE: Duration = Duration::from_secs(10);
/// How long an upload may take as a whole.
const UPLOAD: Duration = Duration::from_secs(120);
/// About so much is read, and written to the disk, at a time.
const PORTION_BYTES: usize = 1 << 20;
/// So much at a time is read of what is not wanted.
const REST_BYTES: usize = 1 << 14;
/// How long is waited when the system has no connection to give.
const PAUSE: Duration = Duration::from_millis(50);

const KEPT: u8 = 0;
const OTHER_TASK: u8 = 1;
const FAILED: u8 = 2;

/// Sends reports to all aggregators of their task; what became of them at each, in the task's order.
///
/// Sent again after an error, the same reports are kept where they were missing and refused where they are already.
///
/// # Errors
/// [`Error::Network`] if an aggregator cannot be reached, or does not take them.
pub fn upload(task: &Task, reports: &[Report]) -> Result<Vec<Received>> {
    let one_after_the_other = |place| {
        let mut received = Received::default();
        for portion in reports.chunks(MOST_AT_ONCE) {
            let more = upload_to(task, place, portion)?;
            received = Received { kept: received.kept + more.kept, refused: received.refused + more.refused };
        }
        Ok(received)
    };
    (0..task.aggregators().len()).map(one_after_the_other).collect()
}

pub(super) fn upload_to(task: &Task, place: usize, reports: &[Report]) -> Result<Received> {
    let site = &task.aggregators()[place];
    let failed = |error: io::Error| Error::network(format!("sending reports to {}", site.name), error);
    let config = tls::stranger(site.key).map_err(|error| Error::network("TLS", error))?;
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("party").expect("it is a name"));
    let connection = connection.map_err(|error| Error::network("TLS", error))?;
    let mut stream = StreamOwned::new(connection, connect(&site.reports).map_err(failed)?);
    let mut say = || {
        let mut message = Zeroizing::new(Vec::with_capacity(36 + reports.len() * share_length(task, place)));
        message.extend_from_slice(&task.hash().0);
        message.extend_from_slice(&(reports.len() as u32).to_le_bytes());
        reports.iter().for_each(|report| message.extend_from_slice(&report.shares()[place]));
        stream.write_all(&message)?;
        stream.flush()?;
        let mut answer = [0; 9];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    let [verdict, counts @ ..] = say().map_err(failed)?;
    let (&kept, refused) = counts.split_first_chunk().expect("there are eight bytes");
    let refused = refused.try_into().expect("there are eight bytes");
    match verdict {
        KEPT => Ok(Received { kept: u32::from_le_bytes(kept).into(), refused: u32::from_le_bytes(refused).into() }),
        OTHER_TASK => Err(Error::network(format!("sending reports to {}", site.name), "it has another task")),
        _ => Err(Error::network(format!("sending reports to {}", site.name), "it could not keep them")),
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, SILENCE) {
            Ok(stream) => {
                stream.set_read_timeout(Some(UPLOAD))?;
                stream.set_write_timeout(Some(SILENCE))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// An aggregator's ear for reports.
pub struct Reception {
    task: Task,
    place: usize,
    listener: TcpListener,
    config: Arc<ServerConfig>,
    store: Arc<Mutex<Store>>,
    /// How long a client may be silent if nobody else comes.
    pub(super) silence: Duration,
}

impl Reception {
    /// Ready to listen.
    ///
    /// # Errors
    /// If the key cannot be used for TLS.
    pub fn new(task: &Task, place: usize, key: &PrivateKey, listener: TcpListener, store: Store) -> Result<Self> {
        let config = tls::server_for_strangers(key).map_err(|error| Error::network("TLS", error))?;
        let store = Arc::new(Mutex::new(store));
        Ok(Self { task: task.clone(), place, listener, config: Arc::new(config), store, silence: SILENCE })
    }

    /// Takes reports for as long as the process lives. What a client does wrong ends its own connection and nothing else.
    pub fn run(self) {
        let Self { task, place, listener, config, store, silence } = self;
        let guests = Guests::new(MOST_CONNECTIONS);
        thread::scope(|scope| {
            loop {
                let Ok((stream, _)) = listener.accept() else {
                    thread::sleep(PAUSE);
                    continue;
                };
                let ticket = loop {
                    match guests.admit(&stream) {
                        Ok(None) => thread::sleep(PAUSE),
                        Ok(ticket) => break ticket,
                        // It is gone again.
                        Err(_) => break None,
                    }
                };
                let Some(ticket) = ticket else { continue };
                let (task, config, store) = (&task, Arc::clone(&config), &store);
                scope.spawn(move || {
                    // A client that breaks off has sent nothing.
                    let _ = take(task, place, stream, config, store, ticket, silence);
                });
            }
        });
    }
}

/// Reads from a connection until a deadline.
struct Timed<'guests> {
    stream: StreamOwned<ServerConnection, TcpStream>,
    deadline: Instant,
    silence: Duration,
    ticket: Ticket<'guests>,
}

impl Timed<'_> {
    fn read_exact(&mut self, mut bytes: &mut [u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let read = self.read(bytes)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            bytes = &mut bytes[read..];
        }
        Ok(())
    }

    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(self.silence);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.sock.set_read_timeout(Some(left))?;
        self.ticket.hear(|| self.stream.read(bytes))
    }
}

fn take(
    task: &Task,
    place: usize,
    stream: TcpStream,
    config: Arc<ServerConfig>,
    store: &Mutex<Store>,
    ticket: Ticket<'_>,
    silence: Duration,
) -> io::Result<()> {
    stream.set_write_timeout(Some(SILENCE))?;
    let connection = ServerConnection::new(config).map_err(io::Error::other)?;
    let (stream, deadline) = (StreamOwned::new(connection, stream), Instant::now() + UPLOAD);
    let mut timed = Timed { stream, deadline, silence, ticket };
    let (mut hash, mut count) = ([0; 32], [0; 4]);
    timed.read_exact(&mut hash)?;
    timed.read_exact(&mut count)?;
    timed.ticket.spoke();
    let mut left = u32::from_le_bytes(count) as usize;
    let (verdict, received) = if hash != task.hash().0 || left > MOST_AT_ONCE {
        (OTHER_TASK, Received::default())
    } else {
        let (length, mut total) = (share_length(task, place), Received::default());
        let mut verdict = KEPT;
        while left > 0 {
            let portion = left.min((PORTION_BYTES / length).max(1));
            let mut bytes = Zeroizing::new(vec![0; portion * length]);
            timed.read_exact(&mut bytes)?;
            left -= portion;
            let mut store = store.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match store.receive(bytes.chunks_exact(length)) {
                Ok(received) => {
                    total = Received { kept: total.kept + received.kept, refused: total.refused + received.refused };
                }
                Err(_) => {
                    verdict = FAILED;
                    break;
                }
            }
        }
        (verdict, total)
    };
    let answer = [&[verdict][..], &(received.kept as u32).to_le_bytes(), &(received.refused as u32).to_le_bytes()];
    timed.stream.write_all(&answer.concat())?;
    timed.stream.conn.send_close_notify();
    timed.stream.flush()?;
    // What is left is read and forgotten: closing on it would take the answer away from a client that is still speaking.
    let mut rest = Zeroizing::new(vec![0; REST_BYTES]);
    while verdict != KEPT && timed.read(&mut rest)? > 0 {}
    Ok(())
}
