//! Counts of keys found from the data: only those above a threshold.

use std::collections::BTreeMap;

use dashu_int::UBig;
use dashu_int::ops::BitTest;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::{DiscreteLaplace, Law, RoundedGaussian};
use crate::numeric::discrete_gaussian::two_sided_quantile;
use crate::numeric::search::smallest_near;
use crate::permit::Permit;
use crate::privacy::calibration::{analytic_gaussian_delta, analytic_gaussian_sigma};
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Release};

/// Releases the keys of a histogram, with the number of units behind each, if the keys themselves come from the data.
///
/// A key that only one person has must not appear: its mere presence would reveal that the person is in the data. So
/// every count gets noise, and a key is released, with its noisy count, only if that reaches a threshold τ.
///
/// # Privacy
/// (ε, δ)-differential privacy for units that count once for each of at most g keys (`max_groups`; the caller must
/// ensure this). Let Δ = g under add/remove and Δ = 2g under replace, and q = P(1 + K ≥ τ), the probability that a key
/// with one unit appears.
///
/// **[Laplace noise](Threshold::laplace)** has scale Δ/ε; τ is the smallest whole number from 2 on with
///
/// > 1 − (1−q)^g ≤ δ.
///
/// *Proof.* Let D and D′ be neighbours. Split the keys whose counts differ into those that only D has (a of them), those
/// that only D′ has (a′) and those that both have (b). A key that only one has counts exactly one unit there, and its
/// count differs by 1 like all others, so a + a′ + b ≤ Δ; and a, a′ ≤ g, because all of a belongs to the unit's data in D
/// and all of a′ to its data in D′.
/// Let S be a set of outcomes. Those that show a key only D has occur under D with probability at most 1 − (1−q)^a, and
/// those that show a key only D′ has do not occur under D. On the others, S₀, write R and R′ for the law of the keys that
/// both have: P(S₀) = (1−q)^a·R(S₀), P′(S₀) = (1−q)^a′·R′(S₀), and R(S₀) ≤ e^(εb/Δ)·R′(S₀) ≤ e^ε·R′(S₀). Hence
///
/// > P(S) − e^ε·P′(S) ≤ 1 − (1−q)^a + [(1−q)^a − (1−q)^a′]·R(S₀) ≤ 1 − (1−q)^max(a, a′) ≤ 1 − (1−q)^g.
///
/// Equality is reached if the unit is alone with g keys: no smaller threshold would do. Under replace it is g here, not
/// 2g: only the keys that vanish count, in either direction.
///
/// **[Gaussian noise](Threshold::gaussian)**, rounded, has the σ of \[BW18\] for ε, δ and a sensitivity of √Δ. With δ(j) its
/// δ at ε for a sensitivity of √j (δ(0) = 0), τ is the smallest whole number from 2 on with
///
/// > m·q + δ(Δ − m) ≤ δ for every m = 1 … g.
///
/// *Proof.* As before, with R(S₀) ≤ e^ε·R′(S₀) + δ(b), because b counts that differ by 1 each differ by √b in the L2 norm
/// and rounding is post-processing. Let m = max(a, a′) and u = 1 − q. If a ≥ a′, then P(S₀) − e^ε·P′(S₀) ≤ u^a·(R(S₀) −
/// e^ε·R′(S₀)) ≤ u^m·δ(b); else it is at most (u^a − u^m)·R(S₀) + u^m·δ(b). In either case
///
/// > P(S) − e^ε·P′(S) ≤ 1 − u^m + u^m·δ(b) ≤ m·q + δ(Δ − m),
///
/// which for m = 0 is δ(Δ) ≤ δ by the choice of σ. So δ is not shared: a unit whose keys all vanish has no other counts that
/// could reveal it. For many keys not every m is looked at: from n + 1 to 2n, m·q is at most 2n·q, and δ(Δ − m) at most
/// δ(Δ − n − 1), and the sum of these bounds must be at most δ. So beyond 3 keys τ may be larger than it must be, but hardly.
///
/// [`Threshold::new`] takes the one of both with the smaller product of half-width and threshold: it is better in one of them
/// by a larger factor than it is worse in the other. This depends on the parameters alone. At ε = 1 and δ = 10^−8 it is
/// Gaussian noise from g = 6 on (add/remove).
///
/// Units may also have *weights* ([`Threshold::of_weights`]): a unit adds whole numbers w₁, w₂, … to the counts of at most
/// g keys, with a total of at most s. Laplace noise has scale s/ε (2s/ε under replace), and τ is the smallest number above s
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
/// \[KKMN09\], with [`DiscreteLaplace`] or [`RoundedGaussian`] noise; τ is set by the noise law's own tail function, in exact
/// arithmetic for the former, with its rounding error added for the latter. Keys come in key order, never in the order of the
/// counts or of the data. [`Selection`](super::Selection) finds more keys, but gives no counts.
///
/// # Errors
/// If `max_groups` is 0, δ is below 10^−300, there is no noise in range (a scale or σ from 0.001 to 2^50), or (when releasing)
/// the permit does not cover (ε, δ).
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
    noise: Law,
    threshold: i64,
    error: ErrorBar,
}

impl Threshold {
    /// For units with at most `max_groups` keys each: with Laplace or Gaussian noise, whichever is predicted to be better.
    ///
    /// # Errors
    /// If `max_groups` is 0, δ is below 10^−300 or neither has noise in range.
    pub fn new(max_groups: u64, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let laplace = Self::laplace(max_groups, adjacency, epsilon, delta);
        let product = |one: &Self| (one.error.half_width() + 0.5) * one.threshold as f64;
        match (laplace, Self::gaussian(max_groups, adjacency, epsilon, delta)) {
            (Ok(laplace), Ok(gaussian)) if product(&gaussian) < product(&laplace) => Ok(gaussian),
            (laplace, gaussian) => laplace.or(gaussian),
        }
    }

    /// With Laplace noise.
    ///
    /// # Errors
    /// If `max_groups` is 0, δ is below 10^−300 or the noise scale lies outside 0.001 to 2^50.
    pub fn laplace(max_groups: u64, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let keys = touched_keys(max_groups, adjacency)?;
        check_delta(delta)?;
        let noise = DiscreteLaplace::new(&(&keys / epsilon.value()))?;
        let threshold = smallest_threshold(&noise, max_groups, delta.value());
        Self::with(Law::Laplace(noise), threshold, epsilon, delta)
    }

    /// With Gaussian noise.
    ///
    /// # Errors
    /// If `max_groups` is 0 or so large that one key more or less makes no difference to a float, δ is below 10^−290, or σ
    /// lies outside 0.001 to 2^50.
    pub fn gaussian(max_groups: u64, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let keys = touched_keys(max_groups, adjacency)?;
        let sigma = analytic_gaussian_sigma(epsilon, delta, &Rational::ONE)?;
        let noise = RoundedGaussian::with_sigma_squared(&(&keys * &sigma.square()))?;
        let shown = shown_at_most(&noise.sigma(), max_groups, &keys, epsilon, delta)?;
        // P(1 + K ≥ τ) = P(K ≥ t) with t = τ − 1 ≥ 1, half of P(|K| > t − 1).
        let near = two_sided_quantile((2.0 * shown).min(0.9)) * noise.sigma().to_f64() + 0.5;
        let t = smallest_near(near.ceil(), |t| noise.two_sided_tail(t - 1) / 2.0 <= shown);
        let threshold = i64::try_from(t + 1).expect("40σ is below 2^56");
        Self::with(Law::Rounded(noise), threshold, epsilon, delta)
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
        Self::with(Law::Laplace(noise), threshold, epsilon, delta)
    }

    fn with(noise: Law, threshold: i64, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64, LEVEL)?;
        Ok(Self { guarantee: Guarantee::Approx(epsilon.clone(), delta.clone()), noise, threshold, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added to every count.
    pub fn noise(&self) -> &Law {
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

/// A q with m·q + δ(Δ − m) ≤ δ for every m = 1 … g, rounded down: see [`Threshold`].
fn shown_at_most(sigma: &Rational, max_groups: u64, keys: &Rational, epsilon: &Epsilon, delta: &Delta) -> Result<f64> {
    let (all, mut least, mut from) = (delta.value().to_f64_down(), f64::INFINITY, 1u64);
    loop {
        // m from `from` to `to`.
        let to = max_groups.min((from - 1).saturating_mul(2)).max(from);
        let others = (keys.clone() - Rational::from(from)).to_f64_up();
        let of_others = if others > 0.0 {
            // A root is off by one rounding, which this exceeds.
            let sensitivity = Rational::from_f64_bits(libm::sqrt(others) * (1.0 + 4.0 * f64::EPSILON));
            let sensitivity = sensitivity.expect("a root of a number of 64 bits is finite");
            analytic_gaussian_delta(epsilon, sigma, &sensitivity)?.value().to_f64_up()
        } else {
            0.0
        };
        least = least.min((all - of_others) / to as f64);
        if to == max_groups {
            break;
        }
        from = to + 1;
    }
    // Both δ are rounded to the safe side; the difference, the quotient and this product are rounded once each. What is
    // smaller is beyond the floats of the tail.
    match least > 1e-300 {
        true => Ok(least * (1.0 - 4.0 * f64::EPSILON)),
        false => Err(Error::parameter("max_groups", max_groups, "smaller: noise hides no key among this many")),
    }
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
mod tests;
