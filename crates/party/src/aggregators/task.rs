//! What clients and aggregators agree on: immutable, the same file for all, hashed into every report.

use std::path::Path;
use std::str::FromStr;

use reticent::multiparty::{Plan, Protocol};
use reticent::privacy::{Epsilon, Guarantee};
use serde::{Deserialize, Serialize};

use super::field::ROOM;
use super::scheme::Scheme;
use super::statistic::Statistic;
use crate::error::{Error, Result};
use crate::file;
use crate::hex::{Digest, sha256};
use crate::keys::PublicKey;
use crate::task::draft::{Member, Number};

/// Two are needed for one not to see everything; more than three are no use to anybody yet.
const AGGREGATORS: std::ops::RangeInclusive<usize> = 2..=3;
/// The most reports of one batch; each takes 16 bytes of a message.
pub const MOST_REPORTS: u64 = 1 << 20;
/// A task file is read as a whole.
const LARGEST_FILE: u64 = 4 << 20;
/// A title.
const LONGEST_LINE: usize = 512;
/// What the hash begins with, so that it is a hash of nothing else.
const DOMAIN: &[u8] = b"reticent aggregators task 1\n";
/// What Prio3's context begins with; the task's hash follows.
const CONTEXT: &[u8] = b"reticent aggregators 1 prio3 ";

/// What is collected, from whom, by whom, and what is promised.
///
/// | field | what it says | default |
/// |---|---|---|
/// | `title` | what clients are asked, in words | – |
/// | `statistic` | `count`, `sum` or `histogram` | – |
/// | `lower`, `upper` | the range of a client's number, for `sum` only; beyond it is clamped | – |
/// | `buckets` | the buckets' names, for `histogram` only | – |
/// | `epsilon` | what is promised to each report, and charged by each aggregator for each batch | – |
/// | `allow_large_epsilon` | confirms an epsilon above 10, which promises next to nothing | false |
/// | `colluders` | how many aggregators may pool what they know before less is promised | – |
/// | `minimum_reports` | a batch of fewer reports is not opened | – |
/// | `maximum_reports` | the most reports of a batch; the others wait for the next | 1048576 |
/// | `[[aggregator]]` | `name`, `key`, `address` (for other aggregators) and `reports` (the address for clients) of each of two or three, in the order that counts | – |
///
/// # Example
/// ```
/// # let key = || reticent_party::PrivateKey::generate().unwrap().public();
/// # let (a, b) = (key(), key());
/// use reticent_party::aggregators::Task;
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
/// # Ok::<(), reticent_party::Error>(())
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

/// A task as it is written in TOML: nothing is checked yet, but that there is nothing else in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs, reason = "as the fields of a task")]
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

/// An aggregator, as all others and all clients know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Its name: letters a–z, digits, `-` and `_`.
    pub name: String,
    /// Who it is.
    pub key: PublicKey,
    /// Where other aggregators find it: `HOST:PORT`.
    pub address: String,
    /// Where clients send their reports: `HOST:PORT`.
    pub reports: String,
}

impl Site {
    /// As a member of the aggregators' own network.
    pub(super) fn member(&self) -> Member {
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
    /// If there is none, or it says what a task does not.
    pub fn read(path: &Path) -> Result<Self> {
        file::task(path, LARGEST_FILE, "at most 4 MiB")
    }

    /// Checks a draft.
    ///
    /// # Errors
    /// If it means nothing; what is wrong is named.
    pub fn new(draft: Draft) -> Result<Self> {
        if draft.title.is_empty() || draft.title.len() > LONGEST_LINE || draft.title.chars().any(char::is_control) {
            return Err(Error::parameter("title", &draft.title, "one line of at most 512 bytes"));
        }
        let statistic = statistic(&draft)?;
        statistic.check()?;
        if !AGGREGATORS.contains(&draft.aggregators.len()) {
            return Err(Error::parameter("the number of aggregators", draft.aggregators.len(), "2 or 3"));
        }
        crate::task::members(&draft.aggregators.iter().map(Site::member).collect::<Vec<_>>())?;
        let reports = |site: &Site| Member { address: site.reports.clone(), ..site.member() };
        crate::task::members(&draft.aggregators.iter().map(reports).collect::<Vec<_>>())?;
        if !(1..=MOST_REPORTS).contains(&draft.maximum_reports) {
            return Err(Error::parameter("maximum_reports", draft.maximum_reports, "from 1 to 1048576"));
        }
        if draft.minimum_reports == 0 || draft.minimum_reports > draft.maximum_reports {
            let allowed = format!("from 1 to maximum_reports, which is {}", draft.maximum_reports);
            return Err(Error::parameter("minimum_reports", draft.minimum_reports, allowed));
        }
        crate::task::for_everybody(&draft)?;
        let epsilon: Epsilon = draft.epsilon.text().parse()?;
        Guarantee::Pure(epsilon.clone()).confirmed(draft.allow_large_epsilon)?;
        let plan = plan(&draft, &statistic, &epsilon)?;
        let scheme = Scheme::new(&statistic, draft.aggregators.len() as u8)?;
        let hash = hash(&draft, &epsilon);
        Ok(Self { draft, statistic, epsilon, plan, scheme, hash })
    }

    /// The same for two files exactly if they say the same: order of fields, comments and ways to write a number do not count.
    pub fn hash(&self) -> Digest {
        self.hash
    }

    /// What clients are asked.
    pub fn title(&self) -> &str {
        &self.draft.title
    }

    /// What comes out.
    pub fn statistic(&self) -> &Statistic {
        &self.statistic
    }

    /// What is promised to each report.
    pub fn epsilon(&self) -> &Epsilon {
        &self.epsilon
    }

    /// [`Task::epsilon`] as a promise.
    pub fn guarantee(&self) -> &Guarantee {
        self.plan.guarantee()
    }

    /// How many aggregators may pool what they know.
    pub fn colluders(&self) -> u32 {
        self.draft.colluders
    }

    /// The noise: what each aggregator adds, the error bar of the result, and what holds against more colluders.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// A batch of fewer reports is not opened.
    pub fn minimum_reports(&self) -> u64 {
        self.draft.minimum_reports
    }

    /// The most reports of a batch.
    pub fn maximum_reports(&self) -> u64 {
        self.draft.maximum_reports
    }

    /// Who aggregates, in the order that counts.
    pub fn aggregators(&self) -> &[Site] {
        &self.draft.aggregators
    }

    /// The place of an aggregator.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn place(&self, name: &str) -> Result<usize> {
        self.aggregators().iter().position(|member| member.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.aggregators().iter().map(|member| member.name.as_str()).collect();
            Error::parameter("aggregator", name, format!("one of the task's: {}", names.join(", ")))
        })
    }

    pub(super) fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    /// What every share and every proof is bound to: those of another task prove nothing here.
    pub(super) fn context(&self) -> Vec<u8> {
        [CONTEXT, &self.hash.0].concat()
    }
}

/// Each aggregator's part of the sums counts as a party's numbers; what masks are there, secret shares are here.
fn plan(draft: &Draft, statistic: &Statistic, epsilon: &Epsilon) -> Result<Plan> {
    let parties = draft.aggregators.len() as u32;
    let protocol = Protocol::Masked { colluders: draft.colluders };
    // At most 2^41·2^20; a sum's lower end is added outside the field.
    let total = statistic.width() * draft.maximum_reports;
    let bound = (total + ROOM).div_ceil(parties.into());
    let bound = i64::try_from(bound).expect("the sum of all reports is at most 2^61");
    Ok(Plan::new(protocol, parties, statistic.cells(), bound, statistic.sensitivity(), epsilon)?)
}

fn hash(draft: &Draft, epsilon: &Epsilon) -> Digest {
    // Fields have a fixed order; the one of many spellings is replaced by what it means.
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
            let allowed = format!("as its documentation says: {}", error.to_string().trim_end());
            Error::parameter("the task", "not a task", allowed)
        })?;
        Self::new(draft)
    }
}
