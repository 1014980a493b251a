//! Maps values to positions along an axis.

use crate::chart::Scale;
use crate::ticks::{self, Tick};

/// Larger values count as infinite: differences of smaller ones do not overflow.
const LARGEST: f64 = 1e300;
/// Smaller values count as 0 in ratios.
const SMALLEST: f64 = 1e-300;
/// Ranges narrower than this fraction of their values count as a single value.
const NARROWEST: f64 = 1e-12;

/// One axis: a range of values, as exponents if the scale is logarithmic.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    scale: Scale,
    binary: bool,
    /// All values are whole numbers, so ticks between them are meaningless.
    whole: bool,
    low: f64,
    high: f64,
}

/// How an axis fits its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fit {
    /// The fraction of the range left free at either end.
    pub margin: f64,
    /// Whether 0 is included.
    pub from_zero: bool,
}

/// Whether a value has a position on such an axis.
pub fn has_place(scale: Scale, value: f64) -> bool {
    value.abs() <= LARGEST && (scale == Scale::Linear || value >= SMALLEST)
}

impl Axis {
    /// An axis that contains all values that have a position.
    pub fn new(scale: Scale, values: impl Iterator<Item = f64> + Clone, fit: Fit) -> Self {
        let values = values.filter(|value| has_place(scale, *value));
        // 2^k has a zero mantissa.
        let power_of_two = |value: f64| value.to_bits() & ((1 << 52) - 1) == 0;
        let binary = scale == Scale::Log && values.clone().all(power_of_two);
        let whole = values.clone().all(|value| value.fract() == 0.0);
        let place = |value: f64| match scale {
            Scale::Linear => value,
            Scale::Log if binary => value.log2(),
            Scale::Log => value.log10(),
        };
        let zero = (fit.from_zero && scale == Scale::Linear).then_some(0.0);
        let ends = values.chain(zero).map(place).fold(None, |ends: Option<(f64, f64)>, place| {
            let (low, high) = ends.unwrap_or((place, place));
            Some((low.min(place), high.max(place)))
        });
        let (mut low, mut high) = ends.unwrap_or((0.0, 1.0));
        let size = low.abs().max(high.abs());
        if high - low <= (size * NARROWEST).max(SMALLEST) {
            let room = if scale == Scale::Log || size < SMALLEST { 1.0 } else { size / 2.0 };
            (low, high) = (low - room, high + room);
        } else {
            let room = (high - low) * fit.margin;
            let keeps_zero = |end: f64| fit.from_zero && scale == Scale::Linear && end == 0.0;
            low -= if keeps_zero(low) { 0.0 } else { room };
            high += if keeps_zero(high) { 0.0 } else { room };
        }
        Self { scale, binary, whole, low, high }
    }

    /// A value's position: 0 at the low end, 1 at the high end; values beyond the ends, or without a position, are put
    /// at the end.
    pub fn place(&self, value: f64) -> f64 {
        let place = match self.scale {
            Scale::Linear => value,
            Scale::Log if value < SMALLEST => return 0.0,
            Scale::Log if self.binary => value.log2(),
            Scale::Log => value.log10(),
        };
        ((place - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }

    /// About `count` ticks.
    pub fn ticks(&self, count: f64) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => ticks::linear(self.low, self.high, count, self.whole),
            Scale::Log if self.binary => ticks::powers_of_two(self.low, self.high, count),
            Scale::Log => ticks::powers_of_ten(self.low, self.high, count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Fit = Fit { margin: 0.0, from_zero: false };

    fn axis(scale: Scale, values: &[f64]) -> Axis {
        Axis::new(scale, values.iter().copied(), PLAIN)
    }

    #[test]
    fn values_find_their_place() {
        let linear = axis(Scale::Linear, &[0.0, f64::NAN, 10.0, f64::INFINITY]);
        assert_eq!([0.0, 5.0, 10.0, 11.0].map(|value| linear.place(value)), [0.0, 0.5, 1.0, 1.0]);
        let log = axis(Scale::Log, &[1.0, 100.0, 0.0, -3.0, 50.0]);
        assert_eq!([1.0, 10.0, 100.0, -1.0].map(|value| log.place(value)), [0.0, 0.5, 1.0, 0.0]);
        assert_eq!(axis(Scale::Log, &[16.0, 1024.0]).ticks(4.0)[0].label, "2⁴");
    }

    #[test]
    fn a_range_without_extent_is_given_one() {
        for values in [&[][..], &[0.0], &[7.0, 7.0], &[-1e300], &[1e300, -1e300], &[5e-324], &[1.0, 1.0 + f64::EPSILON]]
        {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = axis(scale, values);
                assert!(axis.high > axis.low, "{values:?}");
                assert!(!axis.ticks(5.0).is_empty(), "{axis:?}");
            }
        }
    }
}
