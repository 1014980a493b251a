//! Counts of keys found from the data: only those above a threshold.

use std::collections::BTreeMap;

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::numeric::search::smallest_near;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};

/// Releases the keys of a histogram, with the number of units behind each, if the keys themselves come from the data.
///
/// A key that only one person has must not appear: its mere presence would reveal that the person is in the data. So
/// every count gets noise, and a key is released, with its noisy count, only if that reaches a threshold τ.
///
/// # Privacy
/// (ε, δ)-differential privacy for units that count once for each of at most g keys (`max_groups`; the caller must
/// ensure this). The noise has scale g/ε under add/remove and 2g/ε under replace; q = P(1 + K ≥ τ) is the probability
/// that a key with one unit appears; τ is the smallest whole number from 2 on with
///
/// > 1 − (1−q)^g ≤ δ.
///
/// *Proof.* Let D and D′ be neighbours. Split the keys whose counts differ into those that only D has (a of them), those
/// that only D′ has (a′) and those that both have (b). A key that only one has counts exactly one unit there, and its
/// count differs by 1 like all others, so a + a′ + b is at most Δ = g under add/remove and at most Δ = 2g under replace;
/// and a, a′ ≤ g in both, because all of a belongs to the unit's data in D and all of a′ to its data in D′. The noise
/// has scale Δ/ε.
/// Let S be a set of outcomes. Those that show a key only D has occur under D with probability at most 1 − (1−q)^a, and
/// those that show a key only D′ has do not occur under D. On the others, S₀, write R and R′ for the law of the keys that
/// both have: P(S₀) = (1−q)^a·R(S₀), P′(S₀) = (1−q)^a′·R′(S₀), and R(S₀) ≤ e^(εb/Δ)·R′(S₀) ≤ e^ε·R′(S₀). Hence
///
/// > P(S) − e^ε·P′(S) ≤ 1 − (1−q)^a + [(1−q)^a − (1−q)^a′]·R(S₀) ≤ 1 − (1−q)^max(a, a′) ≤ 1 − (1−q)^g.
///
/// Equality is reached if the unit is alone with g keys: no smaller threshold would do. Under replace it is g here, not
/// 2g: only the keys that vanish count, in either direction.
///
/// Units may also have *weights* ([`Threshold::of_weights`]): a unit adds whole numbers w₁, w₂, … to the counts of at most
/// g keys, with a total of at most s. The noise has scale s/ε (2s/ε under replace), and τ is the smallest number above s
/// with
///
/// > P(s + K ≥ τ) + (g − 1)·P(K ≥ τ) ≤ δ.
///
/// *Proof.* As before, with qᵢ = P(wᵢ + K ≥ τ) for a key that the unit alone has: δ is at most 1 − Π(1 − qᵢ) ≤ Σqᵢ. For
/// w < τ the tail P(K ≥ τ − w) = p^(τ−w)/(1+p) is convex in w, so Σqᵢ, as a sum of convex functions on the simplex
/// wᵢ ≥ 0, Σwᵢ ≤ s < τ, is largest at a vertex: all weight on one key (the tail also grows with w).
///
/// # Accuracy
/// The error bar is that of the noise: before selection, a count is off by more with probability at most 5 %. Among keys
/// with few units, those released are the ones with large noise: their counts are usually too high, and their error bars
/// cover less often than 95 %.
///
/// # Algorithm
/// \[KKMN09\], with [`DiscreteLaplace`] noise; τ is set in exact arithmetic by the noise law's own tail function. Keys
/// come in key order, never in the order of the counts or of the data. [`Selection`](super::Selection) finds more keys,
/// but gives no counts.
///
/// # Errors
/// If `max_groups` is 0, δ is below 10^−300, the noise scale lies outside 0.001 to 2^50, or (when releasing) the permit
/// does not cover (ε, δ).
///
/// # Example
/// ```
/// use std::collections::BTreeMap;
///
/// use reticent::Permit;
/// use reticent::mechanism::Threshold;
/// use reticent::privacy::Adjacency;
///
/// let people_by_diagnosis = BTreeMap::from([("asthma", 912), ("flu", 1530), ("kuru", 1)]);
/// let threshold = Threshold::new(1, Adjacency::AddRemove, &"1".parse()?, &"1e-6".parse()?)?;
/// assert_eq!(threshold.threshold(), 15);
/// let released = threshold.release(people_by_diagnosis, &mut Permit::unaccounted()?)?;
/// for (diagnosis, people) in released.value() {
///     println!("{diagnosis}: {people} ± {}", released.error_bar().half_width());
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Threshold {
    guarantee: Guarantee,
    noise: DiscreteLaplace,
    threshold: i64,
    error: ErrorBar,
}

impl Threshold {
    /// For units with at most `max_groups` keys each.
    ///
    /// # Errors
    /// If `max_groups` is 0, δ is below 10^−300 or the noise scale lies outside 0.001 to 2^50.
    pub fn new(max_groups: u64, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let keys = touched_keys(max_groups, adjacency)?;
        check_delta(delta)?;
        let noise = DiscreteLaplace::new(&(&keys / epsilon.value()))?;
        let threshold = smallest_threshold(&noise, max_groups, delta.value());
        Self::with(noise, threshold, epsilon, delta)
    }

    /// For units that add whole numbers to the counts of at most `max_groups` keys each, with a total of at most `total`.
    ///
    /// # Errors
    /// If `total` or `max_groups` is 0, δ is below 10^−300 or the noise scale lies outside 0.001 to 2^50.
    pub fn of_weights(
        total: u64,
        max_groups: u64,
        adjacency: Adjacency,
        epsilon: &Epsilon,
        delta: &Delta,
    ) -> Result<Self> {
        if max_groups == 0 {
            return Err(Error::parameter("max_groups", 0, "at least 1"));
        }
        let noise = DiscreteLaplace::new(&(&touched_keys(total, adjacency)? / epsilon.value()))?;
        check_delta(delta)?;
        // P(s + K ≥ τ) = P(K ≥ t) with t = τ − s ≥ 1.
        let others = Rational::from(max_groups - 1);
        let shows = |t: u64| &noise.upper_tail(t) + &(&others * &noise.upper_tail(t.saturating_add(total)));
        let near = libm::exp(-(total as f64) / noise.approximate_scale()) * others.to_f64();
        let near = noise.approximate_tail(2.0 * delta.to_f64() / (1.0 + near));
        let threshold = smallest_near(near, |t| shows(t) <= *delta.value()).saturating_add(total);
        let threshold = i64::try_from(threshold).map_err(|_| Error::parameter("total", total, "at most 2^60"))?;
        Self::with(noise, threshold, epsilon, delta)
    }

    fn with(noise: DiscreteLaplace, threshold: i64, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()), noise, threshold, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added to every count.
    pub fn noise(&self) -> &DiscreteLaplace {
        &self.noise
    }

    /// τ: the smallest noisy count that is released.
    pub fn threshold(&self) -> u64 {
        self.threshold.unsigned_abs()
    }

    /// Releases the keys whose noisy counts reach the threshold, with those counts.
    ///
    /// A key with count 0 is treated as absent: it never appears.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<K: Ord>(&self, counts: BTreeMap<K, u64>, permit: &mut Permit) -> Result<Release<BTreeMap<K, i64>>> {
        let mut draw = permit.spend(&self.guarantee)?;
        let released = counts
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .filter_map(|(key, count)| Some((key, self.shown(count, self.noise.sample(&mut draw))?)))
            .collect();
        Ok(Release::new(released, self.error, self.guarantee.clone(), draw.accounting().clone()))
    }

    /// What is shown of a key with this many units and this noise.
    fn shown(&self, count: u64, noise: i64) -> Option<i64> {
        // Capping a count moves neighbours no further apart; saturation is post-processing.
        let noisy = i64::try_from(count).unwrap_or(i64::MAX).saturating_add(noise);
        (noisy >= self.threshold).then_some(noisy)
    }
}

/// The number of keys whose counts one unit can change, each by 1.
pub(super) fn touched_keys(max_groups: u64, adjacency: Adjacency) -> Result<Rational> {
    if max_groups == 0 {
        return Err(Error::parameter("max_groups", 0, "at least 1"));
    }
    let sides = match adjacency {
        Adjacency::AddRemove => 1,
        // It leaves up to g keys and enters up to g others.
        Adjacency::Replace => 2,
    };
    Ok(&Rational::from(max_groups) * &Rational::from(sides))
}

/// Below this, no threshold could be distinguished from "never"; it keeps all searches within 64 bits: scale·ln(g/δ) is
/// at most 2^50·(300·ln 10 + 64·ln 2) < 2^60.
pub(super) fn check_delta(delta: &Delta) -> Result<()> {
    let least: Rational = "1e-300".parse()?;
    if *delta.value() < least {
        return Err(Error::parameter("delta", delta, "at least 1e-300 where keys are released"));
    }
    Ok(())
}

/// The smallest τ ≥ 2 with 1 − (1 − P(1 + K ≥ τ))^g ≤ δ.
fn smallest_threshold(noise: &DiscreteLaplace, max_groups: u64, delta: &Rational) -> i64 {
    // P(1 + K ≥ τ) = P(K ≥ t) with t = τ − 1 ≥ 1.
    let of_one = -libm::expm1(libm::log1p(-delta.to_f64()) / max_groups as f64);
    let near = noise.approximate_tail(2.0 * of_one);
    let t = smallest_near(near, |t| some_of(&noise.upper_tail(t), max_groups) <= *delta);
    i64::try_from(t + 1).expect("thresholds stay below 2^61, see check_delta")
}

/// 1 − (1−q)^g, rounded up by less than 2^−100 of q.
///
/// The power is taken by squaring in fixed point, every product rounded down. With w fractional bits that loses at most
/// 2g units in the last place; w exceeds the bits of q's denominator and of g by 128.
pub(super) fn some_of(q: &Rational, g: u64) -> Rational {
    let bits = q.denominator().bit_len() + g.bit_len() + 128;
    let one = UBig::ONE << bits;
    let none = Rational::ONE - q.clone();
    let mut square: UBig = (none.numerator() << bits) / none.denominator();
    let mut power = one.clone();
    for place in 0..g.bit_len() {
        if g >> place & 1 == 1 {
            power = (power * &square) >> bits;
        }
        square = (&square * &square) >> bits;
    }
    Rational::ONE - Rational::from_big(power, one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::enclosure::{Enclosure, exp_neg};
    use crate::mechanism::divergence::{self, BITS, Law, neighbours, product, zero};
    use crate::noise::Entropy;

    fn threshold(max_groups: u64, epsilon: &str, delta: &str, adjacency: Adjacency) -> Threshold {
        Threshold::new(max_groups, adjacency, &epsilon.parse().unwrap(), &delta.parse().unwrap()).unwrap()
    }

    /// P(K = k) from the formula alone.
    fn mass(scale: &Rational, k: i64) -> Enclosure {
        let power = |k: u64| exp_neg(&(&Rational::from(k) / scale), BITS);
        let (one, p) = (Enclosure::one(BITS), power(1));
        one.minus(&p).over(&one.add(&p), BITS).times(&power(k.unsigned_abs()), BITS)
    }

    /// The law of what is shown of one key: nothing, or a noisy count from 0 to `reach`, or one beyond. For counts up to
    /// `reach` the last is exact: beyond both counts the ratio of two such laws no longer changes. So is the first, with
    /// noise down to −`reach` summed and the rest as 1 minus everything.
    fn law(mechanism: &Threshold, count: u64, reach: u64) -> Law {
        let mut law = vec![zero(); reach as usize + 3];
        let mut hidden = Enclosure::one(BITS);
        if count > 0 {
            let scale = mechanism.noise.scale();
            // Shown values are positive, so noise from −count on is all that can appear.
            for noise in -(count as i64)..=(reach - count) as i64 {
                if let Some(shown) = mechanism.shown(count, noise) {
                    let mass = mass(scale, noise);
                    hidden = hidden.minus(&mass);
                    law[shown as usize] = mass;
                }
            }
            // P(K > m) = p·P(K = m)/(1 − p) for m ≥ 0.
            let last = (reach - count) as i64;
            assert!(mechanism.shown(count, last + 1).is_some());
            let p = exp_neg(&scale.recip().unwrap(), BITS);
            let beyond = mass(scale, last).times(&p, BITS).over(&Enclosure::one(BITS).minus(&p), BITS);
            hidden = hidden.minus(&beyond);
            law[reach as usize + 1] = beyond;
        }
        law[reach as usize + 2] = hidden;
        law
    }

    /// The exact δ of a mechanism over all neighbours with a few keys, where the other units' counts are `base` to `base`
    /// + 2.
    fn exact_delta(
        mechanism: &Threshold,
        base: u64,
        keys: usize,
        max_groups: u64,
        adjacency: Adjacency,
    ) -> (Rational, Rational) {
        const MOST: u64 = 3;
        let reach = mechanism.threshold() + base + MOST;
        let laws: Vec<Law> = (0..=MOST).map(|count| compact(law(mechanism, base + count, reach))).collect();
        let joint = |counts: &[u64]| product(&counts.iter().map(|&n| laws[n as usize].clone()).collect::<Vec<_>>());
        let pairs: Vec<(Law, Law)> = neighbours(keys, MOST, max_groups as u32, adjacency == Adjacency::Replace)
            .iter()
            .map(|(left, right)| (joint(left), joint(right)))
            .collect();
        let epsilon = mechanism.guarantee.epsilon().unwrap().value();
        divergence::worst(epsilon, pairs.iter().map(|(left, right)| (left, right)))
    }

    /// Shown values below 2 never occur: leave them out of the products.
    fn compact(law: Law) -> Law {
        law.into_iter().skip(2).collect()
    }

    const CASES: [(u64, &str, &str, Adjacency, usize); 9] = [
        (1, "1", "0.01", Adjacency::AddRemove, 1),
        (1, "0.5", "0.2", Adjacency::AddRemove, 2),
        (1, "1", "1e-6", Adjacency::AddRemove, 2),
        (2, "2", "0.01", Adjacency::AddRemove, 2),
        (2, "3", "0.05", Adjacency::AddRemove, 3),
        (1, "1", "0.1", Adjacency::Replace, 2),
        (1, "3", "0.01", Adjacency::Replace, 2),
        (1, "3", "1e-4", Adjacency::Replace, 3),
        (2, "9", "0.1", Adjacency::Replace, 3),
    ];

    #[test]
    fn the_threshold_is_the_smallest_that_keeps_the_promise() {
        for (g, epsilon, delta, adjacency, keys) in CASES {
            let mut mechanism = threshold(g, epsilon, delta, adjacency);
            let delta: Rational = delta.parse().unwrap();
            let (_, most) = exact_delta(&mechanism, 0, keys, g, adjacency);
            assert!(most <= delta, "{g} {epsilon} {delta} {adjacency}: {}", most.to_f64());
            // One less breaks it: so would `>` in the tail that sets τ against `≥` in the comparison with it.
            mechanism.threshold -= 1;
            let (least, _) = exact_delta(&mechanism, 0, keys, g, adjacency);
            assert!(least > delta, "{g} {epsilon} {delta} {adjacency}: {}", least.to_f64());
        }
    }

    #[test]
    fn the_formula_is_the_exact_delta() {
        for (g, epsilon, delta, adjacency, keys) in CASES {
            let mechanism = threshold(g, epsilon, delta, adjacency);
            let formula = some_of(&mechanism.noise.upper_tail(mechanism.threshold() - 1), g);
            let (least, most) = exact_delta(&mechanism, 0, keys, g, adjacency);
            assert!(least <= formula && formula <= &most + &"1e-30".parse().unwrap());
        }
    }

    /// Mutants: the tail with `>`, the scale of the other adjacency, a unit's keys ignored in δ or in the scale.
    #[test]
    fn wrong_mechanisms_break_their_promise() {
        // Thresholds are tested by rare keys, scales by common ones.
        let broken = |mutant: &Threshold, base, keys, g, adjacency| {
            let (least, _) = exact_delta(mutant, base, keys, g, adjacency);
            least > *mutant.guarantee.delta().unwrap().value()
        };
        for (g, epsilon, delta, adjacency, keys) in CASES {
            let right = threshold(g, epsilon, delta, adjacency);
            let strict = (1..).find(|&t| some_of(&right.noise.upper_tail(t), g) <= delta.parse().unwrap()).unwrap();
            let mutant = Threshold { threshold: strict as i64, ..right.clone() };
            assert!(broken(&mutant, 0, keys, g, adjacency), "P(1 + K > τ) for P(1 + K ≥ τ)");
            if g == 1 && adjacency == Adjacency::Replace {
                let mutant = threshold(g, epsilon, delta, Adjacency::AddRemove);
                assert!(broken(&mutant, mutant.threshold(), 2, g, adjacency), "scale g/ε for 2g/ε");
            }
            if g > 1 && adjacency == Adjacency::AddRemove {
                let mutant = threshold(1, epsilon, delta, adjacency);
                assert!(broken(&mutant, mutant.threshold(), 2, g, adjacency), "scale 1/ε for g/ε");
            }
        }
        for (g, epsilon, delta, adjacency, _) in CASES.into_iter().take(7) {
            let right = threshold(g, epsilon, delta, adjacency);
            assert!(!broken(&right, right.threshold(), 2, g, adjacency), "the right one is not broken there");
        }
        let right = threshold(2, "2", "0.04", Adjacency::AddRemove);
        let forgotten = smallest_threshold(&right.noise, 1, &"0.04".parse().unwrap());
        assert!(broken(&Threshold { threshold: forgotten, ..right }, 0, 2, 2, Adjacency::AddRemove), "q ≤ δ");
    }

    /// The exact δ over all ways in which one unit can spread a total weight over two keys, beside others with weights up
    /// to `base` + 1, or alone.
    fn exact_delta_of_weights(
        mechanism: &Threshold,
        base: u64,
        total: u64,
        keys: usize,
        replace: bool,
    ) -> (Rational, Rational) {
        let most = base + total + 1;
        let reach = mechanism.threshold() + most;
        let laws: Vec<Law> = (0..=most).map(|count| law(mechanism, count, reach)).collect();
        let spread: Vec<[u64; 2]> =
            (0..=total).flat_map(|one| (0..=total - one).map(move |other| [one, other])).collect();
        let spread: Vec<[u64; 2]> = spread.into_iter().filter(|weights| keys == 2 || weights[1] == 0).collect();
        let mut pairs = Vec::new();
        for others in [[0, 0], [0, base], [base, base], [base + 1, 0]] {
            let joint =
                |weights: &[u64; 2]| product(&[0, 1].map(|key| laws[(others[key] + weights[key]) as usize].clone()));
            let before = if replace { spread.clone() } else { vec![[0, 0]] };
            pairs.extend(
                before
                    .iter()
                    .flat_map(|left| spread.iter().map(|right| (joint(left), joint(right))).collect::<Vec<_>>()),
            );
        }
        let epsilon = mechanism.guarantee.epsilon().unwrap().value();
        divergence::worst(epsilon, pairs.iter().map(|(left, right)| (left, right)))
    }

    #[test]
    fn weights_keep_the_promise_too() {
        for (total, g, epsilon, delta, adjacency) in [
            (3u64, 1, "2", "0.01", Adjacency::AddRemove),
            (3, 2, "2", "0.02", Adjacency::AddRemove),
            (2, 2, "3", "1e-3", Adjacency::Replace),
        ] {
            let of = |total: u64| {
                let (epsilon, delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
                Threshold::of_weights(total, g, adjacency, &epsilon, &delta).unwrap()
            };
            let exact = |mechanism: &Threshold, base: u64| {
                exact_delta_of_weights(mechanism, base, total, g as usize, adjacency == Adjacency::Replace)
            };
            let (mechanism, delta) = (of(total), delta.parse::<Rational>().unwrap());
            for base in [0, mechanism.threshold()] {
                let (_, most) = exact(&mechanism, base);
                assert!(most <= delta, "{total} {g} {epsilon} {adjacency}: {}", most.to_f64());
            }
            // Mutants: less noise than the total needs, and a threshold for units that add 1.
            assert!(exact(&of(total - 1), mechanism.threshold()).0 > delta, "noise for {total} − 1");
            let low = Threshold { threshold: mechanism.threshold - (total as i64 - 1), ..mechanism.clone() };
            assert!(exact(&low, 0).0 > delta, "a threshold for weights of 1");
            if g == 1 {
                let lower = Threshold { threshold: mechanism.threshold - 1, ..mechanism };
                assert!(exact(&lower, 0).0 > delta, "no smaller threshold would do");
            }
        }
        let plain = threshold(1, "1", "1e-6", Adjacency::AddRemove);
        let weighed =
            Threshold::of_weights(1, 1, Adjacency::AddRemove, &"1".parse().unwrap(), &"1e-6".parse().unwrap());
        assert_eq!(weighed.unwrap().threshold(), plain.threshold());
    }

    #[test]
    fn powers_are_rounded_up_and_hardly() {
        for (q, g) in [("0.3", 1u64), ("0.3", 7), ("1e-9", 1000), ("1/3", 64)] {
            let q: Rational = q.parse().unwrap();
            let none = Rational::ONE - q.clone();
            let exact = Rational::ONE - (0..g).fold(Rational::ONE, |power, _| &power * &none);
            let bound = some_of(&q, g);
            assert!(bound >= exact && bound <= &exact + &(&q * &"1e-30".parse().unwrap()), "{q} {g}");
        }
    }

    #[test]
    fn keys_come_in_their_own_order_and_rare_ones_not_at_all() {
        let counts: BTreeMap<String, u64> =
            (0..500).map(|i| (format!("key {:03}", i * 7 % 500), [0, 1, 1000, u64::MAX][i % 4])).collect();
        let mechanism = threshold(1, "1", "1e-30", Adjacency::AddRemove);
        let mut permit = Permit::unaccounted_from(Entropy::seeded(5));
        let released = mechanism.release(counts.clone(), &mut permit).unwrap();
        let common: Vec<&String> = counts.iter().filter(|(_, n)| **n >= 1000).map(|(key, _)| key).collect();
        assert_eq!(released.value().keys().collect::<Vec<_>>(), common);
        assert!(released.value().values().all(|&count| (900..1100).contains(&count) || count > i64::MAX - 100));
        assert!(mechanism.release(BTreeMap::<u8, u64>::new(), &mut permit).unwrap().value().is_empty());
    }

    /// Why the level of the error bar holds before selection only: a key three units below the threshold is shown if its noise is 3 or more,
    /// and then exceeds the half-width, which is 3, with probability e^−1.
    #[test]
    fn keys_that_noise_alone_shows_are_often_outside_their_bar() {
        let threshold = threshold(1, "1", "1e-6", Adjacency::AddRemove);
        let (count, half_width) = (threshold.threshold() - 3, threshold.error.half_width());
        let mut entropy = Entropy::seeded(3);
        let mut draw = entropy.draw().unwrap();
        let noise: Vec<i64> = (0..20_000).map(|_| threshold.noise.sample(&mut draw)).collect();
        let covered = |among: &[i64]| {
            among.iter().filter(|noise| noise.unsigned_abs() as f64 <= half_width).count() as f64 / among.len() as f64
        };
        let shown: Vec<i64> = noise.iter().copied().filter(|noise| threshold.shown(count, *noise).is_some()).collect();
        assert!(covered(&noise) > 0.95 && covered(&shown) < 0.7, "{} {}", covered(&noise), covered(&shown));
    }

    #[test]
    fn parameters_are_checked() {
        let new = |g, epsilon: &str, delta: &str| {
            Threshold::new(g, Adjacency::Replace, &epsilon.parse().unwrap(), &delta.parse().unwrap())
        };
        for (g, epsilon, delta) in [(0, "1", "1e-6"), (1, "1", "1e-301"), (1, "1e-16", "1e-6"), (u64::MAX, "1", "0.1")]
        {
            assert!(new(g, epsilon, delta).unwrap_err().is_parameter(), "{g} {epsilon} {delta}");
        }
        assert!(new(1 << 49, "1", "1e-300").unwrap().threshold() > 1 << 59, "the widest of all");
        assert_eq!(new(1, "1", "0.99").unwrap().threshold(), 2, "never below 2");
    }
}
