//! Runs a configured service until it is stopped.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::{ledger, listen, routes};

/// A service that is bound to its address and has opened everything.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Opens everything and binds the address; requests wait until [`Server::run`].
    ///
    /// # Errors
    /// If something cannot be opened, the configuration contradicts what exists, or the address is in use.
    pub async fn bind(config: Config, directory: &Path) -> Result<Self> {
        let directory = directory.to_owned();
        let app = tokio::task::spawn_blocking(move || App::open(&config, &directory)).await;
        let app = app.map_err(|_| Error::Machine("the data directory could not be opened".into()))??;
        let refused = |error: std::io::Error| {
            let message = format!("cannot listen on {}: {error}; choose another address with --listen", app.listen);
            Error::field("listen", message)
        };
        let listener = listen::open(app.listen).map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        if let Some(owner) = &app.owner {
            owner.publish(address)?;
        }
        Ok(Self { app: Arc::new(app), listener, address })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its state.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Serves until `stop` completes; then finishes running requests, makes everything durable and returns.
    ///
    /// # Errors
    /// If the streams do not stop properly.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let Self { app, listener, .. } = self;
        app.streams.list().iter().for_each(|stream| app.follow_nats(stream));
        let (router, stopping) = (routes::router(Arc::clone(&app)), Arc::clone(&app));
        let stop = async move {
            stop.await;
            // Followers would stay forever, and requests that wait for a stream to catch up might for long.
            stopping.stopping.send_replace(true);
            stopping.streams.wind_down();
        };
        tokio::spawn(remember(Arc::clone(&app)));
        listen::answer(listener, router, &app.limits, stop).await;
        // A ledger on a server closes its connection when it is dropped, and waits for that.
        let stopped = tokio::task::spawn_blocking(move || {
            app.streams.stop();
            app.remember();
        });
        let stopped = stopped.await;
        stopped
            .map_err(|_| Error::Machine("the streams did not stop properly; everything acknowledged is durable".into()))
    }
}

/// Periodically records the ledger's newest entry in the data directory, until the service stops.
async fn remember(app: Arc<App>) {
    let mut stopping = app.stopping.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(ledger::PAUSE) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        let app = Arc::clone(&app);
        // Failures are logged.
        let _ = tokio::task::spawn_blocking(move || app.remember()).await;
    }
}
