//! Pearson's χ² test: do integer samples follow the claimed law?

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::numeric::beta_gamma;

/// How often a test of correct code may fail: once in a million runs.
///
/// Every statistical test here uses this level, so that a failure means a defect and not bad luck.
pub const FALSE_ALARM: f64 = 1e-6;

/// The minimum expected number of samples in a cell; below it the χ² law no longer describes the statistic.
pub const LEAST_EXPECTED: f64 = 10.0;

/// With more cells than this, neighbours are merged: the power to detect a wrong scale falls with the number of cells.
///
/// At 10⁶ samples and this many cells, a Laplace scale that is wrong by 1 % is detected at level [`FALSE_ALARM`] two
/// times out of three, and one that is wrong by 1.5 % practically always.
pub const MOST_CELLS: usize = 100;

/// How far the sum of a law's probabilities may differ from 1 through rounding.
const SUM_TOLERANCE: f64 = 1e-9;

/// A law on the integers: the probability of each value in a window, and of all values below and above it.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedLaw {
    first: i64,
    below: f64,
    probabilities: Vec<f64>,
    above: f64,
}

impl ExpectedLaw {
    /// The law that gives `probabilities[i]` to `first + i`, `below` to everything smaller and `above` to everything
    /// larger.
    ///
    /// # Errors
    /// If there is no probability, one is negative or not finite, they do not add up to 1 (within 10⁻⁹), or the window
    /// leaves the range of `i64`.
    pub fn new(first: i64, below: f64, probabilities: Vec<f64>, above: f64) -> Result<Self> {
        let all = || probabilities.iter().copied().chain([below, above]);
        if let Some(bad) = all().find(|probability| !(0.0..=1.0).contains(probability)) {
            return Err(Error::parameter("probability", bad, "between 0 and 1"));
        }
        let sum: f64 = all().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::parameter("sum of the probabilities", sum, "1"));
        }
        let width = i64::try_from(probabilities.len()).unwrap_or(i64::MAX);
        if probabilities.is_empty() || first.checked_add(width).is_none() {
            return Err(Error::parameter(
                "window",
                format!("{width} values from {first}"),
                "at least one 64-bit value",
            ));
        }
        Ok(Self { first, below, probabilities, above })
    }

    /// A law that is symmetric about 0: `mass(|k|)` for −`reach` ≤ k ≤ `reach`, and half of what is missing from 1 on
    /// either side.
    ///
    /// # Errors
    /// As [`ExpectedLaw::new`].
    ///
    /// # Example
    /// ```
    /// use reticent::audit::ExpectedLaw;
    ///
    /// // Discrete Laplace noise of scale 2.
    /// let ratio = (-0.5_f64).exp();
    /// let law = ExpectedLaw::symmetric(60, |k| (1.0 - ratio) / (1.0 + ratio) * ratio.powi(k as i32))?;
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn symmetric(reach: u32, mass: impl Fn(u64) -> f64) -> Result<Self> {
        let reach = i64::from(reach);
        let probabilities: Vec<f64> = (-reach..=reach).map(|k| mass(k.unsigned_abs())).collect();
        let missing = 1.0 - probabilities.iter().sum::<f64>();
        // Rounding may leave slightly less than 0.
        let tail = if missing < 0.0 && missing > -SUM_TOLERANCE { 0.0 } else { missing / 2.0 };
        Self::new(-reach, tail, probabilities, tail)
    }

    /// The probabilities in order, the two open ends included.
    fn slots(&self) -> Vec<f64> {
        let mut slots = Vec::with_capacity(self.probabilities.len() + 2);
        slots.push(self.below);
        slots.extend(&self.probabilities);
        slots.push(self.above);
        slots
    }

    /// The index in [`Self::slots`] that holds `value`.
    fn slot_of(&self, value: i64) -> usize {
        match value.checked_sub(self.first) {
            _ if value < self.first => 0,
            Some(offset) => usize::try_from(offset).map_or(usize::MAX, |offset| offset.saturating_add(1)),
            None => usize::MAX,
        }
        .min(self.probabilities.len() + 1)
    }
}

/// One row of the table behind a χ² statistic.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The smallest value in the cell; `None` if it is open below.
    pub first: Option<i64>,
    /// The largest value in the cell; `None` if it is open above.
    pub last: Option<i64>,
    /// The number of samples that the law expects here.
    pub expected: f64,
    /// The number of samples observed.
    pub observed: u64,
}

impl Cell {
    /// The values of the cell, for display: `≤ -7`, `3`, `4 … 6` or `≥ 12`.
    pub fn label(&self) -> String {
        match (self.first, self.last) {
            (None, None) => "any".into(),
            (None, Some(last)) => format!("≤ {last}"),
            (Some(first), None) => format!("≥ {first}"),
            (Some(first), Some(last)) if first == last => first.to_string(),
            (Some(first), Some(last)) => format!("{first} … {last}"),
        }
    }

    /// What the cell adds to the statistic.
    pub fn contribution(&self) -> f64 {
        let difference = self.observed as f64 - self.expected;
        difference * difference / self.expected
    }
}

/// The outcome of a χ² test; its `Display` is the whole table.
///
/// # Accuracy
/// The statistic follows the χ² law as closely as [`LEAST_EXPECTED`] samples per cell allow. [`MOST_CELLS`] states what
/// it can detect.
///
/// # Algorithm
/// Values are merged into cells from both tails inwards, in an order that depends only on the law and the number of
/// samples, never on the counts, so that the level is as stated. If that leaves more than [`MOST_CELLS`], the cells are
/// rebuilt and double in size from the tails inwards until each holds one part in `MOST_CELLS`: the tails stay fine
/// while the middle becomes coarse.
///
/// # Example
/// ```
/// use std::collections::BTreeMap;
/// use reticent::audit::{ExpectedLaw, GoodnessOfFit, FALSE_ALARM};
///
/// let die = ExpectedLaw::new(1, 0.0, vec![1.0 / 6.0; 6], 0.0)?;
/// let throws = BTreeMap::from([(1, 99), (2, 103), (3, 98), (4, 101), (5, 97), (6, 102)]);
/// let fit = GoodnessOfFit::test(&die, &throws)?;
/// assert_eq!(fit.degrees_of_freedom, 5);
/// assert!(fit.passes(FALSE_ALARM));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GoodnessOfFit {
    /// The table, from small values to large ones.
    pub cells: Vec<Cell>,
    /// The number of samples.
    pub samples: u64,
    /// How many of them have probability zero under the law; a single one refutes it.
    pub impossible: u64,
    /// Σ (observed − expected)² / expected; infinite if something impossible was seen.
    pub statistic: f64,
    /// One less than the number of cells.
    pub degrees_of_freedom: u64,
    /// The probability that a correct sampler gives a statistic at least as large.
    pub p_value: f64,
}

impl GoodnessOfFit {
    /// Compares how often each value was `observed` with what the law expects.
    ///
    /// # Errors
    /// If there are too few samples for two cells of [`LEAST_EXPECTED`] each.
    pub fn test(law: &ExpectedLaw, observed: &BTreeMap<i64, u64>) -> Result<Self> {
        let samples: u64 = observed.values().sum();
        let slots = law.slots();
        let expected: Vec<f64> = slots.iter().map(|probability| probability * samples as f64).collect();
        let ranges = cells_of(&expected);
        if ranges.len() < 2 {
            return Err(Error::parameter(
                "samples",
                samples,
                "large enough that at least two cells have an expected count of 10",
            ));
        }

        let mut counts = vec![0u64; slots.len()];
        for (&value, &count) in observed {
            counts[law.slot_of(value)] += count;
        }
        let impossible = slots.iter().zip(&counts).filter(|(slot, _)| **slot <= 0.0).map(|(_, count)| count).sum();

        let last_slot = slots.len() - 1;
        // Slot 0 is open below; slot i ≥ 1 is the value first + i − 1.
        let value_of = |slot: usize| law.first + (slot as i64 - 1);
        let cells: Vec<Cell> = ranges
            .into_iter()
            .map(|range| Cell {
                first: (range.start > 0).then(|| value_of(range.start)),
                last: (range.end <= last_slot).then(|| value_of(range.end - 1)),
                expected: expected[range.clone()].iter().sum(),
                observed: counts[range].iter().sum(),
            })
            .collect();
        let degrees_of_freedom = cells.len() as u64 - 1;
        let (statistic, p_value) = if impossible > 0 {
            (f64::INFINITY, 0.0)
        } else {
            let statistic = cells.iter().map(Cell::contribution).sum();
            (statistic, beta_gamma::gamma_upper(degrees_of_freedom as f64 / 2.0, statistic / 2.0)?)
        };
        Ok(Self { cells, samples, impossible, statistic, degrees_of_freedom, p_value })
    }

    /// The value that the statistic of a correct sampler exceeds with probability `level`.
    ///
    /// # Errors
    /// If the level is not between 0 and 1.
    pub fn quantile(&self, level: f64) -> Result<f64> {
        chi_squared_quantile(self.degrees_of_freedom, level)
    }

    /// Is the sample compatible with the law, at this level of false alarm?
    pub fn passes(&self, level: f64) -> bool {
        self.p_value >= level
    }
}

impl fmt::Display for GoodnessOfFit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels: Vec<String> = self.cells.iter().map(Cell::label).collect();
        let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0).max("value".len());
        writeln!(formatter, "{:>width$} {:>14} {:>12} {:>10}", "value", "expected", "observed", "χ²")?;
        for (cell, label) in self.cells.iter().zip(labels) {
            let (expected, observed, contribution) = (cell.expected, cell.observed, cell.contribution());
            writeln!(formatter, "{label:>width$} {expected:>14.1} {observed:>12} {contribution:>10.2}")?;
        }
        if self.impossible > 0 {
            writeln!(formatter, "{} samples are impossible under the law", self.impossible)?;
        }
        let (statistic, degrees, p) = (self.statistic, self.degrees_of_freedom, self.p_value);
        write!(formatter, "χ² = {statistic:.2} with {degrees} degrees of freedom, p = {p:.3e}")
    }
}

/// The value that a χ² variable with this many degrees of freedom exceeds with probability `level`.
///
/// # Errors
/// If there are no degrees of freedom, or the level is not between 0 and 1.
///
/// # Example
/// ```
/// use reticent::audit::chi_squared_quantile;
///
/// assert!((chi_squared_quantile(1, 0.05)? - 3.841_458_8).abs() < 1e-7);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn chi_squared_quantile(degrees_of_freedom: u64, level: f64) -> Result<f64> {
    if degrees_of_freedom == 0 {
        return Err(Error::parameter("degrees of freedom", degrees_of_freedom, "at least 1"));
    }
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 1e-6"));
    }
    Ok(2.0 * beta_gamma::gamma_upper_inverse(degrees_of_freedom as f64 / 2.0, level)?)
}

/// The slots that form each cell, from left to right.
fn cells_of(expected: &[f64]) -> Vec<Range<usize>> {
    let cells = join(expected, |_| LEAST_EXPECTED);
    if cells.len() <= MOST_CELLS {
        return cells;
    }
    let share = expected.iter().sum::<f64>() / MOST_CELLS as f64;
    join(expected, |outside| outside.clamp(LEAST_EXPECTED, share.max(LEAST_EXPECTED)))
}

/// Merges slots from both tails to the median; each cell holds at least `least(what lies outside it)`, and at least
/// [`LEAST_EXPECTED`]. The remainder in the middle is one more cell, or joins a neighbour if it is too small.
fn join(expected: &[f64], least: impl Fn(f64) -> f64) -> Vec<Range<usize>> {
    let half = expected.iter().sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let median = expected.iter().position(|slot| {
        sum += slot;
        sum >= half
    });
    let median = median.unwrap_or(expected.len() / 2);

    // Both sides count slots from their own tail; the median belongs to neither.
    let from_left = join_inwards(expected[..median].iter(), &least);
    let from_right = join_inwards(expected[median + 1..].iter().rev(), &least);
    let middle_start = from_left.last().copied().unwrap_or(0);
    let middle_end = expected.len() - from_right.last().copied().unwrap_or(0);

    let mut cells: Vec<Range<usize>> = Vec::with_capacity(from_left.len() + from_right.len() + 1);
    let mut start = 0;
    for end in from_left {
        cells.push(start..end);
        start = end;
    }
    cells.push(middle_start..middle_end);
    let mut start = middle_end;
    for end in from_right.iter().rev().skip(1).map(|taken| expected.len() - taken).chain([expected.len()]) {
        if start < end {
            cells.push(start..end);
        }
        start = end;
    }

    let middle: f64 = expected[middle_start..middle_end].iter().sum();
    if middle < LEAST_EXPECTED && cells.len() > 1 {
        let index = cells.iter().position(|cell| cell.start == middle_start).unwrap_or(0);
        let neighbour = if index > 0 { index - 1 } else { index };
        let joined = cells[neighbour].start..cells[neighbour + 1].end;
        cells.splice(neighbour..=neighbour + 1, [joined]);
    }
    cells
}

/// The number of slots outside the inner edge of each cell, going from a tail towards the middle.
fn join_inwards<'a>(slots: impl Iterator<Item = &'a f64>, least: impl Fn(f64) -> f64) -> Vec<usize> {
    let (mut edges, mut outside, mut inside) = (Vec::new(), 0.0, 0.0);
    for (index, slot) in slots.enumerate() {
        inside += slot;
        if inside >= least(outside) {
            edges.push(index + 1);
            outside += inside;
            inside = 0.0;
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::simulation::{SplitMix64, discrete_laplace, histogram_of, laplace_law};

    const SAMPLES: u64 = 1_000_000;
    /// The smallest error in scale that this many samples practically always detect.
    const WRONG: f64 = 1.015;

    #[test]
    fn cells_come_from_the_tails_inwards_and_cover_everything() {
        let expected = [1.0, 2.0, 8.0, 30.0, 4.0, 40.0, 3.0, 9.0, 2.0];
        assert_eq!(join(&expected, |_| LEAST_EXPECTED), [0..3, 3..4, 4..7, 7..9]);
        for expected in [vec![100.0], vec![0.0, 100.0, 0.0], vec![50.0, 50.0], vec![0.0; 5], vec![9.0; 40]] {
            let cells = join(&expected, |_| LEAST_EXPECTED);
            assert_eq!((cells[0].start, cells.last().unwrap().end), (0, expected.len()));
            assert!(cells.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sums = cells.iter().map(|cell| expected[cell.clone()].iter().sum::<f64>());
            assert!(cells.len() == 1 || sums.into_iter().all(|sum| sum >= LEAST_EXPECTED));
        }
    }

    #[test]
    fn wide_laws_keep_fine_tails_and_few_cells() {
        let law = laplace_law(20_000.0);
        let expected: Vec<f64> = law.slots().iter().map(|slot| slot * SAMPLES as f64).collect();
        let cells = cells_of(&expected);
        assert!(cells.len() > MOST_CELLS / 2 && cells.len() < MOST_CELLS + 40, "{}", cells.len());
        let sum = |index: usize| expected[cells[index].clone()].iter().sum::<f64>();
        assert!(sum(0) < 12.0 && sum(cells.len() - 1) < 12.0, "the outermost cells hold about ten");
    }

    #[test]
    fn the_statistic_is_the_textbook_one() {
        let law = ExpectedLaw::new(0, 0.0, vec![0.25, 0.5, 0.25], 0.0).unwrap();
        let fit = GoodnessOfFit::test(&law, &BTreeMap::from([(0, 30), (1, 40), (2, 30)])).unwrap();
        assert!((fit.statistic - 4.0).abs() < 1e-12);
        assert_eq!((fit.degrees_of_freedom, fit.samples), (2, 100));
        // With two degrees of freedom the tail is e^(−x/2).
        assert!((fit.p_value / (-2.0_f64).exp() - 1.0).abs() < 1e-12);
        assert!((fit.quantile(FALSE_ALARM).unwrap() / (-2.0 * FALSE_ALARM.ln()) - 1.0).abs() < 1e-12);
        assert_eq!(fit.cells.iter().map(Cell::label).collect::<Vec<_>>(), ["≤ 0", "1", "≥ 2"]);
        assert!(fit.to_string().ends_with("χ² = 4.00 with 2 degrees of freedom, p = 1.353e-1"));
    }

    #[test]
    fn correct_noise_passes_and_a_slightly_wrong_scale_does_not() {
        for scale in [1.0, 10.0, 1000.0] {
            let mut random = SplitMix64(0x5eed_0001);
            let law = laplace_law(scale);
            let right = GoodnessOfFit::test(&law, &histogram_of(SAMPLES, || discrete_laplace(scale, &mut random)));
            let right = right.unwrap();
            assert!(right.passes(FALSE_ALARM), "{right}");
            assert!(right.cells.iter().all(|cell| cell.expected >= LEAST_EXPECTED));
            let wrong = histogram_of(SAMPLES, || discrete_laplace(WRONG * scale, &mut random));
            let wrong = GoodnessOfFit::test(&law, &wrong).unwrap();
            assert!(!wrong.passes(FALSE_ALARM), "{wrong}");
        }
    }

    #[test]
    fn the_impossible_refutes_at_once() {
        let even_only = ExpectedLaw::new(-2, 0.0, vec![0.25, 0.0, 0.5, 0.0, 0.25], 0.0).unwrap();
        let mut counts = BTreeMap::from([(-2, 25_000), (0, 50_000), (2, 25_000)]);
        assert!(GoodnessOfFit::test(&even_only, &counts).unwrap().passes(0.9));
        for impossible in [1, -7, i64::MIN, i64::MAX] {
            counts.insert(impossible, 1);
            let fit = GoodnessOfFit::test(&even_only, &counts).unwrap();
            assert_eq!((fit.impossible, fit.p_value), (1, 0.0));
            assert!(!fit.passes(FALSE_ALARM) && fit.to_string().contains("impossible"));
            counts.remove(&impossible);
        }
    }

    #[test]
    fn what_means_nothing_is_refused_with_its_name() {
        let message = |result: Result<ExpectedLaw>| result.unwrap_err().to_string();
        assert!(message(ExpectedLaw::new(0, 0.0, vec![0.5, -0.5], 1.0)).starts_with("probability is -0.5"));
        assert!(message(ExpectedLaw::new(0, 0.0, vec![f64::NAN], 0.0)).starts_with("probability is NaN"));
        assert!(message(ExpectedLaw::new(0, 0.0, vec![0.5], 0.4)).starts_with("sum of the probabilities is 0.9"));
        assert!(message(ExpectedLaw::new(0, 1.0, vec![], 0.0)).starts_with("window is "));
        assert!(message(ExpectedLaw::new(i64::MAX, 0.0, vec![1.0], 0.0)).starts_with("window is "));
        let coin = ExpectedLaw::new(0, 0.0, vec![0.5, 0.5], 0.0).unwrap();
        for few in [BTreeMap::new(), BTreeMap::from([(0, 9), (1, 9)])] {
            assert!(GoodnessOfFit::test(&coin, &few).unwrap_err().to_string().starts_with("samples is "));
        }
        assert!(chi_squared_quantile(0, 0.5).is_err() && chi_squared_quantile(3, 0.0).is_err());
    }
}
