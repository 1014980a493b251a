//! The value of a given rank, and how many values are smaller and equal, in linear time.

/// x_h of the sorted values, with the number of smaller values and of equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rank<T> {
    pub value: T,
    pub less: usize,
    pub equal: usize,
}

/// Below this size, sampling does not pay off.
const FEW: usize = 1 << 12;

/// The rank h < n, values untouched.
pub(super) fn rank<T: Ord + Copy>(values: &[T], h: usize) -> Rank<T> {
    by_sampling(values, h).unwrap_or_else(|| by_partition(&mut values.to_vec(), h))
}

/// The rank h < n; the values may be reordered.
pub(super) fn rank_in_place<T: Ord + Copy>(values: &mut [T], h: usize) -> Rank<T> {
    by_sampling(values, h).unwrap_or_else(|| by_partition(values, h))
}

/// By the standard library's selection: everything left of x_h is ≤, everything right of it is ≥, so only equals are
/// counted.
fn by_partition<T: Ord + Copy>(values: &mut [T], h: usize) -> Rank<T> {
    let (left, value, right) = values.select_nth_unstable(h);
    let value = *value;
    let equal = |side: &[T]| side.iter().filter(|other| **other == value).count();
    let before = equal(left);
    Rank { value, less: h - before, equal: before + 1 + equal(right) }
}

/// By one pass \[FR75\]: two values of a sample between which x_h very probably lies; count what is smaller,
/// keep the few that lie between, and select among them. `None` if x_h lies elsewhere, or if there are too few values.
///
/// The sample has s ≈ n^⅔ values; the rank of x_h in it has a standard deviation of at most √s/2 for values in random
/// order, so that a bracket of 2√s to either side misses it about once in 16,000 times and holds about 4n/√s values.
fn by_sampling<T: Ord + Copy>(values: &[T], h: usize) -> Option<Rank<T>> {
    let n = values.len();
    if n < FEW {
        return None;
    }
    let size = n >> (n.ilog2() / 3);
    let stride = n / size;
    // One value of each stretch, at an irregular position that no period of the data is likely to match.
    let mut place = 0x9E37_79B9_7F4A_7C15u64;
    let mut sample: Vec<T> = (0..size)
        .map(|stretch| {
            place = place.wrapping_mul(0xD134_2543_DE82_EF95).wrapping_add(1);
            values[stretch * stride + (place >> 33) as usize % stride]
        })
        .collect();
    let (middle, margin) = ((h as u128 * size as u128 / n as u128) as usize, 2 * size.isqrt());
    let (low, high) = (middle.saturating_sub(margin), (middle + margin).min(size - 1));
    let high = *sample.select_nth_unstable(high).1;
    let low = *sample.select_nth_unstable(low).1;

    let mut between = Between::of(values, low, high);
    let (up_to_low, below_high) =
        (between.below_low + between.equal_low, between.below_low + between.equal_low + between.inside.len());
    if h < between.below_low {
        return None;
    }
    if h < up_to_low {
        return Some(Rank { value: low, less: between.below_low, equal: between.equal_low });
    }
    if h < below_high {
        let inside = by_partition(&mut between.inside, h - up_to_low);
        return Some(Rank { less: up_to_low + inside.less, ..inside });
    }
    let equal_high = values.iter().filter(|value| **value == high).count();
    (low < high && h < below_high + equal_high).then_some(Rank { value: high, less: below_high, equal: equal_high })
}

/// How the values lie around a bracket.
struct Between<T> {
    below_low: usize,
    equal_low: usize,
    /// low < value < high, in the order of the input.
    inside: Vec<T>,
}

impl<T: Ord + Copy> Between<T> {
    fn of(values: &[T], low: T, high: T) -> Self {
        /// Values processed while they are in the nearest cache.
        const STRETCH: usize = 1024;
        let (mut below_low, mut up_to_low, mut inside) = (0, 0, Vec::new());
        let mut kept = [low; STRETCH];
        for stretch in values.chunks(STRETCH) {
            let mut length = 0;
            for &value in stretch {
                let above_low = value > low;
                below_low += usize::from(value < low);
                up_to_low += usize::from(!above_low);
                // Written whether it is kept or not, so that nothing depends on branch prediction.
                kept[length % STRETCH] = value;
                length += usize::from(above_low & (value < high));
            }
            inside.extend_from_slice(&kept[..length]);
        }
        Self { below_low, equal_low: up_to_low - below_low, inside }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn by_sorting(values: &[i64], h: usize) -> Rank<i64> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let value = sorted[h];
        let less = sorted.partition_point(|other| *other < value);
        let equal = sorted.partition_point(|other| *other <= value) - less;
        Rank { value, less, equal }
    }

    fn check(values: &[i64], h: usize) {
        let expected = by_sorting(values, h);
        assert_eq!(by_partition(&mut values.to_vec(), h), expected);
        if let Some(found) = by_sampling(values, h) {
            assert_eq!(found, expected);
        }
        assert_eq!(rank(values, h), expected);
        assert_eq!(rank_in_place(&mut values.to_vec(), h), expected);
    }

    #[test]
    fn orders_and_repetitions_of_all_kinds() {
        for n in [1, 2, FEW as i64 - 1, FEW as i64, 5_001, 20_000] {
            let kinds: [fn(i64, i64) -> i64; 9] = [
                |row, _| row,
                |row, n| n - row,
                |_, _| 7,
                |row, _| row % 2,
                |row, _| row * 7919 % 10_007,
                |row, _| row % 64,
                |row, n| if row == n / 2 { 1 } else { 2 * i64::from(row > n / 2) },
                |row, n| i64::from(row < n / 100) * i64::MIN + row % 3,
                |row, _| (row * row) % 257,
            ];
            for kind in kinds {
                let values: Vec<i64> = (0..n).map(|row| kind(row, n)).collect();
                let n = values.len();
                for h in [0, 1, n / 4, (n - 1) / 2, n / 2, n - 1] {
                    check(&values, h.min(n - 1));
                }
            }
        }
    }

    /// One rank after another crosses every edge of the bracket.
    #[test]
    fn every_rank() {
        let values: Vec<i64> = (0..FEW as i64 + 100).map(|row| row * 7919 % 1009).collect();
        (0..values.len()).step_by(37).for_each(|h| check(&values, h));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn random_values(values in prop::collection::vec(0i64..40, FEW..FEW + 500), share in 0.0..1.0) {
            let h = (share * values.len() as f64) as usize;
            check(&values, h);
        }
    }

    #[test]
    fn sampling_succeeds_on_values_in_random_order() {
        let values: Vec<i64> = (0..100_000).map(|row| row * 7919 % 100_003).collect();
        assert!(by_sampling(&values, 49_999).is_some());
    }
}
