//! Accounting for a program that releases statistics about files and tables: which dataset is charged, in which ledger,
//! and which uses of rows are refused.

use std::path::{Path, PathBuf};

use reticent::ledger::{
    Accounting, Charge, Ledger, OnInterruption, Origin, Receipt, ReleaseOutcome, Releases, RunResult,
};
use reticent::privacy::{Adjacency, Guarantee};
use reticent::{Permit, message};

use crate::account::Account;
use crate::budget::Budget;
use crate::claims::{ChargedDataset, Use, dataset_of};
use crate::durable::{DurableLedger, fresh_id};
use crate::entry::{Dataset, Terms};
use crate::error::{Error, Result};
use crate::files::{Owner, shared};
use crate::notice::Notice;
use crate::place::Place;

/// What the user says about accounting.
#[derive(Debug, Clone, Default)]
pub struct AccountingSettings {
    /// The ledger: a file, or `postgres://…`; see [`Place::new`] for the default.
    pub ledger: Option<String>,
    /// The dataset; by default that of the file or table.
    pub dataset: Option<String>,
    /// Charge nothing.
    pub no_ledger: bool,
    /// A file with the ledger's newest hash.
    pub anchor: Option<PathBuf>,
    /// A name for the request.
    pub request: Option<String>,
}

impl AccountingSettings {
    /// Refuses what needs a dataset with a name of its own, where rows come from a pipe, which has none.
    ///
    /// # Errors
    /// If no dataset is named, and there is a name for the request or a budget to set.
    pub fn check_nameless(&self, sets_budget: bool) -> Result<()> {
        let why = match &self.dataset {
            Some(_) => return Ok(()),
            None if self.request.is_some() => message!(["request"], " is for one dataset, and a pipe has no name"),
            None if sets_budget => message!("the budget of a policy is for one dataset, and a pipe has no name"),
            None => return Ok(()),
        };
        let how = message!(": name its dataset with ", ["dataset"]);
        Err(Error::Request(why.into_iter().chain(how).collect()))
    }
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

/// What a program charges.
///
/// # Example
/// ```
/// use reticent_ledger::accounting::{AccountingSettings, Payer, Request};
/// use reticent::ledger::RunResult;
/// # let folder = tempfile::tempdir().unwrap();
/// # let file = folder.path().join("people.csv");
/// # std::fs::write(&file, "age\n34\n").unwrap();
///
/// let settings = AccountingSettings { no_ledger: true, ..AccountingSettings::default() };
/// let payer = Payer::new(&settings, Some(&file), |notice| eprintln!("{notice}"))?;
/// let request = Request {
///     description: "a count of people.csv".into(),
///     unit: "row".into(),
///     adjacency: "add-remove".parse()?,
///     guarantee: reticent::privacy::Guarantee::Pure("1".parse()?),
/// };
/// let text = payer.release(request, |permit| RunResult::Released("draw noise with the permit".into()))?;
/// # assert!(text.starts_with("draw"));
/// # Ok::<(), reticent_ledger::Error>(())
/// ```
#[derive(Debug)]
pub enum Payer {
    /// A ledger.
    Charged(Box<Session>),
    /// Nothing, at the user's request.
    Unaccounted(NoticeHandler),
}

/// What hears of charges, and of what was not charged.
pub type NoticeHandler = fn(&Notice);

/// An open ledger and the dataset to charge.
#[derive(Debug)]
pub struct Session {
    ledger: DurableLedger,
    place: Place,
    subject: ChargedDataset,
    /// The id that the user gave.
    request: Option<String>,
    tell: NoticeHandler,
}

impl Payer {
    /// Opens the account for the rows of a file, or of standard input if `None`. Nothing is charged yet.
    ///
    /// # Errors
    /// If the ledger cannot be used, or the dataset must be registered and is not; if nothing is to be charged although
    /// the dataset has a budget; if the file has a budget under another path.
    pub fn new(settings: &AccountingSettings, file: Option<&Path>, tell: NoticeHandler) -> Result<Self> {
        Self::of(settings, file.map(|file| Origin::File(file.into())).as_ref(), tell)
    }

    /// [`Payer::new`] for rows wherever they are kept.
    ///
    /// # Errors
    /// As for [`Payer::new`].
    pub fn of(settings: &AccountingSettings, rows: Option<&Origin>, tell: NoticeHandler) -> Result<Self> {
        let subject = ChargedDataset::new(settings.dataset.as_deref(), rows).map_err(|error| match error {
            Error::FileName(file) => {
                Error::Request(message!("the path {file} is not valid Unicode; name the dataset with ", ["dataset"]))
            }
            error => error,
        })?;
        let all = rows.map_or(&[][..], std::slice::from_ref);
        if settings.no_ledger {
            refuse_if_limited(subject.name(), all)?;
            return Ok(Self::Unaccounted(tell));
        }
        let place = Place::new(settings.ledger.as_deref())?;
        let ledger = place.open()?;
        let own = rows.and_then(|rows| dataset_of(rows).ok());
        refuse_other_budgets(&ledger, &subject, all, own.as_deref())?;
        let ledger = ledger.anchored_if(settings.anchor.as_deref());
        if place.named && ledger.dataset(subject.name())?.is_none() {
            let (dataset, location) = (subject.name(), &place.location);
            return Err(Error::Request(message!(
                "the ledger {location} has no dataset {dataset}; name one that it has with ",
                ["dataset"],
                ", or register it with `reticent ledger create`"
            )));
        }
        let request = settings.request.clone();
        Ok(Self::Charged(Box::new(Session { ledger, place, subject, request, tell })))
    }

    /// Charges a stream, tells of the charge, and returns the permit to draw all of the stream's noise.
    ///
    /// # Errors
    /// If there is not enough budget left, or the ledger fails.
    pub fn start(&self, asked: Request) -> Result<Permit> {
        match self {
            Self::Charged(session) => {
                let permit = session.ledger.start(&session.prepare(asked, Releases::Stream)?)?;
                if let Accounting::Charged(receipt) = permit.accounting() {
                    session.tell(receipt, "charged");
                }
                Ok(permit)
            }
            Self::Unaccounted(tell) => unaccounted(*tell),
        }
    }

    /// Refuses rows that have their own budget, or lie in a folder or table that has one, which would not be charged.
    /// Files and tables queried together are charged to one dataset, and their own budgets must not be bypassed.
    ///
    /// # Errors
    /// If rows have another budget.
    pub fn refuse_other_budgets(&self, rows: &[Origin]) -> Result<()> {
        match self {
            Self::Unaccounted(_) => refuse_uncharged(rows),
            Self::Charged(session) => refuse_other_budgets(&session.ledger, &session.subject, rows, None),
        }
    }

    /// The description under which the user's request was charged; `None` if it was not charged.
    ///
    /// # Errors
    /// If the ledger cannot be read.
    pub fn remembered(&self) -> Result<Option<String>> {
        let Self::Charged(session) = self else { return Ok(None) };
        let Some(request) = &session.request else { return Ok(None) };
        Ok(session.ledger.request(session.subject.name(), request)?.map(|(charge, _)| charge.description))
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
                session.tell(receipt, "was charged");
                Ok(permit)
            }
            (Self::Charged(session), Accounting::Unaccounted) => unaccounted(session.tell),
            (Self::Unaccounted(tell), Accounting::Unaccounted) => unaccounted(*tell),
            (Self::Unaccounted(_), Accounting::Charged(_)) => Err(Error::Request(message!(
                "the counter was charged to a ledger when it began; leave ",
                ["no-ledger"],
                " out"
            ))),
        }
    }

    /// Releases something once, tells of the charge, and returns the outcome to show.
    ///
    /// # Errors
    /// If the budget is exhausted, the ledger fails, or the request was charged before and has no outcome.
    pub fn release(&self, asked: Request, compute: impl FnOnce(Permit) -> RunResult) -> Result<String> {
        self.release_with(OnInterruption::Abandon, asked, |permit| Ok(compute(permit)))
    }

    /// [`Payer::release`] for a computation that cannot fail because of the rows: if it was interrupted, it is run again
    /// now. If `compute` fails, nothing is stored.
    ///
    /// # Errors
    /// If the budget is exhausted, or the ledger fails; those of `compute`.
    pub fn release_restartable<E: From<Error>>(
        &self,
        asked: Request,
        compute: impl FnOnce(Permit) -> Result<String, E>,
    ) -> Result<String, E> {
        self.release_with(OnInterruption::Recompute, asked, |permit| compute(permit).map(RunResult::Released))
    }

    fn release_with<E: From<Error>>(
        &self,
        on_interruption: OnInterruption,
        asked: Request,
        compute: impl FnOnce(Permit) -> Result<RunResult, E>,
    ) -> Result<String, E> {
        match self {
            Self::Charged(session) => session.release(on_interruption, asked, compute),
            Self::Unaccounted(tell) => {
                let (RunResult::Released(text) | RunResult::Failed(text) | RunResult::Interrupted(text)) =
                    compute(unaccounted(*tell)?)?;
                Ok(text)
            }
        }
    }

    /// Records that the user ended what is being computed: see [`DurableLedger::interrupt`].
    ///
    /// # Errors
    /// If the ledger fails.
    pub fn interrupt(&self) -> Result<()> {
        match self {
            Self::Unaccounted(_) => Ok(()),
            Self::Charged(session) => session.ledger.interrupt(),
        }
    }

    /// The ledger's location, for resuming; `None` if nothing is charged.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Unaccounted(_) => None,
            Self::Charged(session) => Some(session.place.location.lasting()),
        }
    }
}

impl Session {
    fn release<E: From<Error>>(
        &self,
        on_interruption: OnInterruption,
        asked: Request,
        compute: impl FnOnce(Permit) -> Result<RunResult, E>,
    ) -> Result<String, E> {
        let charge = self.prepare(asked, Releases::Once)?;
        let unfinished = on_interruption == OnInterruption::Recompute
            && self.ledger.request(&charge.dataset, &charge.request)?.is_some();
        let mut failed = None;
        let computed = |permit: Permit| -> Result<RunResult, E> {
            let Accounting::Charged(receipt) = permit.accounting().clone() else { unreachable!("a ledger charges") };
            if unfinished {
                (self.tell)(&Notice::Unfinished { request: charge.request.clone() });
            } else {
                self.tell(&receipt, "charged");
            }
            let ended = compute(permit)?;
            failed = (!matches!(ended, RunResult::Released(_))).then_some(receipt);
            Ok(ended)
        };
        let answered = self.ledger.release(&charge, on_interruption, computed)?;
        if let Some(Receipt { dataset, entry, .. }) = failed
            && let Ok(Some(Account { suspended: Some(_), .. })) = self.ledger.account(&dataset)
        {
            (self.tell)(&Notice::Suspended { dataset, entry });
        }
        match answered {
            ReleaseOutcome::Fresh(text) => Ok(text),
            ReleaseOutcome::Replayed(text) => {
                (self.tell)(&Notice::AnsweredBefore { request: charge.request });
                Ok(text)
            }
            ReleaseOutcome::Unfinished => Err(Error::Unfinished.into()),
        }
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

    /// Tells what was charged, and the new total.
    fn tell(&self, receipt: &Receipt, charged: &'static str) {
        // The charge stands, whether or not it can be described.
        let Ok(Some(account)) = self.ledger.account(&receipt.dataset) else { return };
        let (own, entry, account) = (!self.place.named, receipt.entry, Box::new(account));
        (self.tell)(&Notice::Charged { charged, own, entry, account });
        if self.subject.is_nameless() {
            (self.tell)(&Notice::Nameless);
        }
    }
}

fn unaccounted(tell: NoticeHandler) -> Result<Permit> {
    tell(&Notice::Unaccounted);
    Ok(Permit::unaccounted()?)
}

/// Refuses rows that have a budget in this ledger other than the one to be charged; `own` is the dataset that
/// would be charged if none were named.
fn refuse_other_budgets(
    ledger: &DurableLedger,
    subject: &ChargedDataset,
    rows: &[Origin],
    own: Option<&str>,
) -> Result<()> {
    let Some(owner) = ledger.conflict(rows, Use::Charged(subject.name()))? else { return Ok(()) };
    let (Dataset { name, budget, .. }, dataset) = (&owner.account.dataset, subject.name());
    Err(Error::Request(match own == Some(name) {
        true => message!(
            "{name} has its own budget ({budget}) in this ledger; leave ",
            ["dataset"],
            " out so that it is charged (a saved counter of other data cannot be resumed with this file)"
        ),
        false => format!(
            "{name} has a budget of {budget} in this ledger, but this would be charged to {dataset}; query {name} separately, \
             under its own dataset"
        )
        .into(),
    }))
}

/// The user's own ledger, opened for reading.
fn own_ledger() -> Result<Option<(DurableLedger, Place)>> {
    // Without a directory for user data, the user has no ledger either.
    let Ok(place) = Place::new(None) else { return Ok(None) };
    Ok(place.open_to_read()?.map(|ledger| (ledger, place)))
}

/// Refuses public files and tables that hold rows of a dataset: rows that are `private` in this request, or were ever protected,
/// are not published. Call it before reading them. Checks the user's own ledger as well as the named one.
///
/// # Errors
/// If a file or table holds such rows.
pub fn check_public(ledger: Option<&str>, public: &[Origin], private: &[Origin]) -> Result<()> {
    if let Some(file) = shared(public, private) {
        return Err(Error::Request(message!(
            "{file} is private in this request, so it cannot be public as well; leave it out of ",
            ["keys"],
            " and ",
            ["public-table"]
        )));
    }
    if let Some(name) = ledger {
        let place = Place::new(Some(name))?;
        // If it is missing, charging it will say so.
        if let Some(ledger) = place.open_to_read()? {
            refuse_owned(&ledger, &place, public)?;
        }
    }
    match own_ledger()? {
        Some((ledger, place)) => refuse_owned(&ledger, &place, public),
        None => Ok(()),
    }
}

/// Refuses rows that were ever protected in this ledger.
fn refuse_owned(ledger: &DurableLedger, Place { location, .. }: &Place, public: &[Origin]) -> Result<()> {
    let Some(Owner { origin: file, account }) = ledger.conflict(public, Use::Public)? else { return Ok(()) };
    let Dataset { name, budget, .. } = &account.dataset;
    let why = match budget {
        Budget::Limit(_) => format!("has a budget of {budget}"),
        Budget::Unlimited => "was queried as a private table before".into(),
    };
    Err(Error::Request(message!(
        "{file} is given as public, but {name}, which it belongs to, {why} in the ledger {location}; give it as ",
        ["table"],
        ", or leave it out"
    )))
}

/// Refuses to leave a dataset uncharged that has a limit in the user's own ledger.
fn refuse_if_limited(dataset: &str, rows: &[Origin]) -> Result<()> {
    if let Some((ledger, place)) = own_ledger()?
        && let Some(budget) = ledger.limit(dataset)?
    {
        return Err(must_be_charged(dataset, &budget, &place));
    }
    refuse_uncharged(rows)
}

/// Refuses to leave rows uncharged that have a budget in the user's own ledger.
///
/// # Errors
/// If there are such rows.
pub fn refuse_uncharged(rows: &[Origin]) -> Result<()> {
    let Some((ledger, place)) = own_ledger()? else { return Ok(()) };
    let Some(owner) = ledger.conflict(rows, Use::Uncharged)? else { return Ok(()) };
    Err(must_be_charged(&owner.account.dataset.name, &owner.account.dataset.budget, &place))
}

fn must_be_charged(dataset: &str, budget: &Budget, Place { location, .. }: &Place) -> Error {
    Error::Request(message!(
        "{dataset} has a budget of {budget} in the ledger {location}, so every release must be charged; leave ",
        ["no-ledger"],
        " out"
    ))
}

/// The name of the user running this, according to the environment.
pub fn caller() -> String {
    let named = ["USER", "LOGNAME", "USERNAME"].iter().find_map(|variable| std::env::var(variable).ok());
    let named = named.filter(|name| !name.is_empty() && !name.chars().any(char::is_control));
    named.unwrap_or_else(|| "unknown".into())
}
