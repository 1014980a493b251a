//! Accounting for the commands that release something.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use reticent::Permit;
use reticent::ledger::{Accounting, Answered, Charge, Ended, Interrupted, Ledger, Receipt, Releases, UNFINISHED};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{
    Anchor, Budget, Dataset, DurableLedger, Error, Location, Owner, Spend, Subject, Terms, Use, dataset_of_file,
    fresh_id,
};

use crate::exit::usage;
use crate::output::say;
use crate::place::Place;

/// The arguments that every releasing command has.
#[derive(Debug, clap::Args)]
#[group(skip)]
#[command(next_help_heading = "Accounting")]
pub struct Arguments {
    /// The ledger to charge, a file or postgres://…; the dataset must be registered in it [default: $RETICENT_LEDGER,
    /// or else your own, which adds up everything you ask]
    #[arg(long, value_name = "PLACE")]
    pub ledger: Option<String>,
    /// The dataset whose budget is charged [default: the full path of the file]
    #[arg(long, value_name = "NAME")]
    pub dataset: Option<String>,
    /// Charge nothing, with a warning; refused for a dataset that has a budget
    #[arg(long, conflicts_with_all = ["ledger", "anchor", "request"])]
    pub no_ledger: bool,
    /// Keep the ledger's newest hash in this file, and charge nothing if the ledger does not continue it: this detects
    /// an older copy of the ledger that was put back
    #[arg(long, value_name = "FILE")]
    pub anchor: Option<PathBuf>,
    /// Name the request: asked again, it costs nothing and prints the same releases
    #[arg(long, value_name = "ID")]
    pub request: Option<String>,
}

/// A request to charge.
#[derive(Debug, Clone)]
pub struct Request {
    /// The full description.
    pub description: String,
    /// The privacy unit.
    pub unit: String,
    /// Which inputs are neighbours.
    pub adjacency: Adjacency,
    /// The guarantee, which is also the cost.
    pub guarantee: Guarantee,
}

/// What a command charges.
#[derive(Debug)]
pub enum Account {
    /// A ledger.
    Charged(Box<Session>),
    /// Nothing, at the user's request.
    Unaccounted,
}

/// An open ledger and the dataset to charge.
#[derive(Debug)]
pub struct Session {
    ledger: DurableLedger,
    place: Place,
    subject: Subject,
    /// The id that the user gave.
    request: Option<String>,
}

impl Account {
    /// Opens the account named by the arguments, for the rows of a file, or of standard input if `None`. Nothing is
    /// charged yet.
    ///
    /// # Errors
    /// If the ledger cannot be used, or the dataset must be registered and is not; if nothing is to be charged although
    /// the dataset has a budget; if the file has a budget under another path.
    pub fn new(arguments: &Arguments, file: Option<&Path>) -> Result<Self> {
        let subject = Subject::new(arguments.dataset.as_deref(), file).map_err(named_by_flag)?;
        let files: Vec<PathBuf> = file.map(PathBuf::from).into_iter().collect();
        if arguments.no_ledger {
            refuse_if_limited(subject.name(), &files)?;
            return Ok(Self::Unaccounted);
        }
        let place = Place::new(arguments.ledger.as_deref())?;
        let ledger = open(&place)?;
        let own = file.and_then(|file| dataset_of_file(file).ok());
        refuse_other_budgets(&ledger, &subject, &files, own.as_deref())?;
        let ledger = match &arguments.anchor {
            Some(anchor) => ledger.anchored(Anchor::new(anchor)),
            None => ledger,
        };
        if place.named && ledger.dataset(subject.name())?.is_none() {
            let (dataset, location) = (subject.name(), &place.location);
            return Err(usage(format!(
                "the ledger {location} has no dataset {dataset}; name one that it has with --dataset, or register it with \
                 `reticent ledger create`"
            )));
        }
        Ok(Self::Charged(Box::new(Session { ledger, place, subject, request: arguments.request.clone() })))
    }

    /// Charges a stream, reports the charge, and returns the permit to draw all of the stream's noise.
    ///
    /// # Errors
    /// If there is not enough budget left, or the ledger fails.
    pub fn start(&self, asked: Request) -> Result<Permit> {
        match self {
            Self::Charged(session) => {
                let permit = session.ledger.start(&session.prepare(asked, Releases::Stream)?)?;
                if let Accounting::Charged(receipt) = permit.accounting() {
                    session.say(receipt, "charged");
                }
                Ok(permit)
            }
            Self::Unaccounted => {
                warn();
                Ok(Permit::unaccounted()?)
            }
        }
    }

    /// Refuses files that have their own budget, or lie in a folder that has one, which would not be charged. Files
    /// queried together are charged to one dataset, and their own budgets must not be bypassed.
    ///
    /// # Errors
    /// If a file has another budget.
    pub fn refuse_other_budgets(&self, files: &[PathBuf]) -> Result<()> {
        match self {
            Self::Unaccounted => refuse_uncharged(files),
            Self::Charged(session) => refuse_other_budgets(&session.ledger, &session.subject, files, None),
        }
    }

    /// The description under which the user's request was charged; `None` if it was not charged.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn remembered(&self) -> Result<Option<String>> {
        let Self::Charged(session) = self else { return Ok(None) };
        let Some(request) = &session.request else { return Ok(None) };
        Ok(session.ledger.request(session.subject.name(), request)?.map(|charge| charge.description))
    }

    /// Gives the dataset a limit, unless it has that limit already.
    ///
    /// # Errors
    /// If it has another limit, or was charged with another unit or adjacency.
    pub fn set_budget(&self, limit: &Guarantee, unit: &str, adjacency: Adjacency) -> Result<()> {
        let Self::Charged(session) = self else { return Ok(()) };
        let terms = Some(Terms { unit: unit.into(), adjacency });
        let dataset = Dataset { name: session.subject.name().into(), budget: Budget::Limit(limit.clone()), terms };
        session.ledger.register(&dataset)?;
        Ok(())
    }

    /// The permit to continue a stream that was already charged.
    ///
    /// # Errors
    /// If it was charged, but not to this ledger.
    pub fn resume(&self, charged: &Accounting) -> Result<Permit> {
        match (self, charged) {
            (Self::Charged(session), Accounting::Charged(receipt)) => {
                let permit = session.ledger.resume(receipt)?;
                session.say(receipt, "was charged");
                Ok(permit)
            }
            (_, Accounting::Unaccounted) => {
                warn();
                Ok(Permit::unaccounted()?)
            }
            (Self::Unaccounted, Accounting::Charged(_)) => {
                Err(usage("the counter was charged to a ledger when it began; leave --no-ledger out"))
            }
        }
    }

    /// Releases something once, reports the charge, and returns the outcome to show.
    ///
    /// # Errors
    /// If the budget is exhausted, the ledger fails, or the request was charged before and has no outcome.
    pub fn release(&self, asked: Request, compute: impl FnOnce(Permit) -> Ended) -> Result<String> {
        self.release_unless(Interrupted::StaysOpen, asked, |permit| Ok(compute(permit)))
    }

    /// [`Account::release`] for a computation that cannot fail because of the rows: if it was interrupted, it is run
    /// again now. If `compute` fails, nothing is stored.
    ///
    /// # Errors
    /// If the budget is exhausted, or the ledger fails; those of `compute`.
    pub fn release_restartable(
        &self,
        asked: Request,
        compute: impl FnOnce(Permit) -> Result<String>,
    ) -> Result<String> {
        self.release_unless(Interrupted::IsComputed, asked, |permit| compute(permit).map(Ended::Released))
    }

    fn release_unless(
        &self,
        interrupted: Interrupted,
        asked: Request,
        compute: impl FnOnce(Permit) -> Result<Ended>,
    ) -> Result<String> {
        match self {
            Self::Charged(session) => session.release(interrupted, asked, compute),
            Self::Unaccounted => {
                warn();
                let (Ended::Released(text) | Ended::Failed(text)) = compute(Permit::unaccounted()?)?;
                Ok(text)
            }
        }
    }

    /// The ledger's location, for resuming; `None` if nothing is charged.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Unaccounted => None,
            Self::Charged(session) => Some(match &session.place.location {
                Location::File(path) => path.canonicalize().unwrap_or_else(|_| path.clone()).display().to_string(),
                shared => shared.without_secrets(),
            }),
        }
    }
}

impl Session {
    fn release(
        &self,
        interrupted: Interrupted,
        asked: Request,
        compute: impl FnOnce(Permit) -> Result<Ended>,
    ) -> Result<String> {
        let charge = self.prepare(asked, Releases::Once)?;
        let unfinished =
            interrupted == Interrupted::IsComputed && self.ledger.request(&charge.dataset, &charge.request)?.is_some();
        let mut suspended = None;
        let computed = |permit: Permit| -> Result<Ended> {
            let Accounting::Charged(receipt) = permit.accounting().clone() else { unreachable!("a ledger charges") };
            if unfinished {
                self.say_unfinished(&charge);
            } else {
                self.say(&receipt, "charged");
            }
            let ended = compute(permit)?;
            suspended = matches!(ended, Ended::Failed(_)).then_some(receipt);
            Ok(ended)
        };
        let answered = self.ledger.release(&charge, interrupted, computed)?;
        if let Some(Receipt { dataset, entry, .. }) = suspended {
            say!("{dataset} is suspended: see what went wrong with entry {entry}, then `reticent ledger reopen`");
        }
        match answered {
            Answered::Now(text) => Ok(text),
            Answered::Before(text) => {
                self.say_again(&charge);
                Ok(text)
            }
            Answered::Never => {
                self.say_unfinished(&charge);
                Err(anyhow!(UNFINISHED))
            }
        }
    }

    fn say_again(&self, charge: &Charge) {
        say!("request {} was answered before: nothing is charged, and the same is printed", charge.request);
    }

    fn say_unfinished(&self, charge: &Charge) {
        say!("request {} was charged before, and nothing was kept for it: nothing is charged", charge.request);
    }

    /// The charge for a request. The user's own ledger registers a dataset when it is first charged.
    fn prepare(&self, asked: Request, releases: Releases) -> Result<Charge> {
        if !self.place.named {
            self.ledger.ensure(self.subject.name())?;
        }
        let Request { description, unit, adjacency, guarantee } = asked;
        let request = self.request.clone().map_or_else(fresh_id, Ok)?;
        let (dataset, caller) = (self.subject.name().to_owned(), caller());
        Ok(Charge { dataset, request, caller, description, unit, adjacency, guarantee, releases })
    }

    /// Reports what was charged, and the new total.
    fn say(&self, receipt: &Receipt, charged: &str) {
        // The charge stands, whether or not it can be described.
        let Ok(Some(account)) = self.ledger.account(&receipt.dataset) else { return };
        let (dataset, entry) = (&receipt.dataset, receipt.entry);
        let whose = if self.place.named { String::new() } else { " in your ledger".into() };
        let spent = |(terms, spent): &(Terms, Spend)| format!("{spent} (unit {}, {})", terms.unit, terms.adjacency);
        let all = match &account.dataset.budget {
            Budget::Limit(limit) => {
                let left = account.spent.first().and_then(|(_, spent)| account.dataset.budget.left(spent));
                left.map_or_else(String::new, |left| format!("{} of {limit} is left", left.rounded_down()))
            }
            Budget::Unlimited => {
                let all = account.spent.iter().map(spent).collect::<Vec<_>>().join("; ");
                format!("spent on it so far: {all}; there is no limit")
            }
        };
        say!("{charged} to {dataset}{whose}, entry {entry}; {all}");
        if self.subject.is_nameless() {
            say!("all streams without a name are added up together; name yours with --dataset");
        }
    }
}

/// Opens the ledger at a place; the user's own is created if it does not exist.
fn open(place: &Place) -> Result<DurableLedger> {
    if place.named {
        return Ok(DurableLedger::open(&place.location)?);
    }
    place.make_folder()?;
    DurableLedger::create(&place.location).map_err(|error| {
        let error = anyhow::Error::from(error);
        error.context(format!("your ledger, {}, cannot be used (--ledger names another one)", place.location))
    })
}

/// Explains how to name a dataset on the command line.
fn named_by_flag(error: Error) -> anyhow::Error {
    match error {
        Error::FileName(file) => usage(format!("{file} has no name in Unicode; name the dataset with --dataset")),
        error => error.into(),
    }
}

/// Refuses files whose rows have a budget in this ledger other than the one to be charged; `own` is the dataset that
/// would be charged if none were named.
fn refuse_other_budgets(ledger: &DurableLedger, subject: &Subject, files: &[PathBuf], own: Option<&str>) -> Result<()> {
    let Some(owner) = ledger.conflict(files, Use::Charged(subject.name()))? else { return Ok(()) };
    let (Dataset { name, budget, .. }, dataset) = (&owner.account.dataset, subject.name());
    Err(usage(match own == Some(name) {
        true => format!(
            "{name} has a budget of {budget} in this ledger, and what is released about it is charged to it; leave --dataset out \
             (a saved counter of other data cannot go on with it)"
        ),
        false => format!(
            "{name} has a budget of {budget} in this ledger, and this would be charged to {dataset} alone; ask about {name} by itself, \
             under its own name"
        ),
    }))
}

/// The user's own ledger, opened for reading.
fn own_ledger() -> Result<Option<(DurableLedger, Place)>> {
    // Without a directory for user data, the user has no ledger either.
    let Ok(place) = Place::new(None) else { return Ok(None) };
    match DurableLedger::open_to_read(&place.location) {
        Err(Error::Missing(_)) => Ok(None),
        other => Ok(Some((other?, place))),
    }
}

/// Refuses public files that hold rows of a dataset: rows that were ever protected are not published. Call it before
/// reading them. Checks the user's own ledger as well as the named one.
///
/// # Errors
/// If a file holds such rows.
pub fn refuse_public(ledger: Option<&str>, files: &[PathBuf]) -> Result<()> {
    if let Some(name) = ledger {
        let place = Place::new(Some(name))?;
        match DurableLedger::open_to_read(&place.location) {
            // Charging it will report that it is missing.
            Err(Error::Missing(_)) => {}
            ledger => refuse_owned(&ledger?, &place.location, files)?,
        }
    }
    match own_ledger()? {
        Some((ledger, place)) => refuse_owned(&ledger, &place.location, files),
        None => Ok(()),
    }
}

/// Refuses files whose rows were ever protected in this ledger.
fn refuse_owned(ledger: &DurableLedger, place: &Location, files: &[PathBuf]) -> Result<()> {
    let Some(Owner { file, account }) = ledger.conflict(files, Use::Public)? else { return Ok(()) };
    let (file, Dataset { name, budget, .. }) = (file.display(), &account.dataset);
    let why = match budget {
        Budget::Limit(_) => format!("has a budget of {budget}"),
        Budget::Unlimited => "was asked about as a private table before".into(),
    };
    Err(usage(format!(
        "{file} is given as public, but {name}, which it belongs to, {why} in the ledger {place}; give it as --table, or leave it out"
    )))
}

/// Refuses to leave a dataset uncharged that has a limit in the user's own ledger.
fn refuse_if_limited(dataset: &str, files: &[PathBuf]) -> Result<()> {
    if let Some((ledger, place)) = own_ledger()?
        && let Some(budget) = ledger.limit(dataset)?
    {
        return Err(must_be_charged(dataset, &budget, &place));
    }
    refuse_uncharged(files)
}

/// Refuses to leave files uncharged that belong to such a dataset.
fn refuse_uncharged(files: &[PathBuf]) -> Result<()> {
    let Some((ledger, place)) = own_ledger()? else { return Ok(()) };
    let Some(owner) = ledger.conflict(files, Use::Uncharged)? else { return Ok(()) };
    Err(must_be_charged(&owner.account.dataset.name, &owner.account.dataset.budget, &place))
}

fn must_be_charged(dataset: &str, budget: &Budget, place: &Place) -> anyhow::Error {
    let location = &place.location;
    usage(format!(
        "{dataset} has a budget of {budget} in the ledger {location}, and everything about it is charged; leave --no-ledger out"
    ))
}

fn warn() {
    say!("warning: not accounted for: no ledger was charged, and nothing adds this up with what was released before");
}

/// The name of the user running this, according to the environment.
pub fn caller() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|variable| std::env::var(variable).ok());
    let named = named.filter(|name| !name.is_empty() && !name.chars().any(char::is_control));
    named.unwrap_or_else(|| "unknown".into())
}
