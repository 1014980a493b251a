//! Normal tails and a few helpers, each with its rounding error.

/// The unit roundoff of `f64`: the relative error of one correctly rounded operation is at most this.
pub(crate) const UNIT: f64 = f64::EPSILON / 2.0;

/// A non-negative real number between two floats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bounds {
    pub lo: f64,
    pub hi: f64,
}

impl Bounds {
    /// Anything between 0 and `hi`.
    pub fn up_to(hi: f64) -> Self {
        Self { lo: 0.0, hi }
    }

    /// A value that is known up to `units` roundings. The smallest normal number is added to cover underflow.
    pub fn around(value: f64, units: f64) -> Self {
        let margin = (units + 2.0) * UNIT;
        Self { lo: (value * (1.0 - margin)).max(0.0), hi: value * (1.0 + margin) + f64::MIN_POSITIVE }
    }

    /// a·self + b·other for exact a, b ≥ 0.
    pub fn mix(self, a: f64, other: Self, b: f64) -> Self {
        Self {
            lo: (self.lo * a + other.lo * b) * (1.0 - 4.0 * UNIT),
            hi: (self.hi * a + other.hi * b) * (1.0 + 4.0 * UNIT) + f64::MIN_POSITIVE,
        }
    }

    /// self − other, known to be non-negative.
    fn minus(self, other: Self) -> Self {
        Self {
            lo: ((self.lo - other.hi) * (1.0 - 2.0 * UNIT)).max(0.0),
            hi: (self.hi - other.lo) * (1.0 + 2.0 * UNIT) + f64::MIN_POSITIVE,
        }
    }
}

/// P(X ≥ x) for a standard normal X.
///
/// `erfc` is good to about one unit in the last place; four are allowed. The argument is x/√2, and x itself may already
/// be off by one rounding: together at most 3 UNIT relatively, which moves the tail by at most
/// 3 UNIT·|x|·φ(x)/P(X ≥ x) ≤ 3 UNIT·(x² + 1) relatively (Mills' ratio is above x/(x² + 1)).
pub(crate) fn upper_tail(x: f64) -> Bounds {
    Bounds::around(0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2), 12.0 + 4.0 * x * x)
}

/// P(from ≤ X ≤ to) for a standard normal X, as a difference of the two small tails.
pub(crate) fn normal_mass(from: f64, to: f64) -> Bounds {
    if from >= 0.0 {
        upper_tail(from).minus(upper_tail(to))
    } else if to <= 0.0 {
        upper_tail(-to).minus(upper_tail(-from))
    } else {
        let half = |x: f64| 0.5 * libm::erf(x * std::f64::consts::FRAC_1_SQRT_2);
        // x·φ(x) is below the mass between 0 and x, so errors of the arguments do not grow.
        Bounds::around(half(to) + half(-from), 16.0)
    }
}

/// Mills' ratio P(X ≥ x)/φ(x) for 0 ≤ x ≤ 35 and its relative error.
pub(crate) fn mills(x: f64) -> (f64, f64) {
    // e^{x²/2}, compensated for the rounding error of x².
    let square = x * x;
    let rest = x.mul_add(x, -square);
    let inverse_density = libm::exp(square / 2.0) * (1.0 + rest / 2.0) * (2.0 * std::f64::consts::PI).sqrt();
    let tail = upper_tail(x);
    (0.5 * (tail.lo + tail.hi) * inverse_density, (24.0 + 5.0 * square) * UNIT)
}

/// A sum whose rounding error is below 2 UNIT of the sum of magnitudes, however many terms (Neumaier).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sum {
    total: f64,
    rest: f64,
}

impl Sum {
    pub fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.rest +=
            if self.total.abs() >= term.abs() { (self.total - next) + term } else { (term - next) + self.total };
        self.total = next;
    }

    pub fn value(self) -> f64 {
        self.total + self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(X ≥ x) to 17 digits, computed with a 50-digit program.
    #[test]
    fn tails_are_enclosed_closely() {
        let table = [
            (-3.0, 0.998_650_101_968_369_9),
            (0.0, 0.5),
            (0.5, 0.308_537_538_725_986_9),
            (1.0, 0.158_655_253_931_457_05),
            (2.25, 0.012_224_472_655_044_703),
            (5.0, 2.866_515_718_791_939e-7),
            (11.5, 6.595_771_446_113_675e-31),
            (20.0, 2.753_624_118_606_233_7e-89),
            (30.0, 4.906_713_927_148_187e-198),
            (37.0, 5.725_571_222_524_577e-300),
        ];
        for (x, tail) in table {
            let bounds = upper_tail(x);
            assert!(bounds.lo <= tail && tail <= bounds.hi, "{x}: {bounds:?}");
            // At 37 the allowance for underflow dominates.
            assert!(bounds.hi / bounds.lo - 1.0 < if x < 35.0 { 3e-12 } else { 1e-8 }, "{x}: {bounds:?}");
        }
    }

    #[test]
    fn masses_of_adjacent_intervals_add_up() {
        for shift in [-30.0, -3.0, -0.5, 0.0, 0.2, 5.0, 25.0] {
            let cuts: Vec<f64> = (0..=64).map(|cut| shift + f64::from(cut) / 64.0).collect();
            let parts: Vec<Bounds> = cuts.windows(2).map(|pair| normal_mass(pair[0], pair[1])).collect();
            let whole = normal_mass(shift, shift + 1.0);
            let (lo, hi) =
                (parts.iter().map(|part| part.lo).sum::<f64>(), parts.iter().map(|part| part.hi).sum::<f64>());
            assert!(lo <= whole.hi && whole.lo <= hi * (1.0 + 1e-14), "{shift}");
            assert!(hi / lo - 1.0 < 1e-10, "{shift}: {lo} {hi}");
        }
    }

    #[test]
    fn mills_ratio_lies_between_its_classical_bounds() {
        for step in 1..350 {
            let x = f64::from(step) / 10.0;
            let (ratio, error) = mills(x);
            assert!(ratio * (1.0 + error) > 2.0 / (x + (x * x + 4.0).sqrt()), "{x}");
            assert!(ratio * (1.0 - error) < 4.0 / (3.0 * x + (x * x + 8.0).sqrt()), "{x}");
        }
    }

    #[test]
    fn compensated_sums_keep_what_is_small() {
        let mut sum = Sum::default();
        sum.add(1e16);
        (0..1000).for_each(|_| sum.add(1.0));
        sum.add(-1e16);
        assert_eq!(sum.value().to_bits(), 1000.0_f64.to_bits());
    }
}
