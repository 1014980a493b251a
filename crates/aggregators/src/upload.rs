//! Uploading reports: each share goes over TLS to its own aggregator, and to nobody else.
//!
//! Clients are anonymous; the aggregator authenticates itself with its key in the task. The client sends the task's
//! hash (32 bytes), the number of shares (4 bytes, little-endian) and the shares, which all have the same length. Once
//! they are on disk, the aggregator answers with one byte, and how many it kept and refused (4 bytes each).

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use reticent_party::keys::PrivateKey;
use reticent_party::transport::tls;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::guests::{Guests, Ticket};
use crate::report::{Report, share_length};
use crate::store::{Received, Store};
use crate::task::Task;

/// The most shares in one upload.
pub const MOST_AT_ONCE: usize = 1 << 16;
/// Uploads read at the same time; see [`Guests`] for which one makes room for a new one.
pub(crate) const MOST_CONNECTIONS: usize = 64;
/// How long the other side may be silent, or behind [`SLOWEST`].
const SILENCE: Duration = Duration::from_secs(10);
/// The longest time per byte of a client: 2 KiB a second, half a modem's rate.
const SLOWEST: Duration = Duration::from_nanos(1_000_000_000 / 2048);
/// The longest time for a whole upload.
pub(crate) const UPLOAD: Duration = Duration::from_secs(120);
/// How long a client keeps trying to get a place at a busy aggregator, and how long it pauses in between.
const PERSISTENCE: Duration = Duration::from_secs(30);
const BETWEEN: Duration = Duration::from_millis(250);
/// Roughly how many bytes are read, and written to disk, at a time.
const PORTION_BYTES: usize = 1 << 20;
/// How many bytes of unwanted data are read at a time.
const REST_BYTES: usize = 1 << 14;
/// How long to wait when the system has no connection to offer.
const PAUSE: Duration = Duration::from_millis(50);

const KEPT: u8 = 0;
const OTHER_TASK: u8 = 1;
const FAILED: u8 = 2;

/// Sends reports to all aggregators of their task; returns what happened to them at each, in the task's order.
///
/// After an error the same reports can be sent again: aggregators keep those they lack and refuse those they have.
///
/// # Errors
/// If an aggregator cannot be reached, or does not accept them.
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

pub(crate) fn upload_to(task: &Task, place: usize, reports: &[Report]) -> Result<Received> {
    let site = &task.aggregators()[place];
    let failed = |error: io::Error| Error::network(format!("sending reports to {}", site.name), error);
    let config = tls::stranger(site.key);
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
        OTHER_TASK => Err(Error::network(format!("sending reports to {}", site.name), "it has a different task")),
        _ => Err(Error::network(format!("sending reports to {}", site.name), "it could not store them")),
    }
}

/// A new connection. A busy aggregator closes it before anything is sent.
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

/// An aggregator's listener for reports.
pub struct Reception {
    task: Task,
    place: usize,
    listener: TcpListener,
    config: Arc<ServerConfig>,
    store: Arc<Mutex<Store>>,
    /// How long a client may be silent, or behind [`SLOWEST`], while its place is not needed.
    pub(crate) silence: Duration,
}

impl Reception {
    /// A listener that is ready to run.
    ///
    /// # Errors
    /// If the key cannot be used for TLS.
    pub fn new(task: &Task, place: usize, key: &PrivateKey, listener: TcpListener, store: Store) -> Result<Self> {
        let config = tls::server_for_strangers(key).map_err(|error| Error::network("TLS", error))?;
        let store = Arc::new(Mutex::new(store));
        Ok(Self { task: task.clone(), place, listener, config: Arc::new(config), store, silence: SILENCE })
    }

    /// Receives reports for the lifetime of the process. A client's mistake ends its own connection and nothing else.
    pub fn run(self) {
        let Self { task, place, listener, config, store, silence } = self;
        let guests = Guests::new(MOST_CONNECTIONS);
        thread::scope(|scope| {
            loop {
                let Ok((stream, _)) = listener.accept() else {
                    thread::sleep(PAUSE);
                    continue;
                };
                // A client without a place is turned away at once, so that it does not hold up others.
                let Ok(Some(ticket)) = guests.admit(&stream) else { continue };
                let deadline = Instant::now() + UPLOAD;
                let heard = Heard { stream, ticket, deadline, silence, credit: silence };
                let (task, config, store) = (&task, Arc::clone(&config), &store);
                scope.spawn(move || {
                    // An upload that breaks off counts as not sent.
                    let _ = take(task, place, heard, config, store);
                });
            }
        });
    }
}

/// A connection that is read until its deadline, as long as it keeps up: waiting uses up its credit, and received bytes
/// restore it, up to one period of silence.
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
    // The rest is read and discarded: closing early could lose the answer for a client that is still sending.
    let mut rest = Zeroizing::new(vec![0; REST_BYTES]);
    while verdict != KEPT && stream.read(&mut rest)? > 0 {}
    Ok(())
}
