//! One draw of noise for several numbers of a group.

use reticent::Permit;
use reticent::exact::Rational;
use reticent::mechanism::MaxNorm;
use reticent::message;
use reticent::privacy::{Epsilon, Guarantee};
use reticent::release::LEVEL;
use reticent::statistic::{Grid, Moments, Sensitivity};
use reticent_bounding::Group;

use super::contribution::UnitContribution;
use super::design::Additive;
use super::numbers::{moments, present, whole};
use crate::error::{Error, Result};

/// Steps of a coordinate that one unit can move it by in one group: fine enough for rounding to be lost in the noise, and
/// coarse enough for 2^43 rows.
const STEPS: u64 = 1 << 20;
/// The widest noise at 95 %, in steps of what is released: as wide as that on single numbers may be. Bars of many numbers at
/// once are less than a hundred times as wide, and fit in 64 bits.
const WIDEST: f64 = (1_u64 << 50) as f64;

/// Counts, sums and sums of squares of every group as one vector, with one draw of noise for all of it.
///
/// # Privacy
/// ε-differential privacy, by [`MaxNorm`]. The coordinates of a group are sums over rows: 1 for a count of rows; 1 for a value,
/// or, if rows are counted too, 1 for a value and −1 for a missing one; x − mid for a sum; 2·(x − mid)² − c for squares, c
/// being the largest (x − mid)²; and 1 for each unit. With Lᵢ the L1 sensitivity that
/// [`Contribution`](reticent::statistic::Contribution) derives for coordinate i alone, and k that of counts of units, hᵢ =
/// Lᵢ/k is a whole number:
/// - Add or remove a unit with at most r rows in each of at most g groups: k = g, and hᵢ is the most that its r rows add to
///   the coordinate in one group, in absolute value.
/// - Replace it, in groups: k = 2g; it leaves up to g groups and enters up to g, and moves the coordinate by at most hᵢ each
///   time, also where it does both in the same group.
/// - Replace it, without groups: k = 1, and hᵢ is the most that two such units differ by.
///
/// A coordinate X becomes y = ⌊X·2^20·wᵢ/(hᵢ·w) + ½⌋, wᵢ being its weight and w ≥ wᵢ the largest. Each of the k moves
/// changes X by at most hᵢ, hence X·2^20·wᵢ/(hᵢ·w) by at most 2^20. That is a whole number m, ⌊x + m⌋ = ⌊x⌋ + m, and ⌊ ⌋
/// never falls: y changes by at most 2^20, too. So rounding costs nothing, every move changes all coordinates of its group
/// by at most 2^20, and the sum over all groups of the largest change is at most k·2^20. Saturation, of the sums and of y,
/// moves no two numbers further apart; what a row adds to the saturated squares is still within 0 to c.
///
/// # Accuracy
/// D coordinates with the same weight each have a variance of (D+1)(D+2)/3 in units of (k·hᵢ/ε)²; with an equal share of ε
/// each it would be 2D². A count of values as half of the sum of two coordinates has half of that, and so have the squares.
#[derive(Debug, Clone)]
pub struct BoxNoise {
    mechanism: MaxNorm,
    #[cfg(any(test, feature = "test-util"))]
    sensitivity: u64,
    coordinates: Vec<Coordinate>,
}

#[derive(Debug, Clone)]
struct Coordinate {
    of: Quantity,
    /// y = X·times/over
    times: u64,
    over: u128,
}

/// What a coordinate adds up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quantity {
    Rows,
    Units,
    /// By measure.
    Present(usize),
    /// Values of a measure that is summed.
    Values(usize),
    Sum(usize),
    /// With the largest square.
    Squares(usize, i64),
}

/// A sum of some coordinates, each with its factor.
pub type Form = Vec<(usize, f64)>;

impl BoxNoise {
    /// Whether numbers of this kind can be in it. A row is in one bin of a histogram: noise on each is better for these.
    pub fn holds(part: &Additive) -> bool {
        !matches!(part, Additive::Bins(..) | Additive::Presence(_))
    }

    /// For these parts with their weights; rows are not weighed.
    ///
    /// # Errors
    /// If a sensitivity does not fit in 64 bits, or no noise exists for this number of coordinates and this ε.
    pub fn new(parts: &[(&Additive, u32)], touched: &UnitContribution, epsilon: &Epsilon) -> Result<Self> {
        let heaviest = parts.iter().map(|(_, weight)| *weight).max().unwrap_or(1);
        let moves = touched.units()?.l1()?;
        let least = if parts.iter().any(|(part, _)| **part == Additive::Rows) { -1 } else { 0 };
        let mut coordinates = Vec::new();
        for (part, weight) in parts {
            let mut add = |of: Quantity, sensitivity: Sensitivity| -> Result<()> {
                let over = u128::from(sensitivity.l1()?.div_ceil(moves)) * u128::from(heaviest);
                coordinates.push(Coordinate { of, times: STEPS * u64::from(*weight), over });
                Ok(())
            };
            match part {
                Additive::Rows => add(Quantity::Rows, touched.of_values(1, 1)?)?,
                Additive::Units => add(Quantity::Units, touched.units()?)?,
                Additive::Present(measure) => add(Quantity::Present(*measure), touched.of_values(least, 1)?)?,
                Additive::Ends(measure, grid) => {
                    add(Quantity::Values(*measure), touched.of_values(least, 1)?)?;
                    let (lower, upper) = (grid.lower() - grid.middle(), grid.upper() - grid.middle());
                    add(Quantity::Sum(*measure), touched.of_values(lower, upper)?)?;
                }
                Additive::Squares(measure, grid) => {
                    let largest = Moments::largest_square(grid);
                    add(Quantity::Squares(*measure, largest), touched.of_values(-largest, largest)?)?;
                }
                Additive::Bins(..) | Additive::Presence(_) => unreachable!("`holds` says so"),
            }
        }
        let number = u32::try_from(coordinates.len()).unwrap_or(u32::MAX);
        let sensitivity = moves.saturating_mul(STEPS);
        let noise = Self {
            mechanism: MaxNorm::new(number, sensitivity, epsilon)?,
            #[cfg(any(test, feature = "test-util"))]
            sensitivity,
            coordinates,
        };
        let level = LEVEL.try_into()?;
        for form in parts.iter().flat_map(|(part, _)| noise.forms(part)) {
            if noise.half_width(&form, &level)? > WIDEST {
                return Err(Error::option(message!(
                    ["epsilon"],
                    " is too small for these bounds and contribution limits: the noise would be out of range"
                )));
            }
        }
        Ok(noise)
    }

    /// The numbers that are read from the vectors for a part.
    pub fn forms(&self, part: &Additive) -> Vec<Form> {
        match part {
            Additive::Ends(measure, _) => vec![self.count(part), self.sum_of(*measure)],
            Additive::Squares(measure, _) => vec![self.squares(*measure)],
            _ => vec![self.count(part)],
        }
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.mechanism.guarantee()
    }

    /// The number of coordinates.
    pub fn coordinates(&self) -> usize {
        self.coordinates.len()
    }

    /// The most that one unit moves all vectors, the largest move of each group added up.
    #[cfg(any(test, feature = "test-util"))]
    pub fn sensitivity(&self) -> u64 {
        self.sensitivity
    }

    /// The exact vectors, group by group.
    pub fn exact(&self, groups: &[Group]) -> Vec<i64> {
        groups.iter().flat_map(|group| self.coordinates.iter().map(|one| one.scaled(self.sum(one.of, group)))).collect()
    }

    fn sum(&self, of: Quantity, group: &Group) -> i128 {
        let rows = i128::from(whole(group.rows));
        let flags = |values: i64| match self.place(Quantity::Rows) {
            Some(_) => 2 * i128::from(values) - rows,
            None => values.into(),
        };
        match of {
            Quantity::Rows => rows,
            Quantity::Units => whole(group.units).into(),
            Quantity::Present(measure) => flags(present(group, measure)),
            Quantity::Values(measure) => flags(moments(group, measure).count),
            Quantity::Sum(measure) => moments(group, measure).sum.into(),
            Quantity::Squares(measure, largest) => {
                let Moments { count, squares, .. } = moments(group, measure);
                2 * i128::from(squares) - i128::from(largest) * i128::from(count)
            }
        }
    }

    /// The vectors with noise.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release(&self, groups: &[Group], permit: &mut Permit) -> Result<Vec<i64>> {
        Ok(self.mechanism.release(self.exact(groups), permit)?.into_value())
    }

    /// The numbers of a part, group by group, from released vectors.
    pub fn numbers(&self, part: &Additive, released: &[i64]) -> Vec<i64> {
        let groups = released.chunks(self.coordinates.len());
        let value = |form: &Form, group: &[i64]| form.iter().map(|&(place, factor)| factor * group[place] as f64).sum();
        // The conversion saturates.
        let nearest = |value: f64| value.round() as i64;
        match part {
            Additive::Ends(measure, grid) => {
                let (count, sum) = (self.count(part), self.sum_of(*measure));
                let (below, above) = ((grid.middle() - grid.lower()) as f64, (grid.upper() - grid.middle()) as f64);
                let ends = |group: &[i64]| {
                    let (count, sum): (f64, f64) = (value(&count, group), value(&sum, group));
                    [nearest(sum + count * below), nearest(count * above - sum)]
                };
                groups.flat_map(ends).collect()
            }
            Additive::Squares(measure, _) => {
                let squares = self.squares(*measure);
                groups.map(|group| nearest(value(&squares, group))).collect()
            }
            _ => {
                let count = self.count(part);
                groups.map(|group| nearest(value(&count, group))).collect()
            }
        }
    }

    /// A count: of rows, units or values.
    pub fn count(&self, part: &Additive) -> Form {
        match part {
            Additive::Rows => self.one(Quantity::Rows),
            Additive::Units => self.one(Quantity::Units),
            Additive::Present(measure) => self.values(Quantity::Present(*measure)),
            Additive::Ends(measure, _) => self.values(Quantity::Values(*measure)),
            Additive::Squares(..) | Additive::Bins(..) | Additive::Presence(_) => Form::new(),
        }
    }

    /// Values, from those less the missing ones if rows are counted.
    fn values(&self, of: Quantity) -> Form {
        match self.place(Quantity::Rows) {
            Some(_) => times([self.one(of), self.one(Quantity::Rows)].concat(), 0.5),
            None => self.one(of),
        }
    }

    /// S, in grid steps.
    pub fn sum_of(&self, measure: usize) -> Form {
        self.one(Quantity::Sum(measure))
    }

    /// Σx in grid steps: S + mid·N.
    pub fn total(&self, part: &Additive, measure: usize, grid: &Grid) -> Form {
        [self.sum_of(measure), times(self.count(part), grid.middle() as f64)].concat()
    }

    /// Q, in its own steps.
    pub fn squares(&self, measure: usize) -> Form {
        let is = |of: Quantity| matches!(of, Quantity::Squares(other, _) if other == measure);
        let Some(Coordinate { of: of @ Quantity::Squares(_, largest), .. }) =
            self.coordinates.iter().find(|one| is(one.of))
        else {
            return Form::new();
        };
        // The count of the values is released wherever their squares are.
        times([self.one(*of), times(self.values(Quantity::Values(measure)), *largest as f64)].concat(), 0.5)
    }

    /// How far noise and rounding move such a sum at most, at this level.
    ///
    /// # Errors
    /// If there is no half-width at this level.
    pub fn half_width(&self, form: &Form, level: &Rational) -> reticent::Result<f64> {
        let factors: Vec<f64> = form.iter().map(|(_, factor)| *factor).collect();
        let rounding: f64 = factors.iter().map(|factor| factor.abs() / 2.0).sum();
        Ok(self.mechanism.noise().half_width_of_sum(&factors, level)? + rounding)
    }

    fn place(&self, of: Quantity) -> Option<usize> {
        self.coordinates.iter().position(|one| one.of == of)
    }

    /// One coordinate, in its own steps.
    fn one(&self, of: Quantity) -> Form {
        let place = self.place(of).map(|place| (place, &self.coordinates[place]));
        place.into_iter().map(|(place, one)| (place, one.over as f64 / one.times as f64)).collect()
    }
}

impl Coordinate {
    /// ⌊X·times/over + ½⌋
    fn scaled(&self, sum: i128) -> i64 {
        // 63 bits and at most 52 more.
        let sum = sum.clamp(i64::MIN.into(), i64::MAX.into());
        let over = self.over.cast_signed();
        let nearest = (2 * sum * i128::from(self.times) + over).div_euclid(2 * over);
        nearest.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }
}

fn times(form: Form, factor: f64) -> Form {
    form.into_iter().map(|(place, one)| (place, one * factor)).collect()
}

#[cfg(test)]
mod tests;
