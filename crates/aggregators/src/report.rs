//! One client's report: its answer in shares, one per aggregator.
//!
//! | bytes of a share | content |
//! |---|---|
//! | 1 | the format version, 1 |
//! | 1 | the aggregator's index in the task, from 0 |
//! | 32 | the task's hash |
//! | 16 | the report's random number |
//! | … | the part of the report that all aggregators see, and this aggregator's share |
//!
//! All shares for one aggregator have the same length, whatever the answer.

use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::scheme::{NONCE_BYTES, Nonce};
use crate::statistic::Answer;
use crate::task::Task;

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 1 + 1 + 32 + NONCE_BYTES;

/// A client's report.
///
/// # Privacy
/// Any proper subset of the shares is random, and reveals nothing about the answer. So each share must reach its own
/// aggregator and nobody else; [`upload`](crate::upload()) sends it there over TLS.
///
/// # Example
/// ```
/// # let key = || reticent_party::PrivateKey::generate().unwrap().public();
/// # let text = format!("title = 't'\nstatistic = 'count'\nepsilon = 1\ncolluders = 1\nminimum_reports = 1\n[[aggregator]]\nname = 'a'\nkey = '{}'\naddress = 'localhost:1'\nreports = 'localhost:3'\n[[aggregator]]\nname = 'b'\nkey = '{}'\naddress = 'localhost:2'\nreports = 'localhost:4'", key(), key());
/// use reticent_aggregators::{Report, Task};
///
/// let task: Task = text.parse()?;
/// let report = Report::new(&task, task.statistic().read("yes")?)?;
/// assert_eq!(report.shares().len(), 2);
/// # Ok::<(), reticent_aggregators::Error>(())
/// ```
#[derive(Clone)]
pub struct Report {
    shares: Vec<Zeroizing<Vec<u8>>>,
}

impl Report {
    /// Splits an answer into shares and proves that it is valid. The report gets a new random number.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn new(task: &Task, answer: Answer) -> Result<Self> {
        let mut nonce = [0; NONCE_BYTES];
        random(&mut nonce)?;
        let sharded = task.scheme().shard(&task.context(), answer, &nonce)?;
        let share = |(place, input): (usize, &Vec<u8>)| {
            let mut bytes = Zeroizing::new(Vec::with_capacity(share_length(task, place)));
            bytes.extend_from_slice(&[VERSION, place as u8]);
            bytes.extend_from_slice(&task.hash().0);
            bytes.extend_from_slice(&nonce);
            bytes.extend_from_slice(&sharded.public);
            bytes.extend_from_slice(input);
            bytes
        };
        Ok(Self { shares: sharded.inputs.iter().enumerate().map(share).collect() })
    }

    /// The shares, one per aggregator, in the task's order.
    pub fn shares(&self) -> &[Zeroizing<Vec<u8>>] {
        &self.shares
    }
}

impl std::fmt::Debug for Report {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Report(…)")
    }
}

/// The length of a share for this aggregator.
pub fn share_length(task: &Task, place: usize) -> usize {
    let lengths = task.scheme().lengths();
    HEADER_BYTES + lengths.public + lengths.inputs[place]
}

/// The parts of one aggregator's share of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ShareParts<'bytes> {
    pub nonce: Nonce,
    pub public: &'bytes [u8],
    pub input: &'bytes [u8],
}

/// Parses a share; `None` if it is not for this task and aggregator. The proof is not verified yet.
pub(crate) fn open<'bytes>(task: &Task, place: usize, bytes: &'bytes [u8]) -> Option<ShareParts<'bytes>> {
    if bytes.len() != share_length(task, place) {
        return None;
    }
    let (&[version, owner], rest) = bytes.split_first_chunk()?;
    let (hash, rest) = rest.split_first_chunk::<32>()?;
    let (&nonce, rest) = rest.split_first_chunk::<NONCE_BYTES>()?;
    let (public, input) = rest.split_at_checked(task.scheme().lengths().public)?;
    let ours = version == VERSION && usize::from(owner) == place && reticent_party::hex::Hex(*hash) == task.hash();
    ours.then_some(ShareParts { nonce, public, input })
}

pub(crate) fn random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::Core(reticent::Error::Entropy(error.to_string())))
}
