//! Connections: how many there may be, and how long they may be silent.

use std::future::Future;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::config::Limits;

/// Before the listener is tried again, if the system has no more files to give.
const PAUSE: Duration = Duration::from_millis(200);
/// How long requests may take to finish when the service is told to stop.
const PATIENCE: Duration = Duration::from_secs(30);

/// Answers until `stop` is over; then takes no more connections and lets requests that were begun finish.
pub async fn answer(listener: TcpListener, router: Router, limits: &Limits, stop: impl Future<Output = ()>) {
    let mut protocol = http1::Builder::new();
    // Counted from the connection, or from the last answer on it.
    protocol.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(limits.request_seconds));
    let (connections, room) = (GracefulShutdown::new(), Arc::new(Semaphore::new(limits.connections)));
    tokio::pin!(stop);
    loop {
        let next = async {
            let place = Arc::clone(&room).acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            () = &mut stop => break,
            next = next => next,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            // The one who called is gone again.
            Err(error) if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset) => continue,
            Err(_) => {
                tracing::warn!("no connection can be taken at present; trying again");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        // Small answers go at once; a socket that cannot be told so still works.
        let _ = stream.set_nodelay(true);
        let service = TowerToHyperService::new(router.clone());
        let connection = connections.watch(protocol.serve_connection(TokioIo::new(stream), service));
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
