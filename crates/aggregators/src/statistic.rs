//! What clients are asked, and what is released.

use reticent::privacy::Adjacency;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The largest number of buckets: a report proves something about each of them.
pub const MOST_BUCKETS: usize = 1 << 12;
/// The largest absolute value of a sum's bounds, so that the largest batch never overflows.
pub const FARTHEST_END: i64 = 1 << 40;
/// The longest bucket name, in bytes.
const LONGEST_NAME: usize = 64;

/// Neighbours differ in the content of one report. All aggregators see that a client has sent one, and the number of
/// counted reports is published: participation is not hidden.
pub const ADJACENCY: Adjacency = Adjacency::Replace;
/// The privacy unit.
pub const UNIT: &str = "report";

/// What clients are asked.
///
/// # Privacy
/// The sensitivity is that of [`Adjacency::Replace`]: one honest report changes from any valid answer to any other.
///
/// | statistic | a client's answer | one report changes the result by at most |
/// |---|---|---|
/// | count | yes or no | 1 |
/// | sum | a whole number in a range | the width of the range |
/// | histogram | one of several buckets | 2: one count falls, another rises |
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The number of clients that answer yes.
    Count,
    /// The sum of the clients' answers.
    Sum {
        /// The lower clamping bound.
        lower: i64,
        /// The upper clamping bound.
        upper: i64,
    },
    /// The number of clients in each bucket.
    Histogram {
        /// The buckets' names.
        buckets: Vec<String>,
    },
}

impl Statistic {
    /// Validates the statistic.
    ///
    /// # Errors
    /// If the range is empty or too wide, or there are too few, too many or duplicate buckets.
    pub(crate) fn check(&self) -> Result<()> {
        match self {
            Self::Count => Ok(()),
            Self::Sum { lower, upper } => {
                if lower >= upper {
                    return Err(Error::parameter("upper", upper, format!("greater than lower, which is {lower}")));
                }
                for (field, end) in [("lower", lower), ("upper", upper)] {
                    if !(-FARTHEST_END..=FARTHEST_END).contains(end) {
                        return Err(Error::parameter(field, end, "from -2^40 to 2^40"));
                    }
                }
                Ok(())
            }
            Self::Histogram { buckets } => {
                if buckets.len() < 2 || buckets.len() > MOST_BUCKETS {
                    return Err(Error::parameter("the number of buckets", buckets.len(), "from 2 to 4096"));
                }
                let mut names: Vec<&String> = buckets.iter().collect();
                names.sort_unstable();
                if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    return Err(Error::parameter("a bucket's name", pair[0], "different from all others"));
                }
                match buckets.iter().find(|name| name.is_empty() || name.len() > LONGEST_NAME) {
                    Some(name) => Err(Error::parameter("a bucket's name", name, "of 1 to 64 bytes")),
                    None => Ok(()),
                }
            }
        }
    }

    /// How many numbers are released.
    pub fn cells(&self) -> usize {
        match self {
            Self::Count | Self::Sum { .. } => 1,
            Self::Histogram { buckets } => buckets.len(),
        }
    }

    /// The name of each number.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Self::Count => vec!["count"],
            Self::Sum { .. } => vec!["sum"],
            Self::Histogram { buckets } => buckets.iter().map(String::as_str).collect(),
        }
    }

    /// The most that one report adds to one number: answers are offset from the lower end of their range.
    pub(crate) fn width(&self) -> u64 {
        match self {
            Self::Count | Self::Histogram { .. } => 1,
            Self::Sum { lower, upper } => upper.abs_diff(*lower),
        }
    }

    /// How much one report can change all numbers together: the L1 sensitivity, under this statistic's adjacency.
    pub fn sensitivity(&self) -> u64 {
        match self {
            Self::Count | Self::Sum { .. } => self.width(),
            Self::Histogram { .. } => 2,
        }
    }

    /// The offset between an answer and the number that is proved.
    pub(crate) fn lower(&self) -> i64 {
        match self {
            Self::Count | Self::Histogram { .. } => 0,
            Self::Sum { lower, .. } => *lower,
        }
    }

    /// Reads answers, one per line; empty lines are skipped.
    ///
    /// # Errors
    /// As [`Statistic::read`].
    pub fn read_lines(&self, text: &str) -> Result<Vec<Answer>> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| self.read(line)).collect()
    }

    /// Parses a client's answer: `yes` or `no` (1 or 0), a whole number (clamped to the range), or a bucket's name.
    ///
    /// # Errors
    /// If it is not one of these. Only the client itself learns of this.
    pub fn read(&self, answer: &str) -> Result<Answer> {
        let answer = answer.trim();
        match self {
            Self::Count => match answer {
                "yes" | "true" | "1" => Ok(Answer(1)),
                "no" | "false" | "0" => Ok(Answer(0)),
                other => Err(Error::parameter("the answer", other, "yes or no")),
            },
            Self::Sum { .. } => match answer.parse() {
                Ok(number) => Ok(self.number(number)),
                Err(_) => Err(Error::parameter("the answer", answer, "a whole number")),
            },
            Self::Histogram { buckets } => match buckets.iter().position(|name| name == answer) {
                Some(bucket) => Ok(Answer(bucket as u64)),
                None => {
                    let first = &buckets[0];
                    Err(Error::parameter("the answer", answer, format!("one of the task's buckets, such as {first}")))
                }
            },
        }
    }

    /// A whole number as an answer: clamped to the range of a sum or the buckets of a histogram; for a count, 0 is no
    /// and anything else is yes.
    pub fn number(&self, number: i64) -> Answer {
        match self {
            Self::Count => Answer(u64::from(number != 0)),
            Self::Sum { lower, upper } => Answer(number.clamp(*lower, *upper).abs_diff(*lower)),
            Self::Histogram { buckets } => Answer(u64::try_from(number).unwrap_or(0).min(buckets.len() as u64 - 1)),
        }
    }
}

/// A client's answer in its proved form: 0 or 1, an offset from the lower end of the range, or a bucket's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer(pub(crate) u64);

#[cfg(test)]
mod tests {
    use reticent::error::Explained;

    use super::*;

    fn buckets(names: &[&str]) -> Statistic {
        Statistic::Histogram { buckets: names.iter().map(|&name| name.into()).collect() }
    }

    #[test]
    fn what_means_nothing_is_refused_by_its_name() {
        for (statistic, why) in [
            (Statistic::Sum { lower: 3, upper: 3 }, "upper is 3, but it must be greater than lower"),
            (Statistic::Sum { lower: i64::MIN, upper: i64::MAX }, "lower is -9223372036854775808"),
            (buckets(&["a"]), "number of buckets is 1"),
            (buckets(&["a", "b", "a"]), "a bucket's name is a, but it must be different"),
            (buckets(&["a", ""]), "of 1 to 64 bytes"),
        ] {
            let error = statistic.check().unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(why), "{error}");
        }
    }

    #[test]
    fn answers_are_clamped_or_refused() {
        let sum = Statistic::Sum { lower: -10, upper: 10 };
        for (answer, above) in [("-11", 0), ("-10", 0), ("0", 10), (" 10 ", 20), ("9223372036854775807", 20)] {
            assert_eq!(sum.read(answer).unwrap(), Answer(above));
        }
        assert_eq!(buckets(&["a", "b"]).read("b").unwrap(), Answer(1));
        assert_eq!(buckets(&["a", "b"]).number(-7), Answer(0));
        assert_eq!(buckets(&["a", "b"]).number(7), Answer(1));
        assert_eq!(Statistic::Count.read("yes").unwrap(), Answer(1));
        assert!(
            Statistic::Count.read("2").is_err() && sum.read("1.5").is_err() && buckets(&["a", "b"]).read("c").is_err()
        );
    }
}
