//! Private for the past: the releases and the memory at any one time, together.

use super::super::kind::CounterKind;
use super::super::stream::Stream;
use super::blocks::Blocks;
use super::design::{self, Design, Noise};
use super::seized::{Cell, Seized};
use crate::error::Result;
use crate::noise::DiscreteLaplace;
use crate::privacy::Guarantee;

/// A counter whose memory may be seized once, if counting ends there.
///
/// # Privacy
/// For any one t, the first t releases and the memory after step t *together* are ε-differentially private.
///
/// Let n be the horizon, L = ⌊log₂n⌋ and α = L + 1; let one unit change at most c steps by at most r. All noise is discrete
/// Laplace of scale c·r·α/ε, each draw independent: a draw N before the first step, and N_I for each left dyadic block I that
/// ends before n (see the algorithm). Write S_i for the exact sum of steps 1 to i. Then
///
/// - release i is N + S_i + Σ N_I over the blocks I that contain i;
/// - memory after step t is X = N + S_t, and N_I for the blocks I that contain t and end after t. Every N_I whose block has
///   ended is overwritten; those whose blocks have not begun are not drawn yet.
///
/// *Proof.* Let x and x′ differ in step j alone, x′_j = x_j + d with |d| ≤ r. If j > t the two views are the same. If j ≤ t,
/// write \[1, j − 1\] as a disjoint union of left blocks I₁, …, I_k, one for each 1 in the binary digits of j − 1. They end
/// at j − 1 < n or before, so each has its noise. Let
///
/// N′ = N − d, N′_I = N_I + d for I among I₁, …, I_k, and N′_I = N_I for all other I.
///
/// With noise N′ on x′, everything that is seen is the same as with noise N on x:
/// - *release i < j*: S_i is the same; N has lost d; of I₁, …, I_k exactly one contains i, for they are a partition of
///   \[1, j − 1\], and it has gained d;
/// - *release i ≥ j*: S_i has gained d, N has lost d, and none of I₁, …, I_k contains i;
/// - *X in memory*: as t ≥ j, S_t has gained d and N has lost d;
/// - *N_I in memory*: its block ends after t ≥ j, while I₁, …, I_k end at j − 1 or before; so it is none of them, and has not
///   changed. This is why memory must be erased: the noises that were changed are exactly ones that it no longer holds.
///
/// The shift maps whole numbers to whole numbers one to one, and changes k + 1 draws by |d| ≤ r. The probability of a draw
/// changes by a factor of e^(ε·r/(c·r·α)) at the most, so that of each view by at most e^(ε·(k+1)/(c·α)). Now k ≤ L: if n =
/// 2^L then j − 1 < 2^L has at most L digits; otherwise j − 1 ≤ n − 1 ≤ 2^(L+1) − 2, and the only number of L + 1 ones is
/// 2^(L+1) − 1. So k + 1 ≤ α, and the factor is at most e^(ε/c). A unit of c steps is c such shifts, one after the other: e^ε. ∎
///
/// It is attained: j = 2^L has k = L, and for a view that is far enough on the right side of all α draws the ratio is e^ε.
///
/// *Inputs chosen by an adversary* as it sees the releases, and a t chosen likewise: fix a view. On it, the adversary's
/// inputs and its choice of t are fixed, too (its own coins are independent of all noise), and the proof applies to
/// this view with these inputs; noise drawn later is independent of everything decided before. Summing over views gives
/// the claim.
///
/// *Seized within a step*, after some of the events of step t + 1 were added: the claim holds for the first t releases and the
/// memory at that moment. Memory is then X = N + S_t + p, with p the values of step t + 1 so far, and N_I for the blocks I
/// that contain t + 1 (those that end with it are still there). Let one event of step j ≤ t + 1, already added, change by d.
/// The same shift applies: X has gained d and N has lost it; I₁, …, I_k, the partition of \[1, j − 1\], end at t or
/// before, so none of them contains t + 1, and what is seen of the N_I has not changed; releases i ≤ t are as above. An
/// event that was not added yet is not in the view. The unit must be made of single events: the part of a step that was added
/// is not bounded by what a whole step may be.
///
/// It guarantees *nothing* about steps taken after the intrusion: with X and the next releases, the intruder learns the
/// next values. If an intrusion may go unnoticed, use [`PanPrivateSurviving`](super::PanPrivateSurviving).
///
/// # Accuracy
/// Release i has 1 + b draws, b the number of blocks that contain i: ⌈log₂n⌉ for i = 1, half of it on average.
///
/// # Algorithm
/// PPCum \[DNPR10, DR14\]; the notion is that of \[DNPRY10\], with two changes. N_I is drawn when I begins instead of
/// beforehand, which is the same law in O(log n) memory. And there is no noise on right blocks, nor on those that end
/// at n or later: no shift in the proof ever uses it. That removes half of the variance.
///
/// # Errors
/// If the stream has no end, or the guarantee is not a pure ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{Counter, CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let stream = Stream::bits().until(1000)?;
/// let mut visitors = CounterKind::PanPrivate.start(stream, Guarantee::Pure("1".parse()?), Permit::unaccounted()?)?;
/// let first = visitors.step(1)?;
/// assert!(visitors.save().is_err()); // what is saved can be seized, and more than once
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PanPrivate {
    stream: Stream,
    guarantee: Guarantee,
    law: DiscreteLaplace,
    blocks: Blocks,
}

impl Design for PanPrivate {
    fn new(stream: Stream, guarantee: Guarantee) -> Result<Self> {
        let horizon = design::horizon(&stream)?;
        let law = design::law(&stream, &guarantee, u64::from(horizon.ilog2()) + 1)?;
        // All of 1 to n − 1 has ⌈log₂n⌉ digits at the most.
        let levels = u64::BITS - (horizon - 1).leading_zeros();
        Ok(Self { stream, guarantee, law, blocks: Blocks::new(levels, horizon - 1) })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::PanPrivate
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn law(&self) -> &DiscreteLaplace {
        &self.law
    }

    fn terms(&self, step: u64) -> u64 {
        1 + self.blocks.count(step)
    }

    fn total_terms(&self, steps: u64) -> u128 {
        u128::from(steps) + self.blocks.total(steps)
    }

    fn most_terms(&self, _: u64) -> u64 {
        self.terms(1)
    }

    /// The running sum, then the noise of the open block of each level; 0 where none is open.
    fn cells(&self) -> usize {
        1 + self.blocks.levels() as usize
    }

    fn open(&self, cells: &mut [i128], step: u64, mut draw: impl FnMut(Noise) -> i64) {
        let (sum, noise) = cells.split_first_mut().expect("the running sum has a cell");
        if step == 1 {
            *sum = draw(Noise::Sum).into();
        }
        for level in self.blocks.beginning(step) {
            noise[level as usize] = draw(Noise::Beginning(level)).into();
        }
    }

    fn add(&self, cells: &mut [i128], _: u64, value: &i64) {
        cells[0] += i128::from(*value);
    }

    fn close(&self, cells: &mut [i128], step: u64, _: impl FnMut(Noise) -> i64) -> i128 {
        let (sum, noise) = cells.split_first_mut().expect("the running sum has a cell");
        let released = *sum + noise.iter().sum::<i128>();
        if let Some(level) = self.blocks.ending(step) {
            zeroize::Zeroize::zeroize(&mut noise[level as usize]);
        }
        released
    }

    fn seized(&self, cells: &[i128], steps: u64) -> Seized {
        let sum = (steps > 0).then(|| Cell::Sum { steps: 1..=steps, value: cells[0] });
        let noise = self.blocks.open_after(steps);
        let noise = noise.map(|(level, steps)| Cell::Noise { steps, value: cells[1 + level as usize] });
        Seized { after: steps, cells: sum.into_iter().chain(noise).collect() }
    }

    fn seized_within(&self, cells: &[i128], step: u64) -> Seized {
        let noise = |level| {
            let steps = self.blocks.around(level, step)?;
            Some(Cell::Noise { steps, value: cells[1 + level as usize] })
        };
        let sum = Cell::Sum { steps: 1..=step, value: cells[0] };
        let noise = (0..self.blocks.levels()).filter_map(noise);
        Seized { after: step - 1, cells: std::iter::once(sum).chain(noise).collect() }
    }
}
