//! What clients and aggregators agree on: immutable, the same file for all, hashed into every report.

use std::path::Path;
use std::str::FromStr;

use reticent::multiparty::{Plan, Protocol, Sums};
use reticent::privacy::{Epsilon, Guarantee};
use reticent_party::file;
use reticent_party::hex::{Digest, sha256};
use reticent_party::keys::PublicKey;
use reticent_party::task::draft::{Member, Number};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::field::ROOM;
use crate::scheme::Scheme;
use crate::statistic::Statistic;

/// At least two, so that none sees everything; there is no use for more than three yet.
const AGGREGATORS: std::ops::RangeInclusive<usize> = 2..=3;
/// The most reports in one batch; each takes 16 bytes of a message.
pub const MOST_REPORTS: u64 = 1 << 20;
/// A task file is read into memory.
const LARGEST_FILE: u64 = 4 << 20;
/// The longest title, in bytes.
const LONGEST_LINE: usize = 512;
/// Domain separation for the task's hash.
const DOMAIN: &[u8] = b"reticent aggregators task 1\n";
/// The beginning of Prio3's context; the task's hash follows.
const CONTEXT: &[u8] = b"reticent aggregators 1 prio3 ";

/// What is collected, from whom, by whom, and with which guarantee.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `title` | the question clients are asked | – |
/// | `statistic` | `count`, `sum` or `histogram` | – |
/// | `lower`, `upper` | the clamping bounds of a client's number, for `sum` only | – |
/// | `buckets` | the bucket names, for `histogram` only | – |
/// | `epsilon` | the guarantee for each report; each aggregator charges it for each batch | – |
/// | `allow_large_epsilon` | confirms an epsilon above 10, which guarantees next to nothing | false |
/// | `colluders` | how many aggregators may collude before the guarantee weakens | – |
/// | `minimum_reports` | a smaller batch is not opened | – |
/// | `maximum_reports` | the most reports in a batch; the others wait for the next | 1048576 |
/// | `[[aggregator]]` | `name`, `key`, `address` (for other aggregators) and `reports` (the address for clients) of each of two or three, in an order that matters | – |
///
/// # Example
/// ```
/// # let key = || reticent_party::PrivateKey::generate().unwrap().public();
/// # let (a, b) = (key(), key());
/// use reticent_aggregators::Task;
///
/// let task: Task = format!(r#"
///     title = "Minutes in front of a screen yesterday"
///     statistic = "sum"
///     lower = 0
///     upper = 1440
///     epsilon = 1
///     colluders = 1
///     minimum_reports = 100
///     [[aggregator]]
///     name = "ngo"
///     key = "{a}"
///     address = "127.0.0.1:7001"
///     reports = "127.0.0.1:8001"
///     [[aggregator]]
///     name = "institute"
///     key = "{b}"
///     address = "127.0.0.1:7002"
///     reports = "127.0.0.1:8002"
/// "#).parse()?;
/// assert_eq!(task.aggregators().len(), 2);
/// # Ok::<(), reticent_aggregators::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Task {
    draft: Draft,
    statistic: Statistic,
    epsilon: Epsilon,
    plan: Plan,
    scheme: Scheme,
    hash: Digest,
}

/// A task as written in TOML; only checked for unknown fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "documented with the task's fields")]
pub struct Draft {
    pub title: String,
    pub statistic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<String>>,
    pub epsilon: Number,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_large_epsilon: bool,
    pub colluders: u32,
    pub minimum_reports: u64,
    #[serde(default = "most_reports")]
    pub maximum_reports: u64,
    #[serde(rename = "aggregator")]
    pub aggregators: Vec<Site>,
}

impl From<Task> for Draft {
    fn from(task: Task) -> Self {
        task.draft
    }
}

/// An aggregator, as the other aggregators and all clients know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Its name: letters a–z, digits, `-` and `_`.
    pub name: String,
    /// Its public key.
    pub key: PublicKey,
    /// Its address for other aggregators: `HOST:PORT`.
    pub address: String,
    /// Its address for clients' reports: `HOST:PORT`.
    pub reports: String,
}

impl Site {
    /// The aggregator as a member of the aggregators' own network.
    pub(crate) fn member(&self) -> Member {
        Member { name: self.name.clone(), key: self.key, address: self.address.clone() }
    }
}

fn most_reports() -> u64 {
    MOST_REPORTS
}

impl Task {
    /// Reads a task file.
    ///
    /// # Errors
    /// If the file is missing or not a valid task.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(file::task(path, LARGEST_FILE, "at most 4 MiB")?)
    }

    /// Validates a draft.
    ///
    /// # Errors
    /// If it is invalid; the error names the field.
    pub fn new(draft: Draft) -> Result<Self> {
        if draft.title.is_empty() || draft.title.len() > LONGEST_LINE || draft.title.chars().any(char::is_control) {
            return Err(Error::parameter("title", &draft.title, "one line of at most 512 bytes"));
        }
        let statistic = statistic(&draft)?;
        statistic.check()?;
        if !AGGREGATORS.contains(&draft.aggregators.len()) {
            return Err(Error::parameter("the number of aggregators", draft.aggregators.len(), "2 or 3"));
        }
        reticent_party::task::members(&draft.aggregators.iter().map(Site::member).collect::<Vec<_>>())?;
        let reports = |site: &Site| Member { address: site.reports.clone(), ..site.member() };
        reticent_party::task::members(&draft.aggregators.iter().map(reports).collect::<Vec<_>>())?;
        if !(1..=MOST_REPORTS).contains(&draft.maximum_reports) {
            return Err(Error::parameter("maximum_reports", draft.maximum_reports, "from 1 to 1048576"));
        }
        if draft.minimum_reports == 0 || draft.minimum_reports > draft.maximum_reports {
            let allowed = format!("from 1 to maximum_reports, which is {}", draft.maximum_reports);
            return Err(Error::parameter("minimum_reports", draft.minimum_reports, allowed));
        }
        reticent_party::task::for_everybody(&draft)?;
        let epsilon: Epsilon = draft.epsilon.text().parse()?;
        Guarantee::Pure(epsilon.clone()).confirmed(draft.allow_large_epsilon)?;
        let plan = plan(&draft, &statistic, &epsilon)?;
        let scheme = Scheme::new(&statistic, draft.aggregators.len() as u8)?;
        let hash = hash(&draft, &epsilon);
        Ok(Self { draft, statistic, epsilon, plan, scheme, hash })
    }

    /// The task's hash. It depends on the meaning alone, not on the order of fields, comments or the spelling of
    /// numbers.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// The question clients are asked.
    pub fn title(&self) -> &str {
        &self.draft.title
    }

    /// What is released.
    pub fn statistic(&self) -> &Statistic {
        &self.statistic
    }

    /// The guarantee for each report.
    pub fn epsilon(&self) -> &Epsilon {
        &self.epsilon
    }

    /// [`Task::epsilon`] as a guarantee.
    pub fn guarantee(&self) -> &Guarantee {
        self.plan.guarantee()
    }

    /// How many aggregators may collude.
    pub fn colluders(&self) -> u32 {
        self.draft.colluders
    }

    /// The noise: what each aggregator adds, the error bar of the result, and the guarantee against more colluders.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The smallest batch that is opened.
    pub fn minimum_reports(&self) -> u64 {
        self.draft.minimum_reports
    }

    /// The most reports in a batch.
    pub fn maximum_reports(&self) -> u64 {
        self.draft.maximum_reports
    }

    /// The aggregators, in the task's order.
    pub fn aggregators(&self) -> &[Site] {
        &self.draft.aggregators
    }

    /// The index of an aggregator.
    ///
    /// # Errors
    /// If no aggregator has that name.
    pub fn place(&self, name: &str) -> Result<usize> {
        self.aggregators().iter().position(|member| member.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.aggregators().iter().map(|member| member.name.as_str()).collect();
            Error::parameter("aggregator", name, format!("one of the task's: {}", names.join(", ")))
        })
    }

    pub(crate) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// What every share and proof is bound to: those of another task are invalid here.
    pub(crate) fn context(&self) -> Vec<u8> {
        [CONTEXT, &self.hash.0].concat()
    }
}

/// Each aggregator's share of the sums takes the place of a party's numbers, and secret shares that of masks.
fn plan(draft: &Draft, statistic: &Statistic, epsilon: &Epsilon) -> Result<Plan> {
    let parties = draft.aggregators.len() as u32;
    let protocol = Protocol::Masked { colluders: draft.colluders };
    // At most 2^41·2^20; a sum's lower end is added outside the field.
    let total = statistic.width() * draft.maximum_reports;
    let bound = (total + ROOM).div_ceil(parties.into());
    let bound = i64::try_from(bound).expect("the sum of all reports is at most 2^61");
    Ok(Plan::new(
        protocol,
        parties,
        Sums { cells: statistic.cells(), bound, sensitivity: statistic.sensitivity() },
        epsilon,
    )?)
}

fn hash(draft: &Draft, epsilon: &Epsilon) -> Digest {
    // Fields have a fixed order; the one that can be spelled in several ways is replaced by its meaning.
    let rest = Draft { epsilon: Number::Integer(0), ..draft.clone() };
    let text = serde_json::to_vec(&(rest, epsilon)).expect("a task is plain data");
    sha256([DOMAIN, &text])
}

fn statistic(draft: &Draft) -> Result<Statistic> {
    let unwanted = |field: &'static str| Error::parameter(field, "given", format!("left out for {}", draft.statistic));
    let wanted = |field: &'static str| Error::parameter(field, "missing", format!("given for {}", draft.statistic));
    let (range, buckets) = (draft.lower.is_some() || draft.upper.is_some(), draft.buckets.is_some());
    match draft.statistic.as_str() {
        "count" | "histogram" if range => Err(unwanted("the range")),
        "count" | "sum" if buckets => Err(unwanted("buckets")),
        "count" => Ok(Statistic::Count),
        "sum" => Ok(Statistic::Sum {
            lower: draft.lower.ok_or_else(|| wanted("lower"))?,
            upper: draft.upper.ok_or_else(|| wanted("upper"))?,
        }),
        "histogram" => Ok(Statistic::Histogram { buckets: draft.buckets.clone().ok_or_else(|| wanted("buckets"))? }),
        other => Err(Error::parameter("statistic", other, "count, sum or histogram")),
    }
}

impl FromStr for Task {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let draft: Draft = toml::from_str(text).map_err(|error| {
            let allowed = format!("valid TOML with the documented fields: {}", error.to_string().trim_end());
            Error::parameter("the task", "invalid", allowed)
        })?;
        Self::new(draft)
    }
}
