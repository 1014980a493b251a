//! The service's state.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reticent::Permit;
use reticent::error::Explained;
use reticent::ledger::{Charge, ChargeOutcome, Keeper, OnInterruption, Receipt};
use reticent_ledger::{Dataset, DurableLedger};
use reticent_sql::RunLimits;
use reticent_stream::{Definition, Hold, Stream, Streams, SystemClock};
use tokio::sync::watch;

use crate::access::Caller;
use crate::asking::Asking;
use crate::config::{Config, DEFAULT_LISTEN, Limits};
use crate::error::{Error, Result};
use crate::ledger;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::rate::Rate;
use crate::reply::Replies;
use crate::role::Role;
use crate::room::Rooms;
use crate::shares::Shares;
use crate::sources;
use crate::surveys::Surveys;
use crate::tables::Tables;
use crate::tokens::Tokens;
use crate::tokens::owner::Owner;

/// Why a body has to wait.
const NO_ROOM_FOR_BODY: &str = "there is no memory for this request's body at present";
/// How many replies are read from the disk at a time, in total and for each caller: each takes a few megabytes.
const READS: usize = 8;
const READS_EACH: usize = 2;
/// The caller that creates what is in the configuration.
const CONFIGURATION: &str = "configuration";

/// The service's state.
#[derive(Debug)]
pub struct App {
    /// The configured address to listen on.
    pub listen: SocketAddr,
    /// All streams.
    pub streams: Streams,
    /// The ledger.
    pub ledger: Arc<DurableLedger>,
    /// The tables that can be queried.
    pub tables: Tables,
    /// Surveys of the local model.
    pub surveys: Surveys,
    /// The tokens.
    pub tokens: Arc<Tokens>,
    /// The owner's token of this run, while there are no others.
    pub owner: Option<Owner>,
    /// Limits on requests.
    pub limits: Limits,
    /// The rate limit.
    pub rate: Rate,
    /// Counts of requests.
    pub metrics: Metrics,
    /// The NATS server to read events from.
    pub nats: Option<String>,
    /// The followers of streams, by caller.
    pub followers: Arc<Places<String>>,
    /// Memory for request bodies, by caller.
    pub bodies: Rooms,
    /// Memory for replies until they are sent, by caller.
    pub replies: Replies,
    /// Limits the number of replies that are read from the disk at a time, in total and for each caller.
    reads: Shares,
    /// Limits the number of simultaneous queries, in total and for each caller.
    pub queries: Shares,
    /// The resources that each of them may use.
    pub runs: RunLimits,
    /// The requests in progress.
    pub asking: Asking,
    /// Becomes true when the service stops.
    pub stopping: watch::Sender<bool>,
    /// Held while a cap is reserved and charged, by one thread at a time.
    charging: Mutex<()>,
    /// The result of the last check.
    checked: Mutex<StorageCheck>,
    directory: PathBuf,
}

impl App {
    /// Opens a data directory, creating it if it is missing, and creates everything in the configuration.
    ///
    /// # Errors
    /// If something cannot be opened, or differs in the configuration from how it was created.
    pub fn open(config: &Config, directory: &Path) -> Result<Self> {
        make_directory(directory)?;
        // First: if another service is using the directory, this one must not add budgets, streams or tables to it.
        let hold = Hold::of(directory)?;
        let ledger = Arc::new(ledger::open(config, directory)?);
        for dataset in &config.datasets {
            let adjacency = dataset.adjacency.as_deref().unwrap_or("add-remove").parse()?;
            let (name, unit, limit) = (dataset.name.clone(), dataset.unit.clone(), dataset.budget.total()?);
            let confirmed = dataset.budget.allow_large_epsilon;
            ledger.register(&Dataset::limited(name, limit, unit, Some(adjacency), confirmed)?)?;
        }
        let tables = Tables::open(config, &ledger)?;
        let tokens = Arc::new(Tokens::open(directory)?);
        let tokens_made = tokens.any()?;
        // If there are tokens, this removes the file left by a run that was killed.
        let owner = Some(Owner::draw(directory)?).filter(|_| !tokens_made);
        let streams = Streams::open_held(hold, Arc::clone(&ledger), Arc::new(SystemClock))?;
        for (_, error) in streams.unopened() {
            tracing::error!("{error}");
        }
        let surveys = Surveys::open(config, directory)?;
        let limits = config.limits;
        let (followers, followers_each) = limits.followers();
        let app = Self {
            listen: config.listen.unwrap_or(DEFAULT_LISTEN),
            streams,
            ledger,
            tables,
            surveys,
            tokens,
            owner,
            limits,
            rate: Rate::new(limits.requests_per_second, limits.burst),
            metrics: Metrics::default(),
            nats: config.nats.clone(),
            followers: Places::new(followers, followers_each),
            bodies: Rooms::new(limits.bodies_bytes, limits.bodies_bytes_each(), NO_ROOM_FOR_BODY),
            replies: Replies::new(Duration::from_secs(limits.request_seconds)),
            reads: Shares::new(READS, READS_EACH),
            queries: Shares::new(limits.queries, (limits.queries - 1).max(1)),
            runs: config.run_limits()?,
            asking: Asking::default(),
            stopping: watch::Sender::new(false),
            charging: Mutex::default(),
            checked: Mutex::new(StorageCheck { at: Instant::now(), failing: None }),
            directory: directory.into(),
        };
        if !app.is_loopback() && !tokens_made {
            return Err(Error::field(
                "listen",
                format!(
                    "{} can be reached from other machines, which requires tokens, and there are none; create one with `reticent \
                     token create NAME --role owner --data-dir {}`, or listen on 127.0.0.1",
                    app.listen,
                    directory.display()
                ),
            ));
        }
        for draft in &config.streams {
            app.create_stream(Definition::try_from(draft.clone())?, CONFIGURATION)?;
        }
        Ok(app)
    }

    /// Creates a stream from the configuration, unless it exists.
    fn create_stream(&self, definition: Definition, caller: &str) -> Result<()> {
        match self.streams.get(definition.name()) {
            // Already logged.
            None if self.streams.unopened().iter().any(|(name, _)| name == definition.name()) => Ok(()),
            None => self.streams.create(definition, caller).map(drop).map_err(Error::from),
            Some(stream) if *stream.definition() == definition => Ok(()),
            Some(_) => Err(Error::field(
                "stream",
                format!(
                    "the stream {} was created with other settings than those in the configuration; streams cannot be changed: \
                     choose another name",
                    definition.name()
                ),
            )),
        }
    }

    /// Also reads a stream's events from NATS, if a server is configured.
    pub fn follow_nats(&self, stream: &Arc<Stream>) {
        if let Some(url) = &self.nats {
            sources::follow(url, Arc::clone(stream), self.stopping.subscribe());
        }
    }

    /// Records the ledger's newest entry in the data directory, and checks whether more charges can be stored.
    pub fn remember(&self) {
        let outcome = ledger::remember(&self.ledger, &self.directory)
            .and_then(|()| self.tokens.any().map(drop))
            .and_then(|()| room_for_more(&self.directory));
        let failing = outcome.err().map(|error| error.to_string());
        let mut before = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        match &failing {
            Some(error) if failing != before.failing => tracing::error!("cannot store charges or releases: {error}"),
            None if before.failing.is_some() => {
                tracing::info!("the ledger and the data directory are writable again")
            }
            _ => {}
        }
        *before = StorageCheck { at: Instant::now(), failing };
    }

    /// Whether charges or releases could not be stored at the last check or attempt. The check runs every second,
    /// independent of requests, since anyone may call this.
    pub fn is_failing(&self) -> bool {
        let checked = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        let late = checked.at.elapsed() > LONGEST_LOOK;
        late || checked.failing.is_some() || self.streams.failing().is_some() || self.ledger.failing().is_some()
    }

    /// Whether only this machine can reach the service.
    pub fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }

    /// Runs blocking or CPU-bound work on a separate thread.
    ///
    /// # Errors
    /// Those of `work`; a fixed text if it panics.
    pub async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Error::Machine("internal error; what was charged stays charged".into()))?
    }

    /// Reads what a reply needs, on a separate thread and when it is the caller's turn. The turn ends when the work does,
    /// even if the client has left.
    ///
    /// # Errors
    /// Those of `work`.
    pub async fn reading<T: Send + 'static>(
        &self,
        caller: &str,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let turn = self.reads.place(caller).await;
        self.blocking(move || {
            let _turn = turn;
            work()
        })
        .await
    }
}

/// The ledger, limited by the caller's caps.
pub struct Capped {
    /// The service.
    pub app: Arc<App>,
    /// The caller.
    pub caller: Caller,
}

impl Keeper for Capped {
    type Error = Error;

    fn charge(&self, charge: &Charge, on_interruption: OnInterruption) -> Result<ChargeOutcome> {
        let App { ledger, tokens, charging, .. } = &*self.app;
        let token = match (&self.caller.token, self.caller.role) {
            (Some(token), Role::Analyst) => token,
            _ => return Ok(ledger.charge(charge, on_interruption)?),
        };
        let _turn = charging.lock().unwrap_or_else(PoisonError::into_inner);
        let reservation = tokens.reserve(token, &charge.dataset, &charge.request, &charge.guarantee)?;
        match ledger.charge(charge, on_interruption) {
            Ok(charged) => Ok(charged),
            Err(error) => {
                // After a disk failure the charge may have been written: the reservation stays.
                if error.is_overdrawn() || error.is_suspended() || error.is_usage() {
                    tokens.take_back(reservation)?;
                }
                Err(error.into())
            }
        }
    }

    fn keep(&self, receipt: &Receipt, release: &str) -> Result<String> {
        Ok(self.app.ledger.keep(receipt, release)?)
    }

    fn fail(&self, receipt: &Receipt, failure: &str) -> Result<String> {
        Ok(self.app.ledger.fail(receipt, failure)?)
    }

    fn interrupted(&self, receipt: &Receipt, text: &str) -> Result<String> {
        Ok(self.app.ledger.interrupted(receipt, text)?)
    }

    fn begin_run(&self, receipt: &Receipt) -> Result<()> {
        Ok(self.app.ledger.begin_run(receipt)?)
    }

    fn end_run(&self, receipt: &Receipt) -> Result<()> {
        Ok(self.app.ledger.end_run(receipt)?)
    }

    fn permit(&self, receipt: &Receipt) -> Result<Permit> {
        Ok(self.app.ledger.permit(receipt)?)
    }
}

/// The result of checking whether more can be stored.
#[derive(Debug)]
struct StorageCheck {
    at: Instant,
    /// Why not, if it cannot.
    failing: Option<String>,
}

/// A check that takes longer counts as failed.
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// The least free disk space, in bytes: less is soon used up.
const LEAST_ROOM: u64 = 1 << 20;

/// Checks that the disk has free space. Tokens and reports are written only on request, when it may be too late to
/// warn.
fn room_for_more(directory: &Path) -> Result<()> {
    #[cfg(unix)]
    if let Ok(disk) = rustix::fs::statvfs(directory)
        && disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST_ROOM
    {
        return Err(Error::Machine("the disk of the data directory is full".into()));
    }
    Ok(())
}

/// Creates the data directory, accessible only to its owner, unless it exists.
///
/// # Errors
/// If it cannot be created.
pub fn make_directory(directory: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|error| {
        let directory = directory.display();
        Error::field("data_dir", format!("cannot create the data directory {directory}: {error}; choose another one"))
    })
}
