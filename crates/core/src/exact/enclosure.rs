//! Real numbers as pairs of integers that are proved to lie on either side.
//!
//! A non-negative real x is *enclosed* at precision b by integers lo ≤ 2^b·x ≤ hi. To compare a random number with x,
//! increase b until the comparison is decided; nothing is ever rounded to a float.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use super::Rational;

/// lo ≤ 2^bits·x ≤ hi for some real x ≥ 0; the caller keeps track of `bits`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Enclosure {
    pub lo: UBig,
    pub hi: UBig,
}

impl Enclosure {
    /// A rational number at precision `bits`; exact when the denominator allows it.
    pub fn rational(value: &Rational, bits: usize) -> Self {
        let scaled = value.numerator() << bits;
        let lo = &scaled / value.denominator();
        let exact = &lo * value.denominator() == scaled;
        let hi = if exact { lo.clone() } else { &lo + 1u8 };
        Self { lo, hi }
    }

    /// One, at precision `bits`.
    pub fn one(bits: usize) -> Self {
        let one = UBig::ONE << bits;
        Self { lo: one.clone(), hi: one }
    }

    pub fn add(&self, other: &Self) -> Self {
        Self { lo: &self.lo + &other.lo, hi: &self.hi + &other.hi }
    }

    /// x − y, which the caller knows to be non-negative.
    pub fn minus(&self, other: &Self) -> Self {
        let lo = if self.lo > other.hi { &self.lo - &other.hi } else { UBig::ZERO };
        let hi = if self.hi > other.lo { &self.hi - &other.lo } else { UBig::ZERO };
        Self { lo, hi }
    }

    /// x·y, both at precision `bits`.
    pub fn times(&self, other: &Self, bits: usize) -> Self {
        Self { lo: (&self.lo * &other.lo) >> bits, hi: ceil_shift(&self.hi * &other.hi, bits) }
    }

    /// x/y, both at precision `bits`; y must be bounded away from zero (lo > 0).
    pub fn over(&self, other: &Self, bits: usize) -> Self {
        let lo = (&self.lo << bits) / &other.hi;
        let hi = ((&self.hi << bits) + &other.lo - 1u8) / &other.lo;
        Self { lo, hi }
    }

    /// The same number with fewer bits.
    pub fn coarsen(&self, from: usize, to: usize) -> Self {
        Self { lo: &self.lo >> (from - to), hi: ceil_shift(self.hi.clone(), from - to) }
    }
}

fn ceil_shift(value: UBig, bits: usize) -> UBig {
    let floor = &value >> bits;
    if value == &floor << bits { floor } else { floor + 1u8 }
}

/// e^−x for rational x ≥ 0, enclosed at precision `bits` with hi − lo ≤ 3.
///
/// # Algorithm
/// Work with w = bits + m + 16 fractional bits, where m halvings bring y = x/2^m below 2^−4.
/// 1. The Taylor series of e^−y, terms t_j = ⌊t_{j−1}·y/j⌋ with y itself rounded down. A term is at most one
///    unit in the last place (ulp) off for each factor, and since y/j < 1/16 earlier errors shrink: every term is
///    within 2 ulp. The alternating sum is cut when a term is 0; what remains is below 2 ulp. With at most J terms
///    the error is below 2J + 2 ulp.
/// 2. m squarings. As e^−y ≤ 1, an error of e ulp becomes at most 2e + 2 ulp (the e² term and the floor included
///    while e < 2^w), so after all of them at most 2^m·(2J + 4) ulp.
/// 3. The guard bits m + 16 turn that into less than (2J + 4)/2^16 < 1/2 of a unit at precision `bits`, provided
///    J < 2^13; widening by one unit on either side encloses e^−x.
///
/// For x ≥ bits + 1, e^−x < 2^−bits is enclosed by [0, 1].
///
/// Coins and tables need about 64 bits: then all numbers fit 128, and the same steps are taken without big integers.
pub(crate) fn exp_neg(x: &Rational, bits: usize) -> Enclosure {
    exp_neg_ratio(&x.numerator(), x.denominator(), bits)
}

/// The same for a fraction that need not be in lowest terms.
pub(crate) fn exp_neg_ratio(numerator: &UBig, denominator: &UBig, bits: usize) -> Enclosure {
    if numerator.is_zero() {
        return Enclosure::one(bits);
    }
    let whole = (numerator + denominator - 1u8) / denominator;
    if whole > UBig::from(bits) && numerator >= &(denominator * UBig::from(bits + 1)) {
        return Enclosure { lo: UBig::ZERO, hi: UBig::ONE };
    }
    let halvings = whole.bit_len() + 4;
    let guard = halvings + 16;
    let work = bits + guard;
    let y: UBig = (numerator << (work - halvings)) / denominator;
    let power = match u128::try_from(&y) {
        Ok(y) if work < 128 && y > 0 => UBig::from(narrow_power(y, work, halvings)),
        _ => wide_power(&y, work, halvings),
    };
    let middle: UBig = power >> guard;
    let lo = if middle.is_zero() { UBig::ZERO } else { &middle - 1u8 };
    let hi = (middle + 2u8).min(UBig::ONE << bits);
    Enclosure { lo, hi }
}

/// (e^−y)^(2^halvings) at precision `work`, rounded as described above.
fn wide_power(y: &UBig, work: usize, halvings: usize) -> UBig {
    let one = UBig::ONE << work;
    let (mut positive, mut negative) = (one.clone(), UBig::ZERO);
    let mut term = one;
    let mut index = 1u64;
    loop {
        term = ((term * y) >> work) / index;
        if term.is_zero() {
            break;
        }
        if index.is_multiple_of(2) {
            positive += &term;
        } else {
            negative += &term;
        }
        index += 1;
    }
    debug_assert!(index < 1 << 13, "the error bound assumes fewer terms");
    let mut power = positive - negative;
    for _ in 0..halvings {
        power = (&power * &power) >> work;
    }
    power
}

/// The same number for 0 < y < 2^(work − 4) and work < 128: every factor is below 2^work, as e^−y is below one.
fn narrow_power(y: u128, work: usize, halvings: usize) -> u128 {
    let product = |a: u128, b: u128| multiply_high(a << (128 - work), b);
    let (mut positive, mut negative) = (1u128 << work, y);
    let mut term = y;
    for index in 2.. {
        term = product(term, y) / index;
        if term == 0 {
            break;
        }
        if index.is_multiple_of(2) {
            positive += term;
        } else {
            negative += term;
        }
    }
    (0..halvings).fold(positive - negative, |power, _| product(power, power))
}

/// ⌊a·b/2^128⌋
pub(crate) fn multiply_high(a: u128, b: u128) -> u128 {
    const LOW: u128 = (1 << 64) - 1;
    let (a1, a0, b1, b0) = (a >> 64, a & LOW, b >> 64, b & LOW);
    let middle = a1 * b0 + ((a0 * b0) >> 64);
    let (carry, low) = (middle >> 64, middle & LOW);
    a1 * b1 + carry + ((a0 * b1 + low) >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// First 40 decimals of e^−1, e^−10 and e^(−1/3) (computed to 60 digits with an independent program).
    #[test]
    fn known_values_are_enclosed() {
        let cases = [
            ("1", "0.3678794411714423215955237701614608674458"),
            ("10", "0.00004539992976248485153559151556055061023918"),
            ("1/3", "0.7165313105737892504256040969253796674779"),
            ("0.001", "0.9990004998333749916680553571676558185163"),
        ];
        for (x, decimal) in cases {
            let (x, value): (Rational, Rational) = (x.parse().unwrap(), decimal.parse().unwrap());
            let bits = 100;
            let enclosure = exp_neg(&x, bits);
            let near = Enclosure::rational(&value, bits);
            assert!(enclosure.lo <= near.hi && near.lo <= enclosure.hi, "{x:?}");
            assert!(&enclosure.hi - &enclosure.lo <= UBig::from(3u8), "{x:?}");
        }
    }

    /// Enclosures of the same number at different precisions must overlap: a wrong one would be detected.
    #[test]
    fn precisions_agree() {
        for x in ["1/7", "0.999", "1.5", "3", "44.25", "90", "1e-3", "1e-12", "123456789/1000000"] {
            let x: Rational = x.parse().unwrap();
            let fine = exp_neg(&x, 900);
            for bits in [1, 8, 64, 65, 128, 200, 511] {
                let coarse = exp_neg(&x, bits);
                let from_fine = fine.coarsen(900, bits);
                assert!(coarse.lo <= from_fine.lo && from_fine.hi <= coarse.hi, "{x:?} at {bits}");
            }
        }
    }

    #[test]
    fn the_functional_equation_holds() {
        let bits = 160;
        for (a, b) in [("0.3", "0.7"), ("5", "17/3"), ("0.001", "2")] {
            let (a, b): (Rational, Rational) = (a.parse().unwrap(), b.parse().unwrap());
            let product = exp_neg(&a, bits).times(&exp_neg(&b, bits), bits);
            let sum = exp_neg(&(&a + &b), bits);
            assert!(product.lo <= sum.hi && sum.lo <= product.hi);
        }
    }

    proptest! {
        #[test]
        fn high_products(a in any::<u128>(), b in any::<u128>()) {
            let exact: UBig = (UBig::from(a) * UBig::from(b)) >> 128;
            prop_assert_eq!(UBig::from(multiply_high(a, b)), exact);
        }

        #[test]
        fn narrow_and_wide_powers_are_the_same(y in 1u128..1 << 123, work in 5usize..128, halvings in 5usize..12) {
            let y = (y >> (127 - work)).max(1);
            prop_assert_eq!(UBig::from(narrow_power(y, work, halvings)), wide_power(&y.into(), work, halvings));
        }
    }
}
