//! All aggregators and clients in one process: to try out a task, and to examine an adversary's view.

use std::thread;
use std::time::Duration;

use reticent::Permit;
use reticent_party::keys::PrivateKey;
use reticent_party::times::Times;
use reticent_party::transport::{Memory, Transport};

use crate::collect::{Aggregator, Collected};
use crate::error::{Error, Result};
use crate::record::Record;
use crate::report::Report;
use crate::rounds::Rounds;
use crate::statistic::Answer;
use crate::store::Store;
use crate::task::{Draft, Task};

/// Nothing is slow within one process.
const TIMES: Times =
    Times { join: Duration::from_secs(600), round: Duration::from_secs(600), linger: Duration::from_secs(0) };

/// A task whose aggregators all run in this process.
pub struct Simulated {
    task: Task,
    keys: Vec<PrivateKey>,
    stores: Vec<Store>,
}

impl Simulated {
    /// The same task with temporary keys, so its hash differs.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn new(mut draft: Draft) -> Result<Self> {
        let keys: Vec<PrivateKey> =
            draft.aggregators.iter().map(|_| Ok(PrivateKey::generate()?)).collect::<Result<_>>()?;
        draft.aggregators.iter_mut().zip(&keys).for_each(|(site, key)| site.key = key.public());
        let task = Task::new(draft)?;
        let stores = (0..keys.len()).map(|place| Store::in_memory(&task, place)).collect::<Result<_>>()?;
        Ok(Self { task, keys, stores })
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// One aggregator's store.
    pub fn store(&mut self, place: usize) -> &mut Store {
        &mut self.stores[place]
    }

    /// Sends a client's report to all aggregators.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn send(&mut self, report: &Report) -> Result<()> {
        for (store, share) in self.stores.iter_mut().zip(report.shares()) {
            store.receive([share.as_slice()])?;
        }
        Ok(())
    }

    /// Answers on behalf of many clients.
    ///
    /// # Errors
    /// If memory runs out.
    pub fn answer(&mut self, answers: impl IntoIterator<Item = Answer>) -> Result<()> {
        let reports: Vec<Report> =
            answers.into_iter().map(|answer| Report::new(&self.task, answer)).collect::<Result<_>>()?;
        for (place, store) in self.stores.iter_mut().enumerate() {
            store.receive(reports.iter().map(|report| report.shares()[place].as_slice()))?;
        }
        Ok(())
    }

    /// Runs one collection; returns each aggregator's result. Nothing is charged, and the releases say so.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn collect(&mut self) -> Result<Vec<Result<Collected>>> {
        let permits: Vec<Permit> = self.keys.iter().map(|_| Ok(Permit::unaccounted()?)).collect::<Result<_>>()?;
        let mut permits = permits.into_iter();
        self.collect_with(|task, place, key, store| {
            Aggregator::unaccounted(task, place, key, store, permits.next().expect("there is one for each"))
        })
    }

    /// Runs one collection without noise.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    #[cfg(feature = "test-util")]
    pub fn collect_silently(&mut self) -> Result<Vec<Result<Collected>>> {
        self.collect_with(Aggregator::silent)
    }

    /// Runs one collection with custom aggregators.
    ///
    /// # Errors
    /// If one cannot be constructed.
    pub fn collect_with<'all>(
        &'all mut self,
        aggregator: impl FnMut(&'all Task, usize, &'all PrivateKey, &'all mut Store) -> Result<Aggregator<'all>>,
    ) -> Result<Vec<Result<Collected>>> {
        let network = Memory::network(self.keys.len());
        self.collect_over(network, TIMES, aggregator)
    }

    /// Runs one collection over any network.
    pub(crate) fn collect_over<'all>(
        &'all mut self,
        network: Vec<impl Transport + Send>,
        times: Times,
        mut aggregator: impl FnMut(&'all Task, usize, &'all PrivateKey, &'all mut Store) -> Result<Aggregator<'all>>,
    ) -> Result<Vec<Result<Collected>>> {
        let mut parties = Vec::new();
        for (place, ((key, store), end)) in self.keys.iter().zip(&mut self.stores).zip(network).enumerate() {
            let rounds = Rounds::new(&self.task, place, end, times)?;
            parties.push((aggregator(&self.task, place, key, store)?, rounds));
        }
        Ok(thread::scope(|scope| {
            let running: Vec<_> = parties
                .into_iter()
                .map(|(mut aggregator, mut rounds)| scope.spawn(move || aggregator.collect(&mut rounds)))
                .collect();
            running.into_iter().map(|thread| thread.join().expect("no aggregator panics")).collect()
        }))
    }
}

/// Simulates clients and aggregators; returns the result as the first aggregator has it.
///
/// # Errors
/// If the task is invalid, or there are too few answers.
///
/// # Example
/// ```
/// use reticent_aggregators::{Draft, simulate};
///
/// # let key = || reticent_party::PrivateKey::generate().unwrap().public();
/// # let sites = format!("[[aggregator]]\nname = 'a'\nkey = '{}'\naddress = 'localhost:1'\nreports = 'localhost:3'\n[[aggregator]]\nname = 'b'\nkey = '{}'\naddress = 'localhost:2'\nreports = 'localhost:4'", key(), key());
/// let draft: Draft = toml::from_str(&format!(r#"
///     title = "Do you sleep well?"
///     statistic = "count"
///     epsilon = 1
///     colluders = 1
///     minimum_reports = 50
///     {sites}
/// "#)).unwrap();
/// let (release, record) = simulate(draft, (0..100).map(|client| client % 4))?;
/// assert!((release.value()[0] - 75).abs() < 40);
/// assert_eq!(record.reports(), 100);
/// # Ok::<(), reticent_aggregators::Error>(())
/// ```
pub fn simulate(draft: Draft, answers: impl IntoIterator<Item = i64>) -> Result<(reticent::Release<Vec<i64>>, Record)> {
    let mut simulated = Simulated::new(draft)?;
    let statistic = simulated.task.statistic().clone();
    simulated.answer(answers.into_iter().map(|answer| statistic.number(answer)))?;
    match simulated.collect()?.swap_remove(0)? {
        Collected::Released { release, record } => Ok((*release, *record)),
        Collected::TooFew { accepted, .. } => {
            let allowed = format!("at least minimum_reports, which is {}", simulated.task.minimum_reports());
            Err(Error::parameter("the number of answers", accepted, allowed))
        }
    }
}
