//! One point of a given rank, by the exponential mechanism.

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::{Enclosure, exp_neg};
use crate::noise::bernoulli::{Prefix, is_below};
use crate::noise::bits::BitSource;
use crate::noise::uniform::below_wide;

/// Levels beyond 0: deeper points are proposed as if at this one. Fewer than 2^62 points each weigh at most 2^64.
const LEVELS: u32 = 64;

/// p = a/b with b ≤ 10^12.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fraction {
    pub a: u64,
    pub b: u64,
}

impl Fraction {
    const LARGEST: u64 = 1_000_000_000_000;

    /// # Errors
    /// If p is not from 0 to 1, or its denominator is too large.
    pub fn new(p: &Rational) -> Result<Self> {
        if *p < Rational::ZERO || *p > Rational::ONE {
            return Err(Error::parameter("quantile", p, "from 0 to 1; write for example 0.5"));
        }
        let allowed = "a fraction with a denominator of at most 10^12";
        Self::exactly(p).ok_or_else(|| Error::parameter("quantile", p, allowed))
    }

    fn exactly(p: &Rational) -> Option<Self> {
        let (a, b) = (u64::try_from(&p.numerator()).ok()?, u64::try_from(p.denominator()).ok()?);
        (b <= Self::LARGEST).then_some(Self { a, b })
    }

    /// The place of p between two others. If its denominator is too large, it is rounded down to a multiple of 10^−12:
    /// by less than a rank in 10^12 rows.
    pub fn between(p: &Rational, from: &Rational, to: &Rational) -> Self {
        let place = &(p.clone() - from.clone()) / &(to.clone() - from.clone());
        let rounded = |place: &Rational| {
            let steps = (place * &Rational::from(Self::LARGEST)).floor();
            Self { a: u64::try_from(&steps).expect("from 0 to 1"), b: Self::LARGEST }
        };
        Self::exactly(&place).unwrap_or_else(|| rounded(&place))
    }

    /// b·max(p, 1−p).
    pub fn larger(self) -> u64 {
        self.a.max(self.b - self.a)
    }
}

/// One p with its share of ε.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    p: Fraction,
    /// γ: the weight of a point is e^(−γD).
    gamma: Rational,
    /// By level k: the largest D of that level.
    farthest: Vec<u128>,
}

impl Target {
    /// The point for which D changes by at most `sensitivity`.
    pub fn new(p: Fraction, epsilon: &Rational, sensitivity: u64) -> Self {
        let gamma = epsilon / &Rational::from(2 * sensitivity);
        // ⌊rate·D⌋ ≤ k if and only if D < (k+1)/rate.
        let rate = &gamma * &Rational::new(1_442_695, 1_000_000).expect("10^6 is not 0");
        let farthest = |level: u32| {
            let end = (&Rational::from(u64::from(level) + 1) / &rate).ceil();
            // D is below 2^104, so a larger bound covers everything.
            u128::try_from(&end).map_or(u128::MAX, |end| end - 1).min(1 << 120)
        };
        let farthest = (0..LEVELS).map(farthest).collect();
        Self { p, gamma, farthest }
    }

    /// Draws a point.
    pub fn sample<B: BitSource + ?Sized>(&self, table: &Table<'_>, source: &mut B) -> Result<i64, B::Error> {
        self.proposal(table, LEVELS).sample(source)
    }

    /// The probability of every point, first to last.
    pub fn law(&self, table: &Table<'_>, bits: usize) -> Vec<Enclosure> {
        let weigh = |z: i64| {
            let (below, above) = table.ranks(z);
            exp_neg(&(&self.gamma * &whole(self.distance(below, above, table.sorted.len()))), bits)
        };
        let weights: Vec<Enclosure> = (table.lo..=table.hi).map(weigh).collect();
        let total = weights.iter().cloned().reduce(|sum, more| sum.add(&more)).expect("at least one point");
        weights.iter().map(|weight| weight.over(&total, bits)).collect()
    }

    /// D(z) = b·d(z), from L(z), G(z) and n.
    fn distance(&self, below: usize, above: usize, n: usize) -> u128 {
        let (a, b) = (u128::from(self.p.a), u128::from(self.p.b));
        let (below, above, n) = (below as u128, above as u128, n as u128);
        (b * below).saturating_sub(a * n).max((b * above).saturating_sub((b - a) * n))
    }

    /// The points of each level.
    fn proposal<'a>(&'a self, table: &'a Table<'a>, levels: u32) -> Proposal<'a> {
        let (a, b, n) = (u128::from(self.p.a), u128::from(self.p.b), table.sorted.len() as u128);
        let levels = self.farthest.iter().take(levels as usize);
        let mut intervals: Vec<(i64, i64)> =
            levels.map(|most| table.between(((b - a) * n + most) / b, (a * n + most) / b)).collect();
        intervals.push((table.lo, table.hi));
        Proposal { target: self, table, intervals }
    }
}

fn whole(number: u128) -> Rational {
    Rational::from_big(number.into(), 1u8.into())
}

/// Sorted values and the ends of the grid.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table<'rows> {
    pub sorted: &'rows [i64],
    pub lo: i64,
    pub hi: i64,
}

impl Table<'_> {
    /// The points with at most `above` values above and at most `below` values below them: ends included.
    fn between(&self, above: u128, below: u128) -> (i64, i64) {
        let n = self.sorted.len();
        let place = |count: u128| usize::try_from(count).ok().filter(|&count| count < n);
        let first = place(above).map_or(self.lo, |above| self.sorted[n - 1 - above]);
        let last = place(below).map_or(self.hi, |below| self.sorted[below]);
        (first, last)
    }

    /// L(z) and G(z).
    pub fn ranks(&self, z: i64) -> (usize, usize) {
        let below = self.sorted.partition_point(|&value| value < z);
        let up_to = self.sorted.partition_point(|&value| value <= z);
        (below, self.sorted.len() - up_to)
    }
}

/// The law ∝ 2^−level that points are drawn from before they are accepted or not.
#[derive(Debug)]
struct Proposal<'a> {
    target: &'a Target,
    table: &'a Table<'a>,
    /// By level k: the points of level at most k; each contains the one before, the last is the grid.
    intervals: Vec<(i64, i64)>,
}

impl Proposal<'_> {
    fn sample<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<i64, B::Error> {
        loop {
            if let Some(z) = self.round(source)? {
                return Ok(z);
            }
        }
    }

    /// The number of points of each level.
    fn sizes(&self) -> impl Iterator<Item = u128> {
        let size = |(first, last): &(i64, i64)| (i128::from(*last) - i128::from(*first) + 1).unsigned_abs();
        let before = std::iter::once(0).chain(self.intervals.iter().map(size));
        self.intervals.iter().map(size).zip(before).map(|(with, without)| with - without)
    }

    /// The sum of all 2^(levels − level).
    fn total(&self) -> u128 {
        let levels = self.intervals.len() - 1;
        self.sizes().enumerate().map(|(level, size)| size << (levels - level)).sum()
    }

    /// Steps 2 and 3: a point, or `None` if it was not accepted.
    fn round<B: BitSource + ?Sized>(&self, source: &mut B) -> Result<Option<i64>, B::Error> {
        let number = below_wide(self.total(), source)?;
        self.settle(number, source)
    }

    /// The point that a number below the total denotes, if it is accepted.
    fn settle<B: BitSource + ?Sized>(&self, number: u128, source: &mut B) -> Result<Option<i64>, B::Error> {
        let levels = self.intervals.len() - 1;
        let mut rest = number;
        let (mut level, mut offset) = (levels, 0);
        for (candidate, size) in self.sizes().enumerate() {
            let weight = size << (levels - candidate);
            if rest < weight {
                (level, offset) = (candidate, rest >> (levels - candidate));
                break;
            }
            rest -= weight;
        }
        let z = self.point(level, offset);
        let (below, above) = self.table.ranks(z);
        let distance = self.target.distance(below, above, self.table.sorted.len());
        let exponent = &self.target.gamma * &whole(distance);
        // 2^k·e^(−γD) at precision b is e^(−γD) at precision b + k.
        let accepted = is_below(Prefix::empty(), source, |bits| exp_neg(&exponent, bits + level))?;
        Ok(accepted.then_some(z))
    }

    /// The point with this offset among those of a level: first those left of the previous interval, then those right.
    fn point(&self, level: usize, offset: u128) -> i64 {
        let (first, _) = self.intervals[level];
        let z = i128::from(first) + offset as i128;
        let inner = level.checked_sub(1).map(|before| self.intervals[before]);
        let z = match inner {
            Some((inner_first, inner_last)) if z >= i128::from(inner_first) => {
                z + i128::from(inner_last) - i128::from(inner_first) + 1
            }
            _ => z,
        };
        i64::try_from(z).expect("a point of the grid")
    }
}

#[cfg(test)]
pub(super) mod tests;
