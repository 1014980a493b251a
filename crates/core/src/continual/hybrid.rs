//! `hybrid`: a stream without end, in doubling blocks.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::kind::CounterKind;
use super::law::{Law, rho};
use super::schedule::Schedule;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::privacy::{Epsilon, Guarantee, Rho};

/// The last supported block ends with step 2^63.
const MOST_BLOCKS: u32 = 63;
/// No stored noise is larger: it would take 2^37 draws of 63 bits.
const LARGEST: u128 = 1 << 100;

/// The first step, then blocks (2^j, 2^(j+1)]: noise on each block as a whole, and a binary counter inside the current
/// one.
///
/// # Privacy
/// A share of ε (or ρ) goes to the blocks, the rest to the levels 0 to j − 1 of the binary counter inside block j: a step is
/// in one block and in one node of each level inside, all p-sums with noise that is a whole number. With ε_L + ε_B = ε the
/// noise is of scale r/ε_L on blocks and j·r/ε_B on the nodes inside block j ([`Law::new`]); with ρ_L + ρ_B = ρ likewise.
/// The shares are fixed beforehand. Answers are sums of p-sums that have ended, so inputs may depend on earlier answers.
///
/// # Accuracy
/// At step 2^j + s, 0 < s < 2^j: (j + 1)·σ_L² + (ones in the binary digits of s)·σ_j²; at the end of block j (j + 2)·σ_L²,
/// and σ_L² at step 1. The block's share is 1/6 of ε, the best for an unknown horizon of 2^18; 1/4 of ρ.
///
/// # Algorithm
/// \[CSS11\], the hybrid mechanism.
///
/// # Example
/// ```
/// use reticent::continual::{CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let plan = CounterKind::Hybrid.plan(Stream::bits(), Guarantee::Pure("1".parse()?))?;
/// assert!(plan.average_variance(1 << 20).sqrt() < 101.0);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Hybrid {
    stream: Stream,
    guarantee: Guarantee,
    share: BlockShare,
    whole: Law,
    /// For block j ≥ 1 at j − 1.
    inside: Vec<Law>,
}

/// The share of ε or ρ that the noise on whole blocks uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockShare(pub Rational);

/// The noise of past blocks, and of the nodes in the current answer inside the open block, by level.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HybridState {
    past: i128,
    inside: Vec<i128>,
}

/// The position of a step: block j = ⌊log₂(t − 1)⌋ and s = t − 2^j; `None` for the first step.
#[inline]
fn place(step: u64) -> Option<(u32, u64)> {
    let block = (step - 1).checked_ilog2()?;
    Some((block, step - (1 << block)))
}

impl Hybrid {
    fn variance_inside(&self, block: u32) -> f64 {
        block.checked_sub(1).map_or(0.0, |index| self.inside[index as usize].variance())
    }

    /// Over the answers at steps 1 to `steps`: the variances of the narrowest law and of the largest, as all weights
    /// are 1.
    pub(super) fn extremes(&self, steps: u64) -> (f64, f64) {
        let whole = self.whole.variance();
        // The first block has nothing inside.
        let inside = Self::blocks(steps).skip(1).map(|(block, _)| self.variance_inside(block));
        inside.fold((whole, whole), |(least, most), inside| (least.min(inside), most.max(inside)))
    }

    /// Every block but the first that has some of the first `steps` steps, and how many of its steps are among them.
    fn blocks(steps: u64) -> impl Iterator<Item = (u32, u64)> {
        (0..MOST_BLOCKS)
            .map(|block| (block, 1u64 << block))
            .take_while(move |(_, length)| *length < steps)
            .map(move |(block, length)| (block, length.min(steps - length)))
    }
}

impl Strategy for Hybrid {
    type Parameters = BlockShare;
    type State = HybridState;

    fn choose(_: &Stream, guarantee: &Guarantee) -> Result<BlockShare> {
        let parts = if matches!(guarantee, Guarantee::Pure(_)) { 6 } else { 4 };
        Rational::new(1, parts).map(BlockShare)
    }

    fn new(stream: Stream, guarantee: Guarantee, parameters: BlockShare) -> Result<Self> {
        let share = &parameters.0;
        if !share.is_positive() || *share >= Rational::ONE {
            return Err(Error::parameter("share of blocks", share, "greater than 0 and less than 1"));
        }
        let part = |share: &Rational| match &guarantee {
            Guarantee::Pure(epsilon) => Ok(Guarantee::Pure(Epsilon::new(epsilon.value() * share)?)),
            Guarantee::Zcdp(_) | Guarantee::Approx(..) => {
                Ok(Guarantee::Zcdp(Rho::new(rho(&guarantee)?.value() * share)?))
            }
        };
        let rest = part(&(&Rational::ONE - share))?;
        let whole = Law::new(&stream, &part(share)?, 1)?;
        let last = stream.steps().map_or(MOST_BLOCKS, |steps| place(steps).map_or(0, |(block, _)| block + 1));
        let inside = (1..last).map(|levels| Law::new(&stream, &rest, levels.into())).collect::<Result<_>>()?;
        Ok(Self { stream, guarantee, share: parameters, whole, inside })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::Hybrid
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> BlockShare {
        self.share.clone()
    }

    fn begin(&self) -> HybridState {
        HybridState { past: 0, inside: vec![0; self.inside.len()] }
    }

    fn fits(&self, state: &HybridState, steps: u64) -> bool {
        // Inside the open block the nodes are those of the ones in s; at its end there are none.
        let digits = steps.checked_sub(1).and_then(|_| place(steps)).map_or(0, |(block, s)| s & ((1 << block) - 1));
        let fits = |(level, noise): (usize, &i128)| {
            noise.unsigned_abs() <= LARGEST && (*noise == 0 || digits >> level & 1 == 1)
        };
        state.inside.len() == self.inside.len()
            && state.past.unsigned_abs() <= LARGEST
            && (steps > 0 || state.past == 0)
            && state.inside.iter().enumerate().all(fits)
    }

    #[inline]
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut HybridState, step: u64, rng: &mut R) -> i128 {
        if let Some((block, s)) = place(step)
            && s < 1 << block
        {
            let level = s.trailing_zeros() as usize;
            // The node that ends replaces all shorter ones.
            state.inside[..level].fill(0);
            state.inside[level] = self.inside[block as usize - 1].sample(rng).into();
            return state.past + state.inside[..block as usize].iter().sum::<i128>();
        }
        state.inside.fill(0);
        state.past += i128::from(self.whole.sample(rng));
        state.past
    }

    fn variance(&self, step: u64) -> f64 {
        let whole = self.whole.variance();
        match place(step) {
            None => whole,
            Some((block, s)) if s == 1 << block => f64::from(block + 2) * whole,
            Some((block, s)) => f64::from(block + 1) * whole + f64::from(s.count_ones()) * self.variance_inside(block),
        }
    }

    fn average_variance(&self, steps: u64) -> f64 {
        let whole = self.whole.variance();
        let sum = |(block, within): (u32, u64)| {
            let ends = within == 1 << block;
            // At its end the block as a whole replaces the one node of its size.
            let nodes = Schedule::binary(1 << block).total_sums(within) - u128::from(ends);
            within as f64 * f64::from(block + 1) * whole
                + nodes as f64 * self.variance_inside(block)
                + if ends { whole } else { 0.0 }
        };
        (whole + Self::blocks(steps).map(sum).sum::<f64>()) / steps as f64
    }

    fn worst_variance(&self, steps: u64) -> f64 {
        let worst = |(block, within): (u32, u64)| {
            // Inside the block, and at the last of these steps, which may be its end.
            let inside = Schedule::binary(1 << block).most_sums(within) as f64 * self.variance_inside(block);
            let begin = f64::from(block + 1) * self.whole.variance();
            (begin + inside).max(self.variance((1 << block) + within))
        };
        Self::blocks(steps).map(worst).fold(self.whole.variance(), f64::max)
    }

    /// The largest term is the larger of the two laws in use.
    fn shape(&self, step: u64) -> Shape<'_> {
        let variance = self.variance(step);
        match (&self.whole, place(step)) {
            (Law::Gaussian(_) | Law::Rounded(_), _) => Shape::Gaussian { variance },
            (Law::Laplace(law), None) => Shape::Sum { law, terms: 1 },
            (Law::Laplace(law), Some((block, s))) if s == 1 << block => Shape::Sum { law, terms: u64::from(block) + 2 },
            (Law::Laplace(law), Some((block, _))) => {
                let (whole, inside) = (law.variance(), self.variance_inside(block));
                Shape::Weighted { variance, largest: whole.max(inside), narrowest: whole.min(inside) }
            }
        }
    }

    fn state_bytes(&self) -> usize {
        (self.inside.len() + 1) * size_of::<i128>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strategy(share: &str) -> Hybrid {
        let guarantee = Guarantee::Pure("1".parse().unwrap());
        Hybrid::new(Stream::bits(), guarantee, BlockShare(share.parse().unwrap())).unwrap()
    }

    /// Reference errors are those of continuous noise.
    #[test]
    fn reference_errors_are_met() {
        for (exponent, share, last, average, worst) in [
            (10, "0.5", 9.3808, 47.8351, 76.8895),
            (10, "0.241", 19.4512, 35.6655, 53.6262),
            (16, "0.5", 11.6619, 106.8083, 164.7058),
            (16, "0.181", 32.2146, 71.5745, 105.0715),
            (20, "0.156", 41.6003, 99.4579, 144.5551),
            (24, "0.14", 50.4113, 130.0554, 188.0471),
        ] {
            let (strategy, steps) = (strategy(share), 1 << exponent);
            let found = [strategy.variance(steps), strategy.average_variance(steps), strategy.worst_variance(steps)];
            for (variance, rmse) in found.into_iter().zip([last, average, worst]) {
                assert!((variance.sqrt() / rmse - 1.0).abs() < 0.02, "{exponent} {share}: {} {rmse}", variance.sqrt());
            }
        }
    }

    #[test]
    fn the_fixed_share_loses_little_against_the_best_for_each_horizon() {
        let strategy = strategy("1/6");
        for (exponent, tuned) in [(10, 35.6655), (16, 71.5745), (20, 99.4579), (24, 130.0554)] {
            let rmse = strategy.average_variance(1 << exponent).sqrt();
            assert!(rmse < 1.1 * tuned, "{exponent}: {rmse}");
        }
    }

    /// The parts of ε around every step make at most ε, exactly.
    #[test]
    fn every_block_spends_epsilon() {
        let strategy = strategy("0.17");
        let rate = |law: &Law| match law {
            Law::Laplace(law) => law.scale().recip().unwrap(),
            _ => panic!("pure"),
        };
        for (levels, law) in (1u64..).zip(&strategy.inside) {
            assert_eq!(rate(&strategy.whole) + rate(law) * Rational::from(levels), Rational::ONE);
        }
        for share in ["0", "1", "-1", "2"] {
            let guarantee = Guarantee::Pure("1".parse().unwrap());
            assert!(Hybrid::new(Stream::bits(), guarantee, BlockShare(share.parse().unwrap())).is_err());
        }
    }

    #[test]
    fn worst_steps_are_found_at_any_number_of_steps() {
        let strategy = strategy("0.9");
        let mut worst = 0.0_f64;
        for step in 1..=600 {
            worst = worst.max(strategy.variance(step));
            assert!((strategy.worst_variance(step) / worst - 1.0).abs() < 1e-12, "{step}");
        }
    }
}
