//! All that the service holds.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reticent::Permit;
use reticent::ledger::{Charge, Charged, Ledger, Receipt};
use reticent_ledger::{Budget, Dataset, DurableLedger, Terms};
use reticent_sql::RunLimits;
use reticent_stream::{Definition, Hold, Stream, Streams, SystemClock};
use tokio::sync::{Semaphore, watch};

use crate::access::Caller;
use crate::asking::Asking;
use crate::config::{Config, DEFAULT_LISTEN, Limits};
use crate::error::{Error, Result};
use crate::ledger;
use crate::metrics::Metrics;
use crate::places::Places;
use crate::rate::Rate;
use crate::role::Role;
use crate::room::Rooms;
use crate::sources;
use crate::surveys::Surveys;
use crate::tables::Tables;
use crate::tokens::Tokens;
use crate::tokens::owner::Owner;

/// Who creates what stands in the configuration.
const CONFIGURATION: &str = "configuration";

/// All that the service holds.
#[derive(Debug)]
pub struct App {
    /// Where it listens, as it was asked to.
    pub listen: SocketAddr,
    /// All streams.
    pub streams: Streams,
    /// What was spent.
    pub ledger: Arc<DurableLedger>,
    /// What can be asked about.
    pub tables: Tables,
    /// Surveys of the local model.
    pub surveys: Surveys,
    /// Who may ask.
    pub tokens: Arc<Tokens>,
    /// Who may do everything, as long as there are no tokens.
    pub owner: Option<Owner>,
    /// How much.
    pub limits: Limits,
    /// How often.
    pub rate: Rate,
    /// What was asked.
    pub metrics: Metrics,
    /// A NATS server, to take events from.
    pub nats: Option<String>,
    /// Those who follow a stream, by caller.
    pub followers: Arc<Places<String>>,
    /// Room for the bodies of requests, by caller.
    pub bodies: Rooms,
    /// So many queries at a time.
    pub queries: Semaphore,
    /// What each of them may use.
    pub runs: RunLimits,
    /// The requests that are being answered.
    pub asking: Asking,
    /// Becomes true when the service stops.
    pub stopping: watch::Sender<bool>,
    /// Caps are written down and charged by one thread at a time.
    charging: Mutex<()>,
    /// What was found the last time.
    looked: Mutex<Looked>,
    directory: PathBuf,
}

impl App {
    /// Opens everything in a data directory, which is made if it is not there; creates what the configuration names.
    ///
    /// # Errors
    /// If something cannot be opened, or stands in the configuration in another way than it was created.
    pub fn open(config: &Config, directory: &Path) -> Result<Self> {
        make_directory(directory)?;
        // First of all: another service that has it must not be given budgets, streams or tables by this one.
        let hold = Hold::of(directory)?;
        let ledger = Arc::new(ledger::open(config, directory)?);
        for dataset in &config.datasets {
            let adjacency = dataset.adjacency.as_deref().unwrap_or("add-remove").parse()?;
            let terms = Terms { unit: dataset.unit.clone(), adjacency };
            let budget = Budget::Limit(dataset.budget.total()?);
            ledger.register(&Dataset { name: dataset.name.clone(), budget, terms: Some(terms) })?;
        }
        let tables = Tables::open(config, &ledger)?;
        let tokens = Arc::new(Tokens::open(directory)?);
        let tokens_made = tokens.any()?;
        // If there are some, this removes the file of a run that was killed.
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
            bodies: Rooms::new(limits.bodies_bytes, limits.bodies_bytes_each()),
            queries: Semaphore::new(limits.queries),
            runs: config.run_limits()?,
            asking: Asking::default(),
            stopping: watch::Sender::new(false),
            charging: Mutex::default(),
            looked: Mutex::new(Looked { at: Instant::now(), failing: None }),
            directory: directory.into(),
        };
        if !app.is_loopback() && !tokens_made {
            return Err(Error::field(
                "listen",
                format!(
                    "{} can be reached from elsewhere, so tokens are needed, and there are none; make one with `reticent token \
                     create NAME --role owner --data-dir {}`, or listen on 127.0.0.1",
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

    /// Creates a stream that stands in the configuration, unless it was created before.
    fn create_stream(&self, definition: Definition, caller: &str) -> Result<()> {
        match self.streams.get(definition.name()) {
            // It was said.
            None if self.streams.unopened().iter().any(|(name, _)| name == definition.name()) => Ok(()),
            None => self.streams.create(definition, caller).map(drop).map_err(Error::from),
            Some(stream) if *stream.definition() == definition => Ok(()),
            Some(_) => Err(Error::field(
                "stream",
                format!(
                    "the stream {} was created in another way than the configuration says; streams do not change: choose \
                     another name",
                    definition.name()
                ),
            )),
        }
    }

    /// Takes a stream's events from NATS, too, if there is a server.
    pub fn follow_nats(&self, stream: &Arc<Stream>) {
        if let Some(url) = &self.nats {
            sources::follow(url, Arc::clone(stream), self.stopping.subscribe());
        }
    }

    /// Has the data directory remember what was charged, and looks whether more can be.
    pub fn remember(&self) {
        let outcome = ledger::remember(&self.ledger, &self.directory)
            .and_then(|()| self.tokens.any().map(drop))
            .and_then(|()| room_for_more(&self.directory));
        let failing = outcome.err().map(|error| error.to_string());
        let mut before = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        match &failing {
            Some(error) if failing != before.failing => tracing::error!("nothing more can be kept: {error}"),
            None if before.failing.is_some() => {
                tracing::info!("the ledger and the data directory can be written again")
            }
            _ => {}
        }
        *before = Looked { at: Instant::now(), failing };
    }

    /// Can what is due or charged be kept, as far as was seen when somebody last looked or tried? It is looked at every second, whoever
    /// asks: strangers may.
    pub fn is_failing(&self) -> bool {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let late = looked.at.elapsed() > LONGEST_LOOK;
        late || looked.failing.is_some() || self.streams.failing().is_some() || self.ledger.failing().is_some()
    }

    /// Can nobody from elsewhere reach it?
    pub fn is_loopback(&self) -> bool {
        self.listen.ip().is_loopback()
    }

    /// Does what waits for the disk or the processor on a thread of its own.
    ///
    /// # Errors
    /// As `work`; one fixed text if it panics.
    pub async fn blocking<T: Send + 'static>(&self, work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
        let done = tokio::task::spawn_blocking(work).await;
        done.map_err(|_| Error::Machine("something went wrong inside; what was charged stays charged".into()))?
    }
}

/// The ledger, as far as the caps of whoever asks allow.
pub struct Capped {
    /// Whose ledger.
    pub app: Arc<App>,
    /// Who asks.
    pub caller: Caller,
}

impl Ledger for Capped {
    type Error = Error;

    fn charge(&self, charge: &Charge) -> Result<Charged> {
        let App { ledger, tokens, charging, .. } = &*self.app;
        let token = match (&self.caller.token, self.caller.role) {
            (Some(token), Role::Analyst) => token,
            _ => return Ok(ledger.charge(charge)?),
        };
        let _turn = charging.lock().unwrap_or_else(PoisonError::into_inner);
        let reservation = tokens.reserve(token, &charge.dataset, &charge.request, &charge.guarantee)?;
        match ledger.charge(charge) {
            Ok(charged) => Ok(charged),
            Err(error) => {
                // Whether a disk that failed has the charge is not known: the cap stays the smaller one.
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

    fn resume(&self, receipt: &Receipt) -> Result<Permit> {
        Ok(self.app.ledger.resume(receipt)?)
    }
}

/// What was found when somebody looked whether more can be kept.
#[derive(Debug)]
struct Looked {
    at: Instant,
    /// Why not.
    failing: Option<String>,
}

/// A ledger or a disk that takes longer to be looked at does not work.
const LONGEST_LOOK: Duration = Duration::from_secs(30);

/// Less than this is left for a few seconds of anything.
const LEAST_ROOM: u64 = 1 << 20;

/// Is there room on its disk? Tokens and reports are written only when somebody asks for it, which may be too late to be told.
fn room_for_more(directory: &Path) -> Result<()> {
    #[cfg(unix)]
    if let Ok(disk) = rustix::fs::statvfs(directory)
        && disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST_ROOM
    {
        return Err(Error::Machine("the disk of the data directory is full".into()));
    }
    Ok(())
}

/// Makes the data directory, for its owner only, unless it is there.
///
/// # Errors
/// If it cannot be made.
pub fn make_directory(directory: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory).map_err(|error| {
        let directory = directory.display();
        Error::field("data_dir", format!("the data directory {directory} cannot be made: {error}; name another one"))
    })
}
