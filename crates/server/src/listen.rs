//! Connections: how many there may be, and how long they may be idle.
//!
//! | a connection | may request | is kept |
//! |---|---|---|
//! | within the limits, in total and for its address | everything | indefinitely, idle for up to `request_seconds` |
//! | beyond them, in a [reserved](crate::reserve) place | health and metrics, events and reports; anything else gets 503 | for one request, whose head and body must each arrive within 2 s; until it has arrived, it may have to give way |
//! | beyond that | – | it gets 503 |
//!
//! So neither open connections, whether of followers or idle, nor slow ones can lock out an operator or a source.

use std::future::Future;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_io_timeout::TimeoutStream;

use crate::config::Limits;
use crate::places::{Place, Places};
use crate::reserve::{Reserve, Seat};

/// How long to wait before accepting again, if the system has run out of file descriptors.
const PAUSE: Duration = Duration::from_millis(200);
/// How long requests may take to finish when the service is stopped.
const PATIENCE: Duration = Duration::from_secs(30);
/// Places beyond the limit, for short requests.
const RESERVED: usize = 64;
/// The most of these for one source: those being answered do not give way, and must not be all.
const RESERVED_EACH: usize = RESERVED * 3 / 4;
/// How long the head of a request may take to arrive in a reserved place, and then its body.
pub(crate) const RESERVED_SILENCE: Duration = Duration::from_secs(2);
/// How much of a reply the system holds, in bytes, or little more. Otherwise it would hold megabytes for every connection
/// whose client does not read.
const SEND_BUFFER: u32 = 1 << 17;
/// How many connections the system holds until they are accepted.
const BACKLOG: u32 = 1024;
/// How much of a request or reply a connection holds, in bytes; the head of a request can be no longer.
const BUFFER: usize = 1 << 16;
/// The response if there is not even a reserved place.
const COME_AGAIN: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// Opens a port.
///
/// # Errors
/// If it is in use, or is not an address of this machine.
pub fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A service that is started again must not wait until the system has forgotten its old connections. On Windows, it
    // would share the port with another program.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    // Connections inherit it.
    socket.set_send_buffer_size(SEND_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// The connection of a request, attached to it as an extension.
#[derive(Debug, Clone)]
pub struct Peer {
    /// An IPv4 address, or an IPv6 /64 network, which is what one subscriber has.
    pub source: IpAddr,
    /// Its reserved place, if it has one: only short requests are answered there.
    pub reserved: Option<Arc<Seat>>,
}

impl Peer {
    /// The request has arrived: its connection no longer gives way.
    pub fn arrived(&self) {
        if let Some(seat) = &self.reserved {
            seat.arrived();
        }
    }
}

/// Assigns places to connections.
struct Door {
    ordinary: (http1::Builder, Arc<Places<IpAddr>>),
    reserved: (http1::Builder, Arc<Reserve>),
}

impl Door {
    fn new(limits: &Limits, loopback: bool) -> Self {
        // Counted from the start of the connection, or from the last response on it.
        let silent_for = |time: Duration| {
            let mut protocol = http1::Builder::new();
            protocol.timer(TokioTimer::new()).header_read_timeout(time).max_buf_size(BUFFER);
            protocol
        };
        let mut once = silent_for(RESERVED_SILENCE);
        once.keep_alive(false);
        let places = Places::new(limits.connections, limits.connections_per_address(loopback));
        Self {
            ordinary: (silent_for(Duration::from_secs(limits.request_seconds)), places),
            reserved: (once, Reserve::new(RESERVED, RESERVED_EACH)),
        }
    }

    /// A place for a connection from this source, and its protocol settings; `None` if there is no place.
    fn enter(&self, source: IpAddr) -> Option<(Option<Place<IpAddr>>, Peer, &http1::Builder)> {
        if let Some(place) = self.ordinary.1.take(source) {
            return Some((Some(place), Peer { source, reserved: None }, &self.ordinary.0));
        }
        let seat = self.reserved.1.take(source)?;
        Some((None, Peer { source, reserved: Some(Arc::new(seat)) }, &self.reserved.0))
    }
}

fn source(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address => address,
    }
}

/// Serves until `stop` completes; then accepts no more connections and lets running requests finish.
pub async fn answer(listener: TcpListener, router: Router, limits: &Limits, stop: impl Future<Output = ()>) {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let (connections, door) = (GracefulShutdown::new(), Door::new(limits, loopback));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, source) = match accepted {
            Ok((stream, address)) => (stream, source(address.ip())),
            // The client is already gone.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => continue,
            Err(_) => {
                tracing::warn!("cannot accept connections; retrying");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some((place, peer, protocol)) = door.enter(source) else {
            turn_away(stream);
            continue;
        };
        // Small responses are sent at once; a socket without this option still works.
        let _ = stream.set_nodelay(true);
        let (answering, seat) = (TowerToHyperService::new(router.clone()), peer.reserved.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            answering.call(request)
        });
        // Also followers of a stream: the time is counted only while something waits to be sent.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(Duration::from_secs(limits.request_seconds)));
        let connection = connections.watch(protocol.serve_connection(TokioIo::new(Box::pin(stream)), service));
        tokio::spawn(async move {
            // An error means that the client is gone, so there is no one to tell.
            match seat {
                None => drop(connection.await),
                Some(seat) => tokio::select! { _ = connection => {}, () = seat.given_up() => {} },
            }
            drop(place);
        });
        // So that requests are answered even during a flood of connections.
        tokio::task::yield_now().await;
    }
    drop(listener);
    if tokio::time::timeout(PATIENCE, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish in time and were cut off");
    }
}

/// Sends the response if that is possible without waiting.
fn turn_away(stream: TcpStream) {
    let _ = stream.into_std().and_then(|mut stream| stream.write(COME_AGAIN));
}
