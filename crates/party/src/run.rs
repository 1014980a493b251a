//! A party's process, from its configuration to its result.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use reticent::ledger::{Accounting, Ledger, Origin};
use reticent::multiparty::Plan;
use reticent::{Permit, Release};
use reticent_ledger::{Dataset, DurableLedger, Use};

use crate::charge::Account;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::keys::PrivateKey;
use crate::session::{Resources, Seat, Session};
use crate::state::State;
use crate::task::Task;
use crate::times::Times;
use crate::transcript::Transcript;
use crate::transport::{Mesh, Transport};

/// The source of a party's exact numbers.
pub trait Statistic {
    /// Checks that this statistic has the numbers of the task: its cells, their steps, and at most its sensitivity. Called
    /// before anything is charged or sent.
    ///
    /// # Errors
    /// If it has others: the guarantee would not hold, or the sum would mean something else.
    fn check(&self, task: &Task) -> Result<()>;

    /// The files and tables that hold this party's rows; empty if they are elsewhere. Rows with a budget of their own in
    /// the ledger cannot be charged to another dataset.
    fn origins(&self) -> &[Origin] {
        &[]
    }

    /// The exact statistic of this party's rows: one number per cell of the task, in steps of the cell's grid.
    ///
    /// Called once, after the charge is durable and all parties are ready. The secret comes from the charge's own
    /// generator and decides everything left to chance, such as which of a unit's rows count.
    ///
    /// # Errors
    /// A text that does not depend on the content of the rows.
    fn exact(&mut self, task: &Task, secret: [u8; 32]) -> Result<Vec<i64>, String>;
}

/// The result of taking part.
#[derive(Debug)]
pub struct Outcome {
    /// The noisy sums over all parties, in the order of the task's cells.
    pub release: Release<Vec<i64>>,
    /// The transcript, as stored.
    pub transcript: Transcript,
    /// The transcript's file.
    pub file: PathBuf,
}

/// One party, ready to take part.
#[derive(Debug, Clone)]
pub struct Party<'party> {
    /// The task.
    pub task: &'party Task,
    /// Which of the task's parties this is.
    pub place: usize,
    /// Its private key.
    pub key: &'party PrivateKey,
    /// Its ledger.
    pub ledger: &'party DurableLedger,
    /// The dataset whose budget is charged.
    pub dataset: &'party str,
    /// The record of used attempts.
    pub state: &'party State,
    /// The timeouts.
    pub times: Times,
    /// Where to write the transcript; by default in the state directory.
    pub transcript: Option<PathBuf>,
}

/// Takes part as configured. Must not be called from async code.
///
/// The task is the one given here; `config.task`, the file, is not read again. So what runs is what was
/// [checked](Statistic::check), whatever becomes of the file.
///
/// # Privacy
/// In this order: nothing is read or sent before statistic, key, task, plan and ledger are checked against each other; the
/// attempt is durable before the first message; the charge is durable before any row is read; the contribution is sent
/// only when all parties have confirmed that they have the same task, have heard the same messages, and have charged,
/// too; the transcript is durable before the result is shown.
///
/// # Errors
/// If the inputs do not match; if there is not enough budget left; if the attempt is aborted ([`Error::Aborted`]). Any
/// charge is kept.
pub fn run(config: &Config, task: &Task, statistic: &mut dyn Statistic) -> Result<Outcome> {
    statistic.check(task)?;
    with_party(config, task, State::open, |party, listener| party.run(listener, statistic))
}

/// Runs all checks of [`run`], and stops before the first message. Nothing is charged, sent or written: a missing state
/// directory is not created.
///
/// # Errors
/// If [`run`] would fail before sending anything.
pub fn check(config: &Config, task: &Task, statistic: &dyn Statistic) -> Result<()> {
    statistic.check(task)?;
    with_party(config, task, State::open_to_read, |party, _| {
        party.admit(statistic)?;
        party.state.next(party.task.hash()).map(drop)
    })
}

/// Reads and checks the configuration, and binds the listener.
fn with_party<T>(
    config: &Config,
    task: &Task,
    state: fn(&Path) -> Result<State>,
    go_on: impl FnOnce(&Party<'_>, TcpListener) -> Result<T>,
) -> Result<T> {
    let place = task.place(&config.party)?;
    let key = PrivateKey::read(&config.key)?;
    let ledger = DurableLedger::open(&config.ledger()?)?;
    let state = state(&config.state)?;
    let party = Party {
        task,
        place,
        key: &key,
        ledger: &ledger,
        dataset: &config.dataset,
        state: &state,
        times: config.times(),
        transcript: config.transcript.clone(),
    };
    party.check()?;
    let listener = match config.listen {
        Some(address) => TcpListener::bind(address),
        None => TcpListener::bind(task.parties()[place].address.as_str()),
    };
    let listener = listener.map_err(|error| {
        let address = config.listen.map_or_else(|| task.parties()[place].address.clone(), |listen| listen.to_string());
        Error::network(format!("listening on {address}"), error)
    })?;
    go_on(&party, listener)
}

impl Party<'_> {
    /// Checks that all inputs match and that there is enough budget left. Nothing is charged or sent.
    ///
    /// # Errors
    /// If a check fails.
    pub fn check(&self) -> Result<()> {
        self.plan().map(|_| ())
    }

    fn plan(&self) -> Result<Plan> {
        let member = &self.task.parties()[self.place];
        if member.key != self.key.public() {
            let allowed = format!("that of {}, whose public key in the task is {}", member.name, member.key);
            return Err(Error::parameter("the private key", format!("that of {}", self.key.public()), allowed));
        }
        if let Some(path) = &self.transcript {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if fs::exists(path).unwrap_or(true) || folder.is_some_and(|folder| !folder.is_dir()) {
                let allowed = "a new file in an existing directory: a transcript is never overwritten";
                return Err(Error::parameter("the transcript", path.display(), allowed));
            }
        }
        let plan = self.task.plan();
        self.account(&plan).check_budget()?;
        Ok(plan)
    }

    /// The plan, if this statistic may be run under it, and charged to this dataset.
    fn admit(&self, statistic: &dyn Statistic) -> Result<Plan> {
        statistic.check(self.task)?;
        match self.ledger.conflict(statistic.origins(), Use::Charged(self.dataset))? {
            None => self.plan(),
            Some(owner) => {
                let Dataset { name, budget, .. } = owner.account.dataset;
                Err(Error::OtherBudget { owner: name, budget: budget.to_string(), dataset: self.dataset.to_owned() })
            }
        }
    }

    fn account<'all>(&'all self, plan: &'all Plan) -> Account<'all> {
        let party = &self.task.parties()[self.place].name;
        Account { ledger: self.ledger, dataset: self.dataset, task: self.task, plan, party }
    }

    /// Takes part over the network.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run(&self, listener: TcpListener, statistic: &mut dyn Statistic) -> Result<Outcome> {
        let largest = self.task.shape().largest_frame();
        self.run_over(|| Mesh::start(self.task.parties(), self.place, self.key, listener, largest), statistic)
    }

    /// Takes part over any transport, which is created once the proposed attempt is durable.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run_over<T: Transport>(
        &self,
        transport: impl FnOnce() -> Result<T>,
        statistic: &mut dyn Statistic,
    ) -> Result<Outcome> {
        let plan = self.admit(statistic)?;
        let attempt = self.state.next(self.task.hash())?;
        self.state.mark_used(self.task.hash(), attempt)?;
        let transport = transport()?;
        let (task, me, key, times) = (self.task, self.place, self.key, self.times);
        let session = Session::new(Seat { task, plan: &plan, me, key, times }, transport, attempt);
        let mut resources = PartyResources {
            party: self,
            plan: &plan,
            statistic,
            charged: Accounting::Unaccounted,
            file: PathBuf::new(),
        };
        let (release, transcript) = session.run(&mut resources)?;
        Ok(Outcome { release, transcript, file: resources.file })
    }
}

/// What belongs to one party.
struct PartyResources<'party> {
    party: &'party Party<'party>,
    plan: &'party Plan,
    statistic: &'party mut dyn Statistic,
    /// The ledger entry of the attempt.
    charged: Accounting,
    file: PathBuf,
}

impl Resources for PartyResources<'_> {
    fn mark_used(&mut self, attempt: u32) -> Result<()> {
        self.party.state.mark_used(self.party.task.hash(), attempt)
    }

    fn start(&mut self, attempt: u32) -> Result<Permit> {
        let permit = self.party.account(self.plan).start(attempt)?;
        self.charged = permit.accounting().clone();
        Ok(permit)
    }

    fn statistic(&mut self, secret: [u8; 32]) -> Result<Vec<i64>> {
        let exact = || self.statistic.exact(self.party.task, secret);
        self.party.ledger.compute(&self.charged, exact)?.map_err(Error::Statistic)
    }

    fn write_transcript(&mut self, transcript: &Transcript) -> Result<()> {
        let hash = self.party.task.hash();
        let default = || self.party.state.transcript(hash, transcript.attempt);
        self.file = self.party.transcript.clone().unwrap_or_else(default);
        transcript.write(&self.file)
    }
}
