//! The noise.

use std::collections::{BTreeMap, BTreeSet};

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_select::filter::filter;
use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::Estimate;
use reticent::release::{LEVEL, joint_level};
use reticent::statistic::{Divisor, Ends, Grid, Moments};
use reticent_bounding::{Group, Groups, Measured, WEIGHT_BITS};

use super::correction::{Correction, ReleasedTotals};
use super::design::{Additive, Design, Output, Paid, Source};
use super::interval::Interval;
pub(crate) use super::numbers::{numbers, width};
use super::values::{Bar, Cell, Released, Value};
use super::widths::{EndsWidths, PartWidths, Widths};
use crate::algebra::Value as Item;
use crate::algebra::column::cell;
use crate::algebra::data::sound;
use crate::error::Result;

/// Releases what the design specifies for these groups, corrected if rows were weighed. For every number in `together`, it
/// also returns the half-widths of wider error bars, of which that many hold simultaneously.
///
/// # Errors
/// If the permit does not cover the design's guarantee.
pub fn draw(
    design: &Design,
    groups: Groups,
    totals: Option<&ReleasedTotals>,
    together: &BTreeSet<usize>,
    permit: &mut Permit,
) -> Result<Released> {
    let (groups, deciding) = select(design, groups, permit)?;
    let mut batched = match &design.noise.batch {
        None => Vec::new(),
        Some(batch) => {
            let in_batch = design.additive.iter().filter(|paid| matches!(paid.source, Source::Batch(_)));
            let exact = in_batch.map(|paid| numbers(&paid.part, &groups.groups)).collect();
            batch.release(exact, permit)?.into_value()
        }
    }
    .into_iter();
    let boxed = match &design.noise.boxed {
        None => None,
        Some(boxed) => Some((boxed, boxed.release(&groups.groups, permit)?)),
    };
    let noisy = |paid: &Paid| match (paid.source, &boxed) {
        (Source::Batch(_), _) => batched.next().unwrap_or_default(),
        (Source::Box, Some((boxed, released))) => boxed.numbers(&paid.part, released),
        _ => deciding.clone(),
    };
    let mut additive: Vec<Vec<i64>> = design.additive.iter().map(noisy).collect();
    let correction = totals.map(|totals| totals.correction(design, &additive, groups.groups.len()));
    if design.weighed {
        additive.iter_mut().flatten().for_each(|number| *number = rounded(*number));
    }
    // An interval is drawn once, so it must hold together with as many bars as any column needs.
    let most = together.iter().max().map_or(1, |&most| most as u64);
    let level = joint_level(&Rational::try_from(LEVEL)?, most);
    let mut ranks = Vec::new();
    for one in &design.ranks {
        let mechanism = one.mechanism.clone().at_level(&level);
        ranks.push(mechanism.release(&values(&groups.groups, one.measure), permit)?.into_value());
    }
    let mut medians = Vec::new();
    for (measure, _, mechanism) in &design.medians {
        medians.push(mechanism.release(&values(&groups.groups, *measure), permit)?.into_value());
    }
    let mut modes = Vec::new();
    for (measure, mechanism) in &design.modes {
        let counts: Vec<Vec<(usize, u64)>> = groups
            .groups
            .iter()
            .map(|group| match &group.measured[*measure] {
                Measured::Items { counts, .. } => counts.iter().copied().enumerate().collect(),
                _ => Vec::new(),
            })
            .collect();
        modes.push(mechanism.release(counts, permit)?.into_value());
    }

    let number = groups.groups.len();
    let widths = |together: u64| Widths::of_design(design, together);
    let one = widths(1);
    let bars = Bars { design, correction: correction.as_ref(), widths: &one };
    let mut columns = Vec::new();
    for output in &design.outputs {
        let mut cells = Vec::with_capacity(number);
        for group in 0..number {
            cells.push(match output {
                Output::Quantile(place, share) => quantile(&ranks[*place][group][*share], &design.ranks[*place].grid),
                Output::Median(place) => {
                    let grid = &design.medians[*place].1;
                    exact(medians[*place][group].map(|steps| Value::Real(grid.value(steps))))
                }
                Output::Mode(place) => {
                    let item = modes[*place][group]
                        .and_then(|item| item_of(&groups.groups[group], design.modes[*place].0, item));
                    exact(item.map(Value::Item))
                }
                other => bars.cell(other, &additive, group),
            });
        }
        columns.push(cells);
    }
    let widths = together.iter().map(|&together| (together, widths(together as u64))).collect();
    Ok(Released { keys: groups.keys, groups: number, columns, additive, widths, correction })
}

/// Computes what the design specifies from numbers that were released elsewhere, by part, for groups with these keys.
/// The half-widths are those of one number of a part, for the number of them that must hold at once.
///
/// # Errors
/// If there is no half-width.
pub fn of_numbers(
    design: &Design,
    keys: Vec<ArrayRef>,
    additive: Vec<Vec<i64>>,
    together: &BTreeSet<usize>,
    half_width: impl Fn(&Paid, u64) -> Result<u64>,
) -> Result<Released> {
    let groups = keys.first().map_or(1, |column| column.len());
    let widths = |together: u64| Widths::of_numbers(design, &half_width, together);
    let one = widths(1)?;
    let bars = Bars { design, correction: None, widths: &one };
    let column = |output: &Output| (0..groups).map(|group| bars.cell(output, &additive, group)).collect();
    let columns = design.outputs.iter().map(column).collect();
    let widths = together.iter().map(|&together| Ok((together, widths(together as u64)?)));
    let widths = widths.collect::<Result<BTreeMap<_, _>>>()?;
    Ok(Released { keys, groups, columns, additive, widths, correction: None })
}

/// The bar of an aggregate in a group where this many bars must hold at once; `None` if that makes no difference to it.
///
/// It is computed when it is needed: the bars for every number of them, aggregate and group together would take far more
/// memory than the answer.
pub fn joint_bar(design: &Design, released: &Released, together: usize, place: usize, group: usize) -> Option<Bar> {
    let output = &design.outputs[place];
    let widths = released.widths.get(&together)?;
    let is_additive = !matches!(output, Output::Quantile(..) | Output::Median(_) | Output::Mode(_));
    let bars = Bars { design, correction: released.correction.as_ref(), widths };
    is_additive.then(|| bars.cell(output, &released.additive, group).bar)
}

/// What would be released of made-up numbers, by part, if their noise were 0: the error bars to expect.
pub(crate) fn without_noise(
    design: &Design,
    keys: Vec<ArrayRef>,
    additive: Vec<Vec<i64>>,
    together: &BTreeSet<usize>,
) -> Released {
    let one = Widths::of_design(design, 1);
    let bars = Bars { design, correction: None, widths: &one };
    let columns = design.outputs.iter().map(|output| vec![bars.cell(output, &additive, 0)]).collect();
    let widths = together.iter().map(|&together| (together, Widths::of_design(design, together as u64))).collect();
    Released { keys, groups: 1, columns, additive, widths, correction: None }
}

fn quantile(estimate: &Estimate, grid: &Grid) -> Cell {
    let interval = Interval { low: grid.value(estimate.lower), high: grid.value(estimate.upper) };
    let is_range = (estimate.lower, estimate.upper) == (grid.lower(), grid.upper());
    let bar = if is_range { Bar::Anywhere(interval) } else { Bar::Within(interval) };
    Cell { value: Value::Real(grid.value(estimate.value)), bar }
}

fn exact(value: Option<Value>) -> Cell {
    value.map_or(Cell::REFUSED, |value| Cell { value, bar: Bar::Exact })
}

/// The groups whose keys may be released, and the noisy numbers that decided about them, if any.
fn select(design: &Design, groups: Groups, permit: &mut Permit) -> Result<(Groups, Vec<i64>)> {
    let (kept, counts) = match (&design.threshold, &design.selection) {
        (Some((threshold, part)), _) => {
            let exact = numbers(&design.additive[*part].part, &groups.groups);
            let exact = exact.into_iter().map(|number| number.unsigned_abs());
            let shown = threshold.release(exact.enumerate().collect(), permit)?.into_value();
            let kept = (0..groups.groups.len()).map(|place| shown.contains_key(&place)).collect();
            (kept, shown.into_values().collect())
        }
        (None, Some(selection)) => {
            let units: Vec<u64> = groups.groups.iter().map(|group| group.units).collect();
            (selection.select(&units, permit)?.into_value(), Vec::new())
        }
        (None, None) => match &design.top {
            None => return Ok((groups, Vec::new())),
            Some(top) => (top.select(&design.additive, &groups, permit)?, Vec::new()),
        },
    };
    let mask = BooleanArray::from(kept);
    let keys = groups.keys.iter().map(|column| sound(filter(column, &mask))).collect();
    let shown = groups.groups.into_iter().zip(mask.values().iter()).filter(|(_, kept)| *kept);
    let groups = shown.map(|(group, _)| group).collect();
    Ok((Groups { keys, groups }, counts))
}

/// A number in units of 2^−[`WEIGHT_BITS`], as a whole number.
fn rounded(number: i64) -> i64 {
    number.saturating_add(1 << (WEIGHT_BITS - 1)) >> WEIGHT_BITS
}

fn values(groups: &[Group], measure: usize) -> Vec<Vec<i64>> {
    let of = |group: &Group| match &group.measured[measure] {
        Measured::Values(values) => values.clone(),
        _ => Vec::new(),
    };
    groups.iter().map(of).collect()
}

fn item_of(group: &Group, measure: usize, item: usize) -> Option<Item> {
    match &group.measured[measure] {
        Measured::Items { values, .. } if item < values.len() => Some(cell(values, item)),
        _ => None,
    }
}

/// Values of additive parts, with their error bars.
struct Bars<'a> {
    design: &'a Design,
    correction: Option<&'a Correction>,
    widths: &'a Widths,
}

impl Bars<'_> {
    fn cell(&self, output: &Output, additive: &[Vec<i64>], group: usize) -> Cell {
        let real = |value: f64, half_width: f64| Cell { value: Value::Real(value), bar: Bar::HalfWidth(half_width) };
        match output {
            Output::Count(part) => self.count(*part, &additive[*part][group..=group]),
            Output::Present(part) => self.count(*part, &additive[*part][2 * group..=2 * group]),
            Output::PresentOrMissing(part) => self.count(*part, &additive[*part][2 * group..=2 * group + 1]),
            Output::SumOf { present, ends } => {
                let place = if self.width(*present) == 2 { 2 * group } else { group };
                let Some(correction) = self.correction else { unreachable!("only sums of weighed rows are products") };
                let (count, variance) = self.corrected(correction, *present, &additive[*present][place..=place]);
                let (mean, off) = self.mean(*ends, additive, group);
                let deviations = self.widths.deviations;
                let of_mean = (off / deviations) * (off / deviations);
                // Both errors are independent: (c + e)(m + e') − cm = e·m + e'·c + e·e'.
                let error = mean * mean * variance + count * count * of_mean + variance * of_mean;
                real(count * mean, deviations * error.sqrt())
            }
            Output::Histogram(part) => {
                let bins = self.width(*part);
                let counts = &additive[*part][group * bins..(group + 1) * bins];
                let cells: Vec<_> = counts.iter().map(|&count| self.counted(*part, &[count])).collect();
                let widest = cells.iter().map(|(_, off)| *off).fold(0.0, f64::max);
                let counts = cells.iter().map(|(count, _)| *count).collect();
                Cell { value: Value::Counts(counts), bar: Bar::HalfWidth(widest) }
            }
            Output::CountOfEnds(part) => {
                let (ends, grid) = (self.ends(additive, *part, group), self.grid(*part));
                let half_width = self.of_ends(*part).count;
                // The count is an integer; rounding may move it half a step further.
                let value = Value::Integer(ends.count(grid).round() as i64);
                Cell { value, bar: Bar::HalfWidth((half_width + 0.5).floor()) }
            }
            Output::Sum(part) => {
                let (ends, grid) = (self.ends(additive, *part, group), self.grid(*part));
                real(ends.total(grid), self.of_ends(*part).total)
            }
            Output::Mean(part) => {
                let (mean, half_width) = self.mean(*part, additive, group);
                real(mean, half_width)
            }
            Output::Variance { ends, squares, sample, root } => {
                let grid = self.grid(*ends);
                let (count, sum) = self.ends(additive, *ends, group).to_count_and_sum(grid);
                let released = [count, sum, additive[*squares][group]];
                let (counts, sums) = self.of_ends(*ends).count_and_sum;
                let PartWidths::Squares(of_squares) = self.widths.parts[*squares] else {
                    unreachable!("squares are squares")
                };
                let half_widths = [counts, sums, of_squares];
                let divisor = if *sample { Divisor::CountMinusOne } else { Divisor::Count };
                let variance = Moments::variance(grid, divisor, released);
                match root {
                    true => real(
                        variance.sqrt(),
                        Moments::standard_deviation_half_width(grid, divisor, released, half_widths),
                    ),
                    false => real(variance, Moments::variance_half_width(grid, divisor, released, half_widths)),
                }
            }
            Output::Quantile(..) | Output::Median(_) | Output::Mode(_) => Cell::REFUSED,
        }
    }

    /// A count: the sum of one or two numbers of a part.
    fn count(&self, part: usize, numbers: &[i64]) -> Cell {
        let (count, half_width) = self.counted(part, numbers);
        Cell { value: Value::Integer(count), bar: Bar::HalfWidth(half_width) }
    }

    /// The same with its half-width, corrected if rows were weighed.
    fn counted(&self, part: usize, numbers: &[i64]) -> (i64, f64) {
        let Some(correction) = self.correction else {
            let PartWidths::Count(of_one, of_two) = self.widths.parts[part] else { unreachable!("counts are counts") };
            let half_width = if numbers.len() == 2 { of_two } else { of_one };
            return (numbers.iter().fold(0, |sum: i64, number| sum.saturating_add(*number)), half_width as f64);
        };
        let (count, variance) = self.corrected(correction, part, numbers);
        // Rounding may move it half a step further.
        (count.round() as i64, (self.widths.deviations * variance.sqrt()).ceil() + 1.0)
    }

    /// The same with its variance, where rows were weighed.
    fn corrected(&self, correction: &Correction, part: usize, numbers: &[i64]) -> (f64, f64) {
        let sum = numbers.iter().map(|&number| number as f64).sum();
        let ratio = correction.ratio(&self.design.additive[part].part);
        ratio.of_count(sum, numbers.len() as f64 * self.widths.variances[part])
    }

    /// A mean and its half-width, corrected if rows were weighed.
    fn mean(&self, part: usize, additive: &[Vec<i64>], group: usize) -> (f64, f64) {
        let (ends, grid) = (self.ends(additive, part, group), self.grid(part));
        match self.correction {
            None => (ends.mean(grid), self.of_ends(part).mean(&ends, grid)),
            Some(correction) => {
                let Widths { variances, deviations, .. } = self.widths;
                correction.shift(part).of_mean(grid, &ends, variances[part], *deviations)
            }
        }
    }

    /// How many numbers a part has in each group.
    fn width(&self, part: usize) -> usize {
        width(&self.design.additive[part].part)
    }

    fn of_ends(&self, part: usize) -> EndsWidths {
        match self.widths.parts[part] {
            PartWidths::Ends(widths) => widths,
            _ => unreachable!("counts and sums are ends"),
        }
    }

    fn grid(&self, part: usize) -> &Grid {
        match &self.design.additive[part].part {
            Additive::Ends(_, grid) | Additive::Squares(_, grid) => grid,
            _ => unreachable!("only sums have a grid"),
        }
    }

    fn ends(&self, additive: &[Vec<i64>], part: usize, group: usize) -> Ends {
        Ends { above_lower: additive[part][2 * group], below_upper: additive[part][2 * group + 1] }
    }
}
