//! Exact products of long sequences of whole numbers, by number-theoretic transforms modulo two primes.

use std::sync::OnceLock;

/// p = k·2^24 + 1 just below 2^62, with a number that is not a square modulo p.
const PRIMES: [(u64, u64); 2] = [(4_611_686_018_326_724_609, 3), (4_611_686_018_309_947_393, 5)];
/// The order of the largest power-of-two subgroup, as a power of two.
const TWO_ADICITY: u32 = 24;

/// Two residues determine whole numbers below half the product of the primes, which is more than 2^122, in size.
pub(super) type Residues = [Vec<u64>; 2];

/// A prime field with the roots of unity that transforms have needed so far.
#[derive(Debug, Clone)]
struct Field {
    prime: u64,
    /// Of order 2^24.
    primitive: u64,
    /// For h = 1, 2, 4, …: the h powers of a root of order 2h, each with ⌊root·2^64/p⌋.
    roots: Vec<OnceLock<Vec<(u64, u64)>>>,
}

fn times(a: u64, b: u64, prime: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(prime)) as u64
}

fn power(mut base: u64, mut exponent: u64, prime: u64) -> u64 {
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base, prime);
        }
        base = times(base, base, prime);
        exponent >>= 1;
    }
    result
}

impl Field {
    fn new((prime, non_square): (u64, u64)) -> Self {
        let primitive = power(non_square, (prime - 1) >> TWO_ADICITY, prime);
        Self { prime, primitive, roots: vec![OnceLock::new(); TWO_ADICITY as usize] }
    }

    /// A factor below p with the quotient for fast multiplication.
    fn with_quotient(&self, factor: u64) -> (u64, u64) {
        (factor, ((u128::from(factor) << 64) / u128::from(self.prime)) as u64)
    }

    /// The powers of a root of order 2·half.
    fn roots(&self, half: usize) -> &[(u64, u64)] {
        let level = half.ilog2();
        self.roots[level as usize].get_or_init(|| {
            let root = power(self.primitive, 1 << (TWO_ADICITY - 1 - level), self.prime);
            let next = |value: &u64| Some(times(*value, root, self.prime));
            std::iter::successors(Some(1), next).take(half).map(|value| self.with_quotient(value)).collect()
        })
    }

    /// value·factor mod p for value < 4p, factor < p with its quotient; the result is below 2p.
    #[inline]
    fn scaled(&self, value: u64, (factor, quotient): (u64, u64)) -> u64 {
        let estimate = ((u128::from(value) * u128::from(quotient)) >> 64) as u64;
        value.wrapping_mul(factor).wrapping_sub(estimate.wrapping_mul(self.prime))
    }

    /// In place, from natural to bit-reversed order.
    fn forward(&self, values: &mut [u64]) {
        let twice = 2 * self.prime;
        let mut half = values.len() / 2;
        while half > 0 {
            let roots = self.roots(half);
            for block in values.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for ((a, b), &root) in left.iter_mut().zip(right).zip(roots) {
                    // Both are below 2p; so are both results.
                    let (sum, difference) = (*a + *b, *a + twice - *b);
                    *a = if sum >= twice { sum - twice } else { sum };
                    *b = self.scaled(difference, root);
                }
            }
            half /= 2;
        }
    }

    /// In place, from bit-reversed to natural order, times the length. With the same roots as [`Field::forward`], not their
    /// inverses: what belongs to place i comes to place −i modulo the length.
    fn backward(&self, values: &mut [u64]) {
        let twice = 2 * self.prime;
        let mut half = 1;
        while half < values.len() {
            let roots = self.roots(half);
            for block in values.chunks_exact_mut(2 * half) {
                let (left, right) = block.split_at_mut(half);
                for ((a, b), &root) in left.iter_mut().zip(right).zip(roots) {
                    let turned = self.scaled(*b, root);
                    let (sum, difference) = (*a + turned, *a + twice - turned);
                    *a = if sum >= twice { sum - twice } else { sum };
                    *b = if difference >= twice { difference - twice } else { difference };
                }
            }
            half *= 2;
        }
    }
}

/// Cyclic products of whole numbers.
#[derive(Debug, Clone)]
pub(super) struct Transform {
    fields: [Field; 2],
    /// The inverse of the first prime modulo the second.
    inverse: u64,
}

impl Transform {
    /// For lengths up to 2^24.
    pub(super) fn new() -> Self {
        let [first, second] = PRIMES.map(|(prime, _)| prime);
        Self { fields: PRIMES.map(Field::new), inverse: power(first % second, second - 2, second) }
    }

    /// The transform of a sequence of power-of-two length.
    pub(super) fn forward(&self, values: impl Iterator<Item = i128> + Clone) -> Residues {
        [0, 1].map(|index| {
            let field = &self.fields[index];
            let mut residues: Vec<u64> = values.clone().map(|value| residue(value, field.prime)).collect();
            field.forward(&mut residues);
            residues
        })
    }

    /// The upper half of the cyclic product of two sequences, from their transforms: exact if all of it is below 2^122 in
    /// size.
    pub(super) fn upper_half(&self, mut left: Residues, right: &Residues) -> Vec<i128> {
        let length = left[0].len();
        for ((field, left), right) in self.fields.iter().zip(&mut left).zip(right) {
            let scale = field.with_quotient(power(length as u64, field.prime - 2, field.prime));
            for (a, b) in left.iter_mut().zip(right) {
                *a = times(*a, *b, field.prime);
            }
            field.backward(left);
            for a in &mut left[..=length / 2] {
                let value = field.scaled(*a, scale);
                *a = if value >= field.prime { value - field.prime } else { value };
            }
        }
        let [first, second] = left;
        // Places length/2 to length − 1, found at length/2 down to 1.
        (1..=length / 2).rev().map(|place| self.combine(first[place], second[place])).collect()
    }

    /// The whole number of least size with these residues (Garner).
    fn combine(&self, a: u64, b: u64) -> i128 {
        let [first, second] = PRIMES.map(|(prime, _)| prime);
        let modulus = u128::from(first) * u128::from(second);
        let digit = times((b + second - a % second) % second, self.inverse, second);
        let value = u128::from(a) + u128::from(first) * u128::from(digit);
        if value > modulus / 2 { -((modulus - value) as i128) } else { value as i128 }
    }
}

/// value mod p, not negative. Noise of ordinary size takes the fast path.
fn residue(value: i128, prime: u64) -> u64 {
    match i64::try_from(value) {
        Ok(small) => small.rem_euclid(prime as i64) as u64,
        Err(_) => value.rem_euclid(i128::from(prime)) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the product written out, with numbers as large as are allowed.
    #[test]
    fn products_are_exact() {
        let transform = Transform::new();
        for length in [2usize, 4, 32, 64] {
            let left: Vec<i128> =
                (0..length as i128).map(|i| ((i * i * 7919 - 3000 * i) << 60) + (i << 3) - 5).collect();
            let right: Vec<i128> = (0..length as i128).map(|i| (1 << 30) - i * 77_777).collect();
            let spectrum = transform.forward(right.iter().copied());
            let found = transform.upper_half(transform.forward(left.iter().copied()), &spectrum);
            for (place, found) in (length / 2..length).zip(&found) {
                let exact: i128 = (0..length).map(|i| left[i] * right[(place + length - i) % length]).sum();
                assert_eq!(*found, exact, "{length} {place}");
            }
        }
    }

    #[test]
    fn primes_are_what_they_are_said_to_be() {
        for (prime, non_square) in PRIMES {
            assert_eq!((prime - 1) % (1 << TWO_ADICITY), 0);
            // Euler's criterion; and Fermat's test to a few bases.
            assert_eq!(power(non_square, (prime - 1) / 2, prime), prime - 1);
            for base in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
                assert_eq!(power(base, prime - 1, prime), 1);
            }
        }
    }
}
