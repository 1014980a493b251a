//! Discrete Gaussian noise from one table, for σ up to about 52.

use std::ops::Range;

use dashu_int::UBig;
use rand_core::Rng;

use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::{BitSource, always};
use crate::noise::digits::{multiply_high, words};
use crate::noise::table::{Law, Table};

/// 2^10 cells: 16 KiB, half of a first-level cache.
const CELL_BITS: u32 = 10;

/// One table over −n..=n, and a tail by rejection.
#[derive(Debug, Clone)]
pub(super) struct Window<const W: u32> {
    table: Table<Bell, W>,
}

/// The law, with −n..=n in the table.
#[derive(Debug, Clone)]
struct Bell {
    /// 1/(2σ²)
    rate: Rational,
    n: i32,
}

impl<const W: u32> Window<W> {
    /// `None` if σ is too large for a table.
    pub fn new(sigma_squared: &Rational) -> Option<Self> {
        Self::with_cells(sigma_squared, CELL_BITS)
    }

    fn with_cells(sigma_squared: &Rational, cell_bits: u32) -> Option<Self> {
        let rate = (sigma_squared * &Rational::from(2)).recip().expect("σ² is positive");
        let most = (1i32 << (cell_bits - 1)) - 1;
        // The smallest n whose tail is below 2^−W, see `Bell::tail` for the bound.
        let fits = |n: i32| tail_bound(&rate, n, W as usize + 8).hi <= UBig::from(1u16 << 8);
        if !fits(most) {
            return None;
        }
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = (low + high) / 2;
            if fits(middle) { high = middle } else { low = middle + 1 }
        }
        Some(Self { table: Table::new(Bell { rate, n: high }) })
    }

    #[inline]
    pub fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        match self.table.sample(source)? {
            Some(value) => Ok(i64::from(value)),
            None => self.beyond(source),
        }
    }

    pub fn fill<R: Rng + ?Sized>(&self, rng: &mut R, values: &mut [i64]) {
        debug_assert_eq!(W, 64);
        const BLOCK: usize = 256;
        let mut bytes = [0u8; 8 * BLOCK];
        for block in values.chunks_mut(BLOCK) {
            let bytes = &mut bytes[..8 * block.len()];
            rng.fill_bytes(bytes);
            let mut rare = false;
            for (value, word) in block.iter_mut().zip(words(bytes)) {
                let outcome = self.table.look_up(word);
                rare |= outcome.is_none();
                *value = outcome.map_or(i64::MIN, i64::from);
            }
            if rare {
                self.settle(rng, block);
            }
        }
    }

    #[cold]
    fn settle<R: Rng + ?Sized>(&self, rng: &mut R, block: &mut [i64]) {
        for value in block.iter_mut().filter(|value| **value == i64::MIN) {
            *value = match always(self.table.sample_rare(rng)) {
                Some(value) => i64::from(value),
                None => always(self.beyond(rng)),
            };
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

/// An upper bound (in `hi`) and 0 (in `lo`) for P(|K| > n): with a = 1/(2σ²) and m = n+1, the sum of e^−ak² over k ≥ m is
/// at most e^−am² · Σ_g e^−2amg = e^−am²/(1−e^−2am), twice that for both sides, and the normaliser is at least 1.
fn tail_bound(rate: &Rational, n: i32, bits: usize) -> Enclosure {
    let m = Rational::from(i64::from(n) + 1);
    let guard = bits + 32;
    let first = exp_neg(&(rate * &m.square()), guard);
    let ratio = exp_neg(&(rate * &(&m * &Rational::from(2))), guard);
    let sum = first.over(&Enclosure::one(guard).minus(&ratio), guard);
    Enclosure { lo: UBig::ZERO, hi: (sum.hi >> 31) + 1u8 }
}

impl Bell {
    /// Σ e^−ak² over |k| ≤ n, and the normaliser Z = Σ over all k, at precision `bits`. The sum for Z is carried on until
    /// [`tail_bound`] says that less than one unit is missing.
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

    /// Bits that cover the width that a sum of up to a few thousand enclosures has.
    const GUARD: usize = 32;
}

impl Law for Bell {
    fn window(&self) -> Range<i32> {
        -self.n..self.n + 1
    }

    /// The terms e^−ak² by recurrence with 128 fractional bits, each product rounded down: e^−a(k+1)² = e^−ak²·q_k with
    /// q_k = e^−a(2k+1), q_(k+1) = q_k·e^−2a. A product adds at most 2 units of 2^−128 to an error that shrinks with the
    /// term, so the k-th is too small by at most 3k² units (k < 512), 1/Z by two: far less than 2^−64.
    fn weights(&self, width: u32) -> Vec<u64> {
        let fraction = |bound: &UBig| u128::try_from(bound).unwrap_or(u128::MAX);
        let (_, normaliser) = self.sums(128 + Self::GUARD);
        let first = Enclosure::one(128 + Self::GUARD).over(&normaliser, 128 + Self::GUARD);
        let mut term = fraction(&(first.lo >> Self::GUARD));
        let mut quotient = fraction(&exp_neg(&self.rate, 128).lo);
        let step = fraction(&exp_neg(&(&self.rate * &Rational::from(2)), 128).lo);
        let mut side = Vec::with_capacity(self.n as usize + 1);
        for _ in 0..=self.n {
            side.push((term >> (128 - width)) as u64);
            term = multiply_high(term, quotient);
            quotient = multiply_high(quotient, step);
        }
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
    use crate::noise::table::tests::assert_exact;

    fn rational(text: &str) -> Rational {
        text.parse().unwrap()
    }

    #[test]
    fn the_table_and_its_rest_are_exact() {
        for sigma_squared in ["0.1", "0.5", "1", "2.25", "1/3"] {
            let window = Window::<10>::with_cells(&rational(sigma_squared), 5).unwrap();
            assert_exact(&window.table, 18, 2e-3);
        }
    }

    /// The conditional law of the tail, against the formula.
    #[test]
    fn the_tail_is_exact() {
        let window = Window::<6>::with_cells(&rational("1"), 4).unwrap();
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
            let window = Window::<64>::new(&rational(sigma_squared)).unwrap();
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
        assert!(Window::<64>::new(&rational("2900")).is_none());
    }
}
