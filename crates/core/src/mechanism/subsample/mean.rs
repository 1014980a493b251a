//! The mean of what the blocks say, with noise.

use std::ops::RangeInclusive;

use super::{Blocks, answer};
use crate::error::{Error, Result};
use crate::mechanism::Laplace;
use crate::permit::{Permit, PermittedDraw};
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::release::{ErrorBar, Release};

/// Subsample and aggregate for numbers: asks any query of each of k disjoint blocks, clamps the answers and releases their
/// mean with noise.
///
/// # Privacy
/// ε. With the split fixed, one unit replaces the answers of at most j = [`Blocks::touched`] blocks; each is clamped to
/// [L, U], so the sum of the answers moves by at most j·(U − L), and the mean by j·(U − L)/k. The sum of whole numbers is
/// released by the [`Laplace`] mechanism and divided by k afterwards. The split is drawn independently of the rows;
/// averaging over it keeps ε. Bounds and k are public.
///
/// What [`SubsampleMode`](super::SubsampleMode) asks of a query holds here, too. A query that panics on some block is
/// taken to have said ⌊(L + U)/2⌋ there.
///
/// # Accuracy
/// The error bar is that of the noise, about 3·j·(U − L)/(k·ε) at 95 %. How far the mean over blocks of n/k rows is from the
/// answer for all rows is the query's own affair: more blocks, less noise, smaller blocks.
///
/// # Algorithm
/// \[NRS07\] with a clamped mean for the aggregate \[DR14, section 7.2\]. Answers are whole numbers: put real ones on a grid
/// of which the step is chosen beforehand (cents, thousandths), and divide the release by it.
///
/// # Errors
/// If L ≥ U, if k·(U − L) exceeds 2^62, if j·(U − L)/ε lies outside 0.001 to 2^50, or (when releasing) if the permit does
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
/// let released = mechanism.release(incomes, median, &mut Permit::unaccounted()?)?;
/// assert!((released.value() - 45_000.0).abs() < 20_000.0);
/// assert!((released.error().half_width() - 1500.0).abs() < 5.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubsampleMean {
    blocks: Blocks,
    bounds: RangeInclusive<i64>,
    laplace: Laplace,
    error: ErrorBar,
}

impl SubsampleMean {
    /// Over these blocks, with answers clamped to `bounds`, for neighbours as in `adjacency`.
    ///
    /// # Errors
    /// If the bounds are empty or a single number, too wide for k blocks in 64 bits, or j·(U − L)/ε lies outside 0.001 to
    /// 2^50.
    pub fn new(blocks: Blocks, bounds: RangeInclusive<i64>, adjacency: Adjacency, epsilon: &Epsilon) -> Result<Self> {
        let shown = || format!("{}..{}", bounds.start(), bounds.end());
        if bounds.start() >= bounds.end() {
            return Err(Error::parameter("bounds", shown(), "a lower and a greater upper bound"));
        }
        let width = bounds.end().abs_diff(*bounds.start());
        // k·(U − L) ≤ 2^62: the centred sum fits with room for the noise, and so does j·(U − L).
        if width.checked_mul(blocks.number().max(2)).is_none_or(|sum| sum > 1 << 62) {
            return Err(Error::parameter(
                "bounds",
                shown(),
                "narrower: their width times the blocks must not exceed 2^62",
            ));
        }
        let laplace = Laplace::new(width * blocks.touched(adjacency), epsilon)?;
        let half_width = laplace.half_width(1, &crate::exact::Rational::try_from(crate::release::LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64 / blocks.number() as f64, crate::release::LEVEL)?;
        Ok(Self { blocks, bounds, laplace, error })
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
    ) -> Result<Release<f64>> {
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
    ) -> Result<Release<f64>> {
        self.blocks.check_ids()?;
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split_by(rows, id, &mut draw)?;
        Ok(self.aggregate(split.iter().map(|block| answer(&query, block)), &mut draw))
    }

    /// The mean of the answers, one for each block, with noise.
    pub(super) fn aggregate(
        &self,
        answers: impl Iterator<Item = Option<i64>>,
        draw: &mut PermittedDraw<'_>,
    ) -> Release<f64> {
        let sum = self.sum_above_lower(answers);
        let noisy = i128::from(sum) + i128::from(self.laplace.noise().sample(draw));
        // The only float is the one that is shown.
        let k = i128::from(self.blocks.number());
        let mean = (noisy + k * i128::from(*self.bounds.start())) as f64 / k as f64;
        Release::new(mean, self.error, self.guarantee().clone(), draw.accounting().clone())
    }

    /// Σ (clamped answer − L), from 0 to k·(U − L).
    fn sum_above_lower(&self, answers: impl Iterator<Item = Option<i64>>) -> u64 {
        let (lower, upper) = (*self.bounds.start(), *self.bounds.end());
        let middle = upper.abs_diff(lower) / 2;
        answers.map(|answer| answer.map_or(middle, |answer| answer.clamp(lower, upper).abs_diff(lower))).sum()
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

    /// All answers of one block, or of two, against all others, at the ends of the range and far outside.
    #[test]
    fn the_sum_moves_by_no_more_than_the_noise_is_made_for() {
        let answers = [None, Some(i64::MIN), Some(-3), Some(0), Some(4), Some(i64::MAX)];
        for (unit, adjacency, touched) in [
            (Unit::Row, Adjacency::AddRemove, 1),
            (Unit::Row, Adjacency::Replace, 1),
            (Unit::Id, Adjacency::AddRemove, 1),
            (Unit::Id, Adjacency::Replace, 2),
        ] {
            let mean = mean(-3..=4, unit, adjacency).unwrap();
            assert_eq!(mean.laplace.noise().scale(), &(7 * touched).into());
            let sum =
                |first: Option<i64>, second: Option<i64>| mean.sum_above_lower([first, second, Some(1)].into_iter());
            let mut most = 0;
            for (a, b) in answers.iter().flat_map(|a| answers.iter().map(move |b| (*a, *b))) {
                for (c, d) in answers.iter().flat_map(|c| answers.iter().map(move |d| (*c, *d))) {
                    if touched == 2 || b == d {
                        most = most.max(sum(a, b).abs_diff(sum(c, d)));
                    }
                }
            }
            assert_eq!(most, 7 * touched as u64);
        }
    }

    #[test]
    fn panics_count_as_the_middle_and_the_mean_is_that_of_the_answers() {
        let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
        let epsilon = "1000".parse().unwrap(); // noise of scale 0.01: none
        let mean =
            SubsampleMean::new(Blocks::new(10, Unit::Row).unwrap(), 0..=10, Adjacency::Replace, &epsilon).unwrap();
        let panicking = mean.release(0..100, |_: &[i32]| panic!("as the test asks"), &mut permit).unwrap();
        assert_eq!(*panicking.value(), 5.0);
        let clamped = mean.release(0..100, |block: &[i32]| block.len() as i64 + 1000, &mut permit).unwrap();
        assert_eq!(*clamped.value(), 10.0);
        let by_row = mean.release_by(0..100, |_| Some([0u8]), |_| 0, &mut permit);
        assert!(by_row.unwrap_err().is_parameter());
    }
}
