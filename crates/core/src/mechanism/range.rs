//! Bounds found from the data.

use super::add_noise;
use super::threshold::some_of;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::numeric::search::smallest;
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Outcome, Refusal, Release};
use crate::statistic::{Bounds, Contribution};

/// The smallest magnitude that is distinguished from 0: 2^−32.
const SMALLEST: i32 = -32;
/// Magnitudes from 2^63 on are not distinguished.
const LARGEST: i32 = 63;
/// Powers of two on either side of 0.
const POWERS: usize = (LARGEST - SMALLEST + 1) as usize;

/// One bin for 0, and one for each power of two on either side.
pub const BINS: usize = 2 * POWERS + 1;
/// The index of the bin for 0.
const ZERO: usize = POWERS;

/// The probability that some bin without rows is mistaken for one that has rows: 1/`ONE_IN`.
const ONE_IN: u64 = 1000;

/// The bin of a value, counted from the most negative; `None` for NaN.
///
/// The middle bin holds what is nearer to 0 than 2^−32. Every other holds the numbers ±x with 2^k ≤ x < 2^(k+1), for
/// one k from −32 to 63 and one sign; anything farther out (±∞ too) is in the outermost ones.
///
/// ```
/// use reticent::mechanism::range::{BINS, bin};
///
/// assert_eq!(bin(0.0), bin(1e-12));
/// assert_eq!(bin(4.0), bin(7.9));
/// assert!(bin(-1.0) < bin(0.0) && bin(0.0) < bin(1.0) && bin(1.0) < bin(2.0));
/// assert_eq!((bin(f64::NEG_INFINITY), bin(f64::INFINITY), bin(f64::NAN)), (Some(0), Some(BINS - 1), None));
/// ```
#[inline]
pub fn bin(value: f64) -> Option<usize> {
    if value.is_nan() {
        return None;
    }
    // The exponent field: floor(log₂|value|) for normal numbers, −1023 for 0 and subnormal numbers, 1024 for
    // infinities.
    let power = ((value.to_bits() >> 52) & 0x7ff) as i32 - 1023;
    if power < SMALLEST {
        return Some(ZERO);
    }
    let distance = (power.min(LARGEST) - SMALLEST) as usize + 1;
    Some(if value < 0.0 { ZERO - distance } else { ZERO + distance })
}

/// Finds bounds for a column from the column itself: the range of powers of two that contains enough rows to be
/// detected. If there are too few rows anywhere, it refuses.
///
/// # Privacy
/// ε-differential privacy. The rows are counted in [`BINS`] bins that are fixed beforehand ([`bin`]), a histogram whose
/// L1 sensitivity is [`Contribution::of_histogram`]; every count gets discrete Laplace noise for it; everything else is
/// post-processing, the refusal too. One histogram over all groups has no more sensitivity than one per group.
///
/// # Accuracy
/// A bin counts as filled if its noisy count reaches τ, the smallest whole number for which *no* empty bin is mistaken
/// for a filled one with probability at least 99.9 %:
///
/// > 1 − (1 − P(K ≥ τ))^193 ≤ 0.001,
///
/// with the exact tail of the noise. The error bar counts rows: a bin with more rows than its half-width is found with
/// probability at least 95 %. Values in bins with fewer rows may be outside the bounds, and are clamped to them.
///
/// # Algorithm
/// The smallest range whose ends are 0 or ± powers of two and that covers every filled bin: for 2^k..2^(k+1) both, the
/// bin of 0 as 0. If only the bin of 0 is filled, the bounds are −1..1. If no bin is, nothing is known of the column,
/// and the mechanism refuses: any made-up range might clamp values to where none of them is.
///
/// # Errors
/// If the noise's scale Δ/ε lies outside 0.001 to 2^50, or (when releasing) if there are not [`BINS`] counts or the
/// permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::ApproxBounds;
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows};
///
/// let one_row = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1))?;
/// let mechanism = ApproxBounds::new(&one_row, &"0.5".parse()?)?;
/// let salaries = (0..10_000).map(|i| Some(20_000.0 + 9.0 * f64::from(i)));
/// let bounds = mechanism.release(ApproxBounds::count(salaries), &mut Permit::unaccounted()?)?;
/// let bounds = bounds.released().expect("10,000 rows are seen").into_value();
/// println!("{bounds}"); // 16384..131072, but for one time in a thousand
/// assert!(*bounds.lower() <= "20000".parse()? && *bounds.upper() >= "110000".parse()?);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ApproxBounds {
    guarantee: Guarantee,
    noise: DiscreteLaplace,
    threshold: i64,
    error: ErrorBar,
}

impl ApproxBounds {
    /// For a column to which a unit can contribute `contribution`.
    ///
    /// # Errors
    /// If the noise would be out of range.
    pub fn new(contribution: &Contribution, epsilon: &Epsilon) -> Result<Self> {
        let sensitivity = Rational::from(contribution.of_histogram()?.l1()?);
        let noise = DiscreteLaplace::new(&(&sensitivity / epsilon.value()))?;
        let allowed = Rational::ONE / Rational::from(ONE_IN);
        let threshold = smallest(|t| some_of(&noise.upper_tail(t), BINS as u64) <= allowed);
        // n ≥ τ rows are found unless −K ≥ n − τ + 1, and K is symmetric.
        let missed = Rational::ONE - Rational::try_from(LEVEL)?;
        let more = smallest(|t| noise.upper_tail(t) <= missed) - 1;
        let error = ErrorBar::new((threshold + more - 1) as f64, LEVEL)?;
        // At most 2^50·ln(193,000) < 2^54.
        let threshold = i64::try_from(threshold).expect("thresholds stay below 2^54");
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), noise, threshold, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The noise that is added to every bin's count.
    pub fn noise(&self) -> &DiscreteLaplace {
        &self.noise
    }

    /// τ: the smallest noisy count of a bin that counts as filled.
    pub fn threshold(&self) -> u64 {
        self.threshold.unsigned_abs()
    }

    /// The rows per bin. Exact, and **not private**: for [`ApproxBounds::release`].
    pub fn count(values: impl IntoIterator<Item = Option<f64>>) -> Vec<i64> {
        let mut counts = vec![0i64; BINS];
        for place in values.into_iter().flatten().filter_map(bin) {
            counts[place] += 1;
        }
        counts
    }

    /// Releases bounds, from the rows per bin, or refuses.
    ///
    /// # Errors
    /// If there are not [`BINS`] counts, or the permit does not cover ε.
    pub fn release(&self, mut counts: Vec<i64>, permit: &mut Permit) -> Result<Outcome<Bounds>> {
        if counts.len() != BINS {
            return Err(Error::parameter("number of bins", counts.len(), "193, one for each place that bin() gives"));
        }
        let mut draw = permit.spend(&self.guarantee)?;
        add_noise(&mut counts, |block| self.noise.fill(&mut draw, block));
        let (guarantee, accounting) = (self.guarantee.clone(), draw.accounting().clone());
        Ok(match covering(counts.iter().map(|&noisy| noisy >= self.threshold))? {
            Some(bounds) => Outcome::Released(Release::new(bounds, self.error, guarantee, accounting)),
            None => Outcome::Refused(Refusal::new(guarantee, accounting)),
        })
    }
}

/// The smallest range that covers all filled bins; `None` if no bin is filled.
fn covering(filled: impl DoubleEndedIterator<Item = bool> + ExactSizeIterator + Clone) -> Result<Option<Bounds>> {
    let (Some(first), Some(last)) = (filled.clone().position(|filled| filled), filled.rev().position(|filled| filled))
    else {
        return Ok(None);
    };
    let (lower, upper) = (edges(first).0, edges(BINS - 1 - last).1);
    // The bin of 0 alone has no width.
    let bounds = if lower < upper { Bounds::new(lower, upper) } else { Bounds::new(Rational::from(-1), Rational::ONE) };
    bounds.map(Some)
}

/// Both ends of a bin.
fn edges(place: usize) -> (Rational, Rational) {
    let power = |distance: usize| -> Rational {
        let exponent = SMALLEST + distance as i32 - 1;
        // A power of two from 2^−32 to 2^64 is a float.
        Rational::from_f64_bits(libm::ldexp(1.0, exponent)).expect("a power of two is finite")
    };
    let minus = |value: Rational| Rational::ZERO - value;
    match place {
        ZERO => (Rational::ZERO, Rational::ZERO),
        place if place > ZERO => (power(place - ZERO), power(place - ZERO + 1)),
        place => (minus(power(ZERO - place + 1)), minus(power(ZERO - place))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use crate::privacy::Adjacency;
    use crate::statistic::Rows;

    fn mechanism(groups: u64, rows: u64, epsilon: &str, adjacency: Adjacency) -> ApproxBounds {
        let unit = Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)).unwrap();
        ApproxBounds::new(&unit, &epsilon.parse().unwrap()).unwrap()
    }

    #[test]
    fn every_value_lies_between_the_edges_of_its_bin() {
        let positive = (0..4000).map(|i| libm::ldexp(1.0 + f64::from(i % 64) / 64.0, i / 64 - 31));
        for value in positive.chain([1.0, 2.0, 4096.0, 1e19, f64::from_bits(1.0f64.to_bits() - 1)]) {
            for value in [value, -value] {
                let (lower, upper) = edges(bin(value).unwrap());
                let exact = Rational::from_f64_bits(value).unwrap();
                let inside =
                    if value > 0.0 { lower <= exact && exact < upper } else { lower < exact && exact <= upper };
                assert!(inside || value.abs() >= libm::ldexp(1.0, 64), "{value}: {lower}..{upper}");
            }
        }
        let tiny = [0.0, -0.0, f64::MIN_POSITIVE, -5e-324, libm::ldexp(1.0, -32).next_down()];
        assert!(tiny.iter().all(|&value| bin(value) == Some(ZERO)));
        assert_eq!(bin(libm::ldexp(1.0, -32)), Some(ZERO + 1));
        assert_eq!((bin(-1e300), bin(1e300), bin(f64::NAN)), (Some(0), Some(BINS - 1), None));
        // Neighbouring bins share an edge.
        assert!((1..BINS).all(|place| edges(place - 1).1 == edges(place).0 || place == ZERO || place == ZERO + 1));
    }

    #[test]
    fn the_range_is_the_smallest_that_covers() {
        let covered = |values: &[f64]| {
            let counts = ApproxBounds::count(values.iter().copied().map(Some));
            covering(counts.into_iter().map(|count| count > 0))
                .unwrap()
                .map_or("none".into(), |bounds| bounds.to_string())
        };
        assert_eq!(covered(&[]), "none");
        assert_eq!(covered(&[f64::NAN]), "none");
        assert_eq!(covered(&[0.0, f64::NAN]), "-1..1");
        assert_eq!(covered(&[5.0, 100.0]), "4..128");
        assert_eq!(covered(&[0.0, 100.0]), "0..128");
        assert_eq!(covered(&[-3.0, 0.0]), "-4..0");
        assert_eq!(covered(&[-3.0, 1.0]), "-4..2");
        assert_eq!(covered(&[-3.0]), "-4..-2");
        assert_eq!(covered(&[f64::NEG_INFINITY, f64::INFINITY]), "-18446744073709551616..18446744073709551616");
    }

    /// One less would let an empty bin through more often than one time in a thousand, all bins together.
    #[test]
    fn the_threshold_is_the_smallest_that_keeps_empty_bins_out() {
        for (rows, epsilon) in [(1, 1.0), (4, 0.1), (1, 20.0)] {
            let mechanism = mechanism(1, rows, &epsilon.to_string(), Adjacency::AddRemove);
            let scale = rows as f64 / epsilon;
            let tail = |t: f64| (-t / scale).exp() / (1.0 + (-1.0 / scale).exp());
            let some = |t: f64| 1.0 - (1.0 - tail(t)).powi(193);
            let tau = mechanism.threshold() as f64;
            assert!(some(tau) <= 1e-3 && (tau == 1.0 || some(tau - 1.0) > 1e-3), "{rows} {epsilon} {tau}");
            // And the error bar's: n rows are found with probability 1 − P(K ≥ n − τ + 1).
            let n = mechanism.error.half_width() + 1.0;
            assert!(1.0 - tail(n - tau + 1.0) >= 0.95 || n == tau, "{rows} {epsilon} {n}");
        }
    }

    /// Tables without a row: of 4,000 answers at most 1 in 1,000 gives bounds; 5.5 standard errors more are 15.
    #[test]
    fn empty_tables_are_refused_and_cost_the_same() {
        let mechanism = mechanism(2, 2, "0.3", Adjacency::Replace);
        assert_eq!(mechanism.noise().scale(), &Rational::new(80, 3).unwrap());
        let mut permit = Permit::unaccounted_from(Entropy::seeded(3));
        let outcomes: Vec<_> = (0..4000).map(|_| mechanism.release(vec![0; BINS], &mut permit).unwrap()).collect();
        assert!(outcomes.iter().all(|outcome| outcome.guarantee() == mechanism.guarantee()));
        assert!(outcomes.into_iter().filter_map(Outcome::released).count() <= 15);
    }

    #[test]
    fn parameters_are_checked() {
        let unit = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1)).unwrap();
        assert!(ApproxBounds::new(&unit, &"1e-20".parse().unwrap()).is_err());
        let mechanism = ApproxBounds::new(&unit, &"1".parse().unwrap()).unwrap();
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        assert!(mechanism.release(vec![0; BINS - 1], &mut permit).unwrap_err().is_parameter());
    }
}
