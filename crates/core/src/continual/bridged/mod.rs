//! `bridged`: noise bridged between boundaries.

mod block;
mod choose;
mod state;
#[cfg(test)]
mod tests;
mod worst;

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

pub use block::BlockPlan;
pub use state::Bridges;

use self::block::Block;
use super::kind::CounterKind;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::noise::DiscreteLaplace;
use crate::privacy::{Epsilon, Guarantee};

/// What rounding to a whole number adds to the variance.
const ROUNDING: f64 = 1.0 / 12.0;

/// A tree of p-sums in which every level corrects the levels below it.
///
/// The steps are divided into blocks, a block into k₁ children, these into k₂ children each, down to single steps. Every
/// block and every node has a noisy sum. The noise W at the boundaries of blocks is the running sum of the noise on blocks.
/// On entering a node from lo to hi, where W_lo and W_hi are known already, the noise z₁ … z_k of its children is drawn at
/// once, and W at the end of child j is
///
/// W_j = W_lo + z₁ + … + z_j + (j/k)·(W_hi − W_lo − z₁ − … − z_k):
///
/// the sum of the noisy children, corrected by what is known of the whole node. The blocks of a stream without end grow
/// sixteenfold.
///
/// # Privacy
/// ε-differential privacy; each step is in one block and one node of each level inside, whose parts of ε add up to ε.
///
/// *The answers are a function of y = R·x + z*, where R is the 0/1 matrix of all nodes. Fixed point 2^−f, f = 20. Let X_b be
/// the exact sum up to boundary b and Y_b = 2^f·X_b + W_b. At boundaries of blocks Y_b is 2^f times a sum of entries of y.
/// Inside a node let c be whole numbers, Σc = X_hi − X_lo the children's sums and y_j = c_j + z_j. The code rounds the
/// correction to g_j(W_hi − W_lo − 2^f·Σz), with a fixed function g_j of whole numbers. As 2^f·Σc = 2^f·(X_hi − X_lo),
/// W_hi − W_lo − 2^f·Σz = Y_hi − Y_lo − 2^f·Σy: the data cancel, whatever g_j is. So Y_j = Y_lo + 2^f·(y₁ + … + y_j) +
/// g_j(Y_hi − Y_lo − 2^f·Σy) is a function of y if Y_lo and Y_hi are, and by induction all are. What is released is X_t +
/// ⌊W_t/2^f + ½⌋ = ⌊Y_t/2^f + ½⌋, because X_t is whole and the floor commutes with adding whole numbers. (Rounding halves
/// towards 0 would not.)
///
/// *Inputs may depend on earlier answers*, although answers use noise of nodes that reach into the future. Fix the answers
/// o. They fix the inputs on both sides, x(o) and x′(o), which differ by one unit. The map z → z + R·(x(o) − x′(o)) takes the
/// noise that gives o with x(o) to the noise that gives o with x′(o), one to one, and changes its probability by at most
/// e^ε. (For Gaussian noise such a bound holds only on average over z, so that this does not carry over: ρ is refused.)
///
/// # Accuracy
/// With u = j/k, V the variance of W and D that of W_hi − W_lo, Var W_j = (1−u)·V_lo + u·V_hi + u(1−u)·(k·σ² − D), and D is
/// the same for all nodes of a level. So the variance at a step is a straight line through its block plus, for each level, a
/// polygon. Rounding is taken to add 1/12: its error is all but uniform and uncorrelated with W as soon as W is spread over
/// a few whole numbers; it never exceeds ½. At the ends of blocks W is whole.
///
/// The blocks, the fan-outs and the parts of ε are those of the least average variance over the horizon. The average error
/// at ε = 1 for 2^10, 2^16, 2^20 and 2^24 steps is 10.9, 20.4, 27.8 and 35.9; without knowing the horizon 13.5, 23.7, 32.0
/// and 40.9.
///
/// # Algorithm
/// Consistency from above as in \[HRMS10\], here for prefix sums and without waiting for the levels below.
///
/// # Errors
/// Guarantees other than pure ε are refused.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{Counter, CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let stream = Stream::bits().until(1 << 20)?;
/// let plan = CounterKind::Bridged.plan(stream, Guarantee::Pure("1".parse()?))?;
/// assert!(plan.average_variance(1 << 20).sqrt() < 27.9);
/// let mut counter = plan.start(Permit::unaccounted()?)?;
/// println!("{}", counter.step(1)?.value());
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Bridged {
    stream: Stream,
    guarantee: Guarantee,
    plan: BlockPlans,
    blocks: Vec<Block>,
    /// For each block: the steps before it, and the variance at its beginning.
    begins: Vec<(u64, f64)>,
}

/// The blocks from the first step on; the last is repeated for as long as there are steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockPlans(pub Vec<BlockPlan>);

/// A step's block, by index and by number of repetitions of the last one before it.
struct Place<'a> {
    block: &'a Block,
    index: u64,
    /// The step within the block, from 1.
    offset: u64,
    /// The variance at the block's beginning.
    begin: f64,
}

impl Bridged {
    #[inline]
    fn place(&self, step: u64) -> Place<'_> {
        let found = self.begins.partition_point(|(before, _)| *before < step).saturating_sub(1);
        let (before, begin) = self.begins[found];
        let block = &self.blocks[found];
        let offset = step - before;
        if offset <= block.length {
            return Place { block, index: found as u64, offset, begin };
        }
        let repeated = (offset - 1) / block.length;
        Place {
            block,
            index: found as u64 + repeated,
            offset: offset - repeated * block.length,
            begin: begin + repeated as f64 * block.whole.variance(),
        }
    }

    fn block(&self, index: u64) -> &Block {
        &self.blocks[(index as usize).min(self.blocks.len() - 1)]
    }

    /// Visits every block with a step among the first `steps`: the block, the variance at its beginning, and how many
    /// of its steps are among them.
    fn visit(&self, steps: u64, mut each: impl FnMut(&Block, f64, u64)) {
        let (mut before, mut begin) = (0u64, 0.0);
        let mut index = 0;
        while before < steps {
            let block = self.block(index);
            let within = block.length.min(steps - before);
            each(block, begin, within);
            before += within;
            begin += block.whole.variance();
            index += 1;
        }
    }

    /// Over the answers at steps 1 to `steps`: the variance of the narrowest law, and an upper bound on that of the
    /// largest weighted term, as in [`Strategy::shape`]. A block's own weight grows with the part of it that is over.
    pub(super) fn extremes(&self, steps: u64) -> (f64, f64) {
        let (mut narrowest, mut largest) = (f64::INFINITY, 0.0_f64);
        self.visit(steps, |block, _, within| {
            let weight = within as f64 / block.length as f64;
            narrowest = narrowest.min(block.whole.variance());
            largest = largest.max(weight * weight * block.whole.variance());
            if block.length > 1 {
                narrowest = narrowest.min(block.inside.variance());
                largest = largest.max(block.inside.variance());
            }
        });
        (narrowest, largest)
    }

    /// The next step's noise in fixed point, from a source of draws.
    #[inline]
    fn draw_next<'a>(&'a self, state: &mut Bridges, fill: impl FnMut(&'a DiscreteLaplace, &mut [i64])) -> i128 {
        state.next(|index| self.block(index), fill)
    }
}

/// # Errors
/// If the guarantee is not a pure ε.
fn pure(guarantee: &Guarantee) -> Result<&Epsilon> {
    match guarantee {
        Guarantee::Pure(epsilon) => Ok(epsilon),
        Guarantee::Zcdp(_) | Guarantee::Approx(..) => {
            Err(Error::parameter("guarantee", guarantee, "given as epsilon alone for this counter"))
        }
    }
}

impl Strategy for Bridged {
    type Parameters = BlockPlans;
    type State = Bridges;

    fn choose(stream: &Stream, guarantee: &Guarantee) -> Result<BlockPlans> {
        let epsilon = pure(guarantee)?;
        Ok(BlockPlans(match stream.steps() {
            Some(steps) => choose::for_steps(stream, epsilon, steps),
            None => choose::without_end(),
        }))
    }

    fn new(stream: Stream, guarantee: Guarantee, parameters: BlockPlans) -> Result<Self> {
        let epsilon = pure(&guarantee)?;
        if parameters.0.is_empty() {
            return Err(Error::parameter("blocks", "none", "at least one"));
        }
        let blocks = parameters.0.iter().map(|plan| Block::new(&stream, epsilon, plan)).collect::<Result<Vec<_>>>()?;
        let mut begins = Vec::new();
        let (mut before, mut begin) = (0u64, 0.0);
        for block in &blocks {
            begins.push((before, begin));
            before = before.saturating_add(block.length);
            begin += block.whole.variance();
        }
        Ok(Self { stream, guarantee, plan: parameters, blocks, begins })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::Bridged
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> BlockPlans {
        self.plan.clone()
    }

    fn begin(&self) -> Bridges {
        Bridges::new()
    }

    fn fits(&self, state: &Bridges, steps: u64) -> bool {
        if steps == 0 {
            return state.is_new();
        }
        let Place { block, index, offset, .. } = self.place(steps);
        state.fits(block, index + 1, offset)
    }

    #[inline]
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Bridges, _: u64, rng: &mut R) -> i128 {
        state::rounded(self.draw_next(state, |law, draws| law.fill(rng, draws)))
    }

    #[inline]
    fn variance(&self, step: u64) -> f64 {
        let Place { block, offset, begin, .. } = self.place(step);
        let rounding = if offset == block.length { 0.0 } else { ROUNDING };
        begin + block.variance(offset) + rounding
    }

    fn average_variance(&self, steps: u64) -> f64 {
        let mut sum = 0.0;
        self.visit(steps, |block, begin, within| {
            let rounded = if within == block.length { within - 1 } else { within };
            sum += begin * within as f64 + block.total_variance(within) + rounded as f64 * ROUNDING;
        });
        sum / steps as f64
    }

    fn worst_variance(&self, steps: u64) -> f64 {
        let mut found = 0.0;
        self.visit(steps, |block, begin, within| found = worst::worst(block, begin, within, ROUNDING, found));
        found
    }

    /// The largest term is bounded by the largest variance of any draw that the answer uses; the open block's has the weight
    /// of the part that is over, the others at most 1.
    fn shape(&self, step: u64) -> Shape<'_> {
        let Place { block, index, offset, begin } = self.place(step);
        let past = (0..index.min(self.blocks.len() as u64)).map(|index| (self.block(index).whole.variance(), 1.0));
        let whole = (block.whole.variance(), offset as f64 / block.length as f64);
        let inside = (offset < block.length).then(|| (block.inside.variance(), 1.0));
        let terms = past.chain([whole]).chain(inside);
        let extremes =
            |(least, most): (f64, f64), (one, weight): (f64, f64)| (least.min(one), most.max(weight * weight * one));
        let (narrowest, largest) = terms.fold((f64::INFINITY, 0.0), extremes);
        let rounding = if offset == block.length { 0.0 } else { ROUNDING };
        Shape::Weighted { variance: begin + block.variance(offset) + rounding, largest, narrowest }
    }

    fn state_bytes(&self) -> usize {
        let bytes = |block: &Block| {
            let bounds = |fan_out: u64| (fan_out as usize + 1) * size_of::<i128>() + size_of::<Vec<i128>>();
            block.levels.iter().map(|level| bounds(level.fan_out)).sum::<usize>()
        };
        size_of::<Bridges>() + self.blocks.iter().map(bytes).max().unwrap_or(0)
    }
}
