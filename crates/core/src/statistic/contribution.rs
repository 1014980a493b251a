//! How much one unit can contribute, and how far it can move a statistic.

use crate::error::{Error, Result};
use crate::privacy::Adjacency;
use crate::statistic::Grid;

/// How many rows of one unit count in each group it contributes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// Always this many; no filter may remove any. A missing value (NaN, NULL) must then count as a value, as in
    /// [`Grid::sum_of_all`]; statistics that drop missing values treat this as [`Rows::AtMost`].
    Exactly(u64),
    /// Up to this many; the usual case.
    AtMost(u64),
}

/// How much one unit can contribute.
///
/// # Privacy
/// All sensitivities are derived here and nowhere else. Let a unit have at most r rows in each of at most g groups,
/// values between L and U in steps of the grid, M = max(|L|, |U|), and W the width of what a row can add: U − L if the
/// row is certainly there, else max(U, 0) − min(L, 0), as it may also add nothing. W ≤ 2M.
/// - Add or remove the unit: each of g groups moves by at most rM. L1: g·r·M, L2²: g·(rM)².
/// - Replace it, one statistic over all rows: r·W.
/// - Replace it, in groups: for each of g groups left, another may be entered. A group that is both left and entered moves by
///   at most rW; two different ones by rM each. L1: g·2rM (as W ≤ 2M), L2²: g·max((rW)², 2(rM)²).
///
/// Counts are sums of ones: L = U = M = 1, and W = 1 (0 if the row is certainly there: replacing it leaves a count over all
/// rows unchanged).
///
/// | one row | add/remove | replace |
/// |---|---|---|
/// | count | 1 | 1 |
/// | histogram, L1 and L2 | 1 and 1 | 2 and √2 |
/// | sum over \[L, U\] | max(\|L\|, \|U\|) | U − L |
///
/// # Example
/// ```
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows};
///
/// // A visitor may appear in up to 3 cities, with up to 2 visits in each.
/// let visitor = Contribution::in_groups(Adjacency::AddRemove, 3, Rows::AtMost(2))?;
/// assert_eq!(visitor.of_count()?.l1()?, 6);
/// assert_eq!(visitor.of_count()?.l2_squared()?, 12);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contribution {
    adjacency: Adjacency,
    /// `None`: one statistic over all rows. `Some(g)`: one per group, and a unit's value decides its groups.
    groups: Option<u64>,
    rows: Rows,
}

impl Contribution {
    /// One statistic over all rows, to which a unit contributes `rows`.
    ///
    /// # Errors
    /// If the number of rows is 0 or above 2^32.
    pub fn overall(adjacency: Adjacency, rows: Rows) -> Result<Self> {
        check("max rows", rows.number())?;
        Ok(Self { adjacency, groups: None, rows })
    }

    /// One statistic over all rows, of which each unit has at most one.
    ///
    /// ```
    /// use reticent::privacy::Adjacency;
    /// use reticent::statistic::Contribution;
    ///
    /// assert_eq!(Contribution::one_row(Adjacency::AddRemove).of_count()?.l1()?, 1);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn one_row(adjacency: Adjacency) -> Self {
        Self { adjacency, groups: None, rows: Rows::AtMost(1) }
    }

    /// One statistic per group; a unit is in at most `max_groups` of them, with `rows` in each.
    ///
    /// # Errors
    /// If a number is 0 or above 2^32.
    pub fn in_groups(adjacency: Adjacency, max_groups: u64, rows: Rows) -> Result<Self> {
        check("max groups", max_groups)?;
        check("max rows", rows.number())?;
        Ok(Self { adjacency, groups: Some(max_groups), rows })
    }

    /// Which datasets are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.adjacency
    }

    /// The maximum number of groups per unit; `None` if there is one statistic over all rows.
    pub fn max_groups(&self) -> Option<u64> {
        self.groups
    }

    /// The maximum number of rows per unit in each group.
    pub fn max_rows(&self) -> u64 {
        self.rows.number()
    }

    /// The sensitivity of counts of rows (all of them: a count of values that may be missing is one of
    /// [`Rows::AtMost`]).
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn of_count(&self) -> Result<Sensitivity> {
        self.of_values(1, 1)
    }

    /// The sensitivity of counts of units: one per unit and group, however many rows it has there.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn of_unit_count(&self) -> Result<Sensitivity> {
        let rows = match self.rows {
            Rows::Exactly(_) => Rows::Exactly(1),
            Rows::AtMost(_) => Rows::AtMost(1),
        };
        Self { rows, ..*self }.of_values(1, 1)
    }

    /// The sensitivity of histograms: counts of rows per bin, in each group or over all rows, where a row's value
    /// decides its bin.
    ///
    /// A unit's contribution to the bins of a group is non-negative and at most r in total, so at most r in the L2
    /// norm, too; replacing it within the group moves the bins by at most 2r and r√2, which is no more than for two
    /// different groups. L1: g·r, L2²: g·r²; under replace 2g·r and 2g·r².
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn of_histogram(&self) -> Result<Sensitivity> {
        self.in_bins().of_count()
    }

    /// The same if every group has several numbers and a row's value decides how it is spread over them.
    pub(crate) fn in_bins(&self) -> Self {
        Self { groups: Some(self.groups.unwrap_or(1)), ..self.with_gaps() }
    }

    /// The number of rows that one unit can add or remove in total: g·r, and under replace both.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn changed_rows(&self) -> Result<u64> {
        self.in_bins().of_count()?.l1()
    }

    /// The sensitivity of [`Grid::sum`], which drops missing values.
    ///
    /// # Errors
    /// If it does not fit in 64 bits.
    pub fn of_sum(&self, grid: &Grid) -> Result<Sensitivity> {
        self.with_gaps().of_values(grid.lower(), grid.upper())
    }

    /// The same for a statistic that drops missing values: no row is certain to count.
    pub(crate) fn with_gaps(&self) -> Self {
        Self { rows: Rows::AtMost(self.rows.number()), ..*self }
    }

    /// The sensitivity of sums of whole numbers from `lower` to `upper`, one for every row.
    ///
    /// # Errors
    /// If the bounds are the wrong way round or the result does not fit in 64 bits.
    pub fn of_values(&self, lower: i64, upper: i64) -> Result<Sensitivity> {
        if lower > upper {
            return Err(Error::parameter("bounds", format!("{lower}..{upper}"), "two numbers with the smaller first"));
        }
        let (rows, largest) =
            (u128::from(self.rows.number()), u128::from(lower.unsigned_abs().max(upper.unsigned_abs())));
        let width = match self.rows {
            Rows::Exactly(_) => upper.abs_diff(lower),
            Rows::AtMost(_) => upper.max(0).abs_diff(lower.min(0)),
        };
        // At most 2^32 rows of at most 2^64 each: 2^96.
        let (largest, width) = (rows * largest, rows * u128::from(width));
        let square = |x: u128| x.checked_mul(x);
        let (l1, l2_squared) = match (self.adjacency, self.groups) {
            (Adjacency::AddRemove, groups) => {
                let groups = u128::from(groups.unwrap_or(1));
                (groups.checked_mul(largest), square(largest).and_then(|squared| squared.checked_mul(groups)))
            }
            (Adjacency::Replace, None) => (Some(width), square(width)),
            (Adjacency::Replace, Some(groups)) => {
                let groups = u128::from(groups);
                let two_groups = square(largest).and_then(|squared| squared.checked_mul(2));
                let same_group = square(width);
                let most = two_groups.zip(same_group).map(|(two, same)| two.max(same));
                (groups.checked_mul(2 * largest), most.and_then(|squared| squared.checked_mul(groups)))
            }
        };
        let l1 = l1.and_then(|l1| u64::try_from(l1).ok());
        match l1.zip(l2_squared) {
            Some((l1, l2_squared)) => Ok(Sensitivity { l1, l2_squared }),
            None => {
                Err(Error::parameter("sensitivity", "larger than 2^64", "smaller: narrow the bounds or cap the rows"))
            }
        }
    }
}

fn check(name: &'static str, number: u64) -> Result<()> {
    if (1..=1 << 32).contains(&number) { Ok(()) } else { Err(Error::parameter(name, number, "from 1 to 2^32")) }
}

impl Rows {
    fn number(self) -> u64 {
        match self {
            Self::Exactly(number) | Self::AtMost(number) => number,
        }
    }
}

/// How far one unit can move a statistic, in whole steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sensitivity {
    l1: u64,
    l2_squared: u128,
}

impl Sensitivity {
    /// In the L1 norm, for Laplace noise.
    ///
    /// # Errors
    /// If no unit can move the statistic at all: it is public and needs no noise.
    pub fn l1(&self) -> Result<u64> {
        if self.l1 == 0 { Err(public()) } else { Ok(self.l1) }
    }

    /// The square of the L2 norm, for Gaussian noise.
    ///
    /// # Errors
    /// If no unit can move the statistic at all: it is public and needs no noise.
    pub fn l2_squared(&self) -> Result<u128> {
        if self.l2_squared == 0 { Err(public()) } else { Ok(self.l2_squared) }
    }
}

fn public() -> Error {
    Error::parameter("sensitivity", 0, "at least 1: what no unit can move is public and needs no noise")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::Replace];

    #[test]
    fn the_textbook_cases() {
        let [add_remove, replace] = BOTH.map(|adjacency| Contribution::overall(adjacency, Rows::AtMost(1)).unwrap());
        assert_eq!((add_remove.of_count().unwrap().l1, replace.of_count().unwrap().l1), (1, 1));
        let [add_remove, replace] =
            BOTH.map(|adjacency| Contribution::in_groups(adjacency, 1, Rows::Exactly(1)).unwrap());
        let (one, two) = (add_remove.of_count().unwrap(), replace.of_count().unwrap());
        assert_eq!((one.l1, one.l2_squared, two.l1, two.l2_squared), (1, 1, 2, 2));
        let [add_remove, replace] = BOTH.map(|adjacency| Contribution::overall(adjacency, Rows::Exactly(1)).unwrap());
        assert_eq!((add_remove.of_values(-5, 30).unwrap().l1, replace.of_values(-5, 30).unwrap().l1), (30, 35));
        assert_eq!((add_remove.of_values(20, 30).unwrap().l1, replace.of_values(20, 30).unwrap().l1), (30, 10));
        assert!(replace.of_count().unwrap().l1().is_err(), "the number of rows is public under replace");
    }

    /// Everything one unit can contribute: up to g of three groups, with r rows in each (or up to r), values in L..=U.
    fn possibilities(groups: u64, rows: Rows, lower: i64, upper: i64) -> BTreeSet<[i64; 3]> {
        let sums = |count: u64| lower * count as i64..=upper * count as i64;
        let counts = match rows {
            Rows::Exactly(r) => r..=r,
            Rows::AtMost(r) => 0..=r,
        };
        let in_a_group: BTreeSet<i64> = counts.flat_map(sums).collect();
        let mut all = BTreeSet::new();
        for touched in 0u8..8 {
            let number = u64::from(touched.count_ones());
            let fits = match rows {
                Rows::Exactly(_) => number == groups,
                Rows::AtMost(_) => number <= groups,
            };
            if !fits {
                continue;
            }
            let choices = |group: u8| {
                if touched >> group & 1 == 1 { in_a_group.iter().copied().collect() } else { vec![0] }
            };
            for a in choices(0) {
                for b in choices(1) {
                    for c in choices(2) {
                        all.insert([a, b, c]);
                    }
                }
            }
        }
        all
    }

    /// The formulas against the largest difference that any unit can make, by exhaustive search. Three groups contain
    /// the worst case for g = 1 exactly; for g = 2 the formula may only be larger.
    #[test]
    fn no_unit_can_move_more_than_the_formulas_say() {
        for (lower, upper) in [(1, 1), (0, 2), (-1, 2), (-2, 2), (-2, -1), (1, 3)] {
            for groups in [1, 2] {
                for rows in [Rows::Exactly(1), Rows::AtMost(1), Rows::AtMost(2)] {
                    let all = possibilities(groups, rows, lower, upper);
                    for adjacency in BOTH {
                        let claim =
                            Contribution::in_groups(adjacency, groups, rows).unwrap().of_values(lower, upper).unwrap();
                        let others: Vec<[i64; 3]> = match adjacency {
                            Adjacency::AddRemove => vec![[0; 3]],
                            Adjacency::Replace => all.iter().copied().collect(),
                        };
                        let (mut l1, mut l2_squared) = (0, 0);
                        for one in &all {
                            for other in &others {
                                let differences = [0, 1, 2].map(|group| one[group].abs_diff(other[group]));
                                l1 = l1.max(differences.iter().sum::<u64>());
                                l2_squared = l2_squared.max(differences.iter().map(|&d| u128::from(d * d)).sum());
                            }
                        }
                        let case = format!("{lower}..{upper}, {groups} groups, {rows:?}, {adjacency}");
                        assert!(
                            l1 <= claim.l1 && l2_squared <= claim.l2_squared,
                            "{case}: {l1} {l2_squared} {claim:?}"
                        );
                        if groups == 1 {
                            assert_eq!((l1, l2_squared), (claim.l1, claim.l2_squared), "{case}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn one_statistic_over_all_rows() {
        for (lower, upper) in [(1i64, 1i64), (0, 2), (-1, 2), (-2, -1), (1, 3)] {
            for rows in [Rows::Exactly(2), Rows::AtMost(2)] {
                let counts = match rows {
                    Rows::Exactly(r) => r..=r,
                    Rows::AtMost(r) => 0..=r,
                };
                let sums: BTreeSet<i64> =
                    counts.flat_map(|count| lower * count as i64..=upper * count as i64).collect();
                let moved = sums.iter().max().unwrap() - sums.iter().min().unwrap();
                let largest = sums.iter().map(|sum| sum.unsigned_abs()).max().unwrap();
                let claim =
                    |adjacency| Contribution::overall(adjacency, rows).unwrap().of_values(lower, upper).unwrap().l1;
                assert_eq!(claim(Adjacency::Replace), moved.unsigned_abs(), "{lower}..{upper} {rows:?}");
                assert_eq!(claim(Adjacency::AddRemove), largest, "{lower}..{upper} {rows:?}");
            }
        }
    }

    #[test]
    fn what_overflows_or_means_nothing_is_refused() {
        for adjacency in BOTH {
            assert!(Contribution::overall(adjacency, Rows::AtMost(0)).is_err());
            assert!(Contribution::in_groups(adjacency, 0, Rows::AtMost(1)).is_err());
            assert!(Contribution::in_groups(adjacency, 1 << 33, Rows::AtMost(1)).is_err());
            let wide = Contribution::in_groups(adjacency, 1 << 32, Rows::AtMost(1 << 32)).unwrap();
            assert!(wide.of_values(i64::MIN, i64::MAX).is_err());
            assert!(wide.of_values(2, 1).is_err());
        }
    }
}
