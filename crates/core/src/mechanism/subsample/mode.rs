//! The answer that most blocks give, if it is stable.

use super::unanswered::Counted;
use super::vote::Vote;
use super::{Blocks, answer};
use crate::error::Result;
use crate::mechanism::stable::StableRelease;
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::ErrorBar;

/// Subsample and aggregate: runs any query on each of k disjoint blocks and releases the answer that most of them give,
/// or refuses.
///
/// The query may be anything: a classifier's choice, the best of several models, a range, a rounded number. It need not
/// be private, and nothing need be known about it. It is answered if its answer is stable across the data.
///
/// # Privacy
/// (ε, δ) for the answer and the noisy number of blocks without one, together. With the split fixed, one unit touches
/// at most j = [`Blocks::touched`] blocks, so it changes at most j of the k answers: adding or removing a unit changes
/// one, replacing one by a unit of another id up to two. The split is drawn independently of the rows; averaging over
/// it preserves (ε, δ).
///
/// Of these blocks, let a have different answers on two neighbours, and b an answer on one of them only. Let g be the
/// lead, the difference between the frequencies of the two most frequent answers, and s the number of blocks without an
/// answer, which is in none of the frequencies. An answer that changes moves two frequencies by 1 and so g by at most
/// 2, and not s; one that comes or goes moves one frequency, so g by at most 1, and s by 1. With noise of scale 2j/ε on
/// both, the loss is at most (2a + b)·ε/2j + b·ε/2j = (a + b)·ε/j ≤ ε: the number costs nothing. And if the most
/// frequent answer changes from v to w, f_v − f_w is ≥ 0 before, ≤ 0 after, and moves by at most 2j, so that g ≤ 2j on
/// both sides (if there is no answer at all on one side, g ≤ j on the other). That is what [`StableRelease`] requires
/// of a distance with C = 2j, and its proof holds with the noisy number beside the decision. If the noisy number is
/// more than k/2 the outcome is a refusal, which is post-processing.
///
/// *[With a default](SubsampleMode::with_default)* for blocks without an answer the lead moves by up to 2 where s does
/// by 1. So the number has a tenth of ε to itself, with noise of scale 10j/ε, and the test the rest; nothing is refused
/// for blocks without an answer.
///
/// For this the query must be a function of its block: no state kept from one block to the next, no clock, no files
/// that depend on the rows. It may be run on an empty block. Its running time is not hidden.
///
/// *Panics.* A query that panics on some block has no answer there. The panic's message is data: it goes to the panic
/// hook, which by default writes it to standard error, so install a silent hook if others can read that. Where panics
/// abort (WebAssembly, `panic = "abort"`) nothing can be caught, and the query must not panic.
///
/// # Accuracy
/// A released answer is exactly what most of the blocks that have an answer say. It is refused with probability
/// [`SubsampleMode::refusal_probability`] of g, which is at most k: with ε = 1 and δ = 10⁻⁸, a query on which 9 of 10
/// of 200 blocks agree is refused with probability below 10⁻²⁰. How well a block of n/k rows answers depends on the
/// query. The number of blocks without an answer is within ± 6·j/ε in 95 % of all cases, with a default within ± 30·j/ε.
///
/// # Algorithm
/// \[NRS07\] with the stable mode for values of any kind \[DR14\].
///
/// # Errors
/// If 2j/ε lies outside 0.001 to 2^50, if δ is below e^−4096, if there are so few blocks that even unanimous answers would be
/// refused more often than not, or (when releasing) if the permit does not cover (ε, δ).
///
/// # Example
/// Which range contains the median income? The ranges are public; so is the number of blocks.
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::subsample::{Blocks, SubsampleMode, Unit};
/// use reticent::privacy::Adjacency;
///
/// let incomes: Vec<u32> = (0..20_000).map(|person| 20_000 + person * 7919 % 50_000).collect();
/// let range = |block: &[u32]| {
///     let mut block = block.to_vec();
///     block.sort_unstable();
///     block.get(block.len() / 2).map_or(0, |median| median / 10_000) // 4: from 40,000 to 49,999
/// };
/// let blocks = Blocks::new(200, Unit::Row)?;
/// let mechanism = SubsampleMode::new(blocks, Adjacency::AddRemove, &"1".parse()?, &"1e-8".parse()?)?;
/// let outcome = mechanism.release(incomes, range, &mut Permit::unaccounted()?)?;
/// assert_eq!(outcome.released().unwrap().value(), &4);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SubsampleMode {
    blocks: Blocks,
    vote: Vote,
}

impl SubsampleMode {
    /// Over these blocks, for neighbours under `adjacency`.
    ///
    /// # Errors
    /// If 2j/ε lies outside 0.001 to 2^50, δ is below e^−4096, or there are too few blocks for any answer to be likely.
    pub fn new(blocks: Blocks, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        Self::of(blocks, adjacency, false, epsilon, delta)
    }

    /// The same for blocks that count as a default where they have no answer; see
    /// [`Round::decide_or`](super::Round::decide_or).
    ///
    /// # Errors
    /// As for [`SubsampleMode::new`].
    pub fn with_default(blocks: Blocks, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        Self::of(blocks, adjacency, true, epsilon, delta)
    }

    fn of(blocks: Blocks, adjacency: Adjacency, default: bool, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let parts = ("number of blocks", blocks.number());
        let vote = Vote::new(parts, blocks.touched(adjacency), default, (epsilon, delta), delta)?;
        Ok(Self { blocks, vote })
    }

    /// The guarantee of an outcome, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.vote.test().guarantee()
    }

    /// The test that the lead of the most frequent answer must pass.
    pub fn test(&self) -> &StableRelease {
        self.vote.test()
    }

    /// The probability of a refusal at this lead, at most, if every block has an answer.
    pub fn refusal_probability(&self, lead: u64) -> f64 {
        self.vote.refusal_probability(lead)
    }

    /// The error bar of the number of blocks without an answer.
    pub fn unanswered_error(&self) -> ErrorBar {
        self.vote.count_error()
    }

    pub(super) fn vote(&self) -> &Vote {
        &self.vote
    }

    /// The split.
    pub fn blocks(&self) -> &Blocks {
        &self.blocks
    }

    /// Runs `query` on every block; each row is a unit.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn release<T, A: Ord>(
        &self,
        rows: impl IntoIterator<Item = T>,
        query: impl Fn(&[T]) -> A,
        permit: &mut Permit,
    ) -> Result<Counted<A>> {
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split(rows, &mut draw);
        Ok(self.vote.decide(split.iter().map(|block| answer(&query, block)), None, &mut draw))
    }

    /// Runs `query` on every block; all rows with the same id are a unit, and so is a row without one.
    ///
    /// # Errors
    /// If the blocks are not for [`Unit::Id`](super::Unit::Id), or the permit does not cover (ε, δ).
    ///
    /// # Example
    /// Which colour do people buy most often, whatever any one of them buys?
    /// ```
    /// use std::collections::BTreeMap;
    ///
    /// use reticent::Permit;
    /// use reticent::mechanism::subsample::{Blocks, SubsampleMode, Unit};
    /// use reticent::privacy::Adjacency;
    ///
    /// let colours = ["blue", "blue", "blue", "green", "red"];
    /// let purchases: Vec<(u64, &str)> = (0..30_000).map(|sale| (sale / 3, colours[sale as usize % 5])).collect();
    /// let most_frequent = |block: &[(u64, &'static str)]| {
    ///     let mut counts = BTreeMap::new();
    ///     block.iter().for_each(|(_, colour)| *counts.entry(*colour).or_insert(0) += 1);
    ///     counts.into_iter().max_by_key(|(_, count)| *count).map(|(colour, _)| colour)
    /// };
    /// let blocks = Blocks::new(200, Unit::Id)?;
    /// let mechanism = SubsampleMode::new(blocks, Adjacency::Replace, &"1".parse()?, &"1e-8".parse()?)?;
    /// let buyer = |purchase: &(u64, &str)| Some(purchase.0.to_le_bytes());
    /// let outcome = mechanism.release_by(purchases, buyer, most_frequent, &mut Permit::unaccounted()?)?;
    /// assert_eq!(outcome.released().unwrap().value(), &Some("blue"));
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn release_by<T, I: AsRef<[u8]>, A: Ord>(
        &self,
        rows: impl IntoIterator<Item = T>,
        id: impl Fn(&T) -> Option<I>,
        query: impl Fn(&[T]) -> A,
        permit: &mut Permit,
    ) -> Result<Counted<A>> {
        self.blocks.check_ids()?;
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split_by(rows, id, &mut draw)?;
        Ok(self.vote.decide(split.iter().map(|block| answer(&query, block)), None, &mut draw))
    }
}
