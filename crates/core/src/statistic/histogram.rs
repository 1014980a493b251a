//! Counts per key.

use std::collections::BTreeMap;

/// Counts rows per key, for keys that are known beforehand: each of them appears, in the order given, even if empty;
/// rows with other keys are dropped.
///
/// # Privacy
/// The result's length and order depend on the public keys alone. Sensitivity:
/// [`Contribution::of_count`](super::Contribution::of_count).
///
/// # Example
/// ```
/// use reticent::statistic::histogram;
///
/// let colours = ["red", "green", "blue"];
/// let rows = ["red", "blue", "red", "mauve"];
/// assert_eq!(histogram::with_known_keys(&colours, rows), vec![2, 0, 1]);
/// ```
pub fn with_known_keys<K: Ord>(keys: &[K], rows: impl IntoIterator<Item = K>) -> Vec<i64> {
    // A key that is given twice is counted only at its first place: one row must not count twice.
    let mut places: BTreeMap<&K, usize> = BTreeMap::new();
    for (place, key) in keys.iter().enumerate() {
        places.entry(key).or_insert(place);
    }
    let mut counts = vec![0; keys.len()];
    for row in rows {
        if let Some(&place) = places.get(&row) {
            counts[place] += 1;
        }
    }
    counts
}

/// Counts units per key, for keys known only from the data; private selection decides which of them may be released,
/// never the mere presence of a key.
///
/// Takes (unit, key) pairs, after [`bound_contributions`](super::bound_contributions); a unit counts once per key, however
/// many rows it has there.
///
/// # Example
/// ```
/// use reticent::statistic::histogram;
///
/// let rows = [("ann", "Oslo"), ("ann", "Oslo"), ("bob", "Oslo"), ("bob", "Rome")];
/// let counts = histogram::of_units(rows);
/// assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("Oslo", 2), ("Rome", 1)]);
/// ```
pub fn of_units<U: Ord, K: Ord>(rows: impl IntoIterator<Item = (U, K)>) -> BTreeMap<K, u64> {
    let mut units: BTreeMap<K, std::collections::BTreeSet<U>> = BTreeMap::new();
    for (unit, key) in rows {
        units.entry(key).or_default().insert(unit);
    }
    units.into_iter().map(|(key, units)| (key, units.len() as u64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_given_twice_counts_once() {
        assert_eq!(with_known_keys(&["a", "a", "b"], ["a", "b", "a"]), vec![2, 0, 1]);
    }

    #[test]
    fn an_empty_table_is_counted_like_any_other() {
        assert_eq!(with_known_keys(&["a", "b"], []), vec![0, 0]);
        assert!(of_units(Vec::<(u8, u8)>::new()).is_empty());
    }
}
