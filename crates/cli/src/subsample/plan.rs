//! What is released, under which promise.

use anyhow::Result;
use reticent::mechanism::subsample::{Blocks, SubsampleMean, SubsampleMode, Unit};
use reticent::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use reticent::statistic::{Bounds, Grid};
use reticent::{Outcome, Permit};

use super::Arguments;
use super::kept::Kept;
use super::table::Block;
use crate::exit::usage;

/// The word for a unit that is a row.
const ROW: &str = "row";

/// How blocks' answers become a release; nothing is charged yet.
#[derive(Debug)]
pub struct Plan {
    mechanism: Mechanism,
    blocks: Blocks,
    adjacency: Adjacency,
    /// The column that says whose a row is.
    column: Option<String>,
    /// What counts where there is no answer.
    default: Option<String>,
    /// How many blocks are asked at a time.
    jobs: u64,
}

/// How answers are put together.
#[derive(Debug)]
pub enum Mechanism {
    /// The answer that most blocks give.
    Mode(Box<SubsampleMode>),
    /// The mean of numbers.
    Mean {
        /// In steps of the grid.
        mean: Box<SubsampleMean>,
        /// Where the numbers are put.
        grid: Grid,
        /// What they are clamped to.
        bounds: Bounds,
    },
}

impl Plan {
    /// As the arguments say.
    ///
    /// # Errors
    /// If a parameter is wrong.
    pub fn new(arguments: &Arguments) -> Result<Self> {
        let epsilon: Epsilon = arguments.epsilon.parse()?;
        let delta = arguments.delta.as_ref().map(|delta| delta.parse::<Delta>()).transpose()?;
        let promise = match delta.clone() {
            None => Guarantee::Pure(epsilon.clone()),
            Some(delta) => Guarantee::Approx(epsilon.clone(), delta),
        };
        promise.confirmed(arguments.allow_large_epsilon)?;
        let adjacency: Adjacency = arguments.adjacency.parse()?;
        let column = arguments.unit.clone().filter(|unit| unit != ROW);
        let unit = if column.is_some() { Unit::Id } else { Unit::Row };
        let jobs = arguments.jobs.get();
        if arguments.unpadded && jobs > 1 {
            return Err(usage(format!(
                "--unpadded goes with --jobs 1: without fixed turns, how long one of {jobs} runs takes decides which others go on \
                 beside it, and one unit could change any number of answers"
            )));
        }
        let blocks = Blocks::new(arguments.blocks, unit)?.asked_together(jobs)?;
        let default = arguments.default.as_deref().map(str::trim).filter(|default| !default.is_empty());
        let mechanism = match (&arguments.numeric, delta) {
            (None, None) => {
                return Err(usage(
                    "an answer that is released unchanged needs --delta, for example --delta 1e-8 (or --numeric LO..HI for a \
                     mean with noise)",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(usage("with --numeric the promise is epsilon alone; leave --delta out"));
            }
            (None, Some(delta)) => Mechanism::Mode(Box::new(SubsampleMode::new(blocks, adjacency, &epsilon, &delta)?)),
            (Some(bounds), None) => {
                let bounds: Bounds = bounds.parse()?;
                let grid = Grid::new(&bounds);
                let steps_of = |text: &str| {
                    let wrong = || usage(format!("--default is {text}, but with --numeric it must be a number"));
                    steps(&grid, text).ok_or_else(wrong)
                };
                let range = grid.lower()..=grid.upper();
                let mean = match default.map(steps_of).transpose()? {
                    None => SubsampleMean::new(blocks, range, adjacency, &epsilon),
                    Some(default) => SubsampleMean::counting(default, blocks, range, adjacency, &epsilon),
                }?;
                Mechanism::Mean { mean: Box::new(mean), grid, bounds }
            }
        };
        Ok(Self { mechanism, blocks, adjacency, column, default: default.map(String::from), jobs })
    }

    /// How answers are put together.
    pub fn mechanism(&self) -> &Mechanism {
        &self.mechanism
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> u64 {
        self.blocks.number()
    }

    /// The column that says whose a row is.
    pub fn column(&self) -> Option<&str> {
        self.column.as_deref()
    }

    /// Whose privacy is protected.
    pub fn unit(&self) -> &str {
        self.column().unwrap_or(ROW)
    }

    /// Which tables are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// What is promised, and spent.
    pub fn guarantee(&self) -> &Guarantee {
        match &self.mechanism {
            Mechanism::Mode(mode) => mode.guarantee(),
            Mechanism::Mean { mean, .. } => mean.guarantee(),
        }
    }

    /// All that decides the release, but for the rows and the statistic.
    pub fn words(&self) -> String {
        let blocks = self.blocks();
        let (how, nothing) = match &self.mechanism {
            Mechanism::Mode(_) => ("most frequent answer".into(), "no answer"),
            Mechanism::Mean { bounds, .. } => (format!("mean of answers within {bounds}"), "the middle"),
        };
        let default = self.default.as_ref().map_or_else(|| nothing.into(), |default| format!("{default:?}"));
        let together = if self.jobs > 1 { format!(", {} at a time", self.jobs) } else { String::new() };
        format!("{how} of {blocks} blocks{together}, {default} where there is none")
    }

    /// Is it an answer that counts?
    pub fn accepts(&self, answer: &str) -> bool {
        match &self.mechanism {
            Mechanism::Mode(_) => true,
            Mechanism::Mean { grid, .. } => steps(grid, answer).is_some(),
        }
    }

    /// Deals out the rows, asks the blocks, releases.
    ///
    /// # Errors
    /// If reading fails.
    pub fn release(
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
                // A step is a power of two: nothing is rounded here.
                let step = grid.step();
                let release = release.map(|steps| steps * step, |bar| bar.scaled(step));
                let (half_width, level) = (release.error().half_width(), release.error().level());
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
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn plan(more: &str) -> Result<Plan> {
        let line = format!("subsample data.csv --sql x --epsilon 900 --allow-large-epsilon --blocks 3 {more}");
        Plan::new(&Line::try_parse_from(line.split_whitespace()).unwrap().arguments)
    }

    fn mean_of(more: &str, answers: [Option<&str>; 3]) -> Option<f64> {
        let plan = plan(more).unwrap();
        let answers = answers.map(|answer| answer.map(String::from)).to_vec();
        match plan.release(&mut Permit::unaccounted().unwrap(), |_| Ok(Vec::new()), |_| answers).unwrap() {
            Kept::Mean { value, .. } => Some(value),
            Kept::Refused => None,
            other => panic!("{other:?} is no mean"),
        }
    }

    /// At ε = 900 the noise is about a 900th of the range, far below a tenth, and a 450th of a block.
    #[test]
    fn numbers_are_clamped_and_without_one_there_is_the_default_or_a_refusal() {
        for (more, answers, expected) in [
            ("--numeric 0..10", [Some("1"), Some(" 2.5 "), Some("4")], Some(2.5)),
            ("--numeric 0..10", [Some("-1e300"), Some("inf"), Some("5")], Some(5.0)),
            ("--numeric 0..10", [None, Some("blue"), Some("NaN")], None),
            ("--numeric 0..10", [Some("1"), Some("1"), Some("1/4")], None),
            ("--numeric 0..10 --default 1", [None, Some("blue"), Some("4")], Some(2.0)),
            ("--numeric -10..10 --default -99", [None, Some("-10"), Some("-10")], Some(-10.0)),
        ] {
            let mean = mean_of(more, answers);
            let near = |expected: f64| mean.is_some_and(|mean| (mean - expected).abs() < 0.1);
            assert!(expected.map_or(mean.is_none(), near), "{more}: {mean:?}, not {expected:?}");
        }
    }

    #[test]
    fn parameters_are_checked_before_anything_is_charged() {
        for (more, said) in [
            ("", "needs --delta"),
            ("--delta 1e-8 --numeric 0..1", "leave --delta out"),
            ("--delta 2", "delta"),
            ("--numeric 1..0", "bounds"),
            ("--numeric 0..1 --default blue", "must be a number"),
            ("--numeric 0..1 --adjacency add", "adjacency"),
            ("--numeric 0..1 --unpadded --jobs 2", "--jobs 1"),
        ] {
            let error = plan(more).unwrap_err();
            assert!(error.to_string().contains(said), "{more}: {error}");
        }
    }
}
