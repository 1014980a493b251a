//! A counter that survives one unnoticed intrusion.

use super::super::kind::CounterKind;
use super::super::schedule::Schedule;
use super::super::stream::Stream;
use super::blocks::Blocks;
use super::design::{self, Design, Noise};
use super::seized::{Cell, Seized};
use crate::error::Result;
use crate::noise::DiscreteLaplace;
use crate::privacy::Guarantee;

/// A counter whose memory may be seized once, at any time between two steps, unnoticed: it keeps counting, and all its
/// releases, before and after, and what was seized are private together.
///
/// # Privacy
/// For any one t, *all* releases and the memory after step t together are ε-differentially private.
///
/// Let T be the horizon, L = ⌊log₂T⌋ and α = L + 1; let one unit change at most c steps by at most r. All noise is discrete
/// Laplace of scale c·r·α/ε, each draw independent. For each left dyadic block I that ends at T or before there are two
/// draws: s_I starts at Z_I when I begins, takes in the value of every step of I, and when I ends
///
/// y_I = s_I + F_I = Z_I + Σ_{i∈I} x_i + F_I
///
/// is published, and s_I and F_I are overwritten. Releases are sums of published y. So an intruder after step t who sees all
/// releases knows no more than every y_I, and for the blocks that contain t and end after it, s_I as it is then: Z_I plus
/// the values of the steps of I up to t.
///
/// *Proof.* Let x and x′ differ in step j alone, x′_j = x_j + d with |d| ≤ r. Step j lies in at most one block of each
/// level 0, …, L. For each block I that contains j:
/// - *if j ≤ t and I ends after t* (the intruder saw x_j within s_I), let Z′_I = Z_I − d, F′_I = F_I: the s_I that was seen
///   is the same, hence also y_I, which is s_I and later values and F_I;
/// - *otherwise* (I ended by t, so that s_I was gone; or j > t, so that x_j was not in s_I yet), let F′_I = F_I − d, Z′_I =
///   Z_I: s_I, where it was seen, has no x_j in it, and y_I is the same.
///
/// All other draws stay. With this noise everything seen on x′ is what it was on x. The shift maps whole numbers to whole
/// numbers one to one and moves one draw by |d| in each of at most α blocks: a factor of at most e^(ε·α·r/(c·r·α)) = e^(ε/c).
/// A unit of c steps is c such shifts, one after the other: e^ε. ∎
///
/// *Inputs chosen by an adversary*, also from what it found in memory, and a t chosen along the way: fix a view; on it,
/// inputs and t are fixed, and the shift for this t applies. What is drawn after the intrusion is independent of
/// everything found, because a fresh seed is mixed into the generator before every step.
///
/// *Seized within a step*, after some of the events of step t + 1 were added: the same, with "before" and "after"
/// decided by the event and not by its step. For each block I that contains the event's step: if the event was added
/// before the intrusion and I had not ended then, Z_I takes the change, else F_I does: s_I as it was seen, and y_I, are
/// unchanged. (Blocks that end with step t + 1 are open at that moment, and count as such.) The unit must be made of
/// single events: a whole step would be cut in two by the intrusion, and its parts can change by more than the whole.
///
/// *Two intrusions* at t < u are not survived: s_I at u minus s_I at t is the exact sum of what came between.
///
/// # Accuracy
/// Each y_I has two draws where `binary` has one of the same scale: twice its variance at every step, √2 times its error,
/// exactly.
///
/// # Algorithm
/// The binary counter \[CSS11\], with the noise of its p-sums added at both ends, as in \[DNPR10\]. Only left blocks
/// are kept, because no release uses others. When blocks end together the longest is used; the shorter ones are right
/// blocks.
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
/// let (stream, guarantee) = (Stream::bits().until(1000)?, Guarantee::Pure("1".parse()?));
/// let binary = CounterKind::Binary.plan(stream.clone(), guarantee.clone())?;
/// let mut visitors = CounterKind::PanPrivateSurviving.start(stream, guarantee, Permit::unaccounted()?)?;
/// visitors.advance(1)?;
/// assert_eq!(visitors.variance(77), 2.0 * binary.variance(77));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct PanPrivateSurviving {
    stream: Stream,
    guarantee: Guarantee,
    law: DiscreteLaplace,
    blocks: Blocks,
    /// The p-sums that a release adds up: left blocks only.
    schedule: Schedule,
}

impl Design for PanPrivateSurviving {
    fn new(stream: Stream, guarantee: Guarantee) -> Result<Self> {
        let horizon = design::horizon(&stream)?;
        let schedule = Schedule::binary(horizon);
        let law = design::law(&stream, &guarantee, schedule.sums_per_step())?;
        Ok(Self { stream, guarantee, law, blocks: Blocks::new(horizon.ilog2() + 1, horizon), schedule })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::PanPrivateSurviving
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
        2 * self.schedule.sums_per_answer(step)
    }

    fn total_terms(&self, steps: u64) -> u128 {
        2 * self.schedule.total_sums(steps)
    }

    fn most_terms(&self, steps: u64) -> u64 {
        2 * self.schedule.most_sums(steps)
    }

    /// s of the open block of each level, 0 where none is open; then y of the block of each level that the current
    /// release uses, 0 where it uses none.
    fn cells(&self) -> usize {
        2 * self.blocks.levels() as usize
    }

    fn open(&self, cells: &mut [i128], step: u64, mut draw: impl FnMut(Noise) -> i64) {
        for level in self.blocks.beginning(step) {
            cells[level as usize] = draw(Noise::Beginning(level)).into();
        }
    }

    fn add(&self, cells: &mut [i128], step: u64, value: &i64) {
        for level in 0..self.blocks.levels() {
            if self.blocks.around(level, step).is_some() {
                cells[level as usize] += i128::from(*value);
            }
        }
    }

    fn close(&self, cells: &mut [i128], step: u64, mut draw: impl FnMut(Noise) -> i64) -> i128 {
        let (open, published) = cells.split_at_mut(self.blocks.levels() as usize);
        // Some block ends with every step; it replaces all shorter ones in the release.
        if let Some(level) = self.blocks.ending(step) {
            let ended = &mut open[level as usize];
            published[level as usize] = *ended + i128::from(draw(Noise::Ending(level)));
            zeroize::Zeroize::zeroize(ended);
            published[..level as usize].fill(0);
        }
        published.iter().sum()
    }

    fn seized(&self, cells: &[i128], steps: u64) -> Seized {
        let (open, published) = cells.split_at(self.blocks.levels() as usize);
        let sums = self.blocks.open_after(steps);
        let sums = sums.map(|(level, steps)| Cell::Sum { steps, value: open[level as usize] });
        Seized { after: steps, cells: sums.chain(self.published(published, steps)).collect() }
    }

    fn seized_within(&self, cells: &[i128], step: u64) -> Seized {
        let (open, published) = cells.split_at(self.blocks.levels() as usize);
        let sum = |level| {
            let steps = self.blocks.around(level, step)?;
            Some(Cell::Sum { steps, value: open[level as usize] })
        };
        let sums = (0..self.blocks.levels()).filter_map(sum);
        Seized { after: step - 1, cells: sums.chain(self.published(published, step - 1)).collect() }
    }
}

impl PanPrivateSurviving {
    /// The parts of the last release, after this many steps.
    fn published(&self, published: &[i128], steps: u64) -> impl Iterator<Item = Cell> {
        self.schedule.answer(steps).into_iter().map(|steps| {
            let level = (steps.end() - steps.start() + 1).ilog2();
            Cell::Published { steps, value: published[level as usize] }
        })
    }
}
