//! The noise.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_select::filter::filter;
use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::Estimate;
use reticent::release::{LEVEL, joint_level};
use reticent::statistic::{Divisor, Ends, Grid, Moments};
use reticent_bounding::{Group, Groups, Measured, WEIGHT_BITS};

use super::correction::{Correction, ReleasedTotals, deviations};
use super::design::{Additive, Design, Output, Paid};
use super::interval::Interval;
use super::values::{Bar, Cell, Released, Value, Widths};
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
    let mut batched = match &design.batch {
        None => Vec::new(),
        Some(batch) => {
            let in_batch = design.additive.iter().filter(|paid| paid.batched.is_some());
            let exact = in_batch.map(|paid| numbers(&paid.part, &groups.groups)).collect();
            batch.release(exact, permit)?.into_value()
        }
    }
    .into_iter();
    let noisy = |paid: &Paid| match paid.batched {
        Some(_) => batched.next().unwrap_or_default(),
        None => deciding.clone(),
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
    let of_two = |paid: &Paid, together: u64| Ok(half_width(paid, 2 * together)?.saturating_mul(2));
    let widths = |together: u64| Widths::new(design, &half_width, of_two, together);
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

/// How many numbers of a part each group has.
pub(crate) fn width(part: &Additive) -> usize {
    match part {
        Additive::Ends(..) | Additive::Presence(_) => 2,
        Additive::Bins(_, bins) => *bins as usize,
        Additive::Rows | Additive::Units | Additive::Present(_) | Additive::Squares(..) => 1,
    }
}

/// The exact numbers of a part, group by group.
pub(crate) fn numbers(part: &Additive, groups: &[Group]) -> Vec<i64> {
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let moments = |group: &Group, measure: usize| match &group.measured[measure] {
        Measured::Moments(moments) => *moments,
        _ => Moments::default(),
    };
    let present = |group: &Group, measure: usize| match &group.measured[measure] {
        Measured::Count(count) => *count,
        _ => 0,
    };
    let of = |group: &Group| -> Vec<i64> {
        match part {
            Additive::Rows => vec![whole(group.rows)],
            Additive::Units => vec![whole(group.units)],
            Additive::Present(measure) => vec![present(group, *measure)],
            Additive::Presence(measure) => {
                let present = present(group, *measure);
                vec![present, whole(group.rows).saturating_sub(present)]
            }
            Additive::Ends(measure, grid) => {
                let ends = ends(&moments(group, *measure), grid);
                vec![ends.above_lower, ends.below_upper]
            }
            Additive::Squares(measure, _) => vec![moments(group, *measure).squares],
            Additive::Bins(measure, bins) => match &group.measured[*measure] {
                Measured::Bins(counts) => counts.clone(),
                _ => vec![0; *bins as usize],
            },
        }
    };
    groups.iter().flat_map(of).collect()
}

/// A = S + N·(mid − L) and B = N·(U − mid) − S: the same statistic in another form.
fn ends(moments: &Moments, grid: &Grid) -> Ends {
    let (count, sum) = (i128::from(moments.count), i128::from(moments.sum));
    let clamp = |sum: i128| sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    let above = sum + count * i128::from(grid.middle() - grid.lower());
    let below = count * i128::from(grid.upper() - grid.middle()) - sum;
    Ends { above_lower: clamp(above), below_upper: clamp(below) }
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

impl Widths {
    /// With the noise of the design, where this many values must hold at once.
    fn of_design(design: &Design, values: u64) -> Self {
        // In whole rows; numbers are rounded by up to half of one.
        let in_rows = |half_width: u64| if design.weighed { (half_width >> WEIGHT_BITS) + 2 } else { half_width };
        let of_one = |paid: &Paid, together: u64| Ok(in_rows(design.half_width(paid, together)));
        let of_two = |paid: &Paid, together: u64| Ok(in_rows(design.half_width_of_two(paid, together)));
        let Ok(widths): Result<Self, Infallible> = Self::new(design, of_one, of_two, values);
        widths
    }

    /// With given half-widths of numbers, and of sums of two, by part and by how many must hold at once.
    fn new<E>(
        design: &Design,
        of_one: impl Fn(&Paid, u64) -> Result<u64, E>,
        of_two: impl Fn(&Paid, u64) -> Result<u64, E>,
        values: u64,
    ) -> Result<Self, E> {
        let half_widths = design.additive.iter().map(|paid| {
            let of = |together: u64| of_one(paid, values * together);
            Ok([of(1)?, of(2)?, of(3)?, of(4)?])
        });
        let of_one = half_widths.collect::<Result<Vec<_>, E>>()?;
        let of_two = design.additive.iter().map(|paid| match paid.part {
            Additive::Ends(..) | Additive::Presence(_) => {
                let of = |together: u64| of_two(paid, values * together);
                Ok([of(1)?, of(2)?, of(3)?])
            }
            _ => Ok([0; 3]),
        });
        let of_two = of_two.collect::<Result<Vec<_>, E>>()?;
        let one = f64::from(1 << WEIGHT_BITS);
        let weighed = design.additive.iter().filter(|_| design.weighed);
        let variances = weighed.map(|paid| design.variance(paid) / (one * one)).collect();
        Ok(Self { of_one, of_two, variances, deviations: deviations(values) })
    }
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
                let half_width = Ends::count_half_width(grid, self.sum_half_width(*part, 1));
                // The count is an integer; rounding may move it half a step further.
                let value = Value::Integer(ends.count(grid).round() as i64);
                Cell { value, bar: Bar::HalfWidth((half_width + 0.5).floor()) }
            }
            Output::Sum(part) => {
                let (ends, grid) = (self.ends(additive, *part, group), self.grid(*part));
                real(ends.total(grid), Ends::total_half_width(grid, self.half_width(*part, 2)))
            }
            Output::Mean(part) => {
                let (mean, half_width) = self.mean(*part, additive, group);
                real(mean, half_width)
            }
            Output::Variance { ends, squares, sample, root } => {
                let grid = self.grid(*ends);
                let (count, sum) = self.ends(additive, *ends, group).to_count_and_sum(grid);
                let released = [count, sum, additive[*squares][group]];
                let (counts, sums) = Ends::count_and_sum_half_widths(grid, self.sum_half_width(*ends, 3));
                let half_widths = [counts, sums, self.half_width(*squares, 3)];
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
            let half_width = if numbers.len() == 2 { self.sum_half_width(part, 1) } else { self.half_width(part, 1) };
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
            None => (ends.mean(grid), ends.mean_half_width(grid, self.half_width(part, 2))),
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

    /// The half-width of one number, where `together` of them must hold at once.
    fn half_width(&self, part: usize, together: usize) -> u64 {
        self.widths.of_one[part][together - 1]
    }

    /// The half-width of the sum, or the difference, of two numbers of a part.
    fn sum_half_width(&self, part: usize, together: usize) -> u64 {
        self.widths.of_two[part][together - 1]
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
