//! How far noisy numbers, and what is computed from them, may be from the truth.

use std::convert::Infallible;

use reticent::exact::Rational;
use reticent::release::{LEVEL, joint_level};
use reticent::statistic::{Ends, Grid, Moments};
use reticent_bounding::WEIGHT_BITS;

use super::box_noise::{BoxNoise, Form};
use super::correction::deviations;
use super::design::{Additive, Design, Paid, Source};
use crate::error::Result;

/// Half-widths of noisy numbers.
#[derive(Debug, Clone)]
pub struct Widths {
    /// By part of the design.
    pub parts: Vec<PartWidths>,
    /// The variance of one number of each part, in rows, if rows were weighed.
    pub variances: Vec<f64>,
    /// The half-width of an error, in standard deviations.
    pub deviations: f64,
}

/// Half-widths of what is computed from a part.
#[derive(Debug, Clone, Copy)]
pub enum PartWidths {
    /// Of a count, and of the sum of two.
    Count(u64, u64),
    /// Of sums of squares, where count and sum must hold, too.
    Squares(u64),
    /// Of count and sum.
    Ends(EndsWidths),
}

/// Half-widths of what is computed from count and sum.
#[derive(Debug, Clone, Copy)]
pub struct EndsWidths {
    /// Of the count.
    pub count: f64,
    /// Of the sum.
    pub total: f64,
    /// Of what a mean is computed from.
    mean: OfMean,
    /// Of the count and the centred sum, where squares must hold, too.
    pub count_and_sum: (u64, u64),
}

/// Half-widths of two numbers that hold at once.
#[derive(Debug, Clone, Copy)]
enum OfMean {
    /// Both ends.
    Ends(u64),
    /// The count and the centred sum.
    CountAndSum(u64, u64),
}

impl EndsWidths {
    /// The half-width of the mean.
    pub fn mean(&self, ends: &Ends, grid: &Grid) -> f64 {
        match self.mean {
            OfMean::Ends(each) => ends.mean_half_width(grid, each),
            OfMean::CountAndSum(of_count, of_sum) => {
                let (count, sum) = ends.to_count_and_sum(grid);
                let (here, moved) = (ends.mean(grid), Moments::mean(grid, count, sum));
                (here - moved).abs() + Moments::mean_half_width(grid, count, sum, (of_count, of_sum))
            }
        }
    }
}

/// The level of one of this many numbers that must hold at once at 95 %.
pub(super) fn level_of(together: u64) -> Rational {
    joint_level(&Rational::try_from(LEVEL).expect("0.95 is finite"), together)
}

/// 0.05 over a number below 2^64 is more than 10^−22, and every law of noise has half-widths up to a level of 1 − 10^−60.
pub(super) const AT_EVERY_LEVEL: &str = "noise has a half-width at a level between 0.95 and 1 - 1e-22";

impl Widths {
    /// With the noise of the design, where this many values must hold at once.
    pub fn of_design(design: &Design, values: u64) -> Self {
        // In whole rows; numbers are rounded by up to half of one.
        let in_rows = |half_width: u64| if design.weighed { (half_width >> WEIGHT_BITS) + 2 } else { half_width };
        let of_one = |paid: &Paid, together: u64| Ok(in_rows(design.half_width(paid, together)));
        let of_two = |paid: &Paid, together: u64| Ok(in_rows(design.half_width_of_two(paid, together)));
        let part = |paid: &Paid| match (&paid.source, &design.noise.boxed) {
            (Source::Box, Some(boxed)) => in_box(boxed, &paid.part, values),
            _ => {
                let Ok(widths): Result<_, Infallible> = each(paid, of_one, of_two, values);
                widths
            }
        };
        let parts = design.additive.iter().map(part).collect();
        let one = f64::from(1 << WEIGHT_BITS);
        let weighed = design.additive.iter().filter(|_| design.weighed);
        let variances = weighed.map(|paid| design.variance(paid) / (one * one)).collect();
        Self { parts, variances, deviations: deviations(values) }
    }

    /// With given half-widths of numbers, by part and by how many must hold at once.
    pub fn of_numbers<E>(
        design: &Design,
        half_width: impl Fn(&Paid, u64) -> Result<u64, E>,
        values: u64,
    ) -> Result<Self, E> {
        let of_two = |paid: &Paid, together: u64| Ok(half_width(paid, 2 * together)?.saturating_mul(2));
        let parts = design.additive.iter().map(|paid| each(paid, &half_width, of_two, values));
        let parts = parts.collect::<Result<_, E>>()?;
        Ok(Self { parts, variances: Vec::new(), deviations: deviations(values) })
    }
}

/// Where each number has noise of its own, with these half-widths of one and of the sum, or the difference, of two.
fn each<E>(
    paid: &Paid,
    of_one: impl Fn(&Paid, u64) -> Result<u64, E>,
    of_two: impl Fn(&Paid, u64) -> Result<u64, E>,
    values: u64,
) -> Result<PartWidths, E> {
    let one = |together: u64| of_one(paid, values * together);
    let two = |together: u64| of_two(paid, values * together);
    Ok(match &paid.part {
        Additive::Presence(_) => PartWidths::Count(one(1)?, two(1)?),
        Additive::Rows | Additive::Units | Additive::Present(_) | Additive::Bins(..) => PartWidths::Count(one(1)?, 0),
        Additive::Squares(..) => PartWidths::Squares(one(3)?),
        Additive::Ends(_, grid) => PartWidths::Ends(EndsWidths {
            count: Ends::count_half_width(grid, two(1)?),
            total: Ends::total_half_width(grid, one(2)?),
            mean: OfMean::Ends(one(2)?),
            count_and_sum: Ends::count_and_sum_half_widths(grid, two(3)?),
        }),
    })
}

/// Where one draw is for all numbers of a group. Ends are rounded to whole steps, which moves their sum by at most one.
fn in_box(boxed: &BoxNoise, part: &Additive, values: u64) -> PartWidths {
    let of = |form: &Form, together: u64| {
        boxed.half_width(form, &level_of(values.saturating_mul(together))).expect(AT_EVERY_LEVEL)
    };
    // A number that is whole, but was not until it was rounded.
    let rounded = |form: &Form, together: u64| (of(form, together) + 0.5) as u64;
    match part {
        Additive::Squares(measure, _) => PartWidths::Squares(rounded(&boxed.squares(*measure), 3)),
        Additive::Ends(measure, grid) => {
            let (count, sum) = (boxed.count(part), boxed.sum_of(*measure));
            let (lower, upper) = (grid.lower() as f64, grid.upper() as f64);
            let of_ends = (lower.abs() + upper.abs()) / (upper - lower);
            let of_count = |together: u64| of(&count, together) + 1.0 / (upper - lower);
            let both = |together: u64| ((of_count(together) + 0.5) as u64, rounded(&sum, together).saturating_add(1));
            let of_mean = both(2);
            PartWidths::Ends(EndsWidths {
                count: of_count(1),
                total: (of(&boxed.total(part, *measure, grid), 1) + of_ends) * grid.step(),
                mean: OfMean::CountAndSum(of_mean.0, of_mean.1),
                count_and_sum: both(3),
            })
        }
        _ => PartWidths::Count(rounded(&boxed.count(part), 1), 0),
    }
}
