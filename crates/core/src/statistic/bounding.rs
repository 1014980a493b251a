//! Contribution bounding: at most a fixed number of groups and rows per unit.

use std::collections::BTreeMap;

use rand_core::CryptoRng;

use super::Contribution;
use crate::noise::bits::always;
use crate::noise::uniform::below;

/// Keeps, for every unit, at most the contribution's number of groups and of rows in each, chosen at random.
///
/// For small data in memory; private SQL uses the crate `reticent-bounding`, which handles tables of any size.
///
/// # Privacy
/// What is kept of one unit depends only on that unit's rows and on fresh randomness. So adding, removing or replacing
/// a unit does not affect what is kept of the others: the sensitivities of [`Contribution`] hold afterwards.
///
/// # Accuracy
/// Every group of a unit is as likely to be kept as any other, and so is every row within a group: the order of the
/// rows does not matter. Dropping rows biases counts and sums downwards; no error bar covers that.
///
/// # Algorithm
/// Per unit, the first places of a uniform (Fisher–Yates) shuffle of its groups, then of each kept group's rows; of all
/// its rows together if there is one statistic over all of them.
///
/// # Example
/// ```
/// use reticent::noise::Entropy;
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows, bound_contributions};
///
/// let visits = [("ann", "Oslo", 1), ("ann", "Oslo", 1), ("ann", "Rome", 1), ("bob", "Rome", 1)];
/// let once = Contribution::in_groups(Adjacency::AddRemove, 1, Rows::AtMost(1))?;
/// let kept = bound_contributions(visits, &once, &mut Entropy::from_os()?.draw()?);
/// assert_eq!(kept.len(), 2); // one visit of Ann's, one of Bob's
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn bound_contributions<U: Ord, K: Ord + Clone, V, R: CryptoRng + ?Sized>(
    rows: impl IntoIterator<Item = (U, K, V)>,
    contribution: &Contribution,
    rng: &mut R,
) -> Vec<(K, V)> {
    let mut units: BTreeMap<U, BTreeMap<K, Vec<V>>> = BTreeMap::new();
    for (unit, group, value) in rows {
        units.entry(unit).or_default().entry(group).or_default().push(value);
    }
    let most = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let max_rows = most(contribution.max_rows());
    let in_group = |group: K, values: Vec<V>| values.into_iter().map(move |value| (group.clone(), value));
    let mut kept = Vec::new();
    for groups in units.into_values() {
        match contribution.max_groups() {
            // One statistic over all rows: the cap is on all of them together.
            None => {
                let all = groups.into_iter().flat_map(|(group, values)| in_group(group, values)).collect();
                kept.extend(choose(all, max_rows, rng));
            }
            Some(max_groups) => {
                for (group, values) in choose(groups.into_iter().collect(), most(max_groups), rng) {
                    kept.extend(in_group(group, choose(values, max_rows, rng)));
                }
            }
        }
    }
    kept
}

/// `count` of the items, each subset equally likely; all of them if there are no more.
fn choose<T, R: CryptoRng + ?Sized>(mut items: Vec<T>, count: usize, rng: &mut R) -> Vec<T> {
    if items.len() <= count {
        return items;
    }
    for place in 0..count {
        let left = (items.len() - place) as u64;
        items.swap(place, place + always(below(left, rng)) as usize);
    }
    items.truncate(count);
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use crate::privacy::Adjacency;
    use crate::statistic::Rows;

    fn cap(groups: u64, rows: u64) -> Contribution {
        Contribution::in_groups(Adjacency::AddRemove, groups, Rows::AtMost(rows)).unwrap()
    }

    #[test]
    fn no_unit_keeps_more_than_it_may() {
        let mut entropy = Entropy::seeded(1);
        let mut rng = entropy.draw().unwrap();
        let rows = (0..1000u32).map(|row| (row % 7, row % 13, row % 7));
        let kept = bound_contributions(rows, &cap(3, 2), &mut rng);
        for unit in 0..7 {
            let mut groups: BTreeMap<u32, u32> = BTreeMap::new();
            kept.iter()
                .filter(|(_, owner)| *owner == unit)
                .for_each(|(group, _)| *groups.entry(*group).or_default() += 1);
            assert_eq!(groups.len(), 3);
            assert!(groups.values().all(|&rows| rows <= 2));
        }
    }

    /// One statistic over all rows: a unit's number of groups does not multiply what it may keep.
    #[test]
    fn without_groups_the_cap_is_on_all_rows() {
        let mut entropy = Entropy::seeded(4);
        let overall = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(2)).unwrap();
        let rows = (0..300u32).map(|row| (row % 3, row, row % 3));
        let kept = bound_contributions(rows, &overall, &mut entropy.draw().unwrap());
        for unit in 0..3 {
            assert_eq!(kept.iter().filter(|(_, owner)| *owner == unit).count(), 2);
        }
        assert_eq!(overall.of_count().unwrap().l1().unwrap(), 2);
    }

    /// Which group survives does not depend on the order of the rows: each of four with probability ¼. 40,000 draws put the
    /// share within 0.012 (5.5 standard errors).
    #[test]
    fn every_group_is_as_likely_as_any_other() {
        const DRAWS: usize = 40_000;
        let mut entropy = Entropy::seeded(2);
        let mut rng = entropy.draw().unwrap();
        let mut kept = [0; 4];
        for _ in 0..DRAWS {
            let rows = (0..4usize).map(|group| ((), group, ()));
            let chosen = bound_contributions(rows, &cap(1, 1), &mut rng);
            kept[chosen[0].0] += 1;
        }
        assert!(kept.iter().all(|&count| (count as f64 / DRAWS as f64 - 0.25).abs() < 0.012), "{kept:?}");
    }

    #[test]
    fn nothing_is_made_up() {
        let mut entropy = Entropy::seeded(3);
        assert!(bound_contributions(Vec::<((), (), ())>::new(), &cap(1, 1), &mut entropy.draw().unwrap()).is_empty());
    }
}
