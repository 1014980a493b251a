//! The noisy mean of the blocks' answers.

use std::ops::RangeInclusive;

use super::unanswered::{Count, Counted};
use super::{Blocks, answer};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::mechanism::Laplace;
use crate::numeric::search::smallest;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Outcome, Refusal, Release};

/// If every block has an answer, or none has, noise alone causes a refusal, or an answer, with probability at most
/// 1/1000: two-sided.
const CALM: (u64, u64) = (998, 1000);

/// Subsample and aggregate for numbers: runs any query on each of k disjoint blocks, clamps the answers and releases
/// their noisy mean; or refuses, if most blocks have no answer.
///
/// # Privacy
/// ε for the mean and the noisy number of blocks without an answer, together. With the split fixed, one unit touches at
/// most j = [`Blocks::touched`] blocks, so it changes at most j of the k answers: adding or removing a unit changes one,
/// replacing one by a unit of another id up to two. The split is drawn independently of the rows; averaging over it
/// preserves ε. Bounds and k are public.
///
/// Let M = (L + U)/2, S the sum of answer − M over the blocks with an answer (each clamped to [L, U]), and s the number
/// of blocks without one. S is released with noise of scale j·(U − L)/ε, and s with noise of scale 2j/ε. A block with
/// an answer on both of two neighbours moves S by at most U − L, and s not at all; one with an answer on only one of
/// them moves S by at most (U − L)/2, and s by 1. The loss per block is at most ε/j in the first case, and ε/2j + ε/2j
/// in the second: at most ε for j blocks, so the number costs nothing. All else is computed from the two: the mean M +
/// S/(k − s) of the answers, and a refusal if s is more than k/2; or, [with a default](SubsampleMean::with_default) d
/// for blocks without an answer, M + (S + s·(d − M))/k, and no refusal. Noisy means outside [L, U] are clamped.
///
/// The query must satisfy the requirements of [`SubsampleMode`](super::SubsampleMode).
///
/// # Accuracy
/// The error bar is about the mean of the clamped answers of the blocks that have one (with a default: of all blocks),
/// and not about the answer for all rows: how far the two are apart depends on the query. More blocks mean less noise,
/// but smaller blocks.
///
/// The half-width is t/(k − s̃), t ≈ 4·j·(U − L)/ε, s̃ being the noisy number, from 0 to k/2. *It covers:* let N and Z be
/// the noises of S and s, Z shortened where s̃ would leave 0..k, A = k − s, and θ = S/A, so |θ| ≤ (U − L)/2. Then (S +
/// N) − θ·(A − Z) = N + θ·Z, so the released mean (S + N)/(A − Z) is off by |N + θ·Z|/(A − Z), which is more than the
/// half-width only if |N + θ·Z| > t. N is symmetric and unimodal, hence this is likeliest at the largest |θ·Z|, and t is
/// the 95 % quantile of |N + (U − L)/2·Z| (and one grid step, because θ·Z need not be on the grid). With a default, N +
/// (d − M)·Z is at most as large, and the half-width is t/k. The level is over all outcomes, a refusal not counting as a
/// miss. No bar is wider than U − L. Among released means it is 95 %, too, if at most half of the blocks have no answer: a release then means that Z
/// is not far above 0, which makes large |Z| rarer.
///
/// The number of blocks without an answer is within ± 6·j/ε in 95 % of all cases.
///
/// # Algorithm
/// \[NRS07\] with a clamped mean as the aggregate \[DR14\]; the interval for a ratio is Fieller's \[Fie54\]. Answers are
/// whole numbers: put real ones on a grid whose step is chosen beforehand (cents, thousandths), and divide the release
/// by it.
///
/// # Errors
/// If L ≥ U, if k·(U − L) exceeds 2^61, if 2·j·(U − L)/ε lies outside 0.001 to 2^50, if there are so few blocks that
/// noise could hide that none of them has an answer, or (when releasing) if the permit does not cover ε.
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
/// let counted = mechanism.release(incomes, median, &mut Permit::unaccounted()?)?;
/// assert!(counted.unanswered().number() < 50); // noise: all 200 blocks have an answer
/// let released = counted.released().unwrap();
/// assert!((released.value() - 45_000.0).abs() < 20_000.0);
/// assert!(released.error_bar().half_width() >= 2048.0 && mechanism.error_bar().half_width() < 2049.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubsampleMean {
    blocks: Blocks,
    bounds: RangeInclusive<i64>,
    /// In half steps, so that the middle is on the grid.
    laplace: Laplace,
    count: Count,
    /// t, in half steps.
    half_width: u64,
    default: Option<i64>,
}

impl SubsampleMean {
    /// Over these blocks, with answers clamped to `bounds`, for neighbours under `adjacency`.
    ///
    /// # Errors
    /// If the bounds are empty or a single number, too wide for k blocks in 64 bits, 2·j·(U − L)/ε lies outside 0.001
    /// to 2^50, or noise could hide that no block has an answer.
    pub fn new(blocks: Blocks, bounds: RangeInclusive<i64>, adjacency: Adjacency, epsilon: &Epsilon) -> Result<Self> {
        let mean = Self::of(None, blocks, bounds, adjacency, epsilon)?;
        let calm = mean.count.noise().half_width(&(&Rational::from(CALM.0) / &Rational::from(CALM.1)))?;
        let fewest = calm.saturating_mul(2).saturating_add(1);
        if blocks.number() < fewest {
            return Err(Error::parameter(
                "number of blocks",
                format!("{} instead of at least {fewest}", blocks.number()),
                "such that noise cannot hide that none of them has an answer: use more blocks or a larger epsilon, or give a number that \
                 counts for a block without an answer",
            ));
        }
        Ok(mean)
    }

    /// The same with a number that counts for blocks without an answer: nothing is refused.
    ///
    /// # Errors
    /// As for [`SubsampleMean::new`], except for the number of blocks.
    pub fn with_default(
        default: i64,
        blocks: Blocks,
        bounds: RangeInclusive<i64>,
        adjacency: Adjacency,
        epsilon: &Epsilon,
    ) -> Result<Self> {
        Self::of(Some(default), blocks, bounds, adjacency, epsilon)
    }

    fn of(
        default: Option<i64>,
        blocks: Blocks,
        bounds: RangeInclusive<i64>,
        adjacency: Adjacency,
        epsilon: &Epsilon,
    ) -> Result<Self> {
        let (laplace, width) = noise(&blocks, &bounds, adjacency, epsilon)?;
        let count = Count::new(blocks.number(), &Rational::from(2 * blocks.touched(adjacency)) / epsilon.value())?;
        let half_width = half_width_of_sum_and_count(width, laplace.noise().approximate_scale()).saturating_add(1);
        Ok(Self { blocks, bounds, laplace, count, half_width, default })
    }

    /// The guarantee of an outcome, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.laplace.guarantee()
    }

    /// The error bar if the noisy number of blocks without an answer is 0, and with a default always: known before any
    /// query runs. Otherwise it is wider by the factor k/(k − s̃), at most 2.
    pub fn error_bar(&self) -> ErrorBar {
        self.error_over(self.blocks.number())
    }

    fn error_over(&self, answers: u64) -> ErrorBar {
        // Mean and answers are within the bounds, however large the noise.
        let half_width = (self.half_width as f64 / (2.0 * answers as f64)).min(width(&self.bounds) as f64);
        ErrorBar::new(half_width, LEVEL).expect("a valid bar")
    }

    /// The error bar of the number of blocks without an answer.
    pub fn unanswered_error(&self) -> ErrorBar {
        self.count.error_bar()
    }

    /// The number that counts for a block without an answer.
    pub fn default(&self) -> Option<i64> {
        self.default
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
    ) -> Result<Counted<f64>> {
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
    ) -> Result<Counted<f64>> {
        self.blocks.check_ids()?;
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split_by(rows, id, &mut draw)?;
        Ok(self.aggregate(split.iter().map(|block| answer(&query, block)), &mut draw))
    }

    /// The noisy mean of the answers, at most one per block, or a refusal; and the number of blocks without an answer.
    pub(super) fn aggregate(
        &self,
        answers: impl Iterator<Item = Option<i64>>,
        draw: &mut PermittedDraw<'_>,
    ) -> Counted<f64> {
        let (sum, silent) = self.tally(answers);
        let mut sum = sum + i128::from(self.laplace.noise().sample(draw));
        let unanswered = self.count.draw(silent, draw);
        let (guarantee, accounting) = (self.guarantee().clone(), draw.accounting().clone());
        let mut over = self.blocks.number();
        match self.default {
            Some(default) => sum += i128::from(unanswered.number()) * self.centred(default),
            None if unanswered.is_most() => {
                return Counted::new(Outcome::Refused(Refusal::new(guarantee, accounting)), unanswered);
            }
            None => over -= unanswered.number(),
        }
        // The only floats are those shown.
        let (lower, upper) = (*self.bounds.start(), *self.bounds.end());
        let middle = i128::from(lower) + i128::from(upper);
        let mean = (sum + i128::from(over) * middle) as f64 / (2.0 * over as f64);
        let mean = mean.clamp(lower as f64, upper as f64);
        let release = Release::new(mean, self.error_over(over), guarantee, accounting);
        Counted::new(Outcome::Released(release), unanswered)
    }

    /// The sum of the centred answers, and how many blocks have none.
    fn tally(&self, answers: impl Iterator<Item = Option<i64>>) -> (i128, u64) {
        answers.fold((0, 0), |(sum, silent), answer| match answer {
            Some(answer) => (sum + self.centred(answer), silent),
            None => (sum, silent + 1),
        })
    }

    /// 2·(clamped answer − M): half steps from L − U to U − L.
    fn centred(&self, answer: i64) -> i128 {
        let (lower, upper) = (*self.bounds.start(), *self.bounds.end());
        2 * i128::from(answer.clamp(lower, upper)) - i128::from(lower) - i128::from(upper)
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

/// The smallest t ≥ 1, in half steps, such that |N + w·Z| ≤ t with probability [`LEVEL`]: N is the noise of the sum, Z
/// that of the count, and w = U − L half steps the most that a block's answer is away from the middle.
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
                    Some(default) => SubsampleMean::with_default(default, blocks, -3..=4, adjacency, &epsilon).unwrap(),
                };
                let [sum_scale, count_scale] = [mean.laplace.noise(), mean.count.noise()].map(|noise| noise.scale());
                let tally = |first: Option<i64>, second: Option<i64>| mean.tally([first, second, Some(1)].into_iter());
                let mut most = Rational::ZERO;
                for (a, b) in answers.iter().flat_map(|a| answers.iter().map(move |b| (*a, *b))) {
                    for (c, d) in answers.iter().flat_map(|c| answers.iter().map(move |d| (*c, *d))) {
                        if touched == 2 || b == d {
                            let (one, other) = (tally(a, b), tally(c, d));
                            let moved = Rational::from(one.0.abs_diff(other.0) as u64);
                            let counted = Rational::from(one.1.abs_diff(other.1));
                            most = most.max(&moved / sum_scale + &counted / count_scale);
                        }
                    }
                }
                assert_eq!(most, Rational::ONE, "{default:?}");
            }
        }
    }

    #[test]
    fn without_most_answers_there_is_a_refusal_or_the_default() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let epsilon = "1000".parse().unwrap(); // noise of scale 0.02 half steps, and of 0.002 blocks: none
        let blocks = || Blocks::new(20, Unit::Row).unwrap();
        let mean = SubsampleMean::new(blocks(), 0..=10, Adjacency::Replace, &epsilon).unwrap();
        let mut of = |mean: &SubsampleMean, silent: usize| {
            let answers = (0..20).map(|block| (block >= silent).then_some(9));
            let counted = mean.begin(&mut permit).unwrap().decide(answers).unwrap();
            let unanswered = counted.unanswered();
            assert_eq!(
                (unanswered.number(), unanswered.of(), unanswered.error_bar()),
                (silent as u64, 20, mean.unanswered_error())
            );
            counted
                .released()
                .map(|release| (*release.value(), release.error_bar().half_width() / mean.error_bar().half_width()))
        };
        assert_eq!(
            [0, 4, 10, 11, 20].map(|silent| of(&mean, silent)),
            [Some((9.0, 1.0)), Some((9.0, 1.25)), Some((9.0, 2.0)), None, None]
        );
        let mean = SubsampleMean::with_default(-7, blocks(), 0..=10, Adjacency::Replace, &epsilon).unwrap();
        assert_eq!([0, 10, 20].map(|silent| of(&mean, silent)), [Some((9.0, 1.0)), Some((4.5, 1.0)), Some((0.0, 1.0))]);
    }

    /// With ten blocks and ε = 1 the noise of the count is as large as their number: a mean would be released though no
    /// block has an answer.
    #[test]
    fn blocks_are_so_many_that_most_have_an_answer() {
        let with = |number: u64, epsilon: &str, default: Option<i64>| {
            let (blocks, epsilon): (_, Epsilon) = (Blocks::new(number, Unit::Row)?, epsilon.parse()?);
            match default {
                None => SubsampleMean::new(blocks, 0..=10, Adjacency::AddRemove, &epsilon),
                Some(default) => SubsampleMean::with_default(default, blocks, 0..=10, Adjacency::AddRemove, &epsilon),
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
        let mean = with(25, "1", None).unwrap();
        let mut permit = Permit::unaccounted_from(Entropy::seeded(3));
        let mut released = |answer: Option<i64>| {
            let outcomes = (0..20_000).map(|_| mean.begin(&mut permit).unwrap().decide(vec![answer; 25].into_iter()));
            outcomes.filter(|counted| counted.clone().unwrap().released().is_some()).count()
        };
        // At most 1/1000 and at least 999/1000, and five standard deviations.
        assert!(released(None) <= 43 && released(Some(1)) >= 19_957);
    }

    /// What is shown after ± holds the mean of the answers in at least 94 % of the means that are shown, and is not much
    /// too wide; likewise the number of blocks without an answer. 20,000 rounds see a miss of 6 % instead of 5 %.
    #[test]
    fn the_bars_cover() {
        const ROUNDS: usize = 20_000;
        /// Fifteen of sixteen blocks say 0, and one says far more than the upper bound.
        fn skewed(block: usize) -> i64 {
            if block % 16 == 15 { i64::MAX } else { 0 }
        }
        type Case = (u64, &'static str, u64, Option<i64>, fn(usize) -> i64);
        let cases: [Case; 12] = [
            (25, "1", 0, None, |_| 500),
            (25, "1", 0, None, |_| 990),
            (25, "1", 5, None, |_| 990),
            (26, "1", 13, None, skewed),
            (249, "0.1", 0, None, |block| block as i64),
            (249, "0.1", 100, None, |block| block as i64),
            (200, "1", 16, None, |_| 900),
            (200, "1", 100, None, |_| 100),
            (200, "1", 40, None, skewed),
            (20, "0.5", 10, Some(500), |_| 500),
            (200, "1", 40, Some(0), |_| 900),
            (200, "1", 160, Some(1000), skewed),
        ];
        for (number, epsilon, silent, default, answer) in cases {
            let (blocks, epsilon) = (Blocks::new(number, Unit::Row).unwrap(), epsilon.parse().unwrap());
            let mean = match default {
                None => SubsampleMean::new(blocks, 0..=1000, Adjacency::AddRemove, &epsilon),
                Some(default) => SubsampleMean::with_default(default, blocks, 0..=1000, Adjacency::AddRemove, &epsilon),
            };
            let (mean, mut permit) = (mean.unwrap(), Permit::unaccounted_from(Entropy::seeded(number + silent)));
            let answers: Vec<_> = (0..number).map(|block| (block >= silent).then(|| answer(block as usize))).collect();
            let counted = answers.iter().filter_map(|answer| answer.or(default)).map(|answer| answer.clamp(0, 1000));
            let counted: Vec<i64> = counted.collect();
            let truth = counted.iter().sum::<i64>() as f64 / counted.len() as f64;
            let (mut shown, mut missed, mut miscounted) = (0, 0, 0);
            for _ in 0..ROUNDS {
                let round = mean.begin(&mut permit).unwrap().decide(answers.iter().copied()).unwrap();
                let unanswered = round.unanswered();
                miscounted +=
                    usize::from(unanswered.number().abs_diff(silent) as f64 > unanswered.error_bar().half_width());
                if let Some(release) = round.released() {
                    shown += 1;
                    missed += usize::from((release.value() - truth).abs() > release.error_bar().half_width());
                }
            }
            let case = format!("{number} blocks, {silent} silent: {missed} of {shown} missed, {miscounted} miscounted");
            assert!(shown > ROUNDS / 2 && miscounted * 100 < 6 * ROUNDS, "{case}");
            assert!(missed * 100 < 6 * shown && missed * 1000 > 5 * shown, "{case}");
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
        assert_eq!(mean.default(), None);
        let by_row = mean.release_by(0..100, |_| Some([0u8]), |_| 0, &mut permit);
        assert!(by_row.unwrap_err().is_parameter());
    }
}
