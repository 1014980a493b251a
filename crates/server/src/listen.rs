//! Connections: how many there may be, and how long they may be silent.
//!
//! | a connection | may ask for | is kept |
//! |---|---|---|
//! | within the limits, altogether and of its address | everything | as long as it likes, silent for `request_seconds` |
//! | beyond them, in a [reserved](crate::reserve) place | health and figures, events and reports; else it is told to come again (503) | for one request, whose head and body each come within 2 s, and while nobody else needs the place before it has arrived |
//! | beyond that | – | it is told to come again |
//!
//! So neither connections that are kept open, by followers or by nobody, nor slow ones keep an operator or a source out.

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net::{IpAddr, Ipv6Addr};
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
use tokio::net::{TcpListener, TcpStream};

use crate::config::Limits;
use crate::places::{Place, Places};
use crate::reserve::{Reserve, Seat};

/// Before the listener is tried again, if the system has no more files to give.
const PAUSE: Duration = Duration::from_millis(200);
/// How long requests may take to finish when the service is told to stop.
const PATIENCE: Duration = Duration::from_secs(30);
/// Places beyond the limit, for short requests.
const RESERVED: usize = 64;
/// Of these, for one source: those that are being answered give way to nobody, and must not be all.
const RESERVED_EACH: usize = RESERVED * 3 / 4;
/// How long the head of a request may take in a reserved place, and again its body.
pub(crate) const RESERVED_SILENCE: Duration = Duration::from_secs(2);
/// Said where there is not even a reserved place.
const COME_AGAIN: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// On every request: the connection on which it came.
#[derive(Debug, Clone)]
pub struct Peer {
    /// An IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber has.
    pub source: IpAddr,
    /// Its reserved place, if it has one: only what is short is answered there.
    pub reserved: Option<Arc<Seat>>,
}

impl Peer {
    /// The request has arrived: its connection gives way to nobody any more.
    pub fn arrived(&self) {
        if let Some(seat) = &self.reserved {
            seat.arrived();
        }
    }
}

/// Who gets which place.
struct Door {
    ordinary: (http1::Builder, Arc<Places<IpAddr>>),
    reserved: (http1::Builder, Arc<Reserve>),
}

impl Door {
    fn new(limits: &Limits, loopback: bool) -> Self {
        // Counted from the connection, or from the last answer on it.
        let silent_for = |time: Duration| {
            let mut protocol = http1::Builder::new();
            protocol.timer(TokioTimer::new()).header_read_timeout(time);
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

    /// A place for a connection from this source, and how it is answered there; `None` if there is no place.
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

/// Answers until `stop` is over; then takes no more connections and lets requests that were begun finish.
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
            // The one who called is gone again.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => continue,
            Err(_) => {
                tracing::warn!("no connection can be taken at present; trying again");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some((place, peer, protocol)) = door.enter(source) else {
            turn_away(stream);
            continue;
        };
        // Small answers go at once; a socket that cannot be told so still works.
        let _ = stream.set_nodelay(true);
        let (answering, seat) = (TowerToHyperService::new(router.clone()), peer.reserved.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer.clone());
            answering.call(request)
        });
        let connection = connections.watch(protocol.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            // Whoever breaks off has nobody to tell.
            match seat {
                None => drop(connection.await),
                Some(seat) => tokio::select! { _ = connection => {}, () = seat.given_up() => {} },
            }
            drop(place);
        });
        // So that requests are answered in the middle of a flood.
        tokio::task::yield_now().await;
    }
    drop(listener);
    if tokio::time::timeout(PATIENCE, connections.shutdown()).await.is_err() {
        tracing::warn!("some requests did not end in time; they are cut off");
    }
}

/// Says so if it can be said at once.
fn turn_away(stream: TcpStream) {
    let _ = stream.into_std().and_then(|mut stream| stream.write(COME_AGAIN));
}
