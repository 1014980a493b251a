//! `honaker`: dyadic blocks, each improved by the blocks inside it.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::kind::CounterKind;
use super::law::Law;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::privacy::Guarantee;

/// Noise is stored in units of 2^−20.
const FRACTION_BITS: u32 = 20;
/// Weights are stored in units of 2^−24.
const WEIGHT_BITS: u32 = 24;
/// What rounding to a whole number adds to the variance.
const ROUNDING: f64 = 1.0 / 12.0;
/// No stored noise is larger: a draw is below 2^63, in fixed point below 2^83, and estimates add up fewer than 2^10 of
/// them.
const LARGEST: u128 = 1 << 100;

/// The binary counter, with every block's noisy sum combined with the estimates of its two halves.
///
/// # Privacy
/// As `binary`: R is the 0/1 matrix of the dyadic blocks, z whole numbers, and each step is in α = ⌊log₂T⌋ + 1 of them
/// ([`Law::new`]); only blocks that have ended are used, so inputs may depend on earlier answers under ρ, too.
///
/// *The answers are a function of y = R·x + z.* Let e be the noise of a block's estimate in units of 2^−f, and X its exact
/// sum. By induction 2^f·X + e is a function of y: for single steps it is 2^f·y. For a block with halves, the code sets
/// e = e₁ + e₂ + g(2^f·z − e₁ − e₂), g(d) = ⌊w·d⌋ with a weight w of 24 binary digits. As X = X₁ + X₂, the argument of g is
/// 2^f·y − (2^f·X₁ + e₁) − (2^f·X₂ + e₂), in which the data cancel. The answer adds up estimates of blocks that tile the
/// steps so far and is ⌊·/2^f + ½⌋ of it, which commutes with adding the whole number X.
///
/// # Accuracy
/// The best combination of independent estimates with variances σ² (the block's own) and 2·v_{j−1} (its halves) has
/// v_j = 1/(1/σ² + 1/(2·v_{j−1})), v₀ = σ²; w = v_j/σ². The variance at step t is Σ v_j over the binary digits of t, and 1/12
/// for rounding from step 2 on. v_j falls to σ²/2: about half of binary's variance.
///
/// # Algorithm
/// \[H15\], estimation from below.
///
/// # Example
/// ```
/// use reticent::continual::{CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let plan = |kind: CounterKind| kind.plan(Stream::bits().until(1 << 16)?, Guarantee::Pure("1".parse()?));
/// let gain = plan(CounterKind::Honaker)?.average_variance(1 << 16) / plan(CounterKind::Binary)?.average_variance(1 << 16);
/// assert!(gain < 0.56);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Honaker {
    stream: Stream,
    guarantee: Guarantee,
    law: Law,
    /// For each level: v_j, and the weight of the block's own noisy sum in units of 2^−24.
    levels: Vec<(f64, i128)>,
}

/// The noise of the estimates in the current answer, one for each binary digit of the step, in fixed point.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Estimates(Vec<i128>);

/// No parameters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoChoice {}

/// How many of the numbers 1 to `last` have this binary digit set.
pub(super) fn ones(digit: u32, last: u64) -> u64 {
    let numbers = u128::from(last) + 1;
    let period = 2u128 << digit;
    (numbers / period * (period / 2) + (numbers % period).saturating_sub(period / 2)) as u64
}

impl Honaker {
    /// Over all answers: the variance of the narrowest law, and that of the largest weighted term, which is the last
    /// block's own at odd steps.
    pub(super) fn extremes(&self) -> (f64, f64) {
        (self.law.variance(), self.law.variance())
    }

    /// The next noise in fixed point, from a source of draws.
    #[inline]
    fn draw_next(&self, state: &mut Estimates, step: u64, mut draw: impl FnMut() -> i64) -> i128 {
        let closing = step.trailing_zeros() as usize;
        let mut estimate = i128::from(draw()) << FRACTION_BITS;
        for level in 1..=closing {
            let halves = estimate + std::mem::take(&mut state.0[level - 1]);
            let left = (i128::from(draw()) << FRACTION_BITS) - halves;
            estimate = halves + ((left * self.levels[level].1) >> WEIGHT_BITS);
        }
        state.0[closing] = estimate;
        state.0.iter().sum()
    }
}

/// A floor, so that whole numbers may be added before or after.
#[inline]
fn rounded(noise: i128) -> i128 {
    (noise + (1 << (FRACTION_BITS - 1))) >> FRACTION_BITS
}

impl Strategy for Honaker {
    type Parameters = NoChoice;
    type State = Estimates;

    fn choose(_: &Stream, _: &Guarantee) -> Result<NoChoice> {
        Ok(NoChoice {})
    }

    fn new(stream: Stream, guarantee: Guarantee, _: NoChoice) -> Result<Self> {
        let Some(horizon) = stream.steps() else {
            let allowed = "a number of steps for this counter; without one use input-noise, hybrid or bridged";
            return Err(Error::parameter("horizon", "unbounded", allowed));
        };
        let count = horizon.ilog2() + 1;
        let law = Law::new(&stream, &guarantee, count.into())?;
        let variance = law.variance();
        // v_j/σ², which is also the weight.
        let mut ratio = 1.0;
        let mut levels = Vec::new();
        for _ in 0..count {
            let weight = libm::round(ratio * f64::from(1 << WEIGHT_BITS)) as i128;
            levels.push((ratio * variance, weight));
            ratio = 1.0 / (1.0 + 0.5 / ratio);
        }
        Ok(Self { stream, guarantee, law, levels })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::Honaker
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> NoChoice {
        NoChoice {}
    }

    fn begin(&self) -> Estimates {
        Estimates(vec![0; self.levels.len()])
    }

    fn fits(&self, state: &Estimates, steps: u64) -> bool {
        let fits = |(level, noise): (usize, &i128)| {
            noise.unsigned_abs() <= LARGEST && (*noise == 0 || steps >> level & 1 == 1)
        };
        state.0.len() == self.levels.len() && state.0.iter().enumerate().all(fits)
    }

    #[inline]
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Estimates, step: u64, rng: &mut R) -> i128 {
        rounded(self.draw_next(state, step, || self.law.sample(rng)))
    }

    fn variance(&self, step: u64) -> f64 {
        let digits = self.levels.iter().enumerate().filter(|(level, _)| step >> level & 1 == 1);
        digits.map(|(_, (variance, _))| variance).sum::<f64>() + if step > 1 { ROUNDING } else { 0.0 }
    }

    fn average_variance(&self, steps: u64) -> f64 {
        let sums = (0..).zip(&self.levels).map(|(level, (variance, _))| ones(level, steps) as f64 * variance);
        (sums.sum::<f64>() + (steps - 1) as f64 * ROUNDING) / steps as f64
    }

    /// Attained at the last step or where one of its digits is lowered and all below are 1.
    fn worst_variance(&self, steps: u64) -> f64 {
        let set = (0..self.levels.len()).filter(|level| steps >> level & 1 == 1);
        let lowered = set.map(|level| (steps >> level << level) - 1).filter(|&step| step > 0);
        lowered.chain([steps]).map(|step| self.variance(step)).fold(0.0, f64::max)
    }

    /// Own weights w_j ≥ ½ are the largest in an estimate, and fall with j: the largest term belongs to the last digit.
    fn shape(&self, step: u64) -> Shape<'_> {
        let variance = self.variance(step);
        match self.law {
            Law::Laplace(_) => {
                let own = self.levels[step.trailing_zeros() as usize].0;
                let narrowest = self.law.variance();
                Shape::Weighted { variance, largest: own * own / narrowest, narrowest }
            }
            Law::Gaussian(_) | Law::Rounded(_) => Shape::Gaussian { variance },
        }
    }

    fn state_bytes(&self) -> usize {
        self.levels.len() * size_of::<i128>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use rand_core::Rng;

    fn strategy(steps: u64, guarantee: Guarantee) -> Honaker {
        Honaker::new(Stream::bits().until(steps).unwrap(), guarantee, NoChoice {}).unwrap()
    }

    fn pure() -> Guarantee {
        Guarantee::Pure("1".parse().unwrap())
    }

    #[test]
    fn reference_errors_are_met() {
        let zcdp = || Guarantee::Zcdp("0.024355934605668213".parse().unwrap());
        for (steps, guarantee, within, last, average, worst) in [
            (1u64 << 10, pure(), 0.002, 10.9989, 26.4911, 37.4610),
            (1 << 16, pure(), 0.002, 16.9976, 50.4325, 71.3223),
            (1 << 20, pure(), 0.002, 20.9980, 69.0172, 97.6051),
            (1 << 24, pure(), 0.002, 24.9983, 89.4485, 126.4992),
            (1 << 10, zcdp(), 0.02, 10.6285, 25.5989, 36.1993),
            (1 << 24, zcdp(), 0.02, 16.0191, 57.3191, 81.0615),
        ] {
            let strategy = strategy(steps, guarantee);
            let found = [strategy.variance(steps), strategy.average_variance(steps), strategy.worst_variance(steps)];
            for (variance, rmse) in found.into_iter().zip([last, average, worst]) {
                assert!((variance.sqrt() / rmse - 1.0).abs() < within, "{steps}: {} {rmse}", variance.sqrt());
            }
        }
    }

    /// Every block in the order in which its noise is drawn: as it ends, the shortest first.
    fn blocks(steps: u64) -> Vec<(u64, u64)> {
        let ending = |end: u64| (0..=end.trailing_zeros()).map(move |level| (end - (1 << level), end));
        (1..=steps).flat_map(ending).collect()
    }

    fn replay(strategy: &Honaker, steps: u64, draws: &[i64]) -> Vec<i128> {
        let (mut state, mut rest) = (strategy.begin(), draws.iter());
        (1..=steps).map(|step| strategy.draw_next(&mut state, step, || *rest.next().unwrap())).collect()
    }

    #[test]
    fn variances_are_those_of_all_weights_written_out() {
        const LARGE: i64 = 1 << 30;
        let steps = 100;
        let strategy = strategy(steps, pure());
        let count = blocks(steps).len();
        let mut variances = vec![0.0; steps as usize];
        let mut largest = vec![0.0_f64; steps as usize];
        for index in 0..count {
            let mut draws = vec![0; count];
            draws[index] = LARGE;
            let noise = replay(&strategy, steps, &draws);
            for ((sum, largest), noise) in variances.iter_mut().zip(&mut largest).zip(noise) {
                let weight = noise as f64 / LARGE as f64 / f64::from(1 << FRACTION_BITS);
                *sum += weight * weight * strategy.law.variance();
                *largest = largest.max(weight * weight * strategy.law.variance());
            }
        }
        for (step, (expected, term)) in (1..).zip(variances.into_iter().zip(largest)) {
            let rounding = if step == 1 { 0.0 } else { ROUNDING };
            assert!((strategy.variance(step) - rounding - expected).abs() < 1e-5 * expected, "{step}");
            let Shape::Weighted { largest, .. } = strategy.shape(step) else { panic!() };
            assert!((largest / term - 1.0).abs() < 1e-5, "{step}");
        }
    }

    fn answers_depend_on_noisy_sums_alone(rounding: impl Fn(i128) -> i128) -> bool {
        let mut entropy = Entropy::seeded(3);
        let mut rng = entropy.draw().unwrap();
        let steps = 70;
        let (strategy, blocks) = (strategy(steps, pure()), blocks(steps));
        let draws: Vec<i64> = blocks.iter().map(|_| (rng.next_u64() % 5) as i64 - 2).collect();
        let noise = replay(&strategy, steps, &draws);
        (0..steps).all(|moved| {
            let against =
                blocks.iter().zip(&draws).map(|((from, to), draw)| draw - i64::from((*from..*to).contains(&moved)));
            let other = replay(&strategy, steps, &against.collect::<Vec<_>>());
            let mut pairs = (0..).zip(noise.iter().zip(&other));
            pairs.all(|(step, (noise, other))| rounding(*other) - rounding(*noise) == -i128::from(step >= moved))
        })
    }

    #[test]
    fn answers_are_a_function_of_the_noisy_sums() {
        assert!(answers_depend_on_noisy_sums_alone(rounded));
        assert!(!answers_depend_on_noisy_sums_alone(|noise| noise / (1 << FRACTION_BITS)));
    }
}
