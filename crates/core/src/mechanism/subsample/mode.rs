//! The answer that most blocks give, if it is stable.

use super::{Blocks, answer};
use crate::error::{Error, Result};
use crate::mechanism::stable::mode::mode_and_gap;
use crate::mechanism::stable::{Proposal, StableRelease};
use crate::permit::Permit;
use crate::privacy::{Adjacency, Delta, Epsilon, Guarantee};
use crate::release::Outcome;

/// Subsample and aggregate: runs any query on each of k disjoint blocks and releases the answer that most of them give,
/// or refuses.
///
/// The query may be anything: a classifier's choice, the best of several models, a range, a rounded number. It need not
/// be private, and nothing need be known about it. It is answered if its answer is stable across the data.
///
/// # Privacy
/// (ε, δ). With the split fixed, one unit touches at most j = [`Blocks::touched`] blocks, so it replaces at most j of
/// the k answers. With g the gap between the two most frequent answers and Δ = ⌈g/2⌉, that changes Δ by at most j; and
/// if it changes the most frequent answer from v to w, f_v − f_w is ≥ 0 before, ≤ 0 after, and changes by at most 2j,
/// so that g ≤ 2j and Δ ≤ j on both sides. That is what [`StableRelease`] requires, with C = j. The split is drawn
/// independently of the rows; averaging over it preserves (ε, δ).
///
/// For this the query must be a function of its block: no state kept from one block to the next, no clock, no files
/// that depend on the rows. It may be run on an empty block. Its running time is not hidden.
///
/// *Panics.* A query that panics on some block has no answer there; that is counted like any other answer, and if most
/// blocks have none, the outcome is a refusal. The panic's message is data: it goes to the panic hook, which by default
/// writes it to standard error, so install a silent hook if others can read that. Where panics abort (WebAssembly,
/// `panic = "abort"`) nothing can be caught, and the query must not panic.
///
/// # Accuracy
/// A released answer is exactly what most blocks say. It is refused with probability
/// [`StableRelease::refusal_probability`] of ⌈g/2⌉, which is at most ⌈k/2⌉: with ε = 1 and δ = 10⁻⁸, a query on which 9
/// of 10 of 200 blocks agree is refused with probability below 10⁻²⁰. How well a block of n/k rows answers depends on
/// the query.
///
/// # Algorithm
/// \[NRS07\] with the stable mode for values of any kind \[DR14\].
///
/// # Errors
/// If C/ε lies outside 0.001 to 2^50, if δ is below e^−4096, if there are so few blocks that even unanimous answers would be
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
    test: StableRelease,
}

impl SubsampleMode {
    /// Over these blocks, for neighbours under `adjacency`.
    ///
    /// # Errors
    /// If C/ε lies outside 0.001 to 2^50, δ is below e^−4096, or there are too few blocks for any answer to be likely.
    pub fn new(blocks: Blocks, adjacency: Adjacency, epsilon: &Epsilon, delta: &Delta) -> Result<Self> {
        let test = StableRelease::new(blocks.touched(adjacency), epsilon, delta)?;
        if test.threshold() > blocks.number().div_ceil(2) {
            return Err(Error::parameter("number of blocks", blocks.number(), TOO_FEW));
        }
        Ok(Self { blocks, test })
    }

    /// The guarantee of an outcome, which is also its cost.
    pub fn guarantee(&self) -> &Guarantee {
        self.test.guarantee()
    }

    /// The test that the most frequent answer must pass.
    pub fn test(&self) -> &StableRelease {
        &self.test
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
    ) -> Result<Outcome<A>> {
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split(rows, &mut draw);
        Ok(self.test.decide(propose(split.iter().map(|block| answer(&query, block))), &mut draw))
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
    ) -> Result<Outcome<A>> {
        self.blocks.check_ids()?;
        let mut draw = permit.spend(self.guarantee())?;
        let split = self.blocks.split_by(rows, id, &mut draw)?;
        Ok(self.test.decide(propose(split.iter().map(|block| answer(&query, block))), &mut draw))
    }
}

/// Why a number of blocks, or of samples, is too small.
pub(super) const TOO_FEW: &str =
    "larger: with so few, even unanimous answers would be refused more often than not at this epsilon and delta";

/// The most frequent answer, counting "no answer" as one, at distance ⌈gap/2⌉.
pub(super) fn propose<A: Ord>(answers: impl Iterator<Item = Option<A>>) -> Proposal<A> {
    let (mode, gap) = mode_and_gap(answers.map(|answer| (answer, 1)));
    Proposal { answer: mode.flatten(), distance: gap.div_ceil(2) }
}
