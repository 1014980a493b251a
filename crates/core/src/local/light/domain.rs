//! The possible answers.

use super::super::task::{Answer, Canonical};
use super::amount::Amount;
use crate::error::{Error, Result};
use crate::statistic::Grid;
use crate::statistic::grid::BITS;

/// The possible answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LightDomain {
    /// One of a list.
    Choices(Vec<String>),
    /// Whole numbers in a range.
    Integers {
        /// Smaller values count as this.
        lower: i64,
        /// Larger values count as this.
        upper: i64,
    },
    /// Real numbers in a range, as `LO..HI`.
    Numbers(String),
    /// Texts.
    Texts {
        /// The letters that count.
        alphabet: String,
        /// Longer texts are cut off.
        longest: u32,
    },
}

impl LightDomain {
    pub(super) fn answer(&self, text: &str) -> Result<Answer> {
        let wrong = |allowed| Error::Answer { allowed };
        match self {
            Self::Choices(choices) => choices
                .iter()
                .position(|choice| choice == text)
                .map(|place| Answer::Choice(place as u64))
                .ok_or_else(|| wrong("one of the task's choices, letter for letter")),
            Self::Integers { lower, upper } => {
                let number: i64 = text.trim().parse().map_err(|_| wrong("a whole number"))?;
                Ok(Answer::Number(number.max(*lower).min(*upper)))
            }
            Self::Numbers(_) => Err(wrong("a number")),
            Self::Texts { .. } => Ok(Answer::Text(text.into())),
        }
    }

    pub(super) fn number(&self, number: f64) -> Result<Answer> {
        let wrong = || Error::Answer { allowed: "a number" };
        let Self::Numbers(bounds) = self else { return Err(wrong()) };
        steps(&grid(bounds)?, number).map(Answer::Number).ok_or_else(wrong)
    }

    pub(super) fn choices(&self) -> Option<&[String]> {
        if let Self::Choices(choices) = self { Some(choices) } else { None }
    }

    pub(super) fn write(&self, canonical: &mut Canonical) {
        match self {
            Self::Choices(choices) => {
                canonical.field("choices", &choices.len().to_string());
                choices.iter().for_each(|choice| canonical.field("choice", choice));
            }
            Self::Integers { lower, upper } => {
                canonical.field("integers", &lower.to_string());
                canonical.field("to", &upper.to_string());
            }
            Self::Numbers(bounds) => canonical.field("numbers", bounds),
            Self::Texts { alphabet, longest } => {
                canonical.field("alphabet", alphabet);
                canonical.field("longest", &longest.to_string());
            }
        }
    }
}

/// The grid for the bounds, the same as that of [`Grid::new`]: steps of 2^(⌈log₂ max(|L|, |U|)⌉ − 28), ends rounded
/// outwards.
pub(super) fn grid(bounds: &str) -> Result<Grid> {
    let refused = || Error::parameter("numbers", bounds, "two decimals of at most 12 digits, such as 0..120");
    // Searching for a two-letter text would take more code than all of this.
    let dots = bounds.as_bytes().windows(2).position(|pair| pair == b"..").ok_or_else(refused)?;
    let (Some(lower), Some(upper)) = (bounds.get(..dots), bounds.get(dots + 2..)) else { return Err(refused()) };
    let [lower, upper] = [signed(lower)?, signed(upper)?];
    // 2^(68 + 40) is the largest number below.
    const MOST: u64 = 1_000_000_000_000;
    let is_small = |(_, amount): &(bool, Amount)| amount.top <= MOST && amount.bottom <= MOST;
    if !is_small(&lower) || !is_small(&upper) || (lower.1.is_zero() && upper.1.is_zero()) {
        return Err(refused());
    }
    let exponent = ceil_log2(&lower.1).max(ceil_log2(&upper.1)) - BITS;
    let [lower, upper] = [down(&lower, exponent), -down(&(!upper.0, upper.1), exponent)];
    if lower < upper { Ok(Grid::of_steps(exponent, lower, upper)) } else { Err(refused()) }
}

/// The value in steps, the same as [`Grid::steps`]; `clamp` would pull in the formatting of floats, for a panic that
/// never happens.
fn steps(grid: &Grid, value: f64) -> Option<i64> {
    let scaled = value / grid.step();
    let (lower, upper) = (grid.lower(), grid.upper());
    if scaled <= lower as f64 {
        return Some(lower);
    }
    if scaled >= upper as f64 {
        return Some(upper);
    }
    let whole = scaled as i64;
    let rest = scaled - whole as f64;
    (!value.is_nan()).then(|| whole + i64::from(rest >= 0.5) - i64::from(rest <= -0.5))
}

/// The sign and the magnitude.
fn signed(text: &str) -> Result<(bool, Amount)> {
    let digits = text.strip_prefix('-');
    Ok((digits.is_some(), Amount::read("numbers", digits.unwrap_or(text))?))
}

/// The smallest e with amount ≤ 2^e; very small for 0.
fn ceil_log2(amount: &Amount) -> i32 {
    let (top, bottom) = (u128::from(amount.top), u128::from(amount.bottom));
    if top == 0 {
        return i32::MIN / 2;
    }
    let reaches = |exponent: i32| {
        if exponent >= 0 { top <= bottom << exponent } else { top << -exponent <= bottom }
    };
    (-50..50).find(|&exponent| reaches(exponent)).unwrap_or(50)
}

/// ⌊amount / 2^exponent⌋.
fn down((is_negative, amount): &(bool, Amount), exponent: i32) -> i64 {
    let (top, bottom) = (i128::from(amount.top), i128::from(amount.bottom));
    let signed = if *is_negative { -top } else { top };
    let steps =
        if exponent <= 0 { (signed << -exponent).div_euclid(bottom) } else { signed.div_euclid(bottom << exponent) };
    steps as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistic::Bounds;

    #[test]
    fn grids_are_those_of_the_library() {
        for bounds in [
            "0..120",
            "-10..20",
            "-0.001..0.0007",
            "0..1",
            "-1..0",
            "0.3..0.7",
            "5..1024",
            "-1000000..999999.5",
            "0..3000000000",
        ] {
            let reference = Grid::new(&bounds.parse::<Bounds>().unwrap());
            assert_eq!(grid(bounds).unwrap(), reference, "{bounds}");
        }
        let grid = |bounds| grid(bounds).unwrap();
        for bounds in ["0..120", "-10..20", "-0.001..0.0007"] {
            let grid = grid(bounds);
            for value in [
                0.0,
                -0.0,
                1e-9,
                0.3,
                -0.3,
                7.5,
                119.999_999_98,
                120.0,
                1e300,
                f64::MIN,
                f64::INFINITY,
                f64::NEG_INFINITY,
            ] {
                for shift in -3..4 {
                    let value = value + f64::from(shift) * grid.step() / 2.0;
                    assert_eq!(steps(&grid, value), grid.steps(value), "{value} in {bounds}");
                }
            }
            assert_eq!(steps(&grid, f64::NAN), None);
        }
    }

    #[test]
    fn what_is_no_range_is_refused() {
        for wrong in ["", "1", "1..1", "2..1", "0..0", "a..b", "0..1e9", "0..99999999999999"] {
            assert!(grid(wrong).is_err(), "{wrong}");
        }
    }
}
