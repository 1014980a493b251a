//! Which block a unit's rows go to.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};

use crate::error::{Error, Result};
use crate::noise::bits::always;
use crate::noise::uniform::below;
use crate::privacy::Adjacency;

/// A larger number of blocks is a mistake.
const MOST_BLOCKS: u64 = 1 << 24;

/// The privacy unit for splitting rows into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Each row is a unit and goes to a random block of its own.
    Row,
    /// All rows with the same id are one unit and go to the same block; a row without an id is its own unit.
    Id,
}

/// A random split of a table into a fixed number of blocks, with each unit in one of them.
///
/// # Privacy
/// The assignment is drawn independently of the rows' content, so a guarantee that holds for every assignment holds on
/// average over them. With the assignment fixed, let j be the number of blocks in which neighbours can differ:
///
/// | unit | add/remove | replace |
/// |---|---|---|
/// | row | 1 | 1: the new row takes the old row's place |
/// | id | 1 | 2: the new unit may have another id, and so another block |
///
/// Multiply by the group size if blocks are [run together](Blocks::asked_together).
///
/// A row's block is a fresh draw. Its position in the table would not do: with one row less all later rows would move
/// to other blocks. For rows with their own draws, neighbours are compared draw by draw, so that only the row in
/// question makes a difference; an id's block is a function of the id and a key, for which the same is true whatever
/// the key. So privacy does not depend on the keyed function being pseudorandom; only the similarity of the blocks does.
///
/// Blocks keep the order of the input. A block's answer may depend on that order as long as neighbouring tables list
/// their other rows in the same order; where they may not (a table sorted by something a unit can change), it must not.
///
/// # Example
/// ```
/// use reticent::mechanism::subsample::{Blocks, Unit};
/// use reticent::noise::Entropy;
///
/// let visits = [("ada", 3), ("bob", 1), ("ada", 4), ("eve", 1), ("ada", 5)];
/// let blocks = Blocks::new(3, Unit::Id)?;
/// let split = blocks.split_by(visits, |visit| Some(visit.0), &mut Entropy::from_os()?.draw()?)?;
/// assert_eq!(split.len(), 3);
/// let ada = split.iter().find(|block| block.contains(&("ada", 3))).unwrap();
/// assert!(ada.contains(&("ada", 4)) && ada.contains(&("ada", 5)));
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    number: u64,
    unit: Unit,
    /// How many blocks run at a time, if one can affect the others.
    together: u64,
}

impl Blocks {
    /// A split into `number` blocks. The number is public: it must not be chosen by looking at the rows.
    ///
    /// # Errors
    /// If the number is 0 or above 2^24.
    pub fn new(number: u64, unit: Unit) -> Result<Self> {
        if number == 0 || number > MOST_BLOCKS {
            return Err(Error::parameter("number of blocks", number, "from 1 to 2^24"));
        }
        Ok(Self { number, unit, together: 1 })
    }

    /// The same blocks, run this many at a time where one may take time, memory or disk from the others: in fixed
    /// groups, each of which ends before the next one begins.
    ///
    /// # Privacy
    /// One unit may make its block's query so greedy that the others in its group give a different answer, or none. It
    /// then affects the whole group, which [`Blocks::touched`] takes into account.
    ///
    /// # Errors
    /// If it is 0 or above 2^24.
    pub fn asked_together(self, together: u64) -> Result<Self> {
        if together == 0 || together > MOST_BLOCKS {
            return Err(Error::parameter("number of blocks at a time", together, "from 1 to 2^24"));
        }
        Ok(Self { together, ..self })
    }

    /// The number of blocks.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The privacy unit.
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// In how many blocks neighbours can differ.
    pub fn touched(&self, adjacency: Adjacency) -> u64 {
        let own = match (self.unit, adjacency) {
            (Unit::Row, _) | (Unit::Id, Adjacency::AddRemove) => 1,
            (Unit::Id, Adjacency::Replace) => 2,
        };
        own * self.together
    }

    /// Splits rows, each a unit.
    pub fn split<T, R: CryptoRng + ?Sized>(&self, rows: impl IntoIterator<Item = T>, rng: &mut R) -> Vec<Vec<T>> {
        let lots = Lots { number: self.number, key: None };
        let mut blocks = self.empty();
        for row in rows {
            blocks[lots.block(None, rng)].push(row);
        }
        blocks
    }

    /// Splits rows by their ids, under a fresh key.
    ///
    /// `id` must be a function of the row alone, and must not panic.
    ///
    /// # Errors
    /// If the split is for [`Unit::Row`]: its guarantee would not hold.
    pub fn split_by<T, I: AsRef<[u8]>, R: CryptoRng + ?Sized>(
        &self,
        rows: impl IntoIterator<Item = T>,
        id: impl Fn(&T) -> Option<I>,
        rng: &mut R,
    ) -> Result<Vec<Vec<T>>> {
        self.check_ids()?;
        let lots = self.lots(rng);
        let mut blocks = self.empty();
        for row in rows {
            let block = lots.block(id(&row).as_ref().map(AsRef::as_ref), rng);
            blocks[block].push(row);
        }
        Ok(blocks)
    }

    /// A fresh assignment, under a fresh key where units have ids.
    pub(super) fn lots<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> Lots {
        let key = match self.unit {
            Unit::Row => None,
            Unit::Id => Some(BlockKey::draw(rng)),
        };
        Lots { number: self.number, key }
    }

    /// Checks that the split is for ids.
    pub(super) fn check_ids(&self) -> Result<()> {
        match self.unit {
            Unit::Id => Ok(()),
            Unit::Row => Err(Error::parameter("unit of the blocks", "a row", "an id when rows are split by their ids")),
        }
    }

    fn empty<T>(&self) -> Vec<Vec<T>> {
        (0..self.number).map(|_| Vec::new()).collect()
    }
}

/// One random assignment: yields the block of each row in turn.
#[derive(Debug)]
pub(super) struct Lots {
    number: u64,
    /// `None` if each row is a unit: there an id would tie rows together that may change one by one.
    key: Option<BlockKey>,
}

impl Lots {
    /// The block of the next row: that of its id, or a fresh draw.
    pub(super) fn block<R: CryptoRng + ?Sized>(&self, id: Option<&[u8]>, rng: &mut R) -> usize {
        match (&self.key, id) {
            (Some(key), Some(id)) => key.block(id, self.number) as usize,
            _ => always(below(self.number, rng)) as usize,
        }
    }
}

/// The key of a function from ids to blocks, for one release: rows spread over several machines find their blocks
/// by it without coordination.
///
/// # Accuracy
/// Blocks are equally likely up to one part in 2^64/blocks, and independent as far as ChaCha20 is pseudorandom: an
/// adversary who chooses the ids cannot aim at a block.
///
/// # Algorithm
/// The cascade \[BCK96\] over the ChaCha20 block function, which maps a 256-bit key and 128 bits (counter and nonce) to
/// 64 bytes: the id is prefixed by its length, which makes the encoding prefix-free, and cut into pieces of 128 bits;
/// each piece turns the key into the next one. An id of 8 bytes takes one call. The last output's first 64 bits u give
/// the block ⌊u·blocks/2^64⌋.
#[derive(Clone)]
pub struct BlockKey([u8; 32]);

impl fmt::Debug for BlockKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BlockKey(…)")
    }
}

impl BlockKey {
    /// A fresh key.
    pub fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut key = [0; 32];
        rng.fill_bytes(&mut key);
        Self(key)
    }

    /// The block of an id, below `blocks`.
    ///
    /// ```
    /// use reticent::mechanism::subsample::BlockKey;
    /// use reticent::noise::Entropy;
    ///
    /// let key = BlockKey::draw(&mut Entropy::from_os()?.draw()?);
    /// assert_eq!(key.block(b"ada", 200), key.block(b"ada", 200));
    /// assert!(key.block(&42u64.to_le_bytes(), 200) < 200);
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn block(&self, id: &[u8], blocks: u64) -> u64 {
        let word = |bytes: &[u8]| {
            let mut padded = [0; 8];
            padded[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(padded)
        };
        let (first, rest) = id.split_at(id.len().min(8));
        let mut output = step(self.0, id.len() as u64, word(first));
        for piece in rest.chunks(16) {
            let (low, high) = piece.split_at(piece.len().min(8));
            output = step(output, word(low), word(high));
        }
        ((u128::from(word(&output[..8])) * u128::from(blocks)) >> 64) as u64
    }
}

/// The first half of the ChaCha20 block at this counter and nonce.
fn step(key: [u8; 32], counter: u64, nonce: u64) -> [u8; 32] {
    let mut generator = ChaCha20Rng::from_seed(key);
    generator.set_stream(nonce);
    generator.set_block_pos(counter);
    let mut output = [0; 32];
    generator.fill_bytes(&mut output);
    output
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::noise::Entropy;

    /// 100,000 ids over 7 blocks, each share within 5.5 standard deviations (1e-6 for all): 4 % of a block is detected.
    fn assert_even(blocks: impl Iterator<Item = usize>) {
        let mut counts = BTreeMap::new();
        blocks.for_each(|block| *counts.entry(block).or_insert(0) += 1);
        let total = counts.values().sum::<i32>() as f64;
        assert_eq!(counts.len(), 7);
        for count in counts.into_values() {
            let spread = (total * (1.0 / 7.0) * (6.0 / 7.0)).sqrt();
            assert!((f64::from(count) - total / 7.0).abs() < 5.5 * spread, "{count}");
        }
    }

    #[test]
    fn blocks_are_equally_likely() {
        let mut entropy = Entropy::seeded(1);
        let mut rng = entropy.draw().unwrap();
        let key = BlockKey::draw(&mut rng);
        assert_even((0..100_000u64).map(|id| key.block(&id.to_le_bytes(), 7) as usize));
        assert_even((0..100_000).map(|id| key.block(format!("a longer name, {id}").as_bytes(), 7) as usize));
        // The same id under many keys.
        assert_even((0..100_000).map(|_| BlockKey::draw(&mut rng).block(b"ada", 7) as usize));
        let split = Blocks::new(7, Unit::Row).unwrap().split(0..100_000, &mut rng);
        assert_even(split.iter().enumerate().flat_map(|(block, rows)| vec![block; rows.len()]));
    }

    /// Padding and cutting never make two ids the same: all strings of zeros and ones up to 26 bytes with few ones.
    #[test]
    fn different_ids_are_different_to_the_key() {
        let key = BlockKey::draw(&mut Entropy::seeded(2).draw().unwrap());
        let mut seen = BTreeMap::new();
        for length in 0..=26 {
            for one in 0..=length {
                let mut id = vec![0u8; length];
                if one < length {
                    id[one] = 1;
                }
                let block = key.block(&id, u64::MAX);
                assert_eq!(seen.insert(block, id), None);
            }
        }
    }

    /// The block function is ChaCha20 itself: RFC 8439, section 2.3.2, key 00 01 … 1f, counter 1,
    /// nonce 00:00:00:09:00:00:00:4a:00:00:00:00; the generator's 64-bit counter holds the nonce's first word.
    #[test]
    fn a_step_is_the_block_function_of_the_standard() {
        let key = std::array::from_fn(|index| index as u8);
        let output = step(key, 1 | 0x0900_0000 << 32, 0x4a00_0000);
        assert_eq!(
            output[..16],
            [0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3, 0x20, 0x71, 0xc4]
        );
    }

    #[test]
    fn parameters_are_checked() {
        for number in [0, MOST_BLOCKS + 1] {
            assert!(Blocks::new(number, Unit::Row).unwrap_err().is_parameter());
        }
        let mut entropy = Entropy::seeded(3);
        let rows = Blocks::new(2, Unit::Row).unwrap();
        assert!(rows.split_by([1u8], |_| Some([0u8]), &mut entropy.draw().unwrap()).unwrap_err().is_parameter());
        assert_eq!(format!("{:?}", BlockKey([7; 32])), "BlockKey(…)");
    }
}
