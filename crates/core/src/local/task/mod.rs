//! Tasks: the question, the mechanism and the end date, fixed before anyone answers.
//!
//! | module | holds |
//! |---|---|
//! | [`builder`] | [`TaskBuilder`]: a task, put together by a program |
//! | [`domain`] | [`Domain`]: the possible answers |
//! | [`day`] | [`Day`]: when a task ends |
//! | [`identity`] | [`TaskId`]: the hash by which every report identifies its task |
//! | `rules` | checks shared by every reader of tasks, the browser's included |

pub mod builder;
pub mod day;
pub mod domain;
pub mod identity;
pub(super) mod rules;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::builder::TaskBuilder;
pub use self::day::Day;
pub use self::domain::{Answer, Domain};
pub(super) use self::identity::Canonical;
pub use self::identity::TaskId;
use super::{FrequencyOracle, OneBitMean, PrefixExtension, RandomisedResponse};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::privacy::{Epsilon, Guarantee};
use crate::statistic::Grid;

/// The immutable description of a collection, agreed on by devices and aggregator.
///
/// Every report carries the hash of the whole task, [`Task::id`]: a device that was shown another ε than the aggregator
/// states makes reports that the aggregator rejects. The same structure is written as TOML and as JSON.
///
/// # Privacy
/// The guarantee for a person, ensured by their own device alone: `epsilon` for each randomised answer,
/// `lifetime-epsilon` for all of them together as far as [`Memoisation`] says. Neither depends on the aggregator's
/// honesty.
///
/// # Example
/// ```
/// use reticent::local::{Domain, Task};
///
/// let choices = Domain::choices(["on foot", "by bicycle", "by train", "by car"]);
/// let task = Task::builder("How did you come here today?", choices, "1".parse()?, "2030-01-01".parse()?)
///     .minimum_batch(100)
///     .build()?;
/// assert_eq!(task.mechanism(), "k-ary"); // what `auto` chose is part of the task
/// assert_eq!(task.lifetime_epsilon().to_string(), "1");
/// assert!(task.one_report_each()); // unless the task says otherwise
/// println!("{}", task.id());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Task {
    written: Written,
}

/// The written form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Written {
    question: String,
    #[serde(default = "auto")]
    mechanism: String,
    epsilon: Epsilon,
    #[serde(default)]
    memoisation: Memoisation,
    #[serde(default)]
    lifetime_epsilon: Option<Epsilon>,
    /// Required if the lifetime ε is large, and without meaning otherwise: so it is not hashed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    allow_large_epsilon: bool,
    minimum_batch: u64,
    #[serde(default)]
    time_precision: TimePrecision,
    expires: Day,
    // The last, as tables come last in TOML.
    domain: Domain,
}

fn auto() -> String {
    "auto".into()
}

/// What a device does when it is asked again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Memoisation {
    /// The first response is repeated forever, even if the answer changes. All reports together are ε-differentially
    /// private. A device may report as often as it likes, so reports are not people.
    First,
    /// Each answer is randomised once, and its response is repeated whenever the same answer is given again, until as
    /// many different answers were given as the lifetime ε pays for; then the last response is repeated. A device may
    /// report as often as it likes, so reports are not people.
    ///
    /// *What* a person answers is protected with lifetime-ε. Which answers are equal is not: the response usually changes when
    /// the answer does, and the same response comes back with the same answer. An observer who can link the reports of a
    /// device sees when the answer changes, and whether a later answer equals an earlier one.
    PerAnswer,
    /// Every report is randomised afresh and costs ε again, until the lifetime ε is spent; then the device is silent. With a
    /// lifetime ε below 2ε, and so by default, a device reports exactly once, and reports are people.
    #[default]
    Never,
}

impl Memoisation {
    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::First, Self::PerAnswer, Self::Never].into_iter().find(|known| known.name() == name)
    }

    /// The name used in tasks.
    pub fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::PerAnswer => "per-answer",
            Self::Never => "never",
        }
    }
}

impl FromStr for Memoisation {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| Error::parameter("memoisation", name, "first, per-answer or never"))
    }
}

/// How precisely reports say when they were made. A report's exact time can reveal whose it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimePrecision {
    /// Not at all.
    #[default]
    None,
    /// The hour.
    Hour,
    /// The day (UTC).
    Day,
    /// Seven days, counted from 1 January 1970.
    Week,
}

impl TimePrecision {
    /// The number of the hour, day or week in which a second since 1970 lies.
    pub fn period(self, second: u64) -> Option<u64> {
        self.seconds().map(|seconds| second / seconds)
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Hour, Self::Day, Self::Week].into_iter().find(|known| known.name() == name)
    }

    fn seconds(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Hour => Some(3600),
            Self::Day => Some(day::SECONDS),
            Self::Week => Some(7 * day::SECONDS),
        }
    }

    /// The name used in tasks.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }
}

impl FromStr for TimePrecision {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::named(name).ok_or_else(|| Error::parameter("time-precision", name, "none, hour, day or week"))
    }
}

/// A mechanism that is ready to randomise answers and to decode reports.
#[derive(Debug, Clone)]
pub enum Randomiser {
    /// Two fair coins, for two choices.
    Coins(RandomisedResponse),
    /// How common each choice is.
    Choices(FrequencyOracle),
    /// The mean of numbers: whole ones, or steps of a grid.
    Mean(OneBitMean),
    /// Common texts.
    Texts(PrefixExtension),
}

impl Task {
    /// The minimum number of reports for an estimate.
    pub fn minimum_batch(&self) -> u64 {
        self.written.minimum_batch
    }

    /// The question that people are asked.
    pub fn question(&self) -> &str {
        &self.written.question
    }

    /// The possible answers.
    pub fn domain(&self) -> &Domain {
        &self.written.domain
    }

    /// The mechanism's name, never `auto`.
    pub fn mechanism(&self) -> &str {
        &self.written.mechanism
    }

    /// ε of one randomised answer.
    pub fn epsilon(&self) -> &Epsilon {
        &self.written.epsilon
    }

    /// The guarantee of one randomised answer, and its cost.
    pub fn guarantee(&self) -> Guarantee {
        Guarantee::Pure(self.written.epsilon.clone())
    }

    /// What a device does when it is asked again.
    pub fn memoisation(&self) -> Memoisation {
        self.written.memoisation
    }

    /// ε of everything that a device ever sends for this task, as [`Memoisation`] explains.
    pub fn lifetime_epsilon(&self) -> &Epsilon {
        self.written.lifetime_epsilon.as_ref().unwrap_or(&self.written.epsilon)
    }

    /// How many answers the lifetime ε pays for.
    pub fn lifetime_answers(&self) -> u64 {
        let answers = self.lifetime_epsilon().value() / self.written.epsilon.value();
        u64::try_from(&answers.floor()).unwrap_or(u64::MAX)
    }

    /// Does a device report at most once? Only then does the number of reports equal the number of people, do
    /// [estimates](super::Collection::estimate) have intervals, and does [`Shuffled`](super::Shuffled) apply to all
    /// reports.
    pub fn one_report_each(&self) -> bool {
        self.written.memoisation == Memoisation::Never && self.lifetime_answers() == 1
    }

    /// How precisely reports say when they were made.
    pub fn time_precision(&self) -> TimePrecision {
        self.written.time_precision
    }

    /// The day from whose beginning (UTC) on nothing is reported or collected.
    pub fn expires(&self) -> Day {
        self.written.expires
    }

    /// Has it ended, at a second since 1970?
    pub fn has_expired(&self, second: u64) -> bool {
        second >= self.written.expires.begins()
    }

    /// The hash of the whole task.
    pub fn id(&self) -> TaskId {
        let written = &self.written;
        let mut canonical = Canonical::new();
        canonical.field("question", &written.question);
        written.domain.write(&mut canonical);
        canonical.field("mechanism", &written.mechanism);
        canonical.field("epsilon", &written.epsilon.to_string());
        canonical.field("memoisation", written.memoisation.name());
        canonical.field("lifetime-epsilon", &self.lifetime_epsilon().to_string());
        canonical.field("minimum-batch", &written.minimum_batch.to_string());
        canonical.field("time-precision", written.time_precision.name());
        canonical.field("expires", &written.expires.to_string());
        canonical.hash()
    }

    /// The mechanism, ready for use.
    pub fn randomiser(&self) -> Randomiser {
        randomiser(&self.written).expect("it was made when the task was, and its name makes the same one again")
    }
}

fn randomiser(written: &Written) -> Result<Randomiser> {
    let Written { mechanism, epsilon, .. } = written;
    let only = |name: &'static str, allowed: &'static str| {
        if [name, "auto"].contains(&mechanism.as_str()) {
            Ok(())
        } else {
            Err(Error::parameter("mechanism", mechanism, allowed))
        }
    };
    match &written.domain {
        Domain::Choices(choices) if mechanism == "fair-coin" => {
            let coins = RandomisedResponse::fair_coin();
            if choices.len() != 2 {
                return Err(Error::parameter("mechanism", mechanism, "another one for more than two choices"));
            }
            if coins.guarantee().epsilon() != Some(epsilon) {
                let allowed = "1.0986122886681096914 for two fair coins: ln 3, rounded up";
                return Err(Error::parameter("epsilon", epsilon, allowed));
            }
            Ok(Randomiser::Coins(coins))
        }
        Domain::Choices(choices) => {
            FrequencyOracle::named(mechanism, choices.len() as u64, epsilon).map(Randomiser::Choices)
        }
        Domain::Integers { lower, upper } => {
            only("one-bit", "one-bit or auto for the mean of numbers")?;
            OneBitMean::new(*lower..=*upper, epsilon).map(Randomiser::Mean)
        }
        Domain::Numbers(bounds) => {
            only("one-bit", "one-bit or auto for the mean of numbers")?;
            let grid = Grid::new(bounds);
            OneBitMean::new(grid.lower()..=grid.upper(), epsilon).map(Randomiser::Mean)
        }
        Domain::Texts { alphabet, longest } => {
            only("prefix", "prefix or auto for texts")?;
            PrefixExtension::new(alphabet, *longest, epsilon).map(Randomiser::Texts)
        }
    }
}

impl Randomiser {
    /// The mechanism's name in the task.
    fn name(&self) -> String {
        match self {
            Self::Coins(_) => "fair-coin".into(),
            Self::Choices(oracle) => oracle.name(),
            Self::Mean(_) => "one-bit".into(),
            Self::Texts(_) => "prefix".into(),
        }
    }
}

impl TryFrom<Written> for Task {
    type Error = Error;

    fn try_from(mut written: Written) -> Result<Self> {
        rules::check(&written.question, written.domain.listed(), written.minimum_batch)?;
        let lifetime = written.lifetime_epsilon.clone().unwrap_or_else(|| written.epsilon.clone());
        if lifetime < written.epsilon {
            return Err(Error::parameter("lifetime-epsilon", lifetime, "at least epsilon"));
        }
        if written.memoisation == Memoisation::First && lifetime != written.epsilon {
            return Err(Error::parameter("lifetime-epsilon", lifetime, rules::LIFETIME_OF_FIRST));
        }
        if lifetime.value() / written.epsilon.value() > Rational::from(rules::MOST_ANSWERS) {
            return Err(Error::parameter("lifetime-epsilon", lifetime, rules::LONGEST_LIFETIME));
        }
        let promise = Guarantee::Pure(lifetime.clone()).confirmed(written.allow_large_epsilon);
        let promise = promise.map_err(|error| match lifetime == written.epsilon {
            true => error,
            false => error.named("lifetime-epsilon"),
        })?;
        written.allow_large_epsilon = promise.is_weak();
        written.lifetime_epsilon = Some(lifetime);
        written.mechanism = randomiser(&written)?.name();
        Ok(Self { written })
    }
}

impl From<Task> for Written {
    fn from(task: Task) -> Self {
        task.written
    }
}

#[cfg(test)]
mod tests;
