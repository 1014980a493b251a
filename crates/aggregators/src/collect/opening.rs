//! Opening a batch: the charge becomes durable, then the batch, then this aggregator's noisy share of the sums.

use reticent::ledger::{Accounting, Charge, Ledger, OnInterruption, ReleaseOutcome, Releases, RunResult};
use reticent::{Permit, hexadecimal};
use reticent_party::hex::Digest;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::{Aggregator, Budget, Verified};
use crate::error::{Error, Result};
use crate::record::Record;
use crate::statistic::{ADJACENCY, UNIT};
use crate::store::Store;
use crate::sums::Sums;
use crate::task::Task;

/// What the ledger stores for a batch.
#[derive(Serialize, Deserialize)]
struct Kept {
    share: String,
    accounting: Accounting,
}

impl Kept {
    fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|_| Self::damaged())
    }

    fn damaged() -> Error {
        Error::parameter("the ledger's release", "not a share", "what was kept there")
    }
}

impl Aggregator<'_> {
    /// This aggregator's noisy share of the sums. Charge, batch and share are durable when it returns; for the same
    /// batch it costs nothing again and returns the same share.
    pub(super) fn open(&mut self, batch: Digest, verified: &Verified) -> Result<(Zeroizing<Vec<u8>>, Accounting)> {
        let charge = self.charge_for(batch, verified.accepted.len() as u64);
        match &mut self.budget {
            Budget::Ledger(ledger, _) => {
                let (store, task) = (&mut *self.store, self.task);
                let begin = |store: &mut Store| store.begin(batch, &verified.accepted);
                let opened = |mut permit: Permit| -> Result<RunResult> {
                    begin(store)?;
                    let Noisy { share, accounting, .. } = noisy(task, &verified.sums, &mut permit)?;
                    let kept = Kept { share: hexadecimal::write(&share), accounting };
                    Ok(RunResult::Released(serde_json::to_string(&kept).expect("it is plain data")))
                };
                // Adding up shares cannot fail because of their content: an interrupted batch is opened now.
                let kept = match ledger.release(&charge, OnInterruption::Recompute, opened)? {
                    ReleaseOutcome::Fresh(kept) => kept,
                    ReleaseOutcome::Replayed(kept) => {
                        begin(self.store)?;
                        kept
                    }
                    ReleaseOutcome::Unfinished => unreachable!("it is computed again"),
                };
                let kept = Kept::read(&kept)?;
                let share = hexadecimal::read(&kept.share).ok_or_else(Kept::damaged)?;
                Ok((Zeroizing::new(share), kept.accounting))
            }
            Budget::Unaccounted(permit) => {
                self.store.begin(batch, &verified.accepted)?;
                let noisy = noisy(self.task, &verified.sums, permit)?;
                Ok((noisy.share, noisy.accounting))
            }
            #[cfg(feature = "test-util")]
            Budget::Silent => {
                self.store.begin(batch, &verified.accepted)?;
                Ok((verified.sums.encode(), Accounting::Unaccounted))
            }
        }
    }

    /// The ledger entry of an opened batch, which this aggregator charged before it took part in opening it.
    pub(super) fn accounting(&self, record: &Record) -> Result<Accounting> {
        let Budget::Ledger(ledger, _) = &self.budget else { return Ok(Accounting::Unaccounted) };
        let charge = self.charge_for(record.batch(), record.reports());
        let known = ledger.request(&charge.dataset, &charge.request)?.filter(|(known, _)| *known == charge);
        match known {
            Some((_, receipt)) => Ok(Accounting::Charged(receipt)),
            None => {
                let Charge { dataset, request, .. } = charge;
                Err(reticent_ledger::Error::NotCharged { dataset, request }.into())
            }
        }
    }

    /// The charge for a batch, always under the same request.
    fn charge_for(&self, batch: Digest, reports: u64) -> Charge {
        Charge {
            dataset: if let Budget::Ledger(_, dataset) = &self.budget { (*dataset).to_owned() } else { String::new() },
            request: format!("aggregators {} {batch}", self.task.hash()),
            caller: self.task.aggregators()[self.place].name.clone(),
            description: description(self.task, reports),
            unit: UNIT.to_owned(),
            adjacency: ADJACENCY,
            guarantee: self.task.guarantee().clone(),
            releases: Releases::Once,
        }
    }
}

/// An aggregator's share of the sums, with its share of the noise.
///
/// # Privacy
/// Without this share nothing is known of the sums; with it and all others' shares, the sums with everyone's noise are
/// known. If at most t aggregators collude, the noise of the others is at least that of one curator:
/// [`Plan`](reticent::multiparty::Plan). Each aggregator is responsible for adding its own noise: one honest aggregator
/// is enough for t = m − 1.
pub(crate) fn noisy(task: &Task, sums: &Sums, permit: &mut Permit) -> Result<Noisy> {
    let (noise, accounting) = task.plan().noise_alone(permit)?;
    let mut sums = sums.clone();
    sums.add_numbers(&noise);
    Ok(Noisy { share: sums.encode(), noise, accounting })
}

/// The result of [`noisy`].
pub(crate) struct Noisy {
    /// The share to open.
    pub share: Zeroizing<Vec<u8>>,
    /// The noise in it, known to this aggregator alone.
    #[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "for audits"))]
    pub noise: Zeroizing<Vec<i64>>,
    pub accounting: Accounting,
}

fn description(task: &Task, reports: u64) -> String {
    format!(
        "{:?}: {} of {reports} reports, added up by {} aggregators of whom at most {} collude",
        task.title(),
        task.statistic().names().join(", "),
        task.aggregators().len(),
        task.colluders()
    )
}
