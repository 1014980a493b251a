//! Connections: how many there may be, and how long they may be silent.
//!
//! | a connection | may ask for | is kept |
//! |---|---|---|
//! | within the limits, altogether and of its address | everything | as long as it likes, silent for `request_seconds` |
//! | beyond them, while there is a reserved place | health and figures, events and reports; else it is told to come again (503) | for one request |
//! | beyond that | – | it is told to come again |
//!
//! So connections that are kept open, by followers or by nobody, keep neither an operator nor a source out.

use std::future::Future;
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};

use crate::config::Limits;
use crate::places::{Place, Places};

/// Before the listener is tried again, if the system has no more files to give.
const PAUSE: Duration = Duration::from_millis(200);
/// How long requests may take to finish when the service is told to stop.
const PATIENCE: Duration = Duration::from_secs(30);
/// Places beyond the limit, for short requests.
const RESERVED: usize = 64;
/// Of these, for one address.
const RESERVED_EACH: usize = 16;
/// How long the head of a request may take in a reserved place.
const RESERVED_SILENCE: Duration = Duration::from_secs(2);
/// Said where there is not even a reserved place.
const COME_AGAIN: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

/// On requests of a connection in a reserved place: only what is short is answered.
#[derive(Debug, Clone, Copy)]
pub struct Reserved;

/// Who gets which place.
struct Door {
    ordinary: (http1::Builder, Router, Arc<Places<IpAddr>>),
    reserved: (http1::Builder, Router, Arc<Places<IpAddr>>),
}

impl Door {
    fn new(router: Router, limits: &Limits, loopback: bool) -> Self {
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
            reserved: (once, router.clone().layer(Extension(Reserved)), Places::new(RESERVED, RESERVED_EACH)),
            ordinary: (silent_for(Duration::from_secs(limits.request_seconds)), router, places),
        }
    }

    /// A place for a connection from this address, and how it is answered there; `None` if there is no place.
    fn enter(&self, address: IpAddr) -> Option<(Place<IpAddr>, &http1::Builder, Router)> {
        [&self.ordinary, &self.reserved]
            .into_iter()
            .find_map(|(protocol, router, places)| Some((places.take(address)?, protocol, router.clone())))
    }
}

/// Answers until `stop` is over; then takes no more connections and lets requests that were begun finish.
pub async fn answer(listener: TcpListener, router: Router, limits: &Limits, stop: impl Future<Output = ()>) {
    let loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let (connections, door) = (GracefulShutdown::new(), Door::new(router, limits, loopback));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, address) = match accepted {
            Ok((stream, address)) => (stream, address.ip().to_canonical()),
            // The one who called is gone again.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => continue,
            Err(_) => {
                tracing::warn!("no connection can be taken at present; trying again");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let Some((place, protocol, router)) = door.enter(address) else {
            turn_away(stream);
            continue;
        };
        // Small answers go at once; a socket that cannot be told so still works.
        let _ = stream.set_nodelay(true);
        let connection = protocol.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
        let connection = connections.watch(connection);
        tokio::spawn(async move {
            // Whoever breaks off has nobody to tell.
            let _ = connection.await;
            drop(place);
        });
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
