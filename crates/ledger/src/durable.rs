//! The ledger itself: rules, storage and anchor.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use reticent::Permit;
use reticent::error::{Class, Explained};
use reticent::ledger::{Charge, ChargeOutcome, Keeper, OnInterruption, Receipt};
use reticent::noise::Entropy;
use reticent::secrets::holds_a_key;

use crate::account::Registration;
use crate::anchor::{Anchor, Head};
use crate::budget::{Budget, check_length};
use crate::chain::{Known, continues};
use crate::entry::{Dataset, Event, Row};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::rules::{self, Done};
use crate::run::{Computing, Holder};
use crate::storage::location::{Location, may_hold_a_password};
use crate::storage::{Pages, Sqlite, Storage};
use crate::verify::{Verdict, verify};
use crate::witness::Witness;

/// Longest name or id, in bytes: the length of the longest path.
pub const LONGEST_NAME: usize = 4096;
/// Longest description, in bytes.
const LONGEST_TEXT: usize = 1 << 16;
/// Longest stored release, in bytes.
const LONGEST_RELEASE: usize = 1 << 28;

/// The rule that stores the outcome of a charge.
type Ending = fn(&mut dyn Pages, &Known, &Receipt, &str) -> Result<Done>;

/// A ledger that survives crashes. It can be shared by threads, and opened by several processes and machines.
///
/// # Privacy
/// A [`Permit`] is issued only when its charge is durable, and budget is never refunded. Queries may depend on earlier
/// answers: see [`Budget`] for why the sums still hold.
///
/// # Algorithm
/// Every charge is one entry in a hash chain. It is checked and appended in one transaction that excludes all other
/// writers; waiting threads of one process share a commit. A dataset's total is stored in its newest charge, whose hash
/// is checked before the total is used.
///
/// # Example
/// See the [crate documentation](crate).
pub struct DurableLedger {
    group: Group<Done>,
    anchor: Option<Anchor>,
    /// What this process computes, since its first charge.
    computing: OnceLock<Arc<Computing>>,
    /// Why the last write failed, if it did.
    failing: Mutex<Option<Error>>,
}

impl DurableLedger {
    /// Creates a ledger, or opens an existing one.
    ///
    /// # Errors
    /// If the location cannot be used or holds something else.
    pub fn create(place: &Location) -> Result<Self> {
        let ledger = Self::on(match place {
            Location::File(path) => Box::new(Sqlite::create(path)?),
            #[cfg(feature = "postgres")]
            Location::Postgres(url) => Box::new(crate::storage::Postgres::create(url)?),
            #[cfg(not(feature = "postgres"))]
            Location::Postgres(_) => return Err(without_postgres(place)),
        });
        ledger.begin()?;
        Ok(ledger)
    }

    /// Opens a ledger.
    ///
    /// # Errors
    /// [`Error::Missing`] if it does not exist.
    pub fn open(place: &Location) -> Result<Self> {
        Self::started(
            place,
            match place {
                Location::File(path) => Box::new(Sqlite::open(path)?),
                #[cfg(feature = "postgres")]
                Location::Postgres(url) => Box::new(crate::storage::Postgres::open(url)?),
                #[cfg(not(feature = "postgres"))]
                Location::Postgres(_) => return Err(without_postgres(place)),
            },
        )
    }

    /// Opens a ledger for reading; it need not be writable.
    ///
    /// # Errors
    /// [`Error::Missing`] if it does not exist.
    pub fn open_to_read(place: &Location) -> Result<Self> {
        match place {
            Location::File(path) => Self::started(place, Box::new(Sqlite::open_to_read(path)?)),
            Location::Postgres(_) => Self::open(place),
        }
    }

    /// A ledger without entries, whose creation was interrupted, counts as missing.
    fn started(place: &Location, mut storage: Box<dyn Storage>) -> Result<Self> {
        let mut empty = true;
        storage.read(&mut |pages| {
            empty = pages.rows(0, 1)?.is_empty();
            Ok(())
        })?;
        if empty { Err(Error::Missing(place.to_string())) } else { Ok(Self::on(storage)) }
    }

    /// A ledger on any open storage; [begin](DurableLedger::begin) a new one before using it.
    pub fn on(storage: Box<dyn Storage>) -> Self {
        let (group, computing) = (Group::new(Box::new(Witness::of(storage))), OnceLock::new());
        Self { group, anchor: None, computing, failing: Mutex::default() }
    }

    /// Writes the first entry, if the ledger is empty.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn begin(&self) -> Result<()> {
        let ledger = fresh_id()?;
        self.group.storage().write(&mut |pages| match pages.last()? {
            Some(_) => Ok(()),
            None => pages.append(&Row::after(None, Event::Opened { ledger: ledger.clone() }), None),
        })
    }

    /// Also keeps the newest entry's hash in a file: from now on nothing is charged or answered unless the ledger
    /// contains the entry in the file, and no permit is issued before the file has the charge. Only
    /// [`DurableLedger::advance_anchor`] creates the file: if it is missing, nothing is written.
    #[must_use]
    pub fn anchored(mut self, anchor: Anchor) -> Self {
        self.anchor = Some(anchor);
        self
    }

    /// [`DurableLedger::anchored`] to this file, if there is one.
    #[must_use]
    pub fn anchored_if(self, anchor: Option<&Path>) -> Self {
        match anchor {
            Some(file) => self.anchored(Anchor::new(file)),
            None => self,
        }
    }

    /// Registers a dataset, or sets the limit of one that had none. Earlier charges under the same unit and adjacency
    /// count toward the limit; those under others stay in the history, and no more charges are accepted under them.
    ///
    /// # Privacy
    /// A limit holds for adaptive queries because it was fixed before them. One set later holds as if it had been there
    /// from the start, provided that it was not chosen based on the answers. (In pure ε even then: whatever the
    /// answers, the loss is at most Σε.)
    ///
    /// # Errors
    /// [`Error::DatasetExists`] if the name is registered with different terms or a different limit; if they are the
    /// same, nothing happens. [`Error::AlreadySpent`] and [`Error::Uncountable`] if earlier charges rule out the limit.
    pub fn register(&self, dataset: &Dataset) -> Result<Registration> {
        checked("dataset", &dataset.name, LONGEST_NAME)?;
        match (&dataset.budget, &dataset.terms) {
            (Budget::Limit(_), None) => {
                let allowed = "given: a budget protects one unit under one adjacency";
                return Err(Error::Unusable { what: "the dataset's unit", value: "missing".into(), allowed });
            }
            (_, Some(terms)) => checked("unit", &terms.unit, LONGEST_NAME)?,
            _ => {}
        }
        if let Budget::Limit(limit) = &dataset.budget {
            // An entry that cannot be read back would make the whole ledger damaged.
            check_length(limit)?;
        }
        let (dataset, known) = (dataset.clone(), self.noted(self.known_before_writing())?);
        match self.write(move |pages| rules::register(pages, &known, &dataset))? {
            Done::Registered(registration, head) => self.hold(head.as_ref()).map(|()| registration),
            _ => unreachable!("something was registered"),
        }
    }

    /// Lets a dataset be charged again that a failure had suspended, once its owner has investigated. What was computed by
    /// processes that ended is recorded as failed first. Returns the entry of the failed charge; `None` if the dataset was not suspended.
    ///
    /// # Privacy
    /// Each failure may have leaked one bit about one unit that no ε covers. Reopening is the data owner's decision,
    /// never a program's.
    ///
    /// # Errors
    /// If the dataset does not exist, or the storage fails.
    pub fn reopen(&self, dataset: &str, caller: &str) -> Result<Option<u64>> {
        checked("dataset", dataset, LONGEST_NAME)?;
        checked("caller", caller, LONGEST_NAME)?;
        let (dataset, caller, known) =
            (dataset.to_owned(), caller.to_owned(), self.noted(self.known_before_writing())?);
        let own = self.holder();
        match self.write(move |pages| rules::reopen(pages, &known, &dataset, &caller, own))? {
            Done::Reopened(charge, head) => self.hold(head.as_ref()).map(|()| charge),
            _ => unreachable!("nothing else was done"),
        }
    }

    /// Records that the user ended everything that this process computes: the charges have no outcome, but that does not
    /// depend on the rows. It is counted, as by [`Keeper::interrupted`], and [too many](crate::MOST_INTERRUPTED) suspend the
    /// dataset. Call it before ending the process on the user's behalf.
    ///
    /// # Errors
    /// If the storage fails.
    pub fn interrupt(&self) -> Result<()> {
        let Some(computing) = self.computing.get() else { return Ok(()) };
        for entry in computing.entries() {
            let known = self.noted(self.known_before_writing())?;
            self.note(move |pages| rules::interrupt(pages, &known, entry))?;
        }
        Ok(())
    }

    /// Reads the whole ledger and reports everything that was changed since it was written.
    ///
    /// # Errors
    /// If the ledger or the anchor cannot be read at all.
    pub fn verify(&self) -> Result<Verdict> {
        let held = match self.known()? {
            Known::Unanchored => None,
            Known::Anchored(held) => held,
        };
        let mut storage = self.group.storage();
        let faults = storage.faults()?;
        let mut verdict = None;
        storage.read(&mut |pages| {
            verdict = Some(verify(pages, faults.clone(), held.as_ref())?);
            Ok(())
        })?;
        Ok(verdict.expect("reading succeeded"))
    }

    /// Moves the anchor, if there is one, to the newest entry.
    ///
    /// # Errors
    /// If the ledger does not contain the anchored entry, or the anchor cannot be written.
    pub fn advance_anchor(&self) -> Result<()> {
        self.anchor.as_ref().map_or(Ok(()), |anchor| self.advance(anchor))
    }

    /// Moves any anchor to the newest entry, once: unlike one that the ledger is [anchored](DurableLedger::anchored)
    /// to, it does not follow later entries.
    ///
    /// # Errors
    /// If the ledger does not contain the anchored entry, or the anchor cannot be written.
    pub fn advance(&self, anchor: &Anchor) -> Result<()> {
        let known = Known::Anchored(anchor.read()?);
        self.read(&mut |pages| continues(pages, &known))?;
        anchor.advance(&self.head()?)
    }

    /// The last failure to write; `None` if no write has failed since the last [`DurableLedger::try_again`]. A refusal,
    /// such as for an exhausted budget, is not a failure.
    pub fn failing(&self) -> Option<Error> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// After a failure: makes a write that changes nothing, and checks that everything seen before is still there. If
    /// so, the ledger is no longer [failing](DurableLedger::failing).
    pub fn try_again(&self) {
        let again = || {
            let known = self.known_before_writing()?;
            self.group.storage().try_writing()?;
            self.read(&mut |pages| continues(pages, &known))?;
            self.accounts().and(self.head()).map(drop)
        };
        *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = again().err();
    }

    /// Runs one transaction and notes whether it failed. Success does not clear a failure: it may have had nothing to
    /// write.
    fn write(&self, work: impl Fn(&mut dyn Pages) -> Result<Done> + Send + Sync + 'static) -> Result<Done> {
        self.noted(self.group.write(work))
    }

    fn noted<T>(&self, outcome: Result<T>) -> Result<T> {
        outcome.inspect_err(|error| {
            if error.class() == Class::Machine && !matches!(error, Error::Core(_)) {
                *self.failing.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.clone());
            }
        })
    }

    /// Runs `work` in a transaction that reads.
    pub(crate) fn read(&self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.group.storage().read(work)
    }

    fn known(&self) -> Result<Known> {
        self.anchor.as_ref().map_or(Ok(Known::Unanchored), |anchor| anchor.read().map(Known::Anchored))
    }

    /// What the anchor says before a write. Fails if the anchor is missing or cannot be moved, before any budget is
    /// spent.
    fn known_before_writing(&self) -> Result<Known> {
        let known = self.known()?;
        if let (Some(anchor), Known::Anchored(held)) = (&self.anchor, &known) {
            if held.is_none() {
                return Err(anchor.missing());
            }
            anchor.prepare()?;
        }
        Ok(known)
    }

    /// Stores the outcome of a charge by one of the rules.
    fn store(&self, receipt: &Receipt, text: &str, rule: Ending) -> Result<String> {
        if text.len() > LONGEST_RELEASE || text.contains('\0') {
            let value = format!("{} bytes long", text.len());
            return Err(Error::Unusable { what: "a release", value, allowed: "at most 256 MiB of text without NUL" });
        }
        let (charge, known) = (receipt.entry, self.noted(self.known_before_writing())?);
        let (receipt, text) = (receipt.clone(), text.to_owned());
        let ended = self.write(move |pages| rule(pages, &known, &receipt, &text));
        if let (Ok(_) | Err(Error::Unfinished), Some(computing)) = (&ended, self.computing.get()) {
            computing.end(charge);
        }
        match ended? {
            Done::Released(text, head) => self.hold(head.as_ref()).map(|()| text),
            _ => unreachable!("something is kept, now or before"),
        }
    }

    /// A transaction that only notes something.
    fn note(&self, work: impl Fn(&mut dyn Pages) -> Result<Done> + Send + Sync + 'static) -> Result<()> {
        match self.write(work)? {
            Done::Noted(head) => self.hold(head.as_ref()),
            _ => unreachable!("nothing else was done"),
        }
    }

    fn computing(&self) -> Result<&Arc<Computing>> {
        if let Some(computing) = self.computing.get() {
            return Ok(computing);
        }
        let new = Arc::new(Computing::new()?);
        Ok(self.computing.get_or_init(|| new))
    }

    pub(crate) fn holder(&self) -> Option<Holder> {
        self.computing.get().map(|computing| computing.holder)
    }

    fn hold(&self, head: Option<&Head>) -> Result<()> {
        match (&self.anchor, head) {
            (Some(anchor), Some(head)) => self.noted(anchor.advance(head)),
            _ => Ok(()),
        }
    }
}

impl Keeper for DurableLedger {
    type Error = Error;

    fn charge(&self, charge: &Charge, on_interruption: OnInterruption) -> Result<ChargeOutcome> {
        check(charge)?;
        // Before the charge, so that nothing is spent on a machine without randomness.
        let entropy = Entropy::from_os()?;
        let (guarantee, dataset) = (charge.guarantee.clone(), charge.dataset.clone());
        let (charge, known) = (charge.clone(), self.noted(self.known_before_writing())?);
        let own = Arc::clone(self.computing()?);
        match self.write(move |pages| rules::charge(pages, &known, &charge, &own, on_interruption))? {
            Done::Released(text, head) => self.hold(head.as_ref()).map(|()| ChargeOutcome::AlreadyAnswered(text)),
            Done::Charged(receipt, head) => {
                self.hold(head.as_ref())?;
                Ok(ChargeOutcome::New(Box::new(Permit::from_durable_charge(receipt, &guarantee, entropy))))
            }
            Done::Unfinished(receipt, head) => {
                self.hold(head.as_ref())?;
                Ok(ChargeOutcome::Unfinished(Box::new(Permit::from_durable_charge(receipt, &guarantee, entropy))))
            }
            Done::Suspended(suspension, head) => {
                self.hold(head.as_ref())?;
                Err(Error::Suspended { dataset, suspension })
            }
            Done::Registered(..) | Done::Reopened(..) | Done::Noted(_) => unreachable!("something was charged"),
        }
    }

    fn keep(&self, receipt: &Receipt, release: &str) -> Result<String> {
        self.store(receipt, release, rules::keep)
    }

    fn fail(&self, receipt: &Receipt, failure: &str) -> Result<String> {
        self.store(receipt, failure, rules::fail)
    }

    fn interrupted(&self, receipt: &Receipt, text: &str) -> Result<String> {
        self.store(receipt, text, rules::interrupted)
    }

    fn begin_run(&self, receipt: &Receipt) -> Result<()> {
        let own = Arc::clone(self.computing()?);
        let (receipt, known) = (receipt.clone(), self.noted(self.known_before_writing())?);
        self.note(move |pages| rules::begin(pages, &known, &receipt, &own))
    }

    fn end_run(&self, receipt: &Receipt) -> Result<()> {
        let (charge, known) = (receipt.entry, self.noted(self.known_before_writing())?);
        let receipt = receipt.clone();
        self.note(move |pages| rules::end(pages, &known, &receipt))?;
        self.computing()?.end(charge);
        Ok(())
    }

    fn permit(&self, receipt: &Receipt) -> Result<Permit> {
        let entropy = Entropy::from_os()?;
        let known = self.noted(self.known_before_writing())?;
        let mut head = None;
        self.read(&mut |pages| {
            head = rules::resume(pages, &known, receipt)?;
            Ok(())
        })?;
        self.hold(head.as_ref())?;
        Ok(Permit::from_stream_charge(receipt.clone(), entropy))
    }
}

impl fmt::Debug for DurableLedger {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DurableLedger").field("anchor", &self.anchor).finish_non_exhaustive()
    }
}

/// A random, unique id, for a request that will not be repeated.
///
/// # Errors
/// If the operating system provides no randomness.
pub fn fresh_id() -> Result<String> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| reticent::Error::Entropy(error.to_string()))?;
    Ok(reticent::hexadecimal::write(&id))
}

fn check(charge: &Charge) -> Result<()> {
    checked("dataset", &charge.dataset, LONGEST_NAME)?;
    checked("request", &charge.request, LONGEST_NAME)?;
    checked("caller", &charge.caller, LONGEST_NAME)?;
    checked("unit", &charge.unit, LONGEST_NAME)?;
    checked("description", &charge.description, LONGEST_TEXT)
}

fn checked(what: &'static str, text: &str, longest: usize) -> Result<()> {
    let allowed = "non-empty text, not too long and without control characters";
    if text.is_empty() || text.len() > longest || text.chars().any(char::is_control) {
        let value = if text.len() > 64 { format!("{} bytes long", text.len()) } else { format!("{text:?}") };
        return Err(Error::Unusable { what, value, allowed });
    }
    if holds_a_key(text) {
        let (value, allowed) = ("text with a private key or token in it".into(), "text that may be shown");
        return Err(Error::Unusable { what, value, allowed });
    }
    // Not in descriptions: SQL and paths can look like such an address without holding a password.
    if longest == LONGEST_NAME && may_hold_a_password(text) {
        let value = "an address that may hold a password".into();
        return Err(Error::Unusable { what, value, allowed: "a name that may be shown" });
    }
    Ok(())
}

#[cfg(not(feature = "postgres"))]
fn without_postgres(place: &Location) -> Error {
    let reason = format!("{place} needs the feature `postgres`, which this program was built without");
    Error::Storage { doing: "opened", reason }
}
