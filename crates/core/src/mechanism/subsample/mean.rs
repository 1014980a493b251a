//! The noisy mean of the blocks' answers.

use std::ops::RangeInclusive;

use super::{Blocks, answer};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::mechanism::Laplace;
use crate::noise::DiscreteLaplace;
use crate::numeric::search::smallest;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Outcome, Refusal, Release};

/// A mean is released if the noisy share of blocks without an answer is at most 1/N.
const TOLERATED: u64 = 10;
/// If every block has an answer, noise alone causes a refusal with probability at most 1/1000: two-sided.
const CALM: (u64, u64) = (998, 1000);

/// Subsample and aggregate for numbers: runs any query on each of k disjoint blocks, clamps the answers and releases
/// their noisy mean; or refuses, if too many blocks have no answer.
///
/// # Privacy
/// ε. With the split fixed, one unit replaces the answers of at most j = [`Blocks::touched`] blocks; each is clamped to
/// [L, U], so the sum of the answers changes by at most j·(U − L), and the mean by j·(U − L)/k. The sum, in half steps,
/// is released by the [`Laplace`] mechanism and divided by k afterwards. The split is drawn independently of the rows;
/// averaging over it preserves ε. Bounds and k are public.
///
/// *No answer.* A query that panics on some block has no answer there. The block counts as the middle, (L + U)/2, and
/// the number of such blocks is itself counted, with noise of scale 2·j/ε. That costs nothing more: a block with an
/// answer on both of two neighbours changes the sum by at most U − L, and the count not at all; one with an answer on
/// only one of them changes the sum by at most (U − L)/2, and the count by 1. The loss per block is ε/j in the first
/// case, and ε/(2j) + ε/(2j) in the second. So the noisy count is paid for: if it is above
/// [`SubsampleMean::tolerated`], the outcome is a refusal; otherwise it widens the error bar. With
/// [`SubsampleMean::counting`] such blocks count as a given number; then all have an answer, and nothing is refused.
///
/// The query must satisfy the requirements of [`SubsampleMode`](super::SubsampleMode).
///
/// # Accuracy
/// The error bar covers the noise and the blocks without an answer. Whatever such a block would have answered, the
/// middle is off by at most (U − L)/2, and the mean by (U − L)/(2k) for each of them. The 95 % bar is about 4·j·(U −
/// L)/(k·ε), for the noise of sum and count together, plus (U − L)/(2k) for each block of the noisy count. With
/// [`SubsampleMean::counting`] it covers the noise alone, about 3·j·(U − L)/(k·ε). The level is over all outcomes, a
/// refusal not counting as a miss: if more blocks than tolerated have no answer, a mean is rarely released, and then
/// the count was too low.
///
/// How far the mean over blocks of n/k rows is from the answer for all rows depends on the query: more blocks mean less
/// noise, but smaller blocks.
///
/// # Algorithm
/// \[NRS07\] with a clamped mean as the aggregate \[DR14\]. Answers are whole numbers: put real ones on a
/// grid whose step is chosen beforehand (cents, thousandths), and divide the release by it.
///
/// # Errors
/// If L ≥ U, if k·(U − L) exceeds 2^61, if 2·j·(U − L)/ε lies outside 0.001 to 2^50, if there are so few blocks that
/// half of them could lack an answer unnoticed, or (when releasing) if the permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::subsample::{Blocks, SubsampleMean, Unit};
/// use reticent::privacy::Adjacency;
///
/// let incomes: Vec<i64> = (0..20_000).map(|person| 20_000 + person * 7919 % 50_000).collect();
/// let median = |block: &[i64]| {
///     let mut block = block.to_vec();
///     block.sort_unstable();
///     block.get(block.len() / 2).copied().unwrap_or(0)
/// };
/// let blocks = Blocks::new(200, Unit::Row)?;
/// let mechanism = SubsampleMean::new(blocks, 0..=100_000, Adjacency::AddRemove, &"1".parse()?)?;
/// let outcome = mechanism.release(incomes, median, &mut Permit::unaccounted()?)?;
/// // Refused once in a thousand times at the most, since every block has an answer.
/// if let Some(released) = outcome.released() {
///     assert!((released.value() - 45_000.0).abs() < 20_000.0);
///     assert!(released.error_bar().half_width() >= 2048.0 && mechanism.error_bar().half_width() < 2049.0);
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubsampleMean {
    blocks: Blocks,
    bounds: RangeInclusive<i64>,
    /// In half steps, so that the middle is on the grid.
    laplace: Laplace,
    error: ErrorBar,
    silence: Silence,
}

/// How a block without an answer counts.
#[derive(Debug, Clone)]
enum Silence {
    /// As this number.
    Counts(i64),
    /// As the middle; and the number of such blocks is counted.
    Refused {
        /// The noise on the number of such blocks.
        noise: DiscreteLaplace,
        /// The largest noisy number that is not refused.
        tolerated: u64,
    },
}

impl SubsampleMean {
    /// Over these blocks, with answers clamped to `bounds`, for neighbours under `adjacency`.
    ///
    /// # Errors
    /// If the bounds are empty or a single number, too wide for k blocks in 64 bits, 2·j·(U − L)/ε lies outside 0.001
    /// to 2^50, or half of the blocks could lack an answer unnoticed.
    pub fn new(blocks: Blocks, bounds: RangeInclusive<i64>, adjacency: Adjacency, epsilon: &Epsilon) -> Result<Self> {
        let (laplace, width) = noise(&blocks, &bounds, adjacency, epsilon)?;
        let silence = Silence::noticed(&blocks, blocks.touched(adjacency), epsilon)?;
        let half_width = half_width_of_sum_and_count(width, laplace.noise().approximate_scale());
        let error = ErrorBar::new(half_width as f64 / (2.0 * blocks.number() as f64), LEVEL)?;
        Ok(Self { blocks, bounds, laplace, error, silence })
    }

    /// The same with a number that counts for blocks without an answer: nothing is refused.
    ///
    /// # Errors
    /// As for [`SubsampleMean::new`], except for the number of blocks.
    pub fn counting(
        default: i64,
        blocks: Blocks,
        bounds: RangeInclusive<i64>,
        adjacency: Adjacency,
        epsilon: &Epsilon,
    ) -> Result<Self> {
        let (laplace, _) = noise(&blocks, &bounds, adjacency, epsilon)?;
        let half_width = laplace.half_width(1, &Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64 / (2.0 * blocks.number() as f64), LEVEL)?;
        Ok(Self { blocks, bounds, laplace, error, silence: Silence::Counts(default) })
    }

    /// The largest noisy number of blocks without an answer for which the mean is still released: a tenth of the blocks
    /// or, if larger, what noise alone turns none into with probability 1/1000; `None` if a number counts for them.
    pub fn tolerated(&self) -> Option<u64> {
        match &self.silence {
            Silence::Counts(_) => None,
            Silence::Refused { tolerated, .. } => Some(*tolerated),
        }
    }

    /// The guarantee of a release, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.laplace.guarantee()
    }

    /// The error due to noise, known before any query runs: the error bar if the noisy count of blocks without an
    /// answer is 0 or less. Each counted block adds [`SubsampleMean::pull`].
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }

    /// The most that one block without an answer shifts the mean, (U − L)/(2k); 0 if a number counts for it.
    pub fn pull(&self) -> f64 {
        match &self.silence {
            Silence::Counts(_) => 0.0,
            Silence::Refused { .. } => width(&self.bounds) as f64 / (2.0 * self.blocks.number() as f64),
        }
    }

    /// The split.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Runs `query` on every block; each row is a unit.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn release<T>(
        &self,
        rows: impl IntoIterator<Item = T>,
        query: impl Fn(&[T]) -> i64,
        permit: &mut Permit,
    ) -> Result<Outcome<f64>> {
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split(rows, &mut draw);
        Ok(self.aggregate(split.iter().map(|block| answer(&query, block)), &mut draw))
    }

    /// Runs `query` on every block; all rows with the same id are a unit, and so is a row without one.
    ///
    /// # Errors
    /// If the blocks are not for [`Unit::Id`](super::Unit::Id), or the permit does not cover ε.
    pub fn release_by<T, I: AsRef<[u8]>>(
        &self,
        rows: impl IntoIterator<Item = T>,
        id: impl Fn(&T) -> Option<I>,
        query: impl Fn(&[T]) -> i64,
        permit: &mut Permit,
    ) -> Result<Outcome<f64>> {
        self.blocks.check_ids()?;
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split_by(rows, id, &mut draw)?;
        Ok(self.aggregate(split.iter().map(|block| answer(&query, block)), &mut draw))
    }

    /// The noisy mean of the answers, one per block; or a refusal.
    pub(super) fn aggregate(
        &self,
        answers: impl Iterator<Item = Option<i64>>,
        draw: &mut PermittedDraw<'_>,
    ) -> Outcome<f64> {
        let (sum, silent) = self.tally(answers);
        let noisy = i128::from(sum) + i128::from(self.laplace.noise().sample(draw));
        let (silent, tolerated) = match &self.silence {
            Silence::Counts(_) => (0, 0),
            Silence::Refused { noise, tolerated } => {
                (i128::from(silent) + i128::from(noise.sample(draw)), i128::from(*tolerated))
            }
        };
        let (guarantee, accounting) = (self.guarantee().clone(), draw.accounting().clone());
        if silent > tolerated {
            return Outcome::Refused(Refusal::new(guarantee, accounting));
        }
        let error = self.error.widened(silent.max(0) as f64 * self.pull());
        // The only float is the one shown.
        let double = 2 * i128::from(self.blocks.number());
        let mean = (noisy + double * i128::from(*self.bounds.start())) as f64 / double as f64;
        Outcome::Released(Release::new(mean, error, guarantee, accounting))
    }

    /// Σ 2·(clamped answer − L), from 0 to 2k·(U − L), and how many blocks have no answer.
    fn tally(&self, answers: impl Iterator<Item = Option<i64>>) -> (u64, u64) {
        let (lower, upper) = (*self.bounds.start(), *self.bounds.end());
        let twice = |answer: i64| 2 * answer.clamp(lower, upper).abs_diff(lower);
        let missing = match &self.silence {
            Silence::Counts(default) => twice(*default),
            Silence::Refused { .. } => upper.abs_diff(lower),
        };
        answers.fold((0, 0), |(sum, silent), answer| match answer {
            Some(answer) => (sum + twice(answer), silent),
            None => (sum + missing, silent + 1),
        })
    }
}

impl Silence {
    fn noticed(blocks: &Blocks, touched: u64, epsilon: &Epsilon) -> Result<Self> {
        // No narrower than noise can be drawn; wider noise gives a stronger guarantee.
        let narrowest = &Rational::ONE / &Rational::from(1000);
        let scale = &Rational::from(2 * touched) / epsilon.value();
        let noise = DiscreteLaplace::new(&scale.max(narrowest))?;
        let calm = noise.half_width(&(&Rational::from(CALM.0) / &Rational::from(CALM.1)))?;
        let tolerated = (blocks.number() / TOLERATED).max(calm);
        if tolerated.saturating_mul(2) >= blocks.number() {
            let fewest = calm.saturating_mul(2).saturating_add(1);
            return Err(Error::parameter(
                "number of blocks",
                format!("{} instead of at least {fewest}", blocks.number()),
                "such that noise cannot hide that half of them have no answer: use more blocks or a larger epsilon, or give a number \
                 that counts for a block without an answer",
            ));
        }
        Ok(Self::Refused { noise, tolerated })
    }
}

/// U − L.
fn width(bounds: &RangeInclusive<i64>) -> u64 {
    bounds.end().abs_diff(*bounds.start())
}

/// The noise of the sum in half steps, and U − L.
fn noise(
    blocks: &Blocks,
    bounds: &RangeInclusive<i64>,
    adjacency: Adjacency,
    epsilon: &Epsilon,
) -> Result<(Laplace, u64)> {
    let shown = || format!("{}..{}", bounds.start(), bounds.end());
    if bounds.start() >= bounds.end() {
        return Err(Error::parameter("bounds", shown(), "a lower and a greater upper bound"));
    }
    let (width, touched) = (width(bounds), blocks.touched(adjacency));
    // 2k·(U − L) ≤ 2^62: the centred sum fits with room for the noise, and so does 2j·(U − L).
    let Some(double) = width
        .checked_mul(2)
        .filter(|double| double.checked_mul(blocks.number().max(touched)).is_some_and(|sum| sum <= 1 << 62))
    else {
        return Err(Error::parameter("bounds", shown(), "narrower: their width times the blocks must not exceed 2^61"));
    };
    Ok((Laplace::new(double * touched, epsilon)?, width))
}

/// The smallest t, in half steps, such that |N + w·Z| ≤ t with probability [`LEVEL`]: N is the noise of the sum, Z that
/// of the count, and a block without an answer is off by at most w = U − L half steps.
///
/// With s such blocks the sum is off by N + b, |b| ≤ w·s, and the bar is t + w·max(s + Z, 0). Let b ≥ 0. Then N + b is
/// above the bar only if N − w·Z > t, and below it only if N + w·Z < −t. Z is symmetric, so each has the probability of
/// N + w·Z > t; likewise for b ≤ 0.
fn half_width_of_sum_and_count(width: u64, scale: f64) -> u64 {
    // A margin of 10^−9 covers floating-point rounding.
    let fits = |t: u64| 2.0 * tail_of_sum_and_count(t, width, scale) * (1.0 + 1e-9) <= 1.0 - LEVEL;
    smallest(fits)
}

/// P(N + w·Z > t). N has the scale a half steps, and Z the scale a/w blocks: 2·w·j/ε and 2·j/ε. (Z is wider where 2·j/ε is below 1/1000; 0
/// either way, but for a probability of e^−999.)
///
/// Let p = e^(−1/a), q = p^w, n = ⌊t/w⌋. P(N > x) is p^(x+1)/(1 + p) for x ≥ 0 and 1 − p^(−x)/(1 + p) for x < 0; P(Z = −z) is
/// q^|z|·(1 − q)/(1 + q). Summed over z ≥ 0, over the n numbers −n ≤ z < 0, for which q^|z|·p^(w·z) is 1, and over z < −n:
///
/// p^(t+1)/(1 + p)·(1/(1 + q)² + n·(1 − q)/(1 + q)) + q^(n+1)/(1 + q)·(1 − p^(w·(n+1)−t)/((1 + p)·(1 + q)))
fn tail_of_sum_and_count(t: u64, width: u64, scale: f64) -> f64 {
    let power = |steps: f64| libm::exp(-steps / scale);
    let (p, q, n) = (power(1.0), power(width as f64), (t / width) as f64);
    let (one_more, rest) = (width as f64 * (n + 1.0), (width - t % width) as f64);
    let near = 1.0 / ((1.0 + q) * (1.0 + q)) - n * libm::expm1(-(width as f64) / scale) / (1.0 + q);
    let far = 1.0 - power(rest) / ((1.0 + p) * (1.0 + q));
    power(t as f64 + 1.0) / (1.0 + p) * near + power(one_more) / (1.0 + q) * far
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;
    use crate::noise::Entropy;

    fn mean(bounds: RangeInclusive<i64>, unit: Unit, adjacency: Adjacency) -> Result<SubsampleMean> {
        SubsampleMean::new(Blocks::new(100, unit)?, bounds, adjacency, &"1".parse()?)
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges, reason = "one of the mistakes that must be refused")]
    fn bounds_are_checked() {
        for bounds in [5..=5, 6..=5, i64::MIN..=i64::MAX, 0..=1 << 60] {
            assert!(mean(bounds, Unit::Row, Adjacency::AddRemove).unwrap_err().is_parameter());
        }
    }

    /// All answers of one block, or of two, against all others, at the ends of the range and far outside: sum and count
    /// together lose at most ε, and exactly ε in the worst case.
    #[test]
    fn sum_and_count_move_by_no_more_than_the_noise_is_made_for() {
        let answers = [None, Some(i64::MIN), Some(-3), Some(0), Some(4), Some(i64::MAX)];
        for (unit, adjacency, touched) in [
            (Unit::Row, Adjacency::AddRemove, 1),
            (Unit::Row, Adjacency::Replace, 1),
            (Unit::Id, Adjacency::AddRemove, 1),
            (Unit::Id, Adjacency::Replace, 2),
        ] {
            for default in [None, Some(i64::MIN), Some(2)] {
                let (blocks, epsilon) = (Blocks::new(100, unit).unwrap(), "1".parse().unwrap());
                let mean = match default {
                    None => mean(-3..=4, unit, adjacency).unwrap(),
                    Some(default) => SubsampleMean::counting(default, blocks, -3..=4, adjacency, &epsilon).unwrap(),
                };
                assert_eq!(mean.laplace.noise().scale(), &(14 * touched).into());
                let tally = |first: Option<i64>, second: Option<i64>| mean.tally([first, second, Some(1)].into_iter());
                // In parts of ε: a count that is not released loses nothing.
                let counted = |(_, silent): (u64, u64)| if default.is_none() { silent } else { 0 };
                let mut most = 0;
                for (a, b) in answers.iter().flat_map(|a| answers.iter().map(move |b| (*a, *b))) {
                    for (c, d) in answers.iter().flat_map(|c| answers.iter().map(move |d| (*c, *d))) {
                        if touched == 2 || b == d {
                            let (one, other) = (tally(a, b), tally(c, d));
                            most = most.max(one.0.abs_diff(other.0) + 7 * counted(one).abs_diff(counted(other)));
                        }
                    }
                }
                assert_eq!(most, 14 * touched as u64, "{default:?}");
                if let Silence::Refused { noise, .. } = &mean.silence {
                    // 14·touched of the sum are ε, so 7 are as much as one block of the count.
                    assert_eq!(noise.scale(), &(2 * touched).into());
                }
            }
        }
    }

    #[test]
    fn too_many_blocks_without_an_answer_are_refused() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let epsilon = "1000".parse().unwrap(); // noise of scale 0.02 half steps, and of 0.002 blocks: none
        let blocks = || Blocks::new(20, Unit::Row).unwrap();
        let mean = SubsampleMean::new(blocks(), 0..=10, Adjacency::Replace, &epsilon).unwrap();
        assert_eq!(mean.tolerated(), Some(2));
        let mut of = |mean: &SubsampleMean, silent: usize| {
            let answers = (0..20).map(|block| (block >= silent).then_some(10));
            let outcome = mean.begin(&mut permit).unwrap().decide(answers).unwrap();
            outcome.released().map(Release::into_value)
        };
        assert_eq!([0, 2, 3, 20].map(|silent| of(&mean, silent)), [Some(10.0), Some(9.5), None, None]);
        let mean = SubsampleMean::counting(-7, blocks(), 0..=10, Adjacency::Replace, &epsilon).unwrap();
        assert_eq!(
            (mean.tolerated(), [0, 10, 20].map(|silent| of(&mean, silent))),
            (None, [Some(10.0), Some(5.0), Some(0.0)])
        );
        // Where noise alone would turn none into many, many are tolerated.
        let few = Blocks::new(25, Unit::Row).unwrap();
        let few = SubsampleMean::new(few, 0..=10, Adjacency::Replace, &"1".parse().unwrap()).unwrap();
        assert_eq!(few.tolerated(), Some(12));
    }

    /// With ten blocks and ε = 1 noise alone turns none into twelve: all ten could lack an answer, and a mean would be
    /// released.
    #[test]
    fn blocks_are_so_many_that_most_have_an_answer() {
        let with = |number: u64, epsilon: &str, default: Option<i64>| {
            let (blocks, epsilon): (_, Epsilon) = (Blocks::new(number, Unit::Row)?, epsilon.parse()?);
            match default {
                None => SubsampleMean::new(blocks, 0..=10, Adjacency::AddRemove, &epsilon),
                Some(default) => SubsampleMean::counting(default, blocks, 0..=10, Adjacency::AddRemove, &epsilon),
            }
        };
        for number in [1, 10, 24] {
            let error = with(number, "1", None).unwrap_err().to_string();
            assert!(error.starts_with(&format!("number of blocks is {number} instead of at least 25")), "{error}");
            // Its advice helps.
            assert!(
                with(25, "1", None).is_ok() && with(number, "20", None).is_ok() && with(number, "1", Some(0)).is_ok()
            );
        }
    }

    /// Sixteen of 200 blocks have no answer, and would have answered like all others: 1000. A bar that ignored them
    /// would cover once in 300 times.
    #[test]
    fn the_bar_covers_what_blocks_without_an_answer_would_have_said() {
        const ROUNDS: u32 = 20_000;
        let blocks = Blocks::new(200, Unit::Row).unwrap();
        let mean = SubsampleMean::new(blocks, 0..=1000, Adjacency::AddRemove, &"1".parse().unwrap()).unwrap();
        for (silent, fewest_shown) in [(0, 0.99), (16, 0.9), (20, 0.5)] {
            let mut permit = Permit::unaccounted_from(Entropy::seeded(silent as u64));
            let answers = || (0..200).map(|block: usize| (block >= silent).then_some(1000));
            let outcomes = (0..ROUNDS).map(|_| mean.begin(&mut permit).unwrap().decide(answers()).unwrap());
            let shown: Vec<_> = outcomes.filter_map(Outcome::released).collect();
            let missed = shown
                .iter()
                .filter(|release| (release.value() - 1000.0).abs() > release.error_bar().half_width())
                .count();
            assert!(shown.len() as f64 > fewest_shown * f64::from(ROUNDS));
            // Four standard deviations of a 5 % share of half the rounds are below 1 %.
            assert!((missed as f64) < 0.06 * shown.len() as f64, "{silent}: {missed} of {}", shown.len());
        }
    }

    /// The formula, against a sum over all values of the count's noise.
    #[test]
    fn the_tail_of_sum_and_count_is_that_of_their_noise() {
        for (width, scale) in [(1u64, 2.0f64), (7, 14.0), (10, 3.0), (10, 100.0), (5, 0.5)] {
            let (p, q) = ((-1.0 / scale).exp(), (-(width as f64) / scale).exp());
            let above = |x: f64| if x < 0.0 { 1.0 - p.powf(-x) / (1.0 + p) } else { p.powf(x + 1.0) / (1.0 + p) };
            for t in [0, 1, 6, 7, 8, 20, 50] {
                let mass = |z: i64| q.powf(z.abs() as f64) * (1.0 - q) / (1.0 + q);
                let summed: f64 = (-1000..=1000).map(|z| mass(z) * above(t as f64 + (width as i64 * z) as f64)).sum();
                let tail = tail_of_sum_and_count(t, width, scale);
                assert!((tail / summed - 1.0).abs() < 1e-9, "{width} {scale} {t}: {tail}, not {summed}");
            }
            let half_width = half_width_of_sum_and_count(width, scale);
            let outside = |t: u64| 2.0 * tail_of_sum_and_count(t, width, scale);
            assert!(outside(half_width) <= 0.05 && outside(half_width - 1) > 0.05 * (1.0 - 1e-8));
        }
    }

    #[test]
    fn a_panic_is_no_answer_and_the_mean_is_that_of_the_answers() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let epsilon = "1000".parse().unwrap(); // noise of scale 0.01: none
        let mean =
            SubsampleMean::new(Blocks::new(10, Unit::Row).unwrap(), 0..=10, Adjacency::Replace, &epsilon).unwrap();
        let panicking = mean.release(0..100, |_: &[i32]| panic!("as the test asks"), &mut permit).unwrap();
        assert_eq!(panicking.released(), None);
        let clamped = mean.release(0..100, |block: &[i32]| block.len() as i64 + 1000, &mut permit).unwrap();
        assert_eq!(clamped.released().map(Release::into_value), Some(10.0));
        let by_row = mean.release_by(0..100, |_| Some([0u8]), |_| 0, &mut permit);
        assert!(by_row.unwrap_err().is_parameter());
    }
}
