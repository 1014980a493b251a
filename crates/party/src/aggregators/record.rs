//! What the aggregators have opened: for whoever reads the result and trusts none of them alone.

use reticent::hexadecimal;
use serde::{Deserialize, Serialize};

use super::task::Task;
use crate::error::{Error, Result};
use crate::hex::{Digest, sha256};
use crate::keys::Signature;

const VERSION: u32 = 1;
/// What a statement begins with, so that it is a statement of nothing else.
const DOMAIN: &[u8] = b"reticent aggregators 1 result\n";

/// The result of a collection, as all aggregators signed it: a collector's input.
///
/// # Privacy
/// Each share is random without the others; together they are the noisy sums and nothing else. The number of reports, and of those
/// that were dropped, is in it: that clients took part is not hidden in this model.
///
/// # Accuracy
/// Signatures show that all aggregators opened these shares for these reports. An aggregator that lies about its share falsifies
/// the sums, and nobody can tell: there is no proof about the addition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    version: u32,
    task: Digest,
    batch: Digest,
    reports: u64,
    dropped: u64,
    shares: Vec<String>,
    signatures: Vec<Signature>,
}

impl Record {
    pub(super) fn new(task: &Task, batch: Digest, reports: u64, dropped: u64, shares: Vec<Vec<u8>>) -> Self {
        let shares = shares.iter().map(|share| hexadecimal::write(share)).collect();
        Self { version: VERSION, task: task.hash(), batch, reports, dropped, shares, signatures: Vec::new() }
    }

    /// Reads a record and checks all that can be checked: that it is of this task and signed by all aggregators.
    ///
    /// # Errors
    /// If it is not.
    pub fn read(text: &str, task: &Task) -> Result<Self> {
        let wrong = |value: &str, allowed: &str| Error::parameter("the record", value, allowed);
        let record: Self = serde_json::from_str(text).map_err(|error| wrong("damaged", &error.to_string()))?;
        if record.version != VERSION || record.task != task.hash() {
            return Err(wrong("of another task", "of the task that is given"));
        }
        if record.reports < task.minimum_reports() || record.reports > task.maximum_reports() {
            return Err(wrong("of too few or too many reports", "of a batch as the task allows it"));
        }
        record.sums(task)?;
        match record.unsigned_by(task) {
            Some(place) => {
                let name = &task.aggregators()[place].name;
                Err(wrong(&format!("not signed by {name}"), "signed by all aggregators"))
            }
            None => Ok(record),
        }
    }

    /// As many bytes as a record of this task may have, and some more.
    pub(super) fn most_bytes(task: &Task) -> usize {
        const EACH: usize = 512;
        (task.aggregators().len() + 1) * (2 * task.scheme().nothing().length() + EACH)
    }

    /// As it is written to a file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record is plain data")
    }

    /// The noisy sums: all shares added up, read as signed numbers. Their error bar is that of [`Task::plan`].
    ///
    /// # Errors
    /// If there is not one share of the right form for each aggregator.
    pub fn sums(&self, task: &Task) -> Result<Vec<i64>> {
        let wrong = || Error::parameter("the record", "of another form", "one share of the sums for each aggregator");
        if self.shares.len() != task.aggregators().len() {
            return Err(wrong());
        }
        let mut total = task.scheme().nothing();
        for share in &self.shares {
            let bytes = hexadecimal::read(share).ok_or_else(wrong)?;
            total.merge(&total.decode_alike(&bytes).ok_or_else(wrong)?);
        }
        // A sum's reports are counted from the lower end of their range; how many there are is public.
        let offset = task.statistic().lower() * self.reports as i64;
        Ok(total.numbers().into_iter().map(|number| number.saturating_add(offset)).collect())
    }

    /// Which reports it is about: two batches never share one.
    pub fn batch(&self) -> Digest {
        self.batch
    }

    /// How many reports were counted.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// How many reports proved nothing and were not counted.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// What all aggregators sign.
    pub(super) fn statement(&self) -> Vec<u8> {
        let shares: Vec<&[u8]> = self.shares.iter().flat_map(|share| [share.as_bytes(), b"\n"]).collect();
        let numbers = [self.reports.to_le_bytes(), self.dropped.to_le_bytes()].concat();
        let parts = [self.task.0.as_slice(), &self.batch.0, &numbers].into_iter().chain(shares);
        [DOMAIN, &sha256(parts).0].concat()
    }

    pub(super) fn signed(&mut self, signatures: Vec<Signature>) {
        self.signatures = signatures;
    }

    /// The first aggregator whose signature is not there.
    pub(super) fn unsigned_by(&self, task: &Task) -> Option<usize> {
        let statement = self.statement();
        let signed = |place: usize| {
            let signature = self.signatures.get(place);
            signature.is_some_and(|signature| task.aggregators()[place].key.has_signed(&statement, signature))
        };
        (0..task.aggregators().len()).find(|&place| !signed(place))
    }
}
