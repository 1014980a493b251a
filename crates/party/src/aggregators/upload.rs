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
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
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
/// How long the other side may be silent, or behind [`SLOWEST`].
const SILENCE: Duration = Duration::from_secs(10);
/// How long a client may take for one byte: 2 KiB a second, half a modem's rate.
const SLOWEST: Duration = Duration::from_nanos(1_000_000_000 / 2048);
/// How long an upload may take as a whole.
pub(super) const UPLOAD: Duration = Duration::from_secs(120);
/// How long a client asks for a place at an aggregator that has none, and how long it waits in between.
const PERSISTENCE: Duration = Duration::from_secs(30);
const BETWEEN: Duration = Duration::from_millis(250);
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
    let mut stream = call(&site.reports, &Arc::new(config)).map_err(failed)?;
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

/// A connection on which nothing was said yet. An aggregator that has no place closes it before that.
fn call(address: &str, config: &Arc<ClientConfig>) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let start = Instant::now();
    loop {
        let connection =
            ClientConnection::new(Arc::clone(config), ServerName::try_from("party").expect("it is a name"));
        let mut stream = StreamOwned::new(connection.map_err(io::Error::other)?, connect(address)?);
        match stream.conn.complete_io(&mut stream.sock) {
            Ok(_) => return Ok(stream),
            Err(error) if is_closed(&error) && start.elapsed() < PERSISTENCE => thread::sleep(BETWEEN),
            Err(error) => return Err(error),
        }
    }
}

fn is_closed(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    [BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof].contains(&error.kind())
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
    /// How long a client may be silent, or behind [`SLOWEST`], if nobody else comes.
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
                // Nobody waits for a place here, where others would wait behind it.
                let Ok(Some(ticket)) = guests.admit(&stream) else { continue };
                let deadline = Instant::now() + UPLOAD;
                let heard = Heard { stream, ticket, deadline, silence, credit: silence };
                let (task, config, store) = (&task, Arc::clone(&config), &store);
                scope.spawn(move || {
                    // A client that breaks off has sent nothing.
                    let _ = take(task, place, heard, config, store);
                });
            }
        });
    }
}

/// A connection that is read until its deadline, as long as it keeps up: waiting for it uses up its credit, and what comes earns it
/// again, but never more than one silence.
struct Heard<'guests> {
    stream: TcpStream,
    ticket: Ticket<'guests>,
    deadline: Instant,
    silence: Duration,
    credit: Duration,
}

impl Read for Heard<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let start = Instant::now();
        let left = self.deadline.saturating_duration_since(start).min(self.credit);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let read = self.ticket.hear(self.credit, || self.stream.read(bytes))?;
        let earned = SLOWEST * u32::try_from(read).unwrap_or(u32::MAX);
        self.credit = (self.credit.saturating_sub(start.elapsed()) + earned).min(self.silence);
        Ok(read)
    }
}

impl Write for Heard<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn take(
    task: &Task,
    place: usize,
    heard: Heard<'_>,
    config: Arc<ServerConfig>,
    store: &Mutex<Store>,
) -> io::Result<()> {
    heard.stream.set_write_timeout(Some(SILENCE))?;
    let mut stream = StreamOwned::new(ServerConnection::new(config).map_err(io::Error::other)?, heard);
    let (mut hash, mut count) = ([0; 32], [0; 4]);
    stream.read_exact(&mut hash)?;
    stream.read_exact(&mut count)?;
    stream.sock.ticket.spoke();
    let mut left = u32::from_le_bytes(count) as usize;
    let (verdict, received) = if hash != task.hash().0 || left > MOST_AT_ONCE {
        (OTHER_TASK, Received::default())
    } else {
        let (length, mut total) = (share_length(task, place), Received::default());
        let mut verdict = KEPT;
        while left > 0 {
            let portion = left.min((PORTION_BYTES / length).max(1));
            let mut bytes = Zeroizing::new(vec![0; portion * length]);
            stream.read_exact(&mut bytes)?;
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
    stream.write_all(&answer.concat())?;
    stream.conn.send_close_notify();
    stream.flush()?;
    // What is left is read and forgotten: closing on it would take the answer away from a client that is still speaking.
    let mut rest = Zeroizing::new(vec![0; REST_BYTES]);
    while verdict != KEPT && stream.read(&mut rest)? > 0 {}
    Ok(())
}
