//! The choice of the field.

use super::geometry::Geometry;

/// Largest prime below 2^16: products and sums of coordinates stay small.
const LARGEST: u32 = 65_521;
/// How much larger than the least a variance may be, if decoding is then cheaper.
const SLACK: f64 = 1.03;

/// Is there a field of q elements that this code supports?
pub(crate) fn is_field(q: u32) -> bool {
    (2..=LARGEST).contains(&q)
        && (2..).take_while(|divisor| divisor * divisor <= q).all(|divisor| !q.is_multiple_of(divisor))
}

/// The prime with the cheapest decoding among those whose variance is at most 3 % above the least; `None` if all spaces
/// have more than `most` vectors.
///
/// Only prime fields, which need only plain integer arithmetic: the variance is flat around q = e^ε + 1, so that no
/// prime power is ever missed by more than 3 % (at ε = 1: q = 3 gives 3.77, q = 4 would give 3.69).
///
/// Sums, products and quotients of floats in a fixed order: the same on every machine.
pub(super) fn suitable(k: u64, epsilon: f64, most: u128) -> Option<u32> {
    let growth = libm::exp(epsilon);
    let (low, high) = ((growth + 1.0) / 2.0, 2.0 * growth + 3.0);
    let primes = (low as u32).max(2)..=(high as u32).min(LARGEST);
    let candidates: Vec<(u32, f64, f64)> = primes
        .filter(|&q| is_field(q))
        .filter_map(|q| Geometry::with_points(q, k.into()).filter(|space| space.power(space.t()) <= most))
        .map(|space| (space.q(), variance(&space, growth), cost(&space)))
        .collect();
    let least = candidates.iter().map(|candidate| candidate.1).fold(f64::INFINITY, f64::min);
    let good = candidates.into_iter().filter(|candidate| candidate.1 <= SLACK * least);
    good.min_by(|one, other| one.2.total_cmp(&other.2)).map(|candidate| candidate.0)
}

/// The prime with the least variance in large spaces: (e^ε−1+q)²/(q−1), up to a factor.
pub(crate) fn nearest(epsilon: f64) -> u32 {
    let growth = libm::exp(epsilon);
    let variance = |q: u32| (growth - 1.0 + f64::from(q)) * (growth - 1.0 + f64::from(q)) / f64::from(q - 1);
    let (low, high) = ((growth + 1.0) / 2.0, 2.0 * growth + 3.0);
    let primes = ((low as u32).max(2)..=(high as u32).min(LARGEST)).filter(|&q| is_field(q));
    primes.min_by(|&one, &other| variance(one).total_cmp(&variance(other))).unwrap_or(LARGEST)
}

/// n times the variance of the fraction of a value that no one holds: q*(1−q*)/(p*−q*)².
fn variance(space: &Geometry, growth: f64) -> f64 {
    let [points, support, both] = [space.points(), space.support(), space.intersection()].map(|count| count as f64);
    let unit = 1.0 / ((growth - 1.0) * support + points);
    let p = growth * support * unit;
    let q = (growth * both + support - both) * unit;
    q * (1.0 - q) / ((p - q) * (p - q))
}

/// The number of additions to decode.
fn cost(space: &Geometry) -> f64 {
    f64::from(space.t() - 1) * f64::from(space.q()) * space.power(space.t()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: u128 = 1 << 27;

    #[test]
    fn the_variance_is_near_the_optimum() {
        for epsilon in [0.2, 0.5, 1.0, 1.5, 2.0, 3.0] {
            let growth = f64::exp(epsilon);
            let optimum = 4.0 * growth / (growth - 1.0) / (growth - 1.0);
            for k in [1000, 30_000, 1_000_000] {
                let q = suitable(k, epsilon, MOST).unwrap();
                let found = variance(&Geometry::with_points(q, k.into()).unwrap(), growth);
                assert!(found < 1.06 * optimum, "ε = {epsilon}, k = {k}: q = {q}, {found} against {optimum}");
            }
        }
    }

    #[test]
    fn known_choices() {
        assert_eq!(suitable(1_000_000, 1.0, MOST), Some(3));
        assert_eq!([0.01, 1.0, 2.0, 3.0].map(nearest), [2, 3, 7, 23]);
        assert!(is_field(2) && is_field(65_521) && !is_field(65_537) && !is_field(9) && !is_field(1));
        assert_eq!(suitable(1 << 40, 1.0, MOST), None);
    }
}
