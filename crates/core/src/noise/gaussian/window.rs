//! Discrete Gaussian noise from one table, for σ up to about 52.

use std::ops::Range;

use dashu_int::UBig;
use rand_core::Rng;

use super::powers;
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg, multiply_high};
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::{BitSource, always};
use crate::noise::table::{Law, Table};

/// One table over −n..=n, and a tail by rejection.
#[derive(Debug, Clone)]
pub(super) struct Window<const W: u32, const N: usize> {
    table: Table<Bell, W, N>,
}

/// The law, with −n..=n in the table.
#[derive(Debug, Clone)]
struct Bell {
    /// 1/(2σ²)
    rate: Rational,
    n: i32,
}

impl<const W: u32, const N: usize> Window<W, N> {
    /// `None` if σ is too large for a table.
    pub fn new(sigma_squared: &Rational) -> Option<Self> {
        let rate = (sigma_squared * &Rational::from(2)).recip().expect("σ² is positive");
        // An n whose tail is below 2^−W: guessed in floats, verified by the bound.
        let guess = 1.05 * (2.0 * f64::from(W) * std::f64::consts::LN_2 * sigma_squared.to_f64()).sqrt();
        let enough = |n: i32| tail_bound(&rate, n, W as usize + 8).hi <= UBig::from(1u16 << 8);
        let most = N as i32 / 2 - 1;
        let n = (guess as i32).min(most);
        let n = (n..=most).find(|&n| enough(n))?;
        Some(Self { table: Table::new(Bell { rate, n }) })
    }

    #[inline]
    pub fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        match self.table.sample(source)? {
            Some(value) => Ok(i64::from(value)),
            None => self.beyond(source),
        }
    }

    /// K given |K| > n: a fair sign, and |K| = n+1+g with probability ∝ e^−(2(n+1)g + g²)/2σ²: g geometric with ratio
    /// e^−(n+1)/σ², accepted with probability e^−g²/2σ².
    #[cold]
    fn beyond<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        let Bell { rate, n } = self.table.law();
        let start = i64::from(*n) + 1;
        let step = rate * &Rational::from(2 * start);
        let negative = source.bits(1)? == 1;
        loop {
            let mut g = 0i64;
            while is_below(Prefix::empty(), source, |bits| exp_neg(&step, bits))? {
                g += 1;
            }
            let exponent = rate * &Rational::from(g).square();
            if is_below(Prefix::empty(), source, |bits| exp_neg(&exponent, bits))? {
                return Ok(if negative { -(start + g) } else { start + g });
            }
        }
    }
}

impl<const N: usize> Window<64, N> {
    /// [`Window::sample`] for each element.
    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        self.table.fill(rng, values, |rng| always(self.beyond(rng)));
    }
}

/// An upper bound (in `hi`) and 0 (in `lo`) for Σ e^−ak² over |k| > n, and so for P(|K| > n), as Z ≥ 1: with a = 1/(2σ²) and m = n+1, the sum of e^−ak² over k ≥ m is
/// at most e^−am² · Σ_g e^−2amg = e^−am²/(1−e^−2am), and twice that for both sides.
fn tail_bound(rate: &Rational, n: i32, bits: usize) -> Enclosure {
    let m = Rational::from(i64::from(n) + 1);
    let guard = bits + 32;
    let first = exp_neg(&(rate * &m.square()), guard);
    let ratio = exp_neg(&(rate * &(&m * &Rational::from(2))), guard);
    let sum = first.over(&Enclosure::one(guard).minus(&ratio), guard);
    Enclosure { lo: UBig::ZERO, hi: (sum.hi >> 31) + 1u8 }
}

impl Bell {
    /// Σ e^−ak² over |k| ≤ n, and the normaliser Z = Σ over all k, at precision `bits`. The sum for Z continues until
    /// [`tail_bound`] shows that less than one unit is missing.
    fn sums(&self, bits: usize) -> (Enclosure, Enclosure) {
        let two_sided = |k: i64| {
            let term = exp_neg(&(&self.rate * &Rational::from(k).square()), bits);
            if k == 0 { term } else { term.add(&term) }
        };
        let mut inside = Enclosure { lo: UBig::ZERO, hi: UBig::ZERO };
        for k in 0..=i64::from(self.n) {
            inside = inside.add(&two_sided(k));
        }
        let mut all = inside.clone();
        let mut k = self.n;
        loop {
            let missing = tail_bound(&self.rate, k, bits);
            if missing.hi <= UBig::from(2u8) {
                return (inside, all.add(&missing));
            }
            k += 1;
            all = all.add(&two_sided(i64::from(k)));
        }
    }

    /// Covers the width of a sum of up to a few thousand enclosures, in bits.
    const GUARD: usize = 32;
}

impl Law for Bell {
    fn window(&self) -> Range<i32> {
        -self.n..self.n + 1
    }

    /// The terms e^−ak² are too small by at most `most_missing` units of 2^−128, so their sum with all that is missing and
    /// with the tail's bound is at least Z, and each term over it at most P(k). The tail's bound, below 2^−width, takes less
    /// than P(k) from a weight, all that is missing (2^−97 at n < 2^10) next to nothing, rounding less than 1: a weight is
    /// within 2 of 2^width·P.
    fn weights(&self, width: u32) -> Vec<u64> {
        let terms = powers::of_squares(&self.rate, self.n as usize + 1);
        let mut normaliser = tail_bound(&self.rate, self.n, 128).hi;
        for (k, &term) in (0..).zip(&terms) {
            let two_sided = UBig::from(term) + UBig::from(powers::most_missing(k));
            normaliser += if k == 0 { two_sided } else { two_sided << 1 };
        }
        let first: UBig = (UBig::ONE << 256) / normaliser;
        let first = u128::try_from(&first).unwrap_or(u128::MAX);
        let side: Vec<u64> = terms.iter().map(|&term| (multiply_high(term, first) >> (128 - width)) as u64).collect();
        side.iter().skip(1).rev().chain(&side).copied().collect()
    }

    fn mass(&self, value: i32, bits: usize) -> Enclosure {
        let precision = bits + Self::GUARD;
        let term = exp_neg(&(&self.rate * &Rational::from(value).square()), precision);
        let (_, normaliser) = self.sums(precision);
        term.over(&normaliser, precision).coarsen(precision, bits)
    }

    fn tail(&self, bits: usize) -> Enclosure {
        let precision = bits + Self::GUARD;
        let (inside, normaliser) = self.sums(precision);
        normaliser.minus(&inside).over(&normaliser, precision).coarsen(precision, bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::enumerate::enumerate;
    use crate::noise::digits::CELLS;
    use crate::noise::table::tests::assert_exact;

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn the_table_and_its_rest_are_exact() {
        for sigma_squared in ["0.1", "0.5", "1", "2.25", "1/3"] {
            let window = Window::<10, 32>::new(&rational(sigma_squared)).unwrap();
            assert_exact(&window.table, 18, 2e-3);
        }
    }

    /// The conditional law of the tail, against the formula.
    #[test]
    fn the_tail_is_exact() {
        let window = Window::<6, 16>::new(&rational("1")).unwrap();
        let start = i64::from(window.table.law().n) + 1;
        let law = enumerate(22, |tape| window.beyond(tape));
        let weight = |k: i64| (-((k * k) as f64) / 2.0).exp();
        let total: f64 = 2.0 * (start..40).map(weight).sum::<f64>();
        let open = law.unresolved().to_f64();
        assert!(open < 2e-3, "{open}");
        for k in [start, start + 1, start + 2, -start, -start - 1] {
            let (exact, mass) = (weight(k) / total, law.mass(&k).to_f64());
            assert!(mass <= exact * (1.0 + 1e-12) && exact <= mass + open, "{k}: {mass} for {exact}");
        }
        assert!(law.outcomes().all(|k| k.abs() >= start));
    }

    #[test]
    fn production_weights_are_just_below_the_probabilities() {
        for sigma_squared in ["0.000001", "1", "100", "2700"] {
            let window = Window::<64, CELLS>::new(&rational(sigma_squared)).unwrap();
            let law = window.table.law();
            let bits = 64;
            let (_, normaliser) = law.sums(bits + 64);
            for (value, weight) in law.window().zip(law.weights(64)) {
                let term = exp_neg(&(&law.rate * &Rational::from(value).square()), bits + 64);
                let exact = term.over(&normaliser, bits + 64).coarsen(bits + 64, bits);
                let weight = UBig::from(weight);
                assert!(weight <= exact.hi && exact.lo <= &weight + 1u8, "{value} at σ² = {sigma_squared}");
            }
            assert!(law.tail(64).hi <= UBig::from(2u8));
        }
        assert!(Window::<64, CELLS>::new(&rational("2900")).is_none());
    }
}
