//! Real values as whole numbers.

use dashu_int::UBig;
use serde::{Deserialize, Serialize};

use super::Bounds;
use crate::error::{Error, Result};
use crate::exact::Rational;

/// Bits of the larger end of the range: a step is at most 2^−28 of it.
pub(crate) const BITS: i32 = 28;
/// The exponents that any bounds can have: their larger end is at least ½·10^−140 > 2^−467 and at most 10^140 < 2^466.
const EXPONENTS: std::ops::RangeInclusive<i32> = -466 - BITS..=466 - BITS;

/// The lattice on which real values are summed: multiples of a power of two that depends on the bounds alone.
///
/// # Privacy
/// Every value is clamped and rounded *before* it is added, and whole numbers are added without rounding. So a sum does
/// not depend on the order of its terms, and one value moves it by no more than its own size. A floating-point sum has
/// neither property.
///
/// # Accuracy
/// The step is 2^(⌈log₂ max(|L|, |U|)⌉ − 28): a value is off by at most half a step, two parts in a billion of the
/// larger bound.
///
/// # Example
/// ```
/// use reticent::statistic::{Bounds, Grid};
///
/// let grid = Grid::new(&"0..120".parse::<Bounds>()?);
/// assert_eq!(grid.step(), 2f64.powi(7 - 28));
/// let steps = grid.sum([Some(30.0), Some(50.0), None, Some(f64::NAN), Some(1e9)]);
/// assert_eq!(grid.value(steps), 30.0 + 50.0 + 120.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "(i32, i64, i64)", try_from = "(i32, i64, i64)")]
pub struct Grid {
    /// The step is 2^exponent.
    exponent: i32,
    lower: i64,
    upper: i64,
}

impl Grid {
    /// The grid for a range.
    pub fn new(bounds: &Bounds) -> Self {
        let zero = Rational::ZERO;
        let magnitude = |end: &Rational| if *end < zero { &zero - end } else { end.clone() };
        let largest = magnitude(bounds.lower()).max(magnitude(bounds.upper()));
        let exponent = ceil_log2(&largest) - BITS;
        // The ends are rounded outwards, so that every value within the bounds stays within the grid's.
        let steps = |end: &Rational| end / &power_of_two(exponent);
        let lower = i64::try_from(&steps(bounds.lower()).floor()).expect("at most 2^28 steps");
        let upper = i64::try_from(&steps(bounds.upper()).ceil()).expect("at most 2^28 steps");
        Self { exponent, lower, upper }
    }

    /// The finest grid for the same range with at most `most` steps, which must be at least 2: every step is a power of
    /// two, and the ends are rounded outwards.
    pub fn coarsened(&self, most: i64) -> Self {
        let mut grid = self.clone();
        while grid.upper - grid.lower > most.max(2) {
            grid = Self { exponent: grid.exponent + 1, lower: grid.lower >> 1, upper: (grid.upper + 1) >> 1 };
        }
        grid
    }

    /// Steps of 2^exponent from `lower` to `upper`, for bounds whose grid is already known.
    pub(crate) fn of_steps(exponent: i32, lower: i64, upper: i64) -> Self {
        Self { exponent, lower, upper }
    }

    /// The size of a step.
    pub fn step(&self) -> f64 {
        libm::ldexp(1.0, self.exponent)
    }

    /// The lower bound in steps.
    pub fn lower(&self) -> i64 {
        self.lower
    }

    /// The upper bound in steps.
    pub fn upper(&self) -> i64 {
        self.upper
    }

    /// The middle of the range in steps, rounded down.
    pub fn middle(&self) -> i64 {
        (self.lower + self.upper).div_euclid(2)
    }

    /// The value in steps: clamped, then rounded to the nearest (ties away from zero); `None` for NaN.
    #[inline]
    pub fn steps(&self, value: f64) -> Option<i64> {
        // Adding 1.5 · 2^52 rounds to a whole number, which is then in the lowest bits.
        const SHIFT: f64 = 6_755_399_441_055_744.0;
        // Multiplication by a power of two is exact, or far outside the range, where clamping decides. Clamped before it is
        // rounded, the number fits 32 bits. A loop over a column needs no branch, no call and no conversion.
        let scaled = (value * self.steps_per_one()).clamp(self.lower as f64, self.upper as f64);
        let shifted = scaled + SHIFT;
        // Ties were rounded to even: half of those above 0 down, and half of those below 0 up.
        let rest = scaled - (shifted - SHIFT);
        let (up, down) = ((rest >= 0.5) & (scaled > 0.0), (rest <= -0.5) & (scaled < 0.0));
        let steps = shifted.to_bits() as i32 + i32::from(up) - i32::from(down);
        (!value.is_nan()).then_some(steps.into())
    }

    /// 2^−exponent, which is a normal float for all possible bounds.
    #[inline]
    fn steps_per_one(&self) -> f64 {
        f64::from_bits(((1023 - self.exponent) as u64) << 52)
    }

    /// A whole number in steps, without going through a float.
    #[inline]
    pub fn steps_of_integer(&self, value: i64) -> i64 {
        // Numbers that a float holds exactly take the faster path, with the same result.
        if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS {
            return self.steps(value as f64).unwrap_or_default();
        }
        let exact = i128::from(value);
        let steps = match self.exponent {
            // Beyond 2^62 steps per unit, no range with such a grid contains a whole number other than 0.
            exponent if exponent < -62 => exact.signum() << 62,
            exponent if exponent <= 0 => exact << -exponent,
            exponent if exponent > 64 => 0,
            // To the nearest, ties away from zero, as for floats.
            exponent => ((exact.abs() + (1 << (exponent - 1))) >> exponent) * exact.signum(),
        };
        steps.clamp(self.lower.into(), self.upper.into()) as i64
    }

    /// The sum of all values in steps; NaN and NULL are dropped. Saturates at the ends of an `i64`, which does not
    /// increase its sensitivity.
    pub fn sum(&self, values: impl IntoIterator<Item = Option<f64>>) -> i64 {
        saturated(values.into_iter().flatten().filter_map(|value| self.steps(value)).map(i128::from).sum())
    }

    /// The sum of all values in steps, in which NaN and NULL count as the lower bound: no row is ever missing from it.
    /// Its sensitivity is that [of values](super::Contribution::of_values) between the ends of the grid.
    ///
    /// ```
    /// # use reticent::statistic::{Bounds, Grid};
    /// let grid = Grid::new(&"20..30".parse::<Bounds>()?);
    /// assert_eq!(grid.value(grid.sum_of_all([Some(25.0), None, Some(f64::NAN)])), 65.0);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn sum_of_all(&self, values: impl IntoIterator<Item = Option<f64>>) -> i64 {
        let steps = |value: Option<f64>| value.and_then(|value| self.steps(value)).unwrap_or(self.lower);
        saturated(values.into_iter().map(|value| i128::from(steps(value))).sum())
    }

    /// The real number that this many steps represent.
    pub fn value(&self, steps: i64) -> f64 {
        libm::ldexp(steps as f64, self.exponent)
    }
}

impl From<Grid> for (i32, i64, i64) {
    /// The exponent of the step, and both ends in steps.
    fn from(grid: Grid) -> Self {
        (grid.exponent, grid.lower, grid.upper)
    }
}

impl TryFrom<(i32, i64, i64)> for Grid {
    type Error = Error;

    /// # Errors
    /// If no bounds have this grid.
    fn try_from((exponent, lower, upper): (i32, i64, i64)) -> Result<Self> {
        let largest = lower.unsigned_abs().max(upper.unsigned_abs());
        let is_fine = largest > 1 << (BITS - 1) && largest <= 1 << BITS;
        if lower >= upper || !is_fine || !EXPONENTS.contains(&exponent) {
            let value = format!("{lower}..{upper} times 2^{exponent}");
            return Err(Error::parameter("grid", value, "the grid of some bounds"));
        }
        Ok(Self { exponent, lower, upper })
    }
}

/// The nearest `i64`.
pub(crate) fn saturated(sum: i128) -> i64 {
    sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// The smallest e with 2^e ≥ x > 0.
fn ceil_log2(x: &Rational) -> i32 {
    use dashu_int::ops::BitTest;
    let bits = |part: &UBig| part.bit_len() as i32;
    let mut e = bits(&x.numerator()) - bits(x.denominator()) - 1;
    while power_of_two(e) < *x {
        e += 1;
    }
    e
}

fn power_of_two(exponent: i32) -> Rational {
    let power = UBig::ONE << exponent.unsigned_abs() as usize;
    if exponent >= 0 { Rational::from_big(power, UBig::ONE) } else { Rational::from_big(UBig::ONE, power) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(bounds: &str) -> Grid {
        Grid::new(&bounds.parse().unwrap())
    }

    #[test]
    fn a_coarse_grid_has_the_same_range() {
        for bounds in ["0..1", "-128..5", "1700000000..1700086400", "-1e140..1e140", "0.1..0.3"] {
            let fine = grid(bounds);
            for most in [2, 3, 1000, 1 << 16, 1 << 40] {
                let coarse = fine.coarsened(most);
                assert!(coarse.upper() - coarse.lower() <= most, "{bounds}, {most}");
                let (low, high) = (fine.value(fine.lower()), fine.value(fine.upper()));
                assert!(
                    coarse.value(coarse.lower()) <= low && high <= coarse.value(coarse.upper()),
                    "{bounds}, {most}"
                );
            }
            assert_eq!(fine.coarsened(1 << 40), fine);
        }
    }

    #[test]
    fn a_grid_is_read_as_it_was_written_and_no_other_is() {
        for bounds in ["0..1", "-128..5", "0..129", "-1e140..1e140", "-5e-141..5e-141", "0.1..0.3"] {
            let grid = grid(bounds);
            let parts = <(i32, i64, i64)>::from(grid.clone());
            assert_eq!(Grid::try_from(parts), Ok(grid), "{bounds}");
        }
        let top = 1 << BITS;
        for parts in [(0, 5, 5), (0, top, -top), (0, 0, top + 1), (0, -1, top / 2), (0, i64::MIN, top), (439, 0, top)] {
            assert!(Grid::try_from(parts).is_err(), "{parts:?}");
        }
    }

    #[test]
    fn the_step_depends_on_the_bounds_alone() {
        for (bounds, exponent) in [("0..1", -28), ("0..120", -21), ("-128..5", -21), ("0..129", -20), ("0..0.1", -31)] {
            assert_eq!(grid(bounds).exponent, exponent, "{bounds}");
        }
        assert_eq!((grid("0..1").lower(), grid("0..1").upper()), (0, 1 << 28));
    }

    #[test]
    fn bad_values_are_dropped_or_clamped() {
        let grid = grid("-10..20");
        let bad = [f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e300, -1e300];
        for value in bad {
            let end = if value > 0.0 { grid.upper() } else { grid.lower() };
            assert_eq!(grid.steps(value), Some(end), "{value}");
        }
        assert_eq!(grid.steps(f64::NAN), None);
        assert_eq!(grid.steps(f64::MIN_POSITIVE), Some(0));
        assert_eq!(grid.sum([None, Some(f64::NAN)]), 0);
        assert_eq!(grid.steps_of_integer(i64::MIN), grid.lower());
        assert_eq!(grid.steps_of_integer(i64::MAX), grid.upper());
    }

    /// The definition, spelled out: scale, round to the nearest with ties away from zero, clamp.
    fn steps_by_definition(grid: &Grid, value: f64) -> i64 {
        (libm::round(libm::ldexp(value, -grid.exponent)) as i64).clamp(grid.lower, grid.upper)
    }

    const RANGES: [&str; 8] = [
        "0..1",
        "-10..20",
        "0..100",
        "1000..1000.1",
        "-1e140..1e140",
        "-1e-140..2e-140",
        "-1e140..-9.99e139",
        "1700000000..1700086400",
    ];

    #[test]
    fn steps_are_as_defined_at_the_extremes() {
        for bounds in RANGES {
            let grid = grid(bounds);
            let mut values = vec![0.0, f64::MIN_POSITIVE, f64::from_bits(1), f64::MAX, f64::INFINITY, 0.5, 1.5, 2.5];
            for steps in
                [grid.lower - 1, grid.lower, grid.lower + 1, -1, 0, 1, grid.middle(), grid.upper, grid.upper + 1]
            {
                let at = |steps: f64| libm::ldexp(steps, grid.exponent);
                for value in [at(steps as f64), at(steps as f64 - 0.5), at(steps as f64 + 0.5)] {
                    values.extend([value, value.next_up(), value.next_down()]);
                }
            }
            for value in values.into_iter().flat_map(|value| [value, -value]) {
                assert_eq!(grid.steps(value), Some(steps_by_definition(&grid, value)), "{value:e} in {bounds}");
            }
        }
    }

    /// As floats, 2^53 + 1 + 1 … loses every 1; and the order of terms changes the sum.
    #[test]
    fn sums_do_not_depend_on_the_order() {
        let grid = grid("-1e16..1e16");
        let values: Vec<f64> =
            (0..1000).map(|i| if i % 2 == 0 { 1e16 / (i + 1) as f64 } else { -3e15 / i as f64 }).collect();
        let forward = grid.sum(values.iter().copied().map(Some));
        let backward = grid.sum(values.iter().rev().copied().map(Some));
        assert_eq!(forward, backward);
        assert_ne!(values.iter().sum::<f64>(), values.iter().rev().sum::<f64>(), "the control: floats do depend on it");
    }

    proptest! {
        #[test]
        fn one_value_moves_a_sum_by_no_more_than_its_bound(
            rows in prop::collection::vec(any::<f64>(), 0..30), extra in any::<f64>(),
            lower in -1000i64..1000, width in 1i64..1000,
        ) {
            let grid = grid(&format!("{lower}..{}", lower + width));
            let before = grid.sum(rows.iter().copied().map(Some));
            let after = grid.sum(rows.iter().copied().chain([extra]).map(Some));
            let most = grid.lower().unsigned_abs().max(grid.upper().unsigned_abs());
            prop_assert!(before.abs_diff(after) <= most);
        }

        #[test]
        fn steps_are_as_defined(bits in any::<u64>(), near in -2.0f64..2.0, range in 0..RANGES.len()) {
            let grid = grid(RANGES[range]);
            for value in [f64::from_bits(bits), near * grid.value(grid.upper())] {
                let expected = (!value.is_nan()).then(|| steps_by_definition(&grid, value));
                prop_assert_eq!(grid.steps(value), expected);
            }
        }

        #[test]
        fn integers_and_floats_agree(value in -100_000i64..100_000, top in 1u32..50_000) {
            for bounds in [format!("-{top}..{top}"), format!("-{top}00000000..{top}00000000")] {
                let grid = grid(&bounds);
                prop_assert_eq!(grid.steps(value as f64), Some(grid.steps_of_integer(value)));
            }
        }

        #[test]
        fn a_replaced_row_moves_a_sum_of_all_by_no_more_than_the_range(
            rows in prop::collection::vec(any::<f64>(), 0..30), one in any::<f64>(), other in any::<f64>(),
        ) {
            let grid = grid("20..30");
            let with = |row: f64| grid.sum_of_all(rows.iter().copied().chain([row]).map(Some));
            for other in [other, f64::NAN] {
                prop_assert!(with(one).abs_diff(with(other)) <= grid.upper().abs_diff(grid.lower()));
            }
        }

        #[test]
        fn rounding_is_within_half_a_step(value in -50.0f64..50.0) {
            let grid = grid("-50..50");
            let back = grid.value(grid.steps(value).unwrap());
            prop_assert!((back - value).abs() <= grid.step() / 2.0);
        }
    }
}
