//! From a configuration to a service that runs until it is told to stop.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpListener;

use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::{ledger, listen, routes};

/// A service that has its address and has opened everything.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Opens everything and takes the address; from now on requests wait until [`Server::run`].
    ///
    /// # Errors
    /// If something cannot be opened, the configuration does not fit what is there, or the address is taken.
    pub async fn bind(config: Config, directory: &Path) -> Result<Self> {
        let directory = directory.to_owned();
        let app = tokio::task::spawn_blocking(move || App::open(&config, &directory)).await;
        let app = app.map_err(|_| Error::Machine("the data directory could not be opened".into()))??;
        let refused = |error: std::io::Error| {
            let message = format!("cannot listen on {}: {error}; choose another address with --listen", app.listen);
            Error::field("listen", message)
        };
        let listener = TcpListener::bind(app.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        if let Some(owner) = &app.owner {
            owner.publish(address)?;
        }
        Ok(Self { app: Arc::new(app), listener, address })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it holds.
    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Answers until `stop` is over; then finishes what was begun, makes everything durable and ends.
    ///
    /// # Errors
    /// If the streams do not stop as they should.
    pub async fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let Self { app, listener, .. } = self;
        app.streams.list().iter().for_each(|stream| app.follow_nats(stream));
        let (router, stopping) = (routes::router(Arc::clone(&app)), Arc::clone(&app));
        let stop = async move {
            stop.await;
            // Those who follow a stream would stay for ever, and those who wait for one to catch up might for long.
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
        stopped.map_err(|_| {
            Error::Machine("the streams did not stop as they should; all that was acknowledged is durable".into())
        })
    }
}

/// Has the data directory remember the ledger, now and then, until the service stops.
async fn remember(app: Arc<App>) {
    let mut stopping = app.stopping.subscribe();
    loop {
        tokio::select! {
            () = tokio::time::sleep(ledger::PAUSE) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
        let app = Arc::clone(&app);
        // What fails is logged.
        let _ = tokio::task::spawn_blocking(move || app.remember()).await;
    }
}
