//! How the blocks' answers become a release, and under which guarantee.

use std::num::NonZero;
use std::time::Duration;

use reticent::mechanism::subsample::{self, Blocks, SubsampleMean, SubsampleMode};
use reticent::message;
use reticent::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use reticent::statistic::{Bounds, Grid};
use reticent::{Outcome, Permit};
pub use reticent_sql::Unit;

use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::schedule::Schedule;
use crate::table::Block;

/// What is released about the blocks' answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Summary {
    /// The most frequent answer, unchanged, unless a single unit could have made the difference. The guarantee is (ε,
    /// δ).
    MostFrequent {
        /// The probability δ.
        delta: Delta,
    },
    /// The noisy mean of the answers, unless too many blocks have none. The guarantee is ε.
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
    /// The number of blocks, chosen without looking at the rows.
    pub blocks: u64,
    /// The value used for a block without an answer; `None` or blank for no default.
    pub default: Option<String>,
    /// When the blocks run. Running N at a time takes the noise for a unit that changes N answers.
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
            blocks: 200,
            default: None,
            schedule: Schedule::padded(NonZero::<u64>::MIN, Duration::from_secs(1)),
            allow_large_epsilon: false,
        }
    }
}

/// How the blocks' answers become a release. Nothing is charged yet.
#[derive(Debug)]
pub struct Plan {
    mechanism: Mechanism,
    blocks: Blocks,
    adjacency: Adjacency,
    unit: Unit,
    default: Option<String>,
    schedule: Schedule,
}

/// The mechanism that releases the summary.
#[derive(Debug)]
pub enum Mechanism {
    /// Releases the most frequent answer.
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
}

impl Plan {
    /// Checks the parameters.
    ///
    /// # Errors
    /// If a parameter is out of range, if the guarantee gives almost no protection and is not confirmed, or if there are
    /// too few blocks for anything but refusals.
    pub fn new(parameters: Parameters) -> Result<Self> {
        let Parameters { epsilon, summary, unit, adjacency, blocks, default, schedule, allow_large_epsilon } =
            parameters;
        let kind = if unit == Unit::Row { subsample::Unit::Row } else { subsample::Unit::Id };
        let blocks = Blocks::new(blocks, kind)?.asked_together(schedule.jobs())?;
        let default = default.as_deref().map(str::trim).filter(|default| !default.is_empty()).map(String::from);
        let mechanism = match summary {
            Summary::MostFrequent { delta } => {
                Mechanism::Mode(Box::new(SubsampleMode::new(blocks, adjacency, &epsilon, &delta)?))
            }
            Summary::Mean { bounds } => {
                let grid = Grid::new(&bounds);
                let number = |text: &String| {
                    let (value, allowed) = (text.clone(), "a number, because the mean is released");
                    steps(&grid, text).ok_or(Error::Parameter { parameter: "default", value, allowed })
                };
                let range = grid.lower()..=grid.upper();
                let mean = match default.as_ref().map(number).transpose()? {
                    None => SubsampleMean::new(blocks, range, adjacency, &epsilon),
                    Some(default) => SubsampleMean::counting(default, blocks, range, adjacency, &epsilon),
                }?;
                Mechanism::Mean { mean: Box::new(mean), grid, bounds }
            }
        };
        let plan = Self { mechanism, blocks, adjacency, unit, default, schedule };
        plan.guarantee().clone().confirmed(allow_large_epsilon)?;
        Ok(plan)
    }

    /// The mechanism that releases the summary.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks.number()
    }

    /// The privacy unit.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// Which datasets are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// When the blocks run.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The guarantee of the release, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        match &self.mechanism {
            Mechanism::Mode(mode) => mode.guarantee(),
            Mechanism::Mean { mean, .. } => mean.guarantee(),
        }
    }

    /// The probability of a refusal if `agree` blocks have the same answer and all others share one other answer, which
    /// is the worst case; `None` if the mean is released.
    pub fn refusal_probability(&self, agree: u64) -> Option<f64> {
        let Mechanism::Mode(mode) = &self.mechanism else { return None };
        let lead = agree.saturating_sub(self.blocks().saturating_sub(agree));
        Some(mode.test().refusal_probability(lead.div_ceil(2)))
    }

    /// Whether blocks without an answer have a default.
    pub(crate) fn has_default(&self) -> bool {
        self.default.is_some()
    }

    /// Everything that decides the release, except the rows and the statistic. A ledger compares it with what was
    /// charged before, so this text must not change.
    pub(crate) fn words(&self) -> String {
        let (blocks, jobs) = (self.blocks(), self.schedule.jobs());
        let (how, nothing) = match &self.mechanism {
            Mechanism::Mode(_) => ("most frequent answer".into(), "no answer"),
            Mechanism::Mean { bounds, .. } => (format!("mean of answers within {bounds}"), "the middle"),
        };
        let default = self.default.as_ref().map_or_else(|| nothing.into(), |default| format!("{default:?}"));
        let together = if jobs > 1 { format!(", {jobs} at a time") } else { String::new() };
        format!("{how} of {blocks} blocks{together}, {default} where there is none")
    }

    /// Whether an answer counts.
    pub(crate) fn accepts(&self, answer: &str) -> bool {
        match &self.mechanism {
            Mechanism::Mode(_) => true,
            Mechanism::Mean { grid, .. } => steps(grid, answer).is_some(),
        }
    }

    /// Splits the rows into blocks, runs the statistic on each, and releases the summary of the answers.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee, or reading fails.
    pub(crate) fn release(
        &self,
        permit: &mut Permit,
        deal: impl FnOnce(&mut dyn FnMut(Option<&[u8]>) -> usize) -> Result<Vec<Block>>,
        ask: impl FnOnce(Vec<Block>) -> Vec<Option<String>>,
    ) -> Result<Kept> {
        match &self.mechanism {
            Mechanism::Mode(mode) => {
                let mut round = mode.begin(permit)?;
                let answers = ask(deal(&mut |id| round.block(id))?);
                let answers = answers.into_iter().map(|answer| answer.or_else(|| self.default.clone()));
                Ok(match round.decide(answers)? {
                    Outcome::Released(release) => Kept::Answer(release.into_value()),
                    Outcome::Refused(_) => Kept::Refused,
                })
            }
            Mechanism::Mean { mean, grid, .. } => {
                let mut round = mean.begin(permit)?;
                let answers = ask(deal(&mut |id| round.block(id))?);
                let numbers = answers.into_iter().map(|answer| answer.and_then(|text| steps(grid, &text)));
                let Some(release) = round.decide(numbers)?.released() else { return Ok(Kept::Refused) };
                // The step is a power of two, so nothing is rounded here.
                let step = grid.step();
                let release = release.map(|steps| steps * step, |bar| bar.scaled(step));
                let (half_width, level) = (release.error_bar().half_width(), release.error_bar().level());
                Ok(Kept::Mean { value: release.into_value(), half_width, level })
            }
        }
    }
}

/// A number on the grid.
fn steps(grid: &Grid, text: &str) -> Option<i64> {
    grid.steps(text.trim().parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::error::Explained;
    use reticent::message::Spelling;

    fn mean(bounds: &str, default: Option<&str>) -> Result<Plan> {
        Plan::new(Parameters {
            blocks: 3,
            default: default.map(String::from),
            ..Parameters::new("900".parse().unwrap(), Summary::Mean { bounds: bounds.parse().unwrap() })
        })
    }

    fn released(plan: &Plan, answers: [Option<&str>; 3]) -> Option<f64> {
        let answers = answers.map(|answer| answer.map(String::from)).to_vec();
        match plan.release(&mut Permit::unaccounted().unwrap(), |_| Ok(Vec::new()), |_| answers).unwrap() {
            Kept::Mean { value, .. } => Some(value),
            Kept::Refused => None,
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
            ("0..10", None, [Some("1"), Some("1"), Some("1/4")], None),
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
        let few = Parameters { blocks: 10, ..Parameters::new("1".parse().unwrap(), delta) };
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
            let Mechanism::Mode(mode) = plan.mechanism() else { panic!("the most frequent answer was asked for") };
            mode.test().threshold()
        };
        let (second, jobs) = (Duration::from_secs(1), |jobs| NonZero::new(jobs).unwrap());
        assert_eq!(threshold(Schedule::unpadded(second)), threshold(Schedule::padded(jobs(1), second)));
        assert!(threshold(Schedule::padded(jobs(4), second)) > 3 * threshold(Schedule::padded(jobs(1), second)));
    }
}
