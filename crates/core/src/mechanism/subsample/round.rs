//! A mechanism step by step: rows are assigned one by one, the blocks' queries run elsewhere, their answers come back.

use std::fmt;

use super::blocks::Lots;
use super::{Counted, SubsampleMean, SubsampleMode};
use crate::error::{Error, Result};
use crate::permit::{Permit, PermittedDraw};

/// [`SubsampleMode`] or [`SubsampleMean`] in three steps, for blocks that are too large to be held in memory or are
/// queried by several processes at once: assigning each row to a block, running the queries, and the release.
///
/// # Privacy
/// That of the mechanism, paid for when the round begins, provided that two things hold as in
/// [`SubsampleMode::release`]: every row goes to the block that [`Round::block`] returns, and each answer is computed
/// from its own block alone. A block without an answer is `None`; that is counted, too.
///
/// # Errors
/// If the number of answers is not the number of blocks. It must not depend on the rows.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::subsample::{Blocks, SubsampleMode, Unit};
/// use reticent::privacy::Adjacency;
///
/// let blocks = Blocks::new(100, Unit::Id)?;
/// let mechanism = SubsampleMode::new(blocks, Adjacency::AddRemove, &"1".parse()?, &"1e-8".parse()?)?;
/// let mut permit = Permit::unaccounted()?;
/// let mut round = mechanism.begin(&mut permit)?;
/// let mut sums = vec![0u64; 100];
/// for (person, visits) in (0..10_000u64).map(|person| (person, 1 + person % 3)) {
///     sums[round.block(Some(&person.to_le_bytes()))] += visits;
/// }
/// let answers = sums.iter().map(|sum| Some(*sum > 50)); // perhaps by as many processes
/// assert_eq!(round.decide(answers)?.released().unwrap().value(), &true);
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct Round<'permit, M> {
    mechanism: &'permit M,
    lots: Lots,
    draw: PermittedDraw<'permit>,
}

impl<M: fmt::Debug> fmt::Debug for Round<'_, M> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Round").field("mechanism", self.mechanism).finish_non_exhaustive()
    }
}

impl<M> Round<'_, M> {
    /// The block of the next row, counted from 0: that of its id, or a random one for a row without an id. If each row
    /// is a unit, ids are ignored.
    pub fn block(&mut self, id: Option<&[u8]>) -> usize {
        self.lots.block(id, &mut self.draw)
    }
}

impl SubsampleMode {
    /// Pays for a round and starts it.
    ///
    /// # Errors
    /// If the permit does not cover (ε, δ).
    pub fn begin<'permit>(&'permit self, permit: &'permit mut Permit) -> Result<Round<'permit, Self>> {
        let mut draw = permit.spend(self.guarantee())?;
        let lots = self.blocks().lots(&mut draw);
        Ok(Round { mechanism: self, lots, draw })
    }
}

impl Round<'_, SubsampleMode> {
    /// Releases the most frequent answer, or refuses.
    ///
    /// # Errors
    /// If the number of answers is not the number of blocks.
    pub fn decide<A: Ord>(mut self, answers: impl ExactSizeIterator<Item = Option<A>>) -> Result<Counted<A>> {
        check(answers.len(), self.mechanism.blocks().number())?;
        Ok(self.mechanism.vote().decide(answers, None, &mut self.draw))
    }

    /// [`Round::decide`], where `default` counts for blocks without an answer.
    ///
    /// # Errors
    /// If the number of answers is not the number of blocks, or the mechanism was not made
    /// [with a default](SubsampleMode::with_default): the number of blocks without an answer would not be paid for.
    pub fn decide_or<A: Ord>(
        mut self,
        answers: impl ExactSizeIterator<Item = Option<A>>,
        default: A,
    ) -> Result<Counted<A>> {
        check(answers.len(), self.mechanism.blocks().number())?;
        if !self.mechanism.vote().takes_default() {
            return Err(Error::parameter("default", "given", "one that the mechanism was made with"));
        }
        Ok(self.mechanism.vote().decide(answers, Some(default), &mut self.draw))
    }
}

impl SubsampleMean {
    /// Pays for a round and starts it.
    ///
    /// # Errors
    /// If the permit does not cover ε.
    pub fn begin<'permit>(&'permit self, permit: &'permit mut Permit) -> Result<Round<'permit, Self>> {
        let mut draw = permit.spend(self.guarantee())?;
        let lots = self.blocks().lots(&mut draw);
        Ok(Round { mechanism: self, lots, draw })
    }
}

impl Round<'_, SubsampleMean> {
    /// Releases the noisy mean of the answers; or refuses, if most blocks have none.
    ///
    /// # Errors
    /// If the number of answers is not the number of blocks.
    pub fn decide(mut self, answers: impl ExactSizeIterator<Item = Option<i64>>) -> Result<Counted<f64>> {
        check(answers.len(), self.mechanism.blocks().number())?;
        Ok(self.mechanism.aggregate(answers, &mut self.draw))
    }
}

/// One answer per block or sample: with more or fewer, one unit would have more influence than the noise covers.
pub(super) fn check(answers: usize, blocks: u64) -> Result<()> {
    if answers as u64 != blocks {
        return Err(Error::parameter("number of answers", answers, "the number of blocks or samples"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Blocks, Unit};
    use super::*;
    use crate::noise::Entropy;
    use crate::privacy::Adjacency;

    const BLOCKS: usize = 50;

    fn mode(unit: Unit) -> SubsampleMode {
        let blocks = Blocks::new(BLOCKS as u64, unit).unwrap();
        SubsampleMode::new(blocks, Adjacency::AddRemove, &"1".parse().unwrap(), &"1e-6".parse().unwrap()).unwrap()
    }

    /// The mechanism at once and step by step makes the same draws, so the results must agree.
    #[test]
    fn a_round_gives_what_the_whole_mechanism_gives() {
        let rows: Vec<(u64, u64)> = (0..3000).map(|row| (row % 700, row)).collect();
        let query = |block: &[(u64, u64)]| block.iter().map(|(_, value)| value).sum::<u64>() / 60_000;
        let mean = SubsampleMean::new(
            Blocks::new(BLOCKS as u64, Unit::Id).unwrap(),
            0..=9,
            Adjacency::AddRemove,
            &"1".parse().unwrap(),
        )
        .unwrap();
        let mode = mode(Unit::Id);
        for seed in 0..20 {
            let permit = || Permit::unaccounted_from(Entropy::seeded(seed));
            fn dealt<M>(round: &mut Round<'_, M>, rows: &[(u64, u64)]) -> Vec<Vec<(u64, u64)>> {
                let mut blocks = vec![Vec::new(); BLOCKS];
                rows.iter().for_each(|row| blocks[round.block(Some(&row.0.to_le_bytes()))].push(*row));
                blocks
            }
            let id = |row: &(u64, u64)| Some(row.0.to_le_bytes());
            let mut paid = permit();
            let mut round = mode.begin(&mut paid).unwrap();
            let blocks = dealt(&mut round, &rows);
            let outcome = round.decide(blocks.iter().map(|block| Some(query(block)))).unwrap();
            assert_eq!(outcome, mode.release_by(rows.clone(), id, query, &mut permit()).unwrap());

            let mut paid = permit();
            let mut round = mean.begin(&mut paid).unwrap();
            let blocks = dealt(&mut round, &rows);
            let released = round.decide(blocks.iter().map(|block| Some(query(block) as i64))).unwrap();
            let whole = mean.release_by(rows.clone(), id, |block| query(block) as i64, &mut permit()).unwrap();
            assert_eq!(released, whole);
        }
    }

    /// If rows are units an id must not decide: all rows of one id in one block would move together.
    #[test]
    fn ids_are_ignored_where_rows_are_units() {
        let blocks_of_one_id = |unit: Unit| {
            let (mechanism, mut permit) = (mode(unit), Permit::unaccounted_from(Entropy::seeded(1)));
            let mut round = mechanism.begin(&mut permit).unwrap();
            (0..1000).map(|_| round.block(Some(b"ada"))).collect::<std::collections::BTreeSet<_>>().len()
        };
        assert_eq!(blocks_of_one_id(Unit::Id), 1);
        // That one of 50 blocks stays empty has probability below 50·0.98^1000 < 1e-7.
        assert_eq!(blocks_of_one_id(Unit::Row), BLOCKS);
    }

    #[test]
    fn every_block_has_one_answer_and_no_answer_is_one() {
        let mechanism = mode(Unit::Row);
        let decide = |answers: usize, answer: Option<u8>| {
            let mut permit = Permit::unaccounted_from(Entropy::seeded(2));
            mechanism.begin(&mut permit).unwrap().decide((0..answers).map(|_| answer))
        };
        for answers in [0, BLOCKS - 1, BLOCKS + 1] {
            assert!(decide(answers, Some(1)).unwrap_err().is_parameter());
        }
        assert_eq!(decide(BLOCKS, Some(1)).unwrap().released().unwrap().value(), &1);
        assert!(decide(BLOCKS, None).unwrap().released().is_none());
    }
}
