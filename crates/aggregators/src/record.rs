//! What the aggregators have opened, for readers of the result who trust no single aggregator.

use reticent::hexadecimal;
use reticent::privacy::Epsilon;
use reticent_party::hex::{Digest, sha256};
use reticent_party::keys::Signature;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::task::Task;

const VERSION: u32 = 1;
/// Domain separation: a signed statement means nothing else.
const DOMAIN: &[u8] = b"reticent aggregators 1 result\n";

/// The result of a collection, signed by all aggregators: a collector's input.
///
/// # Privacy
/// Each share is random without the others; together they reveal the noisy sums and nothing else. The record contains
/// the numbers of counted and of dropped reports: participation is not hidden in this model.
///
/// # Accuracy
/// The signatures show that all aggregators opened these shares for these reports. An aggregator that lies about its
/// share falsifies the sums undetectably: the addition is not proved.
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
    pub(crate) fn new(task: &Task, batch: Digest, reports: u64, dropped: u64, shares: Vec<Vec<u8>>) -> Self {
        let shares = shares.iter().map(|share| hexadecimal::write(share)).collect();
        Self { version: VERSION, task: task.hash(), batch, reports, dropped, shares, signatures: Vec::new() }
    }

    /// Reads a record and checks everything that can be checked: that it is for this task and signed by all
    /// aggregators.
    ///
    /// # Errors
    /// If it is not.
    pub fn read(text: &str, task: &Task) -> Result<Self> {
        let wrong = |value: &str, allowed: &str| Error::parameter("the record", value, allowed);
        let record: Self = serde_json::from_str(text).map_err(|error| wrong("damaged", &error.to_string()))?;
        if record.version != VERSION || record.task != task.hash() {
            return Err(wrong("for another task", "for the given task"));
        }
        if record.reports < task.minimum_reports() || record.reports > task.maximum_reports() {
            return Err(wrong("of too few or too many reports", "of a batch size the task allows"));
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

    /// An upper limit on the size of a record of this task.
    pub(crate) fn most_bytes(task: &Task) -> usize {
        const EACH: usize = 512;
        (task.aggregators().len() + 1) * (2 * task.scheme().nothing().length() + EACH)
    }

    /// The record as JSON, as written to a file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record is plain data")
    }

    /// The noisy sums: all shares added up, read as signed numbers. For their error bar see [`Task::plan`].
    ///
    /// # Errors
    /// If there is not one well-formed share per aggregator.
    pub fn sums(&self, task: &Task) -> Result<Vec<i64>> {
        let wrong = || Error::parameter("the record", "malformed", "one share of the sums for each aggregator");
        if self.shares.len() != task.aggregators().len() {
            return Err(wrong());
        }
        let mut total = task.scheme().nothing();
        for share in &self.shares {
            let bytes = hexadecimal::read(share).ok_or_else(wrong)?;
            total.merge(&total.decode_alike(&bytes).ok_or_else(wrong)?);
        }
        // A sum's reports are offset from the lower end of their range; their number is public.
        let offset = task.statistic().lower() * self.reports as i64;
        Ok(total.numbers().into_iter().map(|number| number.saturating_add(offset)).collect())
    }

    /// [`Record::sums`], each with its name.
    ///
    /// # Errors
    /// As [`Record::sums`].
    pub fn named_sums<'task>(&self, task: &'task Task) -> Result<Vec<(&'task str, i64)>> {
        Ok(task.statistic().names().into_iter().zip(self.sums(task)?).collect())
    }

    /// The result for programs: one object for each sum, then a summary.
    ///
    /// # Errors
    /// As [`Record::sums`].
    pub fn to_json_lines(&self, task: &Task) -> Result<Vec<Value>> {
        let half_width = task.plan().error_bar().half_width();
        let line = |(name, value)| json!({ "name": name, "value": value, "half_width": half_width });
        let mut lines: Vec<Value> = self.named_sums(task)?.into_iter().map(line).collect();
        let losses = task.plan().losses().iter().map(Epsilon::to_f64).collect::<Vec<_>>();
        lines.push(json!({ "summary": {
            "task": task.hash(), "batch": self.batch, "reports": self.reports, "dropped": self.dropped,
            "guarantee": task.guarantee().to_string(), "epsilon_by_colluding_aggregators": losses,
        }}));
        Ok(lines)
    }

    /// The identifier of its batch. No report is in two batches.
    pub fn batch(&self) -> Digest {
        self.batch
    }

    /// How many reports were counted.
    pub fn reports(&self) -> u64 {
        self.reports
    }

    /// How many invalid reports were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The statement all aggregators sign.
    pub(crate) fn statement(&self) -> Vec<u8> {
        let shares: Vec<&[u8]> = self.shares.iter().flat_map(|share| [share.as_bytes(), b"\n"]).collect();
        let numbers = [self.reports.to_le_bytes(), self.dropped.to_le_bytes()].concat();
        let parts = [self.task.0.as_slice(), &self.batch.0, &numbers].into_iter().chain(shares);
        [DOMAIN, &sha256(parts).0].concat()
    }

    pub(crate) fn signed(&mut self, signatures: Vec<Signature>) {
        self.signatures = signatures;
    }

    /// The first aggregator whose valid signature is missing.
    pub(crate) fn unsigned_by(&self, task: &Task) -> Option<usize> {
        let statement = self.statement();
        let signed = |place: usize| {
            let signature = self.signatures.get(place);
            signature.is_some_and(|signature| task.aggregators()[place].key.has_signed(&statement, signature))
        };
        (0..task.aggregators().len()).find(|&place| !signed(place))
    }
}
