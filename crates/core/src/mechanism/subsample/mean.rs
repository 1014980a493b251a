//! The mean of what the blocks say, with noise.

use std::ops::RangeInclusive;

use super::{Blocks, answer};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::mechanism::Laplace;
use crate::noise::DiscreteLaplace;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Outcome, Refusal, Release};

/// A mean is released if no more than one in so many blocks, with noise, has no answer.
const TOLERATED: u64 = 10;
/// If every block has an answer, the noise alone makes it a refusal once in a thousand times at the most: two-sided.
const CALM: (u64, u64) = (998, 1000);

/// Subsample and aggregate for numbers: asks any query of each of k disjoint blocks, clamps the answers and releases their
/// mean with noise; or refuses, if too many blocks have no answer.
///
/// # Privacy
/// ε. With the split fixed, one unit replaces the answers of at most j = [`Blocks::touched`] blocks; each is clamped to
/// [L, U], so the sum of the answers moves by at most j·(U − L), and the mean by j·(U − L)/k. The sum, in half steps, is
/// released by the [`Laplace`] mechanism and divided by k afterwards. The split is drawn independently of the rows;
/// averaging over it keeps ε. Bounds and k are public.
///
/// *No answer.* A query that panics on some block has no answer there. It counts as the middle, (L + U)/2; and how many blocks have none
/// is counted, with noise of scale 2·j/ε. That costs nothing more: a block that has an answer on both of two neighbours moves the sum
/// by U − L at the most, and not the count; one that has an answer on one of them only moves the sum by (U − L)/2 at the most, and the
/// count by 1. The loss of one block is ε/j in the first case, and ε/(2j) + ε/(2j) in the second. If the noisy count is above
/// [`SubsampleMean::tolerated`], the outcome is a refusal. With [`SubsampleMean::counting`] another number counts for such blocks; then
/// all have an answer, and nothing is refused.
///
/// What [`SubsampleMode`](super::SubsampleMode) asks of a query holds here, too.
///
/// # Accuracy
/// The error bar is that of the noise, about 3·j·(U − L)/(k·ε) at 95 %. Blocks without an answer pull the mean to the middle, each by
/// (U − L)/(2k) at the most. How far the mean over blocks of n/k rows is from the
/// answer for all rows is the query's own affair: more blocks, less noise, smaller blocks.
///
/// # Algorithm
/// \[NRS07\] with a clamped mean for the aggregate \[DR14, section 7.2\]. Answers are whole numbers: put real ones on a grid
/// of which the step is chosen beforehand (cents, thousandths), and divide the release by it.
///
/// # Errors
/// If L ≥ U, if k·(U − L) exceeds 2^61, if 2·j·(U − L)/ε lies outside 0.001 to 2^50, or (when releasing) if the permit does
/// not cover ε.
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
///     assert!((released.error().half_width() - 1500.0).abs() < 5.0);
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubsampleMean {
    blocks: Blocks,
    bounds: RangeInclusive<i64>,
    /// In half steps, on which the middle lies.
    laplace: Laplace,
    error: ErrorBar,
    silence: Silence,
}

/// What a block without an answer comes to.
#[derive(Debug, Clone)]
enum Silence {
    /// It counts as this.
    Counts(i64),
    /// It counts as the middle, and is counted.
    Refused {
        /// How the number of such blocks is blurred.
        noise: DiscreteLaplace,
        /// So many are not refused.
        tolerated: u64,
    },
}

impl SubsampleMean {
    /// Over these blocks, with answers clamped to `bounds`, for neighbours as in `adjacency`.
    ///
    /// # Errors
    /// If the bounds are empty or a single number, too wide for k blocks in 64 bits, or 2·j·(U − L)/ε lies outside 0.001 to
    /// 2^50.
    pub fn new(blocks: Blocks, bounds: RangeInclusive<i64>, adjacency: Adjacency, epsilon: &Epsilon) -> Result<Self> {
        let shown = || format!("{}..{}", bounds.start(), bounds.end());
        if bounds.start() >= bounds.end() {
            return Err(Error::parameter("bounds", shown(), "a lower and a greater upper bound"));
        }
        let width = bounds.end().abs_diff(*bounds.start());
        let touched = blocks.touched(adjacency);
        // 2k·(U − L) ≤ 2^62: the centred sum fits with room for the noise, and so does 2j·(U − L).
        let Some(double) = width
            .checked_mul(2)
            .filter(|double| double.checked_mul(blocks.number().max(touched)).is_some_and(|sum| sum <= 1 << 62))
        else {
            return Err(Error::parameter(
                "bounds",
                shown(),
                "narrower: their width times the blocks must not exceed 2^61",
            ));
        };
        let laplace = Laplace::new(double * touched, epsilon)?;
        let half_width = laplace.half_width(1, &Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64 / (2.0 * blocks.number() as f64), LEVEL)?;
        let silence = Silence::new(&blocks, touched, epsilon)?;
        Ok(Self { blocks, bounds, laplace, error, silence })
    }

    /// The same with a number that counts for blocks without an answer: nothing is refused.
    #[must_use]
    pub fn counting(self, default: i64) -> Self {
        Self { silence: Silence::Counts(default), ..self }
    }

    /// How many blocks may be without an answer, with noise, before the mean is refused: a tenth of them, or as many as noise alone makes
    /// of none once in a thousand times; `None` if a number counts for them.
    pub fn tolerated(&self) -> Option<u64> {
        match &self.silence {
            Silence::Counts(_) => None,
            Silence::Refused { tolerated, .. } => Some(*tolerated),
        }
    }

    /// What a release promises, and costs.
    pub fn guarantee(&self) -> &Guarantee {
        self.laplace.guarantee()
    }

    /// How far the noise may carry the mean: known before anything is asked.
    pub fn error(&self) -> ErrorBar {
        self.error
    }

    /// How the rows are split.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Asks `query` of every block; each row is a unit.
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

    /// Asks `query` of every block; all rows with the same id are a unit, and so is a row without one.
    ///
    /// # Errors
    /// If the blocks were not made for [`Unit::Id`](super::Unit::Id), or the permit does not cover ε.
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

    /// The mean of the answers, one for each block, with noise; or a refusal.
    pub(super) fn aggregate(
        &self,
        answers: impl Iterator<Item = Option<i64>>,
        draw: &mut PermittedDraw<'_>,
    ) -> Outcome<f64> {
        let (sum, silent) = self.tally(answers);
        let noisy = i128::from(sum) + i128::from(self.laplace.noise().sample(draw));
        let too_silent = match &self.silence {
            Silence::Counts(_) => false,
            Silence::Refused { noise, tolerated } => {
                i128::from(silent) + i128::from(noise.sample(draw)) > i128::from(*tolerated)
            }
        };
        let (guarantee, accounting) = (self.guarantee().clone(), draw.accounting().clone());
        if too_silent {
            return Outcome::Refused(Refusal::new(guarantee, accounting));
        }
        // The only float is the one that is shown.
        let double = 2 * i128::from(self.blocks.number());
        let mean = (noisy + double * i128::from(*self.bounds.start())) as f64 / double as f64;
        Outcome::Released(Release::new(mean, self.error, guarantee, accounting))
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
    fn new(blocks: &Blocks, touched: u64, epsilon: &Epsilon) -> Result<Self> {
        // No narrower than noise can be drawn; wider noise promises more.
        let narrowest = &Rational::ONE / &Rational::from(1000);
        let scale = &Rational::from(2 * touched) / epsilon.value();
        let noise = DiscreteLaplace::new(&scale.max(narrowest))?;
        let calm = noise.half_width(&(&Rational::from(CALM.0) / &Rational::from(CALM.1)))?;
        let tolerated = (blocks.number() / TOLERATED).max(calm);
        Ok(Self::Refused { noise, tolerated })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Unit;
    use super::*;
    use crate::noise::Entropy;

    fn mean(bounds: RangeInclusive<i64>, unit: Unit, adjacency: Adjacency) -> Result<SubsampleMean> {
        SubsampleMean::new(Blocks::new(10, unit)?, bounds, adjacency, &"1".parse()?)
    }

    #[test]
    #[allow(clippy::reversed_empty_ranges, reason = "one of the mistakes that must be refused")]
    fn bounds_are_checked() {
        for bounds in [5..=5, 6..=5, i64::MIN..=i64::MAX, 0..=1 << 60] {
            assert!(mean(bounds, Unit::Row, Adjacency::AddRemove).unwrap_err().is_parameter());
        }
    }

    /// All answers of one block, or of two, against all others, at the ends of the range and far outside: sum and count together lose no
    /// more than ε, and as much as that.
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
                let mean = mean(-3..=4, unit, adjacency).unwrap();
                let mean = default.map_or(mean.clone(), |default| mean.counting(default));
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
                    // 14·touched of the sum are ε, and so 7 are as much as one block of the count.
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
        let mean = mean.counting(-7);
        assert_eq!(
            (mean.tolerated(), [0, 10, 20].map(|silent| of(&mean, silent))),
            (None, [Some(10.0), Some(5.0), Some(0.0)])
        );
        // Where noise alone would make many of none, many are tolerated.
        let few = SubsampleMean::new(blocks(), 0..=10, Adjacency::Replace, &"1".parse().unwrap()).unwrap();
        assert_eq!(few.tolerated(), Some(12));
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
