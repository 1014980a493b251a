//! All parties in one process, through the same rounds: for rehearsals and for the auditor.

use std::thread;
use std::time::Duration;

use reticent::multiparty::Plan;
use reticent::{Permit, Release};

use crate::error::{Error, Result};
use crate::keys::PrivateKey;
use crate::run::Statistic;
use crate::session::{Resources, Seat, Session};
use crate::task::{Member, Task};
use crate::times::Times;
use crate::transcript::Transcript;
use crate::transport::Memory;

/// Parties in one process need not wait for a network; but a query may take its time.
const TIMES: Times =
    Times { join: Duration::from_secs(3600), round: Duration::from_secs(3600), linger: Duration::from_secs(1) };

/// The result of a simulation.
#[derive(Debug)]
pub struct Simulated {
    /// The noisy sums, marked as not accounted for.
    pub release: Release<Vec<i64>>,
    /// The transcript, signed with temporary keys.
    pub transcript: Transcript,
}

/// Runs all parties of a task in this process: the same rounds, messages and signatures, over an in-memory network,
/// with temporary keys (so the task's hash differs). Nothing is charged, and the release says so.
///
/// # Errors
/// If the number of statistics is not the number of parties, or one of them does not fit the task or cannot be computed.
pub fn simulate<S: Statistic + Send>(task: &Task, statistics: Vec<S>) -> Result<Simulated> {
    if statistics.len() != task.parties().len() {
        return Err(Error::parameter("the number of statistics", statistics.len(), "one for each party of the task"));
    }
    statistics.iter().try_for_each(|statistic| statistic.check(task))?;
    let keys: Vec<PrivateKey> = task.parties().iter().map(|_| PrivateKey::generate()).collect::<Result<_>>()?;
    let members = task.parties().iter().zip(&keys);
    let task = task.between(members.map(|(member, key)| Member { key: key.public(), ..member.clone() }).collect())?;
    let plan = task.plan();
    let ends = Memory::network(keys.len()).into_iter().zip(&keys).zip(statistics).enumerate();
    let results: Vec<Result<Simulated>> = thread::scope(|scope| {
        let parties: Vec<_> = ends
            .map(|(me, ((end, key), statistic))| {
                let (task, plan): (&Task, &Plan) = (&task, &plan);
                scope.spawn(move || {
                    let seat = Seat { task, plan, me, key, times: TIMES };
                    let (release, transcript) = Session::new(seat, end, 1).run(&mut Rehearsal { task, statistic })?;
                    Ok(Simulated { release, transcript })
                })
            })
            .collect();
        parties.into_iter().map(|party| party.join().expect("a party does not panic")).collect()
    });
    // A party's own error is more informative than the aborts of all others.
    let mut first = None;
    for result in results {
        match result {
            Err(error) if error.abort().is_none() => return Err(error),
            other => first = first.or(Some(other)),
        }
    }
    first.expect("there is at least one party")
}

/// Charges and stores nothing.
struct Rehearsal<'task, S> {
    task: &'task Task,
    statistic: S,
}

impl<S: Statistic> Resources for Rehearsal<'_, S> {
    fn mark_used(&mut self, _: u32) -> Result<()> {
        Ok(())
    }

    fn start(&mut self, _: u32) -> Result<Permit> {
        Ok(Permit::unaccounted()?)
    }

    fn statistic(&mut self, secret: [u8; 32]) -> Result<Vec<i64>> {
        self.statistic.exact(self.task, secret).map_err(Error::Statistic)
    }

    fn write_transcript(&mut self, _: &Transcript) -> Result<()> {
        Ok(())
    }
}
