//! The shape of a joint query: which numbers it consists of.

use reticent::exact::Rational;
use reticent::message;
use reticent::privacy::Adjacency;
use reticent::statistic::Moments;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::query::Query;
use crate::release::contribution::UnitContribution;
use crate::release::design::{Additive, COUNT_AND_SUM, Paid};
use crate::release::draw;

/// The most numbers that parties add up.
pub const MOST_CELLS: usize = 1_000_000;
/// If the factors of several counts have no exact common solution, they are all this much larger, so that shares of the
/// budget are right to 1/16 at least.
const FINER: u64 = 16;
/// How many steps of the vector one unit moves a sum of values with the smallest weight: see [`Part::times`].
const STEPS_OF_A_UNIT: u64 = 64;
/// Sums over all parties and their noise stay within 63 bits; the values take this many, and the rest is for the noise.
const VALUE_BITS: u32 = 61;

/// Which numbers each party computes from its rows, in which order, and how far one unit can move them. None of it
/// depends on rows, so every party can compute it from the query alone, and compare.
///
/// The vector consists of the parts in order; each part of the groups in the order of `keys`; each group of the part's
/// numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// The privacy unit.
    pub unit: String,
    /// The adjacency.
    pub adjacency: String,
    /// The most groups to which one unit contributes.
    pub max_groups: u64,
    /// The most rows that it contributes to each.
    pub max_rows: u64,
    /// The group keys, in the user's words; empty if all rows form one group.
    pub grouped_by: Vec<String>,
    /// The groups' keys, with one text per key column; a single empty entry if all rows form one group.
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
    /// The value of one step of the vector, in counts or in the unit of the values.
    pub step: Rational,
    /// The most that one unit can move them, all groups together (L1), in the part's own steps, as in a release by one
    /// curator.
    pub sensitivity: u64,
    /// With [`Part::over`]: the numbers are multiplied by `times/over` and rounded before they join the others.
    ///
    /// The whole vector has one noise distribution, with scale Δ/ε, where Δ is the sum over parts of what one unit
    /// [moves](Part::moves) them by. A part of weight w among W should have noise of scale W·sensitivity/(w·ε) in its
    /// own steps, as its share of the budget gives it; in steps of the vector this is Δ/ε for all parts alike if they
    /// are moved in proportion to their weights. The factors achieve that approximately: Δ is computed exactly from the
    /// factors, so privacy does not depend on the approximation.
    ///
    /// Counts alone are only ever multiplied, by as little as possible. Sums of values are exact in steps of 2^−28 of
    /// their range; they are rounded to steps of which one unit moves about 64. Against more colluders than planned
    /// for, the remaining noise is peaked at 0, the more so the finer the steps; and a step of 1/64 of what a unit
    /// moves is lost in the noise.
    pub times: u64,
    /// See [`Part::times`].
    pub over: u64,
    /// The most that one unit can move them in steps of the vector: rounding moves each number that it touches by one
    /// step more.
    pub moves: u64,
}

impl Shape {
    /// The shape of a prepared query.
    pub(super) fn of(query: &Query) -> Result<Self> {
        let additive = &query.design().additive;
        let known = query.known_keys();
        let groups = known.map_or(1, crate::keys::KnownKeys::len);
        let kinds =
            additive.iter().map(|paid| Kind::of(paid, query.contribution(), groups)).collect::<Result<Vec<_>>>()?;
        let scales = scales(&kinds)?;
        let part = |(paid, (kind, (times, over))): (&Paid, (&Kind, (u64, u64)))| {
            Ok(Part {
                words: paid.words.clone(),
                numbers: draw::width(&paid.part),
                step: &(&step(&paid.part) * &Rational::from(over)) / &Rational::from(times),
                sensitivity: kind.sensitivity,
                times,
                over,
                moves: kind.moves(times, over)?,
            })
        };
        let parts = additive.iter().zip(kinds.iter().zip(scales)).map(part).collect::<Result<_>>()?;
        let numbers: usize = additive.iter().map(|paid| draw::width(&paid.part)).sum();
        if groups.checked_mul(numbers).is_none_or(|cells| cells > MOST_CELLS) {
            let why = format!("there are {groups} groups of {numbers} numbers");
            return Err(Error::not_joint(format!("a query with more than {MOST_CELLS} cells"), why));
        }
        let written = |key: usize| known.map_or_else(Vec::new, |known| known.written(key));
        let keys = (0..groups).map(|key| written(key).into_iter().map(str::to_owned).collect()).collect();
        Ok(Self {
            unit: query.unit().to_string(),
            adjacency: query.options().adjacency.to_string(),
            max_groups: query.contribution().groups(),
            max_rows: query.contribution().max_rows(),
            grouped_by: query.key_words(),
            keys,
            parts,
        })
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> usize {
        self.keys.len()
    }

    /// Returns the total number of numbers.
    pub fn cells(&self) -> usize {
        self.groups() * self.parts.iter().map(|part| part.numbers).sum::<usize>()
    }

    /// The most that one unit can move the vector of its party: L1, in steps of the vector.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn sensitivity(&self) -> Result<u64> {
        let total = self.parts.iter().try_fold(0u64, |total, part| total.checked_add(part.moves));
        total.ok_or_else(too_sensitive)
    }

    /// The bound on one number of one party, unless the parties agree on a smaller one: as large as the sums allow, so
    /// that no real value is ever clamped. Noise and privacy do not depend on it.
    pub fn bound(parties: u32) -> i64 {
        (1 << VALUE_BITS) / i64::from(parties.max(1))
    }

    /// How many rows a party can have in one group before the bound clamps a number, in the worst case.
    pub fn rows_within(&self, bound: i64) -> u64 {
        // One row adds to each number of a part at most what one row of one unit can.
        let per_row = |part: &Part| {
            let rows = self.max_rows.max(1).saturating_mul(self.max_groups.max(1));
            part.moves.div_ceil(rows)
        };
        let most = self.parts.iter().map(per_row).max().unwrap_or(1).max(1);
        bound.unsigned_abs() / most
    }

    /// A label for each number: part, group, and which of the part's numbers.
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
    /// Scales one of a party's exact numbers to steps of the vector: rounded to the nearest and saturating. Two numbers
    /// that differ by d then differ by at most ⌈d·times/over⌉.
    pub(super) fn scaled(&self, number: i64) -> i64 {
        rounded(i128::from(number) * i128::from(self.times), self.over)
    }

    /// Scales a number of the vector back to the part's own steps, rounded to the nearest.
    pub(super) fn unscaled(&self, number: i64) -> i64 {
        rounded(i128::from(number) * i128::from(self.over), self.times)
    }

    /// The half-width, in the part's own steps, of a sum over parties whose noise is within `steps` steps of the
    /// vector. It includes the rounding by each party and at the end: without noise the sum is an integer.
    pub(super) fn half_width(&self, steps: u64, parties: u32) -> u64 {
        let twice_rounded = if self.over > 1 { u128::from(parties) } else { 0 };
        let (times, over) = (u128::from(self.times), u128::from(self.over));
        let twice = (2 * u128::from(steps) + twice_rounded).saturating_mul(over).saturating_add(times);
        u64::try_from(twice / (2 * times)).unwrap_or(u64::MAX)
    }
}

/// n/d rounded to the nearest, within 64 bits.
fn rounded(numerator: i128, denominator: u64) -> i64 {
    let denominator = i128::from(denominator);
    let nearest = (2 * numerator + denominator).div_euclid(2 * denominator);
    nearest.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// What determines a part's factor.
#[derive(Debug, Clone, Copy)]
struct Kind {
    sensitivity: u64,
    weight: u32,
    /// Whether it is a sum of values rather than a count.
    of_values: bool,
    /// How many of its numbers one unit can change.
    touched: u64,
}

impl Kind {
    fn of(paid: &Paid, unit: &UnitContribution, groups: usize) -> Result<Self> {
        // A unit that is replaced leaves groups and enters others.
        let replaced = if unit.adjacency() == Adjacency::Replace { 2 } else { 1 };
        let groups = unit.groups().saturating_mul(replaced).min(groups as u64);
        let numbers = match &paid.part {
            Additive::Bins(_, bins) => unit.max_rows().saturating_mul(replaced).min(u64::from(*bins)),
            part => draw::width(part) as u64,
        };
        let (sensitivity, touched) = (paid.sensitivity.l1()?, groups.saturating_mul(numbers));
        let of_values = matches!(paid.part, Additive::Ends(..) | Additive::Squares(..));
        Ok(Self { sensitivity, weight: paid.weight, of_values, touched })
    }

    /// The most that one unit moves the scaled part: Σ⌈dᵢ·times/over⌉ ≤ ⌈sensitivity·times/over⌉ plus 1 for each number
    /// that it touches, and without the latter where nothing is rounded.
    fn moves(&self, times: u64, over: u64) -> Result<u64> {
        let scaled = (u128::from(self.sensitivity) * u128::from(times)).div_ceil(u128::from(over));
        let moves = scaled + if over > 1 { u128::from(self.touched) } else { 0 };
        u64::try_from(moves).map_err(|_| too_sensitive())
    }
}

/// The value of one of the part's own steps.
fn step(part: &Additive) -> Rational {
    let power_of_two = match part {
        Additive::Ends(_, grid) => grid.step(),
        Additive::Squares(_, grid) => Moments::square_step(grid),
        _ => 1.0,
    };
    Rational::from_f64_bits(power_of_two).expect("a power of two is a number")
}

/// A factor for each part, as a fraction, that makes what one unit moves them by approximately proportional to the
/// weights.
fn scales(kinds: &[Kind]) -> Result<Vec<(u64, u64)>> {
    if kinds.iter().any(|kind| kind.of_values) {
        let least = kinds.iter().map(|kind| u64::from(kind.weight)).min().unwrap_or(1);
        let scale = |kind: &Kind| {
            let steps = u128::from(STEPS_OF_A_UNIT) * u128::from(kind.weight);
            fraction(steps, u128::from(least) * u128::from(kind.sensitivity))
        };
        return kinds.iter().map(scale).collect();
    }
    // The count with the largest sensitivity relative to its weight has the smallest factor.
    let ratio = |kind: &Kind| (u128::from(kind.sensitivity), u128::from(kind.weight));
    let larger = |one: &&Kind, other: &&Kind| (ratio(one).0 * ratio(other).1).cmp(&(ratio(other).0 * ratio(one).1));
    let (most, weight) = kinds.iter().max_by(larger).map_or((1, 1), ratio);
    let exact = |kind: &Kind, times: u128| (ratio(kind).1 * most * times, ratio(kind).0 * weight);
    let even = kinds.iter().all(|kind| exact(kind, 1).0 % exact(kind, 1).1 == 0);
    let times = if even { 1 } else { FINER.into() };
    let nearest = |kind: &Kind| {
        let (numerator, denominator) = exact(kind, times);
        fraction((2 * numerator + denominator) / (2 * denominator), 1)
    };
    kinds.iter().map(nearest).collect()
}

/// A fraction in lowest terms.
fn fraction(numerator: u128, denominator: u128) -> Result<(u64, u64)> {
    let (mut one, mut other) = (numerator, denominator);
    while other > 0 {
        (one, other) = (other, one % other);
    }
    let part = |number: u128| u64::try_from(number / one).map_err(|_| too_sensitive());
    Ok((part(numerator)?, part(denominator)?))
}

fn too_sensitive() -> Error {
    let why = message!(
        "the sensitivity does not fit in 64 bits; lower ",
        ["max-groups"],
        ", ",
        ["max-rows"],
        " or ",
        ["weight"]
    );
    Error::not_joint("these aggregates", why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(sensitivity: u64, weight: u32, of_values: bool) -> Kind {
        Kind { sensitivity, weight, of_values, touched: 2 }
    }

    #[test]
    fn every_part_has_its_share() {
        let counts = |list: &[(u64, u32)]| {
            let kinds: Vec<Kind> = list.iter().map(|&(sensitivity, weight)| kind(sensitivity, weight, false)).collect();
            scales(&kinds)
        };
        // Counts alone are multiplied, by as little as possible.
        assert_eq!(counts(&[(7, 3)]).unwrap(), [(1, 1)]);
        assert_eq!(counts(&[(1, 1), (1, 4), (8, 1)]).unwrap(), [(8, 1), (32, 1), (1, 1)]);
        assert!(counts(&[(1, 1_000_000), (u64::MAX, 1)]).is_err());
        // Sums are rounded.
        let mixed = [kind(1, 1, false), kind(1 << 28, 1, true)];
        assert_eq!(scales(&mixed).unwrap(), [(64, 1), (1, 1 << 22)]);
        assert_eq!((mixed[0].moves(64, 1), mixed[1].moves(1, 1 << 22)), (Ok(64), Ok(64 + 2)));
        for kinds in [
            [kind(3, 1, false), kind(200, 1, false)],
            [kind(1000, 1, false), kind(999, 7, false)],
            [kind(5, 2, false), kind(7, 3, false)],
            [kind(100, 2, false), kind(209_715_200, 3, true)],
            [kind(268_435_456, 1, true), kind(209_715_200, 1, true)],
        ] {
            let scales = scales(&kinds).unwrap();
            let moves = kinds.iter().zip(&scales).map(|(kind, scale)| kind.moves(scale.0, scale.1).unwrap());
            let moves: Vec<u64> = moves.collect();
            for (moved, kind) in moves.iter().zip(kinds) {
                let wanted = f64::from(kind.weight) / f64::from(kinds.iter().map(|kind| kind.weight).sum::<u32>());
                let share = *moved as f64 / moves.iter().sum::<u64>() as f64;
                assert!((share / wanted - 1.0).abs() <= 1.0 / FINER as f64, "{kinds:?} {share} {wanted}");
            }
        }
    }

    fn part(times: u64, over: u64) -> Part {
        let (words, step) = ("rows".into(), Rational::ONE);
        Part { words, numbers: 1, step, sensitivity: 1, times, over, moves: times.div_ceil(over) }
    }

    #[test]
    fn numbers_come_back_without_their_factor() {
        let ten = part(10, 1);
        assert_eq!([-2, 0, 7].map(|number| ten.scaled(number)), [-20, 0, 70]);
        assert_eq!([-16, -15, -5, -4, 0, 4, 5, 14].map(|number| ten.unscaled(number)), [-2, -1, 0, 0, 0, 0, 1, 1]);
        assert_eq!([0, 4, 5, 14, 15].map(|steps| ten.half_width(steps, 9)), [0, 0, 1, 1, 2]);
        let plain = part(1, 1);
        assert_eq!([i64::MIN, i64::MAX].map(|number| plain.unscaled(plain.scaled(number))), [i64::MIN, i64::MAX]);
        assert_eq!([i64::MIN, i64::MAX].map(|number| ten.scaled(number)), [i64::MIN, i64::MAX]);
        assert_eq!(plain.half_width(u64::MAX, 1), u64::MAX);
    }

    /// Whatever the parties' numbers and the noise, the sum is within the half-width.
    #[test]
    fn rounding_is_in_the_half_width() {
        for (times, over) in [(1, 1000), (7, 1000), (64, 100), (3, 2), (5, 1)] {
            let part = part(times, over);
            for (seed, noise) in [(1i64, 0i64), (2, 5), (3, -17), (4, 1000)] {
                let numbers: Vec<i64> = (0..5).map(|party| seed * 7919 * (party + 1) % 12_345).collect();
                let sum: i64 = numbers.iter().map(|&number| part.scaled(number)).sum();
                let off = part.unscaled(sum + noise).abs_diff(numbers.iter().sum());
                assert!(off <= part.half_width(noise.unsigned_abs(), 5), "{times}/{over} {seed} {noise}: {off}");
            }
        }
    }

    #[test]
    fn rounding_moves_a_number_by_one_step_more_at_the_most() {
        for (times, over) in [(1, 1000), (7, 1000), (64, 100), (3, 2)] {
            for (one, distance) in [(0, 1), (499, 1), (500, 1), (-3, 999), (12_345, 1000), (5, 1001)] {
                let (kind, part) = (kind(distance, 1, true), part(times, over));
                let moved = part.scaled(one).abs_diff(part.scaled(one + distance as i64));
                // One number is touched here, of the two that are accounted for.
                assert!(moved < kind.moves(times, over).unwrap(), "{times}/{over} {one} {distance}");
            }
        }
    }

    #[test]
    fn sums_of_bounded_numbers_leave_room_for_noise() {
        for parties in [1, 2, 3, 50, 1000] {
            assert!(i128::from(Shape::bound(parties)) * i128::from(parties) <= 1 << VALUE_BITS);
        }
    }
}
