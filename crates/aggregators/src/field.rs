//! Signed numbers in a prime field.
//!
//! Shares are added modulo a prime p. A sum x with |x| ≤ (p−1)/2 is recovered from its residue; a task is accepted only
//! if its sums stay within that range.

use prio::field::{Field64, Field128, FieldElementWithInteger};

/// Half of the smaller prime, 2^64 − 2^32 + 1, rounded down to a power of two with some margin: sums stay below 2^63 −
/// 2^32.
pub(crate) const ROOM: u64 = 1 << 32;

/// A field whose residues are read as signed numbers.
pub(crate) trait Signed: FieldElementWithInteger {
    /// The residue of a number.
    fn from_signed(number: i64) -> Self;
    /// The number closest to zero with this residue, saturated to the range of `i64`.
    fn to_signed(self) -> i64;
}

impl Signed for Field64 {
    fn from_signed(number: i64) -> Self {
        let size = Self::from(number.unsigned_abs());
        if number < 0 { -size } else { size }
    }

    fn to_signed(self) -> i64 {
        signed(u64::from(self).into(), Self::modulus().into())
    }
}

impl Signed for Field128 {
    fn from_signed(number: i64) -> Self {
        let size = Self::from(u128::from(number.unsigned_abs()));
        if number < 0 { -size } else { size }
    }

    fn to_signed(self) -> i64 {
        signed(u128::from(self), Self::modulus())
    }
}

fn signed(residue: u128, modulus: u128) -> i64 {
    if residue <= modulus / 2 {
        i64::try_from(residue).unwrap_or(i64::MAX)
    } else {
        i64::try_from(modulus - residue).map_or(i64::MIN, |size| -size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_back_and_add_up() {
        let most = (1i64 << 62) + ((1 << 62) - (1 << 32));
        for number in [0, 1, -1, 1 << 40, -(1 << 40), most, -most] {
            assert_eq!(Field64::from_signed(number).to_signed(), number);
            assert_eq!(Field128::from_signed(number).to_signed(), number);
        }
        assert_eq!((Field64::from_signed(-5) + Field64::from_signed(3)).to_signed(), -2);
        assert_eq!((Field128::from_signed(i64::MIN) + Field128::from_signed(i64::MIN)).to_signed(), i64::MIN);
        assert_eq!((Field128::from_signed(i64::MAX) + Field128::from_signed(1)).to_signed(), i64::MAX);
    }
}
