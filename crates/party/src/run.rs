//! A party's process, from its configuration to its result.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use reticent::ledger::{Accounting, Ledger};
use reticent::multiparty::Plan;
use reticent::{Permit, Release};
use reticent_ledger::DurableLedger;

use crate::charge::Account;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::keys::PrivateKey;
use crate::session::{Own, Seat, Session};
use crate::state::State;
use crate::task::Task;
use crate::times::Times;
use crate::transcript::Transcript;
use crate::transport::{Mesh, Transport};

/// Where a party's exact numbers come from.
pub trait Statistic {
    /// Does this statistic have the numbers of the task: its cells, their steps, and at most its sensitivity? Asked before anything is
    /// charged or sent.
    ///
    /// # Errors
    /// If not: the guarantee would not hold, or the sum would mean something else.
    fn check(&self, task: &Task) -> Result<()>;

    /// The exact statistic of this party's rows, one number for each cell of the task, in steps of its grid.
    ///
    /// Asked for once, after the charge is durable and all parties are ready. The secret was drawn by the charge's own generator: it decides
    /// whatever is left to chance, such as which of a unit's rows count.
    ///
    /// # Errors
    /// A text that does not depend on what is in the rows.
    fn exact(&mut self, task: &Task, secret: [u8; 32]) -> Result<Vec<i64>, String>;
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// The noisy sums over all parties, in the order of the task's cells.
    pub release: Release<Vec<i64>>,
    /// All that was said, as it was kept.
    pub transcript: Transcript,
    /// Where it was kept.
    pub file: PathBuf,
}

/// One party, ready to take part.
#[derive(Debug, Clone)]
pub struct Party<'party> {
    /// What is done.
    pub task: &'party Task,
    /// Which of the task's parties this is.
    pub place: usize,
    /// Its private key.
    pub key: &'party PrivateKey,
    /// Its ledger.
    pub ledger: &'party DurableLedger,
    /// Whose budget is charged.
    pub dataset: &'party str,
    /// Which attempts it has used.
    pub state: &'party State,
    /// How long is waited for what.
    pub times: Times,
    /// Where the transcript goes; in the state directory if it is not told.
    pub transcript: Option<PathBuf>,
}

/// Takes part in a task as a configuration says. Do not call it where a future runs.
///
/// The task is the one that is given here; `config.task`, the file, is not read again. So what runs is what was
/// [checked](Statistic::check), whatever becomes of the file.
///
/// # Privacy
/// The order is: nothing is read or sent before statistic, key, task, plan and ledger are known to go together; the attempt is durable before
/// the first message; the charge is durable before any row is looked at; the contribution is sent only when all parties have said
/// that they have the same task, have heard the same, and have charged, too; the transcript is durable before the result is shown.
///
/// # Errors
/// If something does not go together; if there is not enough budget left; if the parties do not come to an end together
/// ([`Error::Aborted`]). What was charged is kept.
pub fn run(config: &Config, task: &Task, statistic: &mut dyn Statistic) -> Result<Outcome> {
    statistic.check(task)?;
    with_party(config, task, State::open, |party, listener| party.run(listener, statistic))
}

/// Checks all that [`run`] needs, as it does, and stops before the first message. Nothing is charged, sent or kept: a state directory
/// that does not exist yet is not created.
///
/// # Errors
/// As [`run`] would be refused before it sends anything.
pub fn check(config: &Config, task: &Task, statistic: &dyn Statistic) -> Result<()> {
    statistic.check(task)?;
    with_party(config, task, State::look, |party, _| party.state.next(party.task.hash()).map(drop))
}

/// What a configuration says, checked, with a listener that is bound.
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
    /// Do key, task and ledger go together, and is there enough budget left? Nothing is charged or sent.
    ///
    /// # Errors
    /// If not.
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
                let allowed = "a file that does not exist yet in a folder that does: a transcript is never overwritten";
                return Err(Error::parameter("the transcript", path.display(), allowed));
            }
        }
        let plan = self.task.plan()?;
        self.account(&plan).look()?;
        Ok(plan)
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

    /// Takes part over any transport, which is made when the proposed attempt is durable.
    ///
    /// # Errors
    /// As for [`run`].
    pub fn run_over<T: Transport>(
        &self,
        transport: impl FnOnce() -> Result<T>,
        statistic: &mut dyn Statistic,
    ) -> Result<Outcome> {
        statistic.check(self.task)?;
        let plan = self.plan()?;
        let attempt = self.state.next(self.task.hash())?;
        self.state.use_up(self.task.hash(), attempt)?;
        let transport = transport()?;
        let (task, me, key, times) = (self.task, self.place, self.key, self.times);
        let session = Session::new(Seat { task, plan: &plan, me, key, times }, transport, attempt);
        let mut house =
            House { party: self, plan: &plan, statistic, charged: Accounting::Unaccounted, file: PathBuf::new() };
        let (release, transcript) = session.run(&mut house)?;
        Ok(Outcome { release, transcript, file: house.file })
    }
}

/// What a party has of its own.
struct House<'house> {
    party: &'house Party<'house>,
    plan: &'house Plan,
    statistic: &'house mut dyn Statistic,
    /// Where the attempt was charged.
    charged: Accounting,
    file: PathBuf,
}

impl Own for House<'_> {
    fn use_up(&mut self, attempt: u32) -> Result<()> {
        self.party.state.use_up(self.party.task.hash(), attempt)
    }

    fn charge(&mut self, attempt: u32) -> Result<Permit> {
        let permit = self.party.account(self.plan).charge(attempt)?;
        self.charged = permit.accounting().clone();
        Ok(permit)
    }

    fn statistic(&mut self, secret: [u8; 32]) -> Result<Vec<i64>> {
        let failure = match self.statistic.exact(self.party.task, secret) {
            Ok(statistic) => return Ok(statistic),
            Err(failure) => failure,
        };
        if let Accounting::Charged(receipt) = &self.charged {
            self.party.ledger.fail(receipt, &failure)?;
        }
        Err(Error::Statistic(failure))
    }

    fn keep(&mut self, transcript: &Transcript) -> Result<()> {
        let hash = self.party.task.hash();
        let default = || self.party.state.transcript(hash, transcript.attempt);
        self.file = self.party.transcript.clone().unwrap_or_else(default);
        transcript.write(&self.file)
    }
}
