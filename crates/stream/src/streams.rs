//! All streams of a data directory.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use reticent::continual::CounterKind;
use reticent_durable::{Files, SystemFiles};
use reticent_ledger::DurableLedger;

use crate::board::Board;
use crate::catalogue::Entry;
use crate::charge;
use crate::clock::{Clock, milliseconds};
use crate::curator::live::{Identity, Live};
use crate::curator::queue::{Job, Queue};
use crate::curator::writer::Writer;
use crate::database::{Access, Database, FORM};
use crate::definition::{Definition, Mode};
use crate::error::{Error, Result};
use crate::event::Rules;
use crate::health::Health;
use crate::hold::Hold;
use crate::pan_private::PanPrivateStream;
use crate::shared::Shared;
use crate::stream::{Engine, Stream};

/// The file of a data directory.
pub(crate) const FILE: &str = "streams.sqlite";
/// The longest time between checks of the clock, which may be moved.
const LONGEST_NAP: Duration = Duration::from_millis(200);

/// All streams of a data directory. Only one process at a time can open it.
///
/// # Example
/// See the [crate documentation](crate).
pub struct Streams {
    shared: Arc<Shared>,
    queue: Arc<Queue>,
    closer: Arc<Closer>,
    streams: RwLock<BTreeMap<String, Arc<Stream>>>,
    /// Only one stream is created at a time.
    creating: Mutex<()>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    _hold: Hold,
}

impl Streams {
    /// Opens a data directory, or creates one. Missed steps are closed in order, each with a release of its own. A
    /// stream that cannot be opened does not keep the others from running: see [`Streams::unopened`].
    ///
    /// # Errors
    /// [`Error::InUse`] if another process is using it; if the disk or the ledger fails, or the directory is damaged.
    pub fn open(directory: &Path, ledger: Arc<DurableLedger>, clock: Arc<dyn Clock>) -> Result<Self> {
        Self::open_held(Hold::of(directory)?, ledger, clock)
    }

    /// [`Streams::open`] for a directory that this process already holds.
    ///
    /// # Errors
    /// As for [`Streams::open`].
    pub fn open_held(hold: Hold, ledger: Arc<DurableLedger>, clock: Arc<dyn Clock>) -> Result<Self> {
        Self::open_in(hold, ledger, clock, || Box::new(SystemFiles))
    }

    /// [`Streams::open_held`] with the database in other files than the operating system's: for tests with crashes and
    /// disk failures.
    ///
    /// # Errors
    /// As for [`Streams::open`].
    pub fn open_in(
        hold: Hold,
        ledger: Arc<DurableLedger>,
        clock: Arc<dyn Clock>,
        files: impl Fn() -> Box<dyn Files>,
    ) -> Result<Self> {
        let directory = hold.directory();
        let path = if files().system().is_none() { directory.join(FILE) } else { FILE.into() };
        let database = Mutex::new(Database::open(&path, files(), Access::Write, FORM)?);
        let reader = Mutex::new(Database::open(&path, files(), Access::Read, FORM)?);
        let shared = Arc::new(Shared {
            directory: directory.into(),
            ledger,
            clock,
            health: Health::default(),
            database,
            reader,
        });
        let mut entries = shared.read(|pages| shared.entries(pages))?;
        let mut unsettled = Vec::new();
        for entry in entries.iter_mut().filter(|entry| entry.charged.is_none()) {
            if !charge::look_into(&shared, entry)? {
                unsettled.push(entry.id);
            }
        }
        entries.retain(|entry| !unsettled.contains(&entry.id));
        let boards: BTreeMap<i64, Arc<Board>> =
            entries.iter().map(|entry| (entry.id, Arc::new(Board::new()))).collect();
        let curators = shared.load_curators(|id| boards.get(&id).cloned())?;
        let kinds: BTreeMap<i64, CounterKind> = curators.iter().map(|live| (live.id(), live.kind())).collect();
        let (queue, closer) = (Arc::new(Queue::default()), Arc::new(Closer::new(Arc::clone(&shared))));
        let streams = Self {
            shared: Arc::clone(&shared),
            queue: Arc::clone(&queue),
            closer: Arc::clone(&closer),
            streams: RwLock::default(),
            creating: Mutex::new(()),
            threads: Mutex::default(),
            _hold: hold,
        };
        for entry in &entries {
            let Some(identity) = entry.identity() else { continue };
            let board = Arc::clone(&boards[&entry.id]);
            let kind = match (entry.definition.mode(), kinds.get(&entry.id)) {
                (Mode::PanPrivate, _) => entry.definition.counter(),
                (Mode::Curator, Some(kind)) => *kind,
                (Mode::Curator, None) => continue,
            };
            if let Err(error) = streams.add(entry, &identity, board, kind) {
                streams.shared.health.cannot_open(entry.definition.name(), &error);
            }
        }
        let writer = Writer::new(shared, queue, curators);
        let start = |name: &str, work: Box<dyn FnOnce() + Send>| {
            thread::Builder::new().name(name.into()).spawn(work).map_err(|error| Error::storage("opened", error))
        };
        let writing = start("streams", Box::new(move || writer.run()))?;
        let closing = start("pan-private", Box::new(move || closer.run()))?;
        streams.threads.lock().unwrap_or_else(PoisonError::into_inner).extend([writing, closing]);
        Ok(streams)
    }

    /// Creates a stream: charges the ledger for all of its releases, durably, before it counts anything. If the process
    /// ends in between, the charge is found when the directory is opened, and not repeated.
    ///
    /// # Errors
    /// [`Error::Exists`]; [`Error::Unopened`]; any error of the ledger ([`Explained::is_overdrawn`](reticent::error::Explained::is_overdrawn) if there is not enough
    /// budget left), in which case no stream is created; [`Error::Storage`] if the disk fails.
    pub fn create(&self, definition: Definition, caller: &str) -> Result<Arc<Stream>> {
        let _alone = self.creating.lock().unwrap_or_else(PoisonError::into_inner);
        self.settle(definition.name())?;
        if self.get(definition.name()).is_some() {
            return Err(Error::Exists(definition.name().to_owned()));
        }
        let mut entry = charge::intention(&self.shared, definition, caller)?;
        entry.id = self.shared.write(|pages| entry.insert(pages))?;
        charge::charge(&self.shared, &mut entry)?;
        self.adopt(&entry)
    }

    /// Resolves a stream of that name that was being created when the ledger failed.
    fn settle(&self, name: &str) -> Result<()> {
        if let Some(unopened) = self.shared.health.unopened(name) {
            return Err(unopened);
        }
        let entries = self.shared.read(|pages| self.shared.entries(pages))?;
        for mut entry in entries.into_iter().filter(|entry| entry.definition.name() == name) {
            let known = entry.charged.is_some() || charge::look_into(&self.shared, &mut entry)?;
            if known && self.get(name).is_none() {
                self.adopt(&entry)?;
            }
        }
        Ok(())
    }

    /// Starts a stream that is charged.
    fn adopt(&self, entry: &Entry) -> Result<Arc<Stream>> {
        let identity = entry.identity().expect("it is charged");
        let board = Arc::new(Board::new());
        let kind = match entry.definition.mode() {
            Mode::PanPrivate => entry.definition.counter(),
            Mode::Curator => {
                let permit = self.shared.permit(&identity.accounting)?;
                let live = Live::begin(identity.clone(), permit, Arc::clone(&board))?;
                let kind = live.kind();
                self.queue.ask(|answer| Job::Adopt(Box::new(live), answer))?;
                kind
            }
        };
        self.add(entry, &identity, board, kind)
    }

    fn add(&self, entry: &Entry, identity: &Identity, board: Arc<Board>, kind: CounterKind) -> Result<Arc<Stream>> {
        let definition = Arc::clone(&entry.definition);
        let engine = match definition.mode() {
            Mode::Curator => Engine::Curator(Arc::clone(&self.queue)),
            Mode::PanPrivate => {
                let permit = self.shared.permit(&identity.accounting)?;
                let stream = Arc::new(PanPrivateStream::open(
                    &self.shared.directory,
                    Arc::clone(&definition),
                    identity.created,
                    &identity.accounting,
                    permit,
                    Arc::clone(&board),
                )?);
                self.closer.add(Arc::clone(&stream));
                Engine::PanPrivate(stream)
            }
        };
        let stream = Arc::new(Stream {
            rules: Rules::new(Arc::clone(&definition), entry.id_key),
            definition,
            board,
            shared: Arc::clone(&self.shared),
            id: entry.id,
            created: identity.created,
            kind,
            engine,
        });
        let mut streams = self.streams.write().unwrap_or_else(PoisonError::into_inner);
        streams.insert(stream.name().to_owned(), Arc::clone(&stream));
        Ok(stream)
    }

    /// A stream by its name.
    pub fn get(&self, name: &str) -> Option<Arc<Stream>> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All streams, by name.
    pub fn list(&self) -> Vec<Arc<Stream>> {
        self.streams.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    /// Streams that exist but cannot be opened, by name, with the reasons: for example, the state is damaged, or the
    /// charge is not in the ledger. Their data is not lost; opening the directory again retries them.
    pub fn unopened(&self) -> Vec<(String, Error)> {
        self.shared.health.all_unopened()
    }

    /// Why due steps cannot be written to the disk at present; `None` if they can. Writing is retried until it
    /// succeeds.
    pub fn failing(&self) -> Option<Error> {
        self.shared.health.unwritten()
    }

    /// Closes every step that is due now. Steps are closed on time without this call, which is for clocks that are
    /// moved by hand.
    ///
    /// # Errors
    /// If the disk fails.
    pub fn close_due(&self) -> Result<()> {
        self.queue.ask(Job::CloseDue)?;
        while self.closer.close_due()? {}
        Ok(())
    }

    /// From now on senders no longer wait for a stream with missed steps to catch up, but get [`Error::Stopped`]. Call
    /// this before waiting for running requests, so that they finish soon.
    pub fn wind_down(&self) {
        self.queue.hurry();
    }

    /// Stops. When this returns, accepted events are durable (in curator mode), nothing more is counted, and all
    /// threads have ended.
    pub fn stop(&self) {
        self.queue.stop();
        self.closer.stop();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic was already reported by the thread itself.
            let _ = thread.join();
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.stop();
    }
}

impl fmt::Debug for Streams {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Streams").field("directory", &self.shared.directory).finish_non_exhaustive()
    }
}

/// The thread that closes the steps of pan-private streams.
struct Closer {
    shared: Arc<Shared>,
    state: Mutex<ClosersState>,
    changed: Condvar,
}

#[derive(Default)]
struct ClosersState {
    streams: Vec<Arc<PanPrivateStream>>,
    stopped: bool,
}

impl Closer {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, state: Mutex::default(), changed: Condvar::new() }
    }

    fn add(&self, stream: Arc<PanPrivateStream>) {
        self.lock().streams.push(stream);
        self.changed.notify_all();
    }

    fn run(&self) {
        loop {
            // A step that cannot be published now is retried after a nap.
            let (failed, more) = self.close_due().map_or((true, false), |more| (false, more));
            let now = milliseconds(&*self.shared.clock);
            let mut state = self.lock();
            if state.stopped {
                break;
            }
            let next = state.streams.iter().filter_map(|stream| stream.deadline()).min();
            let left = next.map_or(u64::MAX, |next| u64::try_from(next.saturating_sub(now)).unwrap_or(0));
            let nap = match (failed, more) {
                (true, _) => LONGEST_NAP,
                (_, true) => Duration::ZERO,
                _ => LONGEST_NAP.min(Duration::from_millis(left)),
            };
            state = self.changed.wait_timeout(state, nap).unwrap_or_else(PoisonError::into_inner).0;
            drop(state);
        }
        let streams = self.lock().streams.clone();
        streams.iter().for_each(|stream| stream.stop());
    }

    /// Closes some of the due steps of each stream, trying all streams even if one fails; true if there are more.
    fn close_due(&self) -> Result<bool> {
        let streams = self.lock().streams.clone();
        let now = milliseconds(&*self.shared.clock);
        let close = |stream: &Arc<PanPrivateStream>| {
            let closed = stream.close_due(now);
            self.shared.health.written(stream.name(), closed.as_ref().map(|_| ()));
            closed
        };
        let closed: Vec<Result<bool>> = streams.iter().map(close).collect();
        closed.into_iter().try_fold(false, |before, more| Ok(before | more?))
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ClosersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
