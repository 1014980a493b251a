//! The interval around a released point.

use crate::exact::Rational;
use crate::mechanism::top::Round;
use crate::noise::bits::BitSource;
use crate::privacy::Adjacency;

use super::point::{Fraction, Table};

/// Chooses how far an interval around a released point must reach to contain the exact quantile.
#[derive(Debug, Clone)]
pub(crate) struct Reach {
    p: Fraction,
    /// γ.
    rate: Rational,
    /// c, in units of 1/b ranks.
    step: i64,
    /// r, in units of 1/b ranks; `None` if it is beyond all tables, so that every interval is the range.
    margin: Option<i64>,
}

/// Larger margins are out of reach: with them and up to 125 radii, all scores are within 64 bits.
const LARGEST: f64 = (1u64 << 56) as f64;

/// Farther than this is far: bounding a distance makes no change of it larger.
const FAR: i128 = 1 << 61;

impl Reach {
    /// The interval for the p-quantile that misses it with probability at most 1 − `level`.
    pub fn new(p: Fraction, adjacency: Adjacency, epsilon: &Rational, level: &Rational) -> Self {
        let sensitivity = match adjacency {
            Adjacency::AddRemove => p.larger(),
            Adjacency::Replace => p.b,
        };
        let reach = Self { p, rate: epsilon / &Rational::from(2 * sensitivity), step: 0, margin: None };
        reach.at_level(level)
    }

    /// The same at another level.
    pub fn at_level(self, level: &Rational) -> Self {
        let rate = self.rate.to_f64_down();
        let step = (0.2 / rate).ceil().max(1.0);
        let outside = (Rational::ONE - level.clone()).to_f64_down();
        // Floats round by less than one part in 10^12, and one more unit covers the rest.
        let log = -libm::log(2.0 * outside * libm::expm1(rate * step));
        let margin = self.p.b as f64 + (log.max(0.0) / rate * (1.0 + 1e-12)).ceil() + 1.0;
        let is_small = step < LARGEST && margin < LARGEST;
        Self { step: if is_small { step as i64 } else { 1 }, margin: is_small.then_some(margin as i64), ..self }
    }

    /// r: how many ranks beyond the exact quantile the interval is to reach.
    pub fn ranks(&self) -> f64 {
        self.margin.map_or(f64::INFINITY, |margin| margin as f64 / self.p.b as f64)
    }

    /// Draws the interval around z.
    pub fn sample<B: BitSource + ?Sized>(
        &self,
        table: &Table<'_>,
        z: i64,
        source: &mut B,
    ) -> Result<(i64, i64), B::Error> {
        let Some(margin) = self.margin else { return Ok((table.lo, table.hi)) };
        let chosen = Round::new(self.rate.clone(), &self.scores(margin, table, z)).select(source)?;
        Ok(within(table, z, radius(chosen)))
    }

    /// The score of each radius: j·c − D.
    fn scores(&self, margin: i64, table: &Table<'_>, z: i64) -> Vec<i64> {
        let margin = i128::from(margin);
        let mut scores = Vec::new();
        let mut before = i128::MIN;
        for (place, radius) in radii(table, z).enumerate() {
            let inside = self.inside(table, z, radius);
            let distance = margin.saturating_sub(inside).max(before.saturating_sub(margin)).clamp(0, FAR);
            scores.push(place as i64 * self.step - distance as i64);
            before = inside;
        }
        scores
    }

    /// b·f: how far the quantile's rank is from both ends of the interval.
    fn inside(&self, table: &Table<'_>, z: i64, radius: i64) -> i128 {
        let ((a, b), n) = ((i128::from(self.p.a), i128::from(self.p.b)), table.sorted.len() as i128);
        let (lower, upper) = within(table, z, radius);
        let (below, _) = table.ranks(lower);
        let (_, above) = table.ranks(upper);
        let left = if lower == table.lo { i128::MAX } else { a * n - b * below as i128 };
        let right = if upper == table.hi { i128::MAX } else { (b - a) * n - b * above as i128 };
        left.min(right)
    }
}

/// 0, 1, 2, 3, 4, 6, 8, 12, …: two for each power of two.
fn radius(place: usize) -> i64 {
    match place {
        0 | 1 => place as i64,
        _ => (2 + (place as i64 & 1)) << (place / 2 - 1),
    }
}

/// All radii up to the first whose interval is the range. It is below 2^62, so there are at most 125.
fn radii(table: &Table<'_>, z: i64) -> impl Iterator<Item = i64> {
    let farthest = (z - table.lo).max(table.hi - z);
    let last = (0..).take_while(|&place| radius(place) < farthest).count();
    (0..=last).map(radius)
}

/// The interval of this radius.
fn within(table: &Table<'_>, z: i64, radius: i64) -> (i64, i64) {
    ((z - radius).max(table.lo), (z + radius).min(table.hi))
}

#[cfg(test)]
impl Reach {
    /// Another margin, in ranks.
    pub fn with_margin(self, ranks: u64) -> Self {
        Self { margin: Some((ranks * self.p.b) as i64), ..self }
    }

    /// The law of the radius, with a rate that is wrong by a factor.
    pub fn law(&self, table: &Table<'_>, z: i64, factor: u64, bits: usize) -> Vec<crate::exact::enclosure::Enclosure> {
        use crate::mechanism::{Moves, Top};
        let epsilon = &(&self.rate * &Rational::from(2 * factor)).try_into().unwrap();
        let scores = self.scores(self.margin.unwrap(), table, z);
        Top::new(1, 1, Moves::AnyWay, epsilon).unwrap().first_selected(&scores, bits)
    }
}
