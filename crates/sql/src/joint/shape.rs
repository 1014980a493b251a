//! Which numbers a joint query has.

use reticent::exact::Rational;
use reticent::statistic::Moments;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::query::Query;
use crate::release::design::{Additive, COUNT_AND_SUM, Paid};
use crate::release::draw;

/// More numbers than parties have reason to add up.
pub const MOST_CELLS: usize = 1_000_000;
/// Where the factors of several parts do not come out even, all are this much larger, so that shares of the budget are right
/// to one part in so many, at least.
const FINER: u64 = 16;
/// Sums of all parties and their noise stay within 63 bits; the values have this many, and the rest is for the noise.
const VALUE_BITS: u32 = 61;

/// Which numbers each party computes of its rows, in which order, and how far one unit can move them. Nothing of it depends
/// on rows, so that all parties can compute it from the query alone, and compare.
///
/// The vector has the parts one after the other; in each part the groups in the order of `keys`; in each group the part's
/// numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Whose privacy is protected.
    pub unit: String,
    /// Which tables are neighbours.
    pub adjacency: String,
    /// In how many groups one unit counts.
    pub max_groups: u64,
    /// With how many rows in each.
    pub max_rows: u64,
    /// What groups are made by, in the user's words; nothing if there is one group of all rows.
    pub grouped_by: Vec<String>,
    /// The groups' keys, a text for each of these; a single empty one if there is one group of all rows.
    pub keys: Vec<Vec<String>>,
    /// The kinds of numbers.
    pub parts: Vec<Part>,
}

/// Numbers of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// What they are.
    pub words: String,
    /// How many of them each group has.
    pub numbers: usize,
    /// What one step of the vector is worth: so much of what is counted, or of the unit in which values are written.
    pub step: Rational,
    /// How far one unit can move them, all groups together (L1), as in a release by one curator.
    pub sensitivity: u64,
    /// What they are multiplied by before they join the others.
    ///
    /// One noise serves the whole vector, with a scale of Δ/ε for Δ = Σ factor·sensitivity. A part of weight w among W shall
    /// have noise of scale W·sensitivity/(w·ε) in its own steps, as its share of the budget gives it; multiplied by the factor
    /// this is Δ/ε for all parts alike if factor·sensitivity is in proportion to w. Factors are whole numbers that make it
    /// so, nearly: Δ is what they give, exactly, and so privacy does not hang on how near.
    pub factor: u64,
}

impl Shape {
    /// Of a prepared query.
    pub(super) fn of(query: &Query) -> Result<Self> {
        let additive = &query.design().additive;
        let sensitivities = additive.iter().map(|paid| paid.sensitivity.l1()).collect::<Result<Vec<_>, _>>()?;
        let weights: Vec<u32> = additive.iter().map(|paid| paid.weight).collect();
        let factors = factors(&sensitivities, &weights)?;
        let part = |(paid, (sensitivity, factor)): (&Paid, (u64, u64))| Part {
            words: paid.words.clone(),
            numbers: draw::width(&paid.part),
            step: &step(&paid.part) / &Rational::from(factor),
            sensitivity,
            factor,
        };
        let known = query.known_keys();
        let groups = known.map_or(1, crate::query::KnownKeys::len);
        let numbers: usize = additive.iter().map(|paid| draw::width(&paid.part)).sum();
        if groups.checked_mul(numbers).is_none_or(|cells| cells > MOST_CELLS) {
            let why =
                format!("there are {groups} groups of {numbers} numbers, but parties add up at most {MOST_CELLS}");
            return Err(Error::not_joint("so many groups", why));
        }
        let written = |key: usize| known.map_or_else(Vec::new, |known| known.written(key));
        let keys = (0..groups).map(|key| written(key).into_iter().map(str::to_owned).collect()).collect();
        Ok(Self {
            unit: query.unit().to_string(),
            adjacency: query.options().adjacency.to_string(),
            max_groups: query.touched().groups(),
            max_rows: query.touched().max_rows(),
            grouped_by: query.key_words(),
            keys,
            parts: additive.iter().zip(sensitivities.into_iter().zip(factors)).map(part).collect(),
        })
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.keys.len()
    }

    /// How many numbers there are in all.
    pub fn cells(&self) -> usize {
        self.groups() * self.parts.iter().map(|part| part.numbers).sum::<usize>()
    }

    /// How far one unit can move the vector of its party: L1, in the steps of the vector.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn sensitivity(&self) -> Result<u64> {
        let moves = self.parts.iter().map(|part| part.factor.checked_mul(part.sensitivity));
        let total = moves.into_iter().try_fold(0u64, |total, one| total.checked_add(one?));
        total.ok_or_else(too_sensitive)
    }

    /// The bound on one number of one party, unless the parties agree on a smaller one: as large as the sums allow, so that
    /// nothing real is ever clamped. Noise and privacy do not depend on it.
    pub fn bound(parties: u32) -> i64 {
        (1 << VALUE_BITS) / i64::from(parties.max(1))
    }

    /// How many rows a party can have in one group before the bound clamps a number, in the worst case.
    pub fn rows_within(&self, bound: i64) -> u64 {
        // One row adds to each number of a part at most what one row of one unit can.
        let per_row = |part: &Part| {
            let rows = self.max_rows.max(1) * self.max_groups.max(1);
            part.factor.saturating_mul(part.sensitivity.div_ceil(rows))
        };
        let most = self.parts.iter().map(per_row).max().unwrap_or(1).max(1);
        bound.unsigned_abs() / most
    }

    /// What each number is, in words: part, group, and which of the part's numbers.
    pub fn labels(&self) -> Vec<String> {
        let label = |part: &Part, key: &Vec<String>, number: usize| {
            let mut text = part.words.clone();
            for (name, value) in self.grouped_by.iter().zip(key) {
                text += &format!(", {name} = {value}");
            }
            match part.numbers {
                1 => text,
                _ if part.words.starts_with(COUNT_AND_SUM) => {
                    text + [": above the lower bound", ": below the upper bound"][number % 2]
                }
                _ => text + &format!(": bin {}", number + 1),
            }
        };
        let mut labels = Vec::with_capacity(self.cells());
        for part in &self.parts {
            for key in &self.keys {
                labels.extend((0..part.numbers).map(|number| label(part, key, number)));
            }
        }
        labels
    }
}

impl Part {
    /// How far one unit moves it, in the steps of the vector.
    pub fn moves(&self) -> u64 {
        self.factor.saturating_mul(self.sensitivity)
    }

    /// A number of the vector in the part's own steps, to the nearest.
    pub(super) fn without_factor(&self, number: i64) -> i64 {
        let (number, factor) = (i128::from(number), i128::from(self.factor));
        // Between −2^63 and 2^63, like the number itself.
        ((2 * number + factor).div_euclid(2 * factor)) as i64
    }

    /// How far a noise within so many steps of the vector carries a number in the part's own steps. Rounding to the nearest
    /// is in it: the number without noise is a whole one.
    pub(super) fn half_width(&self, steps: u64) -> u64 {
        let (steps, factor) = (u128::from(steps), u128::from(self.factor));
        u64::try_from((2 * steps + factor) / (2 * factor)).unwrap_or(u64::MAX)
    }
}

/// What one step of a part's own is worth.
fn step(part: &Additive) -> Rational {
    let power_of_two = match part {
        Additive::Ends(_, grid) => grid.step(),
        Additive::Squares(_, grid) => Moments::square_step(grid),
        _ => 1.0,
    };
    Rational::from_f64_bits(power_of_two).expect("a power of two is a number")
}

/// Whole numbers that bring the products with these sensitivities into the proportion of the weights, nearly.
fn factors(sensitivities: &[u64], weights: &[u32]) -> Result<Vec<u64>> {
    // The part with the largest sensitivity for its weight has the smallest factor.
    let ratio = |place: &usize| (u128::from(sensitivities[*place]), u128::from(weights[*place]));
    let larger = |one: &usize, other: &usize| (ratio(one).0 * ratio(other).1).cmp(&(ratio(other).0 * ratio(one).1));
    let (most, weight) = (0..sensitivities.len()).max_by(larger).map_or((1, 1), |place| ratio(&place));
    let exact = |place: usize, times: u128| (ratio(&place).1 * most * times, ratio(&place).0 * weight);
    let even = |times: u128| (0..sensitivities.len()).all(|place| exact(place, times).0 % exact(place, times).1 == 0);
    let times = if even(1) { 1 } else { FINER.into() };
    let nearest = |place: usize| {
        let (numerator, denominator) = exact(place, times);
        u64::try_from((2 * numerator + denominator) / (2 * denominator)).map_err(|_| too_sensitive())
    };
    (0..sensitivities.len()).map(nearest).collect()
}

fn too_sensitive() -> Error {
    let why = "one unit could move them further than 64 bits tell; lower --max-groups, --max-rows or --weight";
    Error::not_joint("these aggregates", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_share() {
        assert_eq!(factors(&[7], &[3]).unwrap(), [1]);
        assert_eq!(factors(&[1, 1 << 28], &[1, 1]).unwrap(), [1 << 28, 1]);
        assert_eq!(factors(&[1, 1, 8], &[1, 4, 1]).unwrap(), [8, 32, 1]);
        assert!(factors(&[1, u64::MAX], &[1_000_000, 1]).is_err());
        for (sensitivities, weights) in [([3, 200], [1, 1]), ([1000, 999], [1, 7]), ([5, 7], [2, 3])] {
            let factors = factors(&sensitivities, &weights).unwrap();
            let moves: Vec<u64> = factors.iter().zip(sensitivities).map(|(factor, one)| factor * one).collect();
            let total: u64 = moves.iter().sum();
            for (moves, weight) in moves.iter().zip(weights) {
                let wanted = f64::from(weight) / f64::from(weights.iter().sum::<u32>());
                let share = *moves as f64 / total as f64;
                assert!((share / wanted - 1.0).abs() <= 1.0 / FINER as f64, "{sensitivities:?} {share} {wanted}");
            }
        }
    }

    #[test]
    fn numbers_come_back_without_their_factor() {
        let part = Part { words: "rows".into(), numbers: 1, step: Rational::ONE, sensitivity: 1, factor: 10 };
        assert_eq!(
            [-16, -15, -5, -4, 0, 4, 5, 14].map(|number| part.without_factor(number)),
            [-2, -1, 0, 0, 0, 0, 1, 1]
        );
        assert_eq!([0, 4, 5, 14, 15].map(|steps| part.half_width(steps)), [0, 0, 1, 1, 2]);
        let plain = Part { factor: 1, ..part };
        assert_eq!([i64::MIN, i64::MAX].map(|number| plain.without_factor(number)), [i64::MIN, i64::MAX]);
        assert_eq!(plain.half_width(u64::MAX), u64::MAX);
    }

    #[test]
    fn sums_of_bounded_numbers_leave_room_for_noise() {
        for parties in [1, 2, 3, 50, 1000] {
            assert!(i128::from(Shape::bound(parties)) * i128::from(parties) <= 1 << VALUE_BITS);
        }
    }
}
