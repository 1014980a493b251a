//! PostgreSQL's decimals, of up to 147,455 digits: exact as units, and the nearest float as numbers.

use crate::Broken;
use crate::convert::nearest;

/// Digits in base 10,000, as they are sent.
#[derive(Debug, Clone, Copy)]
pub enum Numeric<'a> {
    Finite {
        negative: bool,
        /// The power of 10,000 that the first digit is multiplied by.
        weight: i32,
        /// Two bytes each.
        digits: &'a [u8],
    },
    NaN,
    Infinity,
    MinusInfinity,
}

impl<'a> Numeric<'a> {
    /// Reads a decimal. Zeros at both ends have been removed by the server, but need not be.
    pub fn read(bytes: &'a [u8]) -> Result<Self, Broken> {
        let (head, digits) = bytes.split_at_checked(8).ok_or(Broken)?;
        let word = |place: usize| u16::from_be_bytes([head[2 * place], head[2 * place + 1]]);
        if digits.len() != 2 * usize::from(word(0)) {
            return Err(Broken);
        }
        let weight = i32::from(word(1).cast_signed());
        let negative = match word(2) {
            0x0000 => false,
            0x4000 => true,
            0xc000 => return Ok(Self::NaN),
            0xd000 => return Ok(Self::Infinity),
            0xf000 => return Ok(Self::MinusInfinity),
            _ => return Err(Broken),
        };
        let digits = Self::Finite { negative, weight, digits };
        if digits.groups().any(|group| group >= 10_000) { Err(Broken) } else { Ok(digits) }
    }

    fn groups(&self) -> impl Iterator<Item = u16> + use<'a> {
        let digits = match self {
            Self::Finite { digits, .. } => digits,
            _ => &[][..],
        };
        digits.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
    }

    /// The nearest float.
    pub fn number(&self) -> f64 {
        let (negative, weight, count) = match self {
            Self::Finite { negative, weight, digits } => (*negative, *weight, digits.len() / 2),
            Self::NaN => return f64::NAN,
            Self::Infinity => return f64::INFINITY,
            Self::MinusInfinity => return f64::NEG_INFINITY,
        };
        /// So many groups fit in 128 bits, together with as many zeros behind them as are tried.
        const MOST_GROUPS: usize = 6;
        let exponent = 4 * (weight + 1 - count as i32);
        if count <= MOST_GROUPS && (-100..=12).contains(&exponent) {
            let unscaled = self.groups().fold(0_i128, |sum, group| sum * 10_000 + i128::from(group));
            let unscaled = if negative { -unscaled } else { unscaled };
            // In this range.
            let scale = if exponent < 0 { exponent.unsigned_abs() as i8 } else { 0 };
            let unscaled = unscaled * 10_i128.pow(exponent.max(0).unsigned_abs());
            return nearest(unscaled, Some(unscaled), scale);
        }
        let mut text = String::with_capacity(4 * count + 16);
        text.push_str(if negative { "-0" } else { "0" });
        self.groups().for_each(|group| push_group(group, &mut text));
        text.push('e');
        text.push_str(&exponent.to_string());
        // A number with an exponent always parses.
        text.parse().unwrap_or(f64::NAN)
    }

    /// The [canonical text](crate::UnitType) of a unit.
    pub fn write(&self, out: &mut String) {
        let (negative, weight, count) = match self {
            Self::Finite { negative, weight, digits } => (*negative, *weight, digits.len() / 2),
            Self::NaN => return out.push_str("NaN"),
            Self::Infinity => return out.push_str("Infinity"),
            Self::MinusInfinity => return out.push_str("-Infinity"),
        };
        if self.groups().all(|group| group == 0) {
            return out.push('0');
        }
        if negative {
            out.push('-');
        }
        let start = out.len();
        let mut groups = self.groups();
        // Of the groups before the point, those behind the last digit are zero.
        for place in 0..=weight.max(-1) {
            let group = if (place as usize) < count { groups.next().unwrap_or(0) } else { 0 };
            push_group(group, out);
        }
        let whole = out[start..].trim_start_matches('0').len();
        let zeros = out.len() - start - whole;
        out.drain(start..start + zeros);
        if whole == 0 {
            out.push('0');
        }
        let point = out.len();
        out.push('.');
        for _ in weight..-1 {
            out.push_str("0000");
        }
        groups.for_each(|group| push_group(group, out));
        let end = out.trim_end_matches('0').len();
        out.truncate(if end == point + 1 { point } else { end });
    }
}

/// Four digits.
fn push_group(group: u16, out: &mut String) {
    for power in [1_000, 100, 10, 1] {
        out.push(char::from(b'0' + (group / power % 10) as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let head = [digits.len() as u16, weight.cast_unsigned(), sign, 0];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    fn both(weight: i16, sign: u16, digits: &[u16]) -> (String, f64) {
        let bytes = sent(weight, sign, digits);
        let numeric = Numeric::read(&bytes).unwrap();
        let mut text = String::new();
        numeric.write(&mut text);
        (text, numeric.number())
    }

    #[test]
    fn units_are_exact_and_numbers_the_nearest() {
        for (weight, sign, digits, text) in [
            (0, 0, &[][..], "0"),
            (0, 0x4000, &[0], "0"),
            (0, 0, &[7], "7"),
            (0, 0x4000, &[12, 3_450], "-12.345"),
            (-1, 0, &[5], "0.0005"),
            (-1, 0, &[5_000], "0.5"),
            (-3, 0x4000, &[1], "-0.000000000001"),
            (1, 0, &[1], "10000"),
            (1, 0, &[1, 0, 10], "10000.001"),
            (2, 0, &[12, 34, 5_600], "1200345600"),
            (2, 0, &[12], "1200000000"),
            (0, 0, &[0, 0], "0"),
            (1, 0, &[0, 12], "12"),
        ] {
            let (found, number) = both(weight, sign, digits);
            assert_eq!((found.as_str(), number), (text, text.parse().unwrap()), "{weight} {digits:?}");
        }
        assert_eq!(both(0, 0xd000, &[]).0, "Infinity");
        assert_eq!(both(0, 0xf000, &[]), ("-Infinity".to_owned(), f64::NEG_INFINITY));
        assert!(both(0, 0xc000, &[]).1.is_nan());
    }

    #[test]
    fn long_ones_are_rounded_once() {
        let digits: Vec<u16> = (0..250).map(|place| (place * 7_919 % 10_000) as u16 | 1).collect();
        for weight in [-300, -1, 0, 17, 249, 400] {
            let (text, number) = both(weight, 0, &digits);
            assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{weight}");
        }
        assert_eq!(both(i16::MAX, 0, &[1]).1, f64::INFINITY);
        assert_eq!(both(i16::MAX, 0, &[1]).0.len(), 4 * 32_767 + 1);
        assert_eq!(both(i16::MIN, 0, &[1]).1, 0.0);
        // Seventeen digits more than a float has.
        assert_eq!(both(3, 0, &[9_007, 1_992_547, 4_099, 3_000].map(|group: u32| (group % 10_000) as u16)).0.len(), 16);
    }

    #[test]
    fn what_is_no_decimal_is_broken() {
        for bytes in [&b""[..], &sent(0, 0, &[1])[..9], &sent(0, 1, &[1]), &sent(0, 0, &[10_000])] {
            assert!(Numeric::read(bytes).is_err(), "{bytes:?}");
        }
    }
}
