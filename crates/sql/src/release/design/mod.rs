//! What is measured for a query, and how the budget is split.
//!
//! | module | contents |
//! |---|---|
//! | `parts` | the numbers that are released, and how aggregates are computed from them |
//! | `draft` | what is needed for a query's aggregates |
//! | `merge` | numbers that come with others at no extra cost |
//! | `noise` | the noise on these numbers: on each, or one draw for several |
//! | `pay` | the split of the budget |
//! | `purse` | shares of the budget |

use reticent::mechanism::stable::{StableMedian, StableMode};
use reticent::mechanism::{PerGroup, Selection, Threshold};
use reticent::privacy::Guarantee;
use reticent::statistic::Grid;
use reticent_bounding::{Measure, WEIGHT_BITS};

use super::contribution::UnitContribution;
use super::top::TopGroups;
use super::widths::{AT_EVERY_LEVEL, level_of};
use crate::algebra::{Expr, Statistic};
use crate::error::Result;

mod draft;
mod merge;
mod noise;
mod parts;
mod pay;
mod purse;

use draft::Draft;
pub use noise::{Noise, Source};
pub use parts::{Additive, COUNT_AND_SUM, Output, Paid, Ranks};

/// The most groups of a weighed unit that count, if keys come from the data.
pub const MOST_GROUPS: u64 = 128;

/// What is measured for a query, and how the budget is split.
///
/// # Privacy
/// The budget is split by weight over everything that is released: each additive part, each quantile, each stable
/// answer, and group selection if keys come from the data (unless units are counted anyway: then that count decides).
/// The costs add up to at most the query's budget: [`Design::guarantee`].
#[derive(Debug, Clone)]
pub struct Design {
    /// The expressions computed for each row.
    pub inputs: Vec<Expr>,
    /// The same in the user's words.
    pub input_words: Vec<String>,
    /// What is measured of them.
    pub measures: Vec<Measure>,
    /// Numbers that get noise.
    pub additive: Vec<Paid>,
    /// The noise on all of them.
    pub noise: Noise,
    /// Quantiles.
    pub ranks: Vec<Ranks>,
    /// Stable medians: index of the measure, grid and mechanism.
    pub medians: Vec<(usize, Grid, PerGroup<StableMedian>)>,
    /// Stable modes.
    pub modes: Vec<(usize, PerGroup<StableMode>)>,
    /// Group selection, if keys are unknown and units are not counted.
    pub selection: Option<Selection>,
    /// Group selection by a noisy count of units, and the index of that count among the numbers.
    pub threshold: Option<(Threshold, usize)>,
    /// Selection of the groups with the highest counts, if only these are released.
    pub top: Option<TopGroups>,
    /// One for each aggregate.
    pub outputs: Vec<Output>,
    /// The total cost.
    pub guarantee: Guarantee,
    /// Whether rows are weighed, and all numbers in units of 2^−[`WEIGHT_BITS`].
    pub weighed: bool,
}

/// An aggregate to be planned.
#[derive(Debug, Clone)]
pub struct Wanted<'asked> {
    /// As written.
    pub words: &'asked str,
    /// The argument, as written.
    pub of: &'asked str,
    /// The statistic.
    pub statistic: &'asked Statistic,
    /// The grid of its values, if they have a range.
    pub grid: Option<Grid>,
    /// The weight in the split.
    pub weight: u32,
}

impl Design {
    /// Plans these aggregates.
    ///
    /// # Errors
    /// If the kind of budget does not allow one of them, or it is too small for any noise.
    pub fn new(
        wanted: &[Wanted<'_>],
        touched: &UnitContribution,
        select_keys: bool,
        budget: &Guarantee,
    ) -> Result<Self> {
        let mut draft = Draft { weighed: touched.weights().is_some(), ..Draft::default() };
        let outputs = wanted.iter().map(|one| draft.place(one)).collect::<Result<Vec<_>>>()?;
        draft.pay(outputs, touched, select_keys, budget)
    }
}

impl Design {
    /// Whether keys come from the data.
    pub fn selects_keys(&self) -> bool {
        self.selection.is_some() || self.threshold.is_some()
    }

    /// The released count whose own noise decides whether its group is shown, which half-widths do not account for: its
    /// description, and the smallest count shown.
    pub fn deciding(&self) -> Option<(&str, u64)> {
        let (threshold, _) = self.threshold.as_ref()?;
        let decides = self.additive.iter().find(|paid| paid.source == Source::Threshold)?;
        let threshold = threshold.threshold();
        let in_rows = if self.weighed { threshold.div_ceil(1 << WEIGHT_BITS) } else { threshold };
        Some((decides.words.as_str(), in_rows))
    }

    /// The half-width of a count, or of one number of a part with noise on each, where `together` such numbers must hold at once at 95 %.
    pub fn half_width(&self, paid: &Paid, together: u64) -> u64 {
        let level = level_of(together);
        let half_width = match (paid.source, &self.noise, &self.threshold) {
            (Source::Batch(place), Noise { batch: Some(batch), .. }, _) => batch.half_width(place, &level),
            (Source::Box, Noise { boxed: Some(boxed), .. }, _) => {
                let form = match &paid.part {
                    Additive::Squares(measure, _) => boxed.squares(*measure),
                    part => boxed.count(part),
                };
                // It is rounded to a whole number.
                boxed.half_width(&form, &level).map(|half_width| (half_width + 0.5) as u64)
            }
            (Source::Threshold, _, Some((threshold, _))) => threshold.noise().half_width(&level),
            _ => unreachable!("every part has its noise"),
        };
        half_width.expect(AT_EVERY_LEVEL)
    }

    /// The same for the sum, or the difference, of two numbers of a part with noise on each.
    pub fn half_width_of_two(&self, paid: &Paid, together: u64) -> u64 {
        match (paid.source, &self.noise.batch) {
            (Source::Batch(place), Some(batch)) => {
                batch.noise(place).half_width_of_sum(2, &level_of(together)).expect(AT_EVERY_LEVEL)
            }
            _ => self.half_width(paid, 2 * together).saturating_mul(2),
        }
    }

    /// The variance of the noise on one number of a part of weighed rows.
    pub fn variance(&self, paid: &Paid) -> f64 {
        match (paid.source, &self.noise.batch, &self.threshold) {
            (Source::Batch(place), Some(batch), _) => batch.noise(place).variance(),
            (Source::Threshold, _, Some((threshold, _))) => threshold.noise().variance(),
            _ => unreachable!("weighed rows have noise on each number"),
        }
    }

    /// The argument of a measure, in the user's words.
    pub fn input_words(&self, measure: usize) -> &str {
        &self.input_words[self.measures[measure].column()]
    }
}
