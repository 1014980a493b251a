//! How the blocks' answers become a release, and under which guarantee.

use std::num::NonZero;
use std::time::Duration;

use reticent::mechanism::stable::{Proposal, StableRelease};
use reticent::mechanism::subsample::{self, Blocks, ResampledMode, Samples, SubsampleMean, SubsampleMode};
use reticent::message;
use reticent::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use reticent::release::ErrorBar;
use reticent::statistic::{Bounds, Grid};
pub use reticent_sql::Unit;

use crate::error::{Error, Result};
use crate::schedule::Schedule;
use crate::split::Split;

/// What is released about the blocks' answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summary {
    /// The most frequent answer, or that of the whole table, unchanged, unless a single unit could have made the
    /// difference. The guarantee is (ε, δ).
    MostFrequent {
        /// The probability δ.
        delta: Delta,
    },
    /// The noisy mean of the blocks' answers, unless most blocks have none. The guarantee is ε.
    Mean {
        /// The clamping bounds, chosen without looking at the rows.
        bounds: Bounds,
    },
}

impl Summary {
    /// A summary as users ask for it: the mean if they give clamping bounds, otherwise the most frequent answer.
    ///
    /// # Errors
    /// If bounds and δ are both given, or neither is; or if they are out of range.
    pub fn asked(bounds: Option<&str>, delta: Option<&str>) -> Result<Self> {
        let wrong = |message| Err(Error::Request(message));
        match (bounds, delta) {
            (None, Some(delta)) => Ok(Self::MostFrequent { delta: delta.parse()? }),
            (Some(bounds), None) => Ok(Self::Mean { bounds: bounds.parse()? }),
            (None, None) => wrong(message!(
                "releasing an exact answer needs ",
                ["delta"],
                ", for example ",
                ["delta"],
                " 1e-8 (or ",
                ["numeric"],
                " LO..HI for a mean with noise)"
            )),
            (Some(_), Some(_)) => {
                wrong(message!("with ", ["numeric"], " the guarantee is epsilon alone; leave ", ["delta"], " out"))
            }
        }
    }
}

/// The parameters of a [`Plan`].
#[derive(Debug, Clone)]
pub struct Parameters {
    /// The privacy loss ε.
    pub epsilon: Epsilon,
    /// What is released.
    pub summary: Summary,
    /// The privacy unit.
    pub unit: Unit,
    /// Which datasets are neighbours.
    pub adjacency: Adjacency,
    /// What the statistic runs on.
    pub split: Split,
    /// The value used for a block without an answer; `None` or blank for no default.
    pub default: Option<String>,
    /// When the statistic runs. Running N at a time takes the noise for a unit that changes N answers.
    pub schedule: Schedule,
    /// Confirms an ε above 10 or a δ above 0.001, which give almost no protection.
    pub allow_large_epsilon: bool,
}

impl Parameters {
    /// 200 blocks, one at a time for one second each; the unit is a row, neighbours differ by adding or removing a row,
    /// and blocks without an answer have no default.
    pub fn new(epsilon: Epsilon, summary: Summary) -> Self {
        Self {
            epsilon,
            summary,
            unit: Unit::Row,
            adjacency: Adjacency::AddRemove,
            split: Split::Blocks(200),
            default: None,
            schedule: Schedule::padded(NonZero::<u64>::MIN, Duration::from_secs(1)),
            allow_large_epsilon: false,
        }
    }
}

/// How the answers become a release. Nothing is charged yet.
#[derive(Debug)]
pub struct Plan {
    mechanism: Mechanism,
    split: Split,
    adjacency: Adjacency,
    unit: Unit,
    default: Option<String>,
    schedule: Schedule,
}

/// The mechanism that releases the summary.
#[derive(Debug)]
pub enum Mechanism {
    /// Releases the blocks' most frequent answer.
    Mode(Box<SubsampleMode>),
    /// Releases the mean.
    Mean {
        /// The mechanism, in grid steps.
        mean: Box<SubsampleMean>,
        /// The grid that answers are rounded to.
        grid: Grid,
        /// The clamping bounds.
        bounds: Bounds,
    },
    /// Releases the samples' most frequent answer.
    Resampled(Box<ResampledMode>),
    /// Releases the whole table's answer, if its distance is large.
    Stable(Box<StableRelease>),
}

impl Plan {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is out of range, if parameters do not fit together, if the guarantee gives almost no protection and
    /// is not confirmed, or if there are too few blocks or samples for anything but refusals.
    pub fn new(parameters: Parameters) -> Result<Self> {
        let Parameters { epsilon, summary, unit, adjacency, split, default, schedule, allow_large_epsilon } =
            parameters;
        let default = default.as_deref().map(str::trim).filter(|default| !default.is_empty()).map(String::from);
        split.check()?;
        let jobs = schedule.jobs();
        let kind = if unit == Unit::Row { subsample::Unit::Row } else { subsample::Unit::Id };
        let mechanism = match (split, summary) {
            (Split::Blocks(blocks), Summary::MostFrequent { delta }) => {
                let blocks = Blocks::new(blocks, kind)?.asked_together(jobs)?;
                let mode = if default.is_some() { SubsampleMode::with_default } else { SubsampleMode::new };
                Mechanism::Mode(Box::new(mode(blocks, adjacency, &epsilon, &delta)?))
            }
            (Split::Blocks(blocks), Summary::Mean { bounds }) => {
                let blocks = Blocks::new(blocks, kind)?.asked_together(jobs)?;
                let grid = Grid::new(&bounds);
                let number = |text: &String| {
                    let (value, allowed) = (text.clone(), "a number, because the mean is released");
                    steps(&grid, text).ok_or(Error::Parameter { parameter: "default", value, allowed })
                };
                let range = grid.lower()..=grid.upper();
                let mean = match default.as_ref().map(number).transpose()? {
                    None => SubsampleMean::new(blocks, range, adjacency, &epsilon),
                    Some(default) => SubsampleMean::with_default(default, blocks, range, adjacency, &epsilon),
                }?;
                Mechanism::Mean { mean: Box::new(mean), grid, bounds }
            }
            (Split::Samples { .. } | Split::Whole { .. }, Summary::Mean { .. }) => {
                return Err(Error::Request(message!(
                    ["numeric"],
                    " is the mean over disjoint blocks; it goes neither with ",
                    ["samples"],
                    " nor with ",
                    ["distance"]
                )));
            }
            (Split::Samples { .. } | Split::Whole { .. }, _) if default.is_some() => {
                return Err(Error::Request(message!(["default"], " is for disjoint blocks; leave it out")));
            }
            (Split::Samples { .. }, _) if unit != Unit::Row || adjacency != Adjacency::Replace => {
                return Err(Error::Request(message!(
                    ["samples"],
                    " needs a public number of rows: the unit must be a row, with ",
                    ["adjacency"],
                    " replace"
                )));
            }
            (Split::Samples { number, size, rows }, Summary::MostFrequent { delta }) => {
                let samples = Samples::new(rows, number, size)?.asked_together(jobs)?;
                Mechanism::Resampled(Box::new(ResampledMode::new(samples, &epsilon, &delta)?))
            }
            (Split::Whole { lipschitz }, Summary::MostFrequent { delta }) => {
                Mechanism::Stable(Box::new(StableRelease::new(lipschitz, &epsilon, &delta)?))
            }
        };
        let plan = Self { mechanism, split, adjacency, unit, default, schedule };
        plan.guarantee().clone().confirmed(allow_large_epsilon)?;
        Ok(plan)
    }

    /// The mechanism that releases the summary.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// What the statistic runs on.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.split.runs()
    }

    /// The privacy unit.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// Which datasets are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// When the statistic runs.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The value that counts for a block without an answer.
    pub fn default(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// The guarantee of the release, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        match &self.mechanism {
            Mechanism::Mode(mode) => mode.guarantee(),
            Mechanism::Mean { mean, .. } => mean.guarantee(),
            Mechanism::Resampled(resampled) => resampled.guarantee(),
            Mechanism::Stable(test) => test.guarantee(),
        }
    }

    /// The test that an answer must pass; `None` if the mean is released.
    pub fn test(&self) -> Option<&StableRelease> {
        match &self.mechanism {
            Mechanism::Mode(mode) => Some(mode.test()),
            Mechanism::Mean { .. } => None,
            Mechanism::Resampled(resampled) => Some(resampled.test()),
            Mechanism::Stable(test) => Some(test),
        }
    }

    /// The error bar of the number of runs without an answer; `None` if there is one run.
    pub fn unanswered_error(&self) -> Option<ErrorBar> {
        match &self.mechanism {
            Mechanism::Mode(mode) => Some(mode.unanswered_error()),
            Mechanism::Mean { mean, .. } => Some(mean.unanswered_error()),
            Mechanism::Resampled(resampled) => Some(resampled.unanswered_error()),
            Mechanism::Stable(_) => None,
        }
    }

    /// The probability of a refusal if every run has an answer and `agree` of them have the same, all others sharing
    /// one other answer, which is the worst case; `None` if the most frequent answer is not what is released.
    pub fn refusal_probability(&self, agree: u64) -> Option<f64> {
        let lead = agree.saturating_sub(self.runs().saturating_sub(agree));
        match &self.mechanism {
            Mechanism::Mode(mode) => Some(mode.refusal_probability(lead)),
            Mechanism::Resampled(resampled) => Some(resampled.refusal_probability(lead)),
            Mechanism::Mean { .. } | Mechanism::Stable(_) => None,
        }
    }

    /// What is released, in words.
    pub(crate) fn released(&self) -> String {
        match &self.mechanism {
            Mechanism::Mode(mode) => most_frequent(mode.test()),
            Mechanism::Resampled(resampled) => most_frequent(resampled.test()),
            Mechanism::Mean { bounds, .. } => format!("the mean of the answers, clamped to {bounds}, with noise"),
            Mechanism::Stable(test) => format!("the answer, if its distance, with noise, reaches {}", test.threshold()),
        }
    }

    /// What happens without answers, in words.
    pub(crate) fn without_answers(&self) -> String {
        match (&self.mechanism, &self.default) {
            (Mechanism::Stable(_), _) => "refused without an answer".into(),
            (_, None) => format!("refused if more than {} runs, with noise, give no answer", self.runs() / 2),
            (_, Some(default)) => format!("a run without an answer counts as {default}"),
        }
    }

    /// Whether blocks without an answer have a default.
    pub(crate) fn has_default(&self) -> bool {
        self.default.is_some()
    }

    /// Everything that decides the release, except the rows and the statistic. A ledger compares it with what was
    /// charged before, so this text must not change.
    pub(crate) fn words(&self) -> String {
        let jobs = self.schedule.jobs();
        let (how, nothing) = match &self.mechanism {
            Mechanism::Mode(_) | Mechanism::Resampled(_) => ("most frequent answer".into(), "no answer"),
            Mechanism::Mean { bounds, .. } => (format!("mean of answers within {bounds}"), "left out"),
            Mechanism::Stable(test) => {
                let lipschitz = test.lipschitz();
                return format!(
                    "answer of the whole table, if its distance of Lipschitz constant {lipschitz} is large"
                );
            }
        };
        let of = match self.split {
            Split::Samples { number, size, rows } => format!("{number} samples of {size} of {rows} rows"),
            _ => format!("{} blocks", self.runs()),
        };
        let default = self.default.as_ref().map_or_else(|| nothing.into(), |default| format!("{default:?}"));
        let together = if jobs > 1 { format!(", {jobs} at a time") } else { String::new() };
        format!("{how} of {of}{together}, {default} where there is none")
    }

    /// Whether an answer counts.
    pub(crate) fn accepts(&self, answer: &str) -> bool {
        match &self.mechanism {
            Mechanism::Mode(_) | Mechanism::Resampled(_) => true,
            Mechanism::Mean { grid, .. } => steps(grid, answer).is_some(),
            Mechanism::Stable(_) => proposal(Some(answer)).answer.is_some(),
        }
    }
}

fn most_frequent(test: &StableRelease) -> String {
    format!("the most frequent answer, if its lead, with noise, reaches {}", test.threshold())
}

/// A number on the grid.
pub(crate) fn steps(grid: &Grid, text: &str) -> Option<i64> {
    grid.steps(text.trim().parse().ok()?)
}

/// A distance and an answer, such as `57 north`; no answer at distance 0 if the line is another.
pub(crate) fn proposal(line: Option<&str>) -> Proposal<String> {
    let parse = |line: &str| {
        let (distance, answer) = line.trim().split_once(' ')?;
        Some(Proposal { answer: Some(answer.trim().into()), distance: distance.parse().ok()? })
    };
    line.and_then(parse).unwrap_or(Proposal { answer: None, distance: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kept::Outcome;
    use crate::table::Table;
    use reticent::Permit;
    use reticent::error::Explained;
    use reticent::message::Spelling;

    fn mean(bounds: &str, default: Option<&str>) -> Result<Plan> {
        Plan::new(Parameters {
            split: Split::Blocks(3),
            default: default.map(String::from),
            allow_large_epsilon: true,
            ..Parameters::new("900".parse().unwrap(), Summary::Mean { bounds: bounds.parse().unwrap() })
        })
    }

    fn released(plan: &Plan, answers: [Option<&str>; 3]) -> Option<f64> {
        let answers = answers.map(|answer| answer.map(String::from)).to_vec();
        let table = Table::new("x\n".as_bytes(), "x".into()).unwrap();
        let kept = plan.release(&mut Permit::unaccounted().unwrap(), table, None, |_, _| answers.clone()).unwrap();
        match kept.outcome {
            Outcome::Mean { value, .. } => Some(value),
            Outcome::Refused => None,
            other => panic!("{other:?} is not a mean"),
        }
    }

    /// At ε = 900 the noise is about 1/900 of the range, far below a tenth, and 1/450 of a block.
    #[test]
    fn numbers_are_clamped_and_without_one_there_is_the_default_or_a_refusal() {
        for (bounds, default, answers, expected) in [
            ("0..10", None, [Some("1"), Some(" 2.5 "), Some("4")], Some(2.5)),
            ("0..10", None, [Some("-1e300"), Some("inf"), Some("5")], Some(5.0)),
            ("0..10", None, [None, Some("blue"), Some("NaN")], None),
            ("0..10", None, [Some("1"), Some("1"), Some("1/4")], Some(1.0)),
            ("0..10", Some("1"), [None, Some("blue"), Some("4")], Some(2.0)),
            ("-10..10", Some("-99"), [None, Some("-10"), Some("-10")], Some(-10.0)),
        ] {
            let mean = released(&mean(bounds, default).unwrap(), answers);
            let near = |expected: f64| mean.is_some_and(|mean| (mean - expected).abs() < 0.1);
            assert!(expected.map_or(mean.is_none(), near), "{bounds} {default:?}: {mean:?}, not {expected:?}");
        }
    }

    #[test]
    fn parameters_are_checked_before_anything_is_charged() {
        let error = mean("0..1", Some("blue")).unwrap_err();
        assert_eq!(error.to_string(), "default is blue, but it must be a number, because the mean is released");
        assert!(error.is_usage());
        let delta = Summary::MostFrequent { delta: "1e-8".parse().unwrap() };
        let few = Parameters { split: Split::Blocks(10), ..Parameters::new("1".parse().unwrap(), delta) };
        assert!(Plan::new(few).unwrap_err().is_usage());
    }

    #[test]
    fn what_does_not_fit_together_is_refused_by_its_name() {
        let flags = |error: Error| error.message().spelled(Spelling::Flag);
        for (bounds, delta, said) in [
            (None, None, "needs --delta"),
            (Some("0..1"), Some("1e-8"), "leave --delta out"),
            (None, Some("2"), "delta"),
            (Some("1..0"), None, "bounds"),
        ] {
            let error = flags(Summary::asked(bounds, delta).unwrap_err());
            assert!(error.contains(said), "{error}");
        }
        let default = flags(mean("0..1", Some("blue")).unwrap_err());
        assert_eq!(default, "--default is blue, but with --numeric it must be a number");
        let together = Schedule::asked(NonZero::new(2).unwrap(), Duration::from_secs(1), false).unwrap_err();
        assert!(flags(together).contains("--jobs 1"));
    }

    /// Blocks that run at the same time may all change with one unit, so the threshold is the one for that many.
    #[test]
    fn runs_at_a_time_are_paid_for() {
        let threshold = |schedule: Schedule| {
            let summary = Summary::MostFrequent { delta: "1e-8".parse().unwrap() };
            let plan = Plan::new(Parameters { schedule, ..Parameters::new("1".parse().unwrap(), summary) }).unwrap();
            plan.test().unwrap().threshold()
        };
        let (second, jobs) = (Duration::from_secs(1), |jobs| NonZero::new(jobs).unwrap());
        assert_eq!(threshold(Schedule::unpadded(second)), threshold(Schedule::padded(jobs(1), second)));
        assert!(threshold(Schedule::padded(jobs(4), second)) > 3 * threshold(Schedule::padded(jobs(1), second)));
    }
}
