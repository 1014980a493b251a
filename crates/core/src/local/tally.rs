//! The number of responses that support each value.

use super::ValueSet;
use crate::error::{Error, Result};

/// Counts responses that each name one value.
///
/// # Example
/// ```
/// use reticent::local::ValueTally;
///
/// let mut tally = ValueTally::new(3);
/// tally.add_all(&[2, 0, 2])?;
/// assert_eq!(tally.counts(), [1, 0, 2]);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueTally {
    counts: Vec<u64>,
    n: u64,
}

impl ValueTally {
    /// For responses below k.
    pub fn new(k: usize) -> Self {
        Self { counts: vec![0; k], n: 0 }
    }

    /// Counts one response.
    ///
    /// # Errors
    /// If it is not below k; it is not counted then.
    pub fn add(&mut self, response: u64) -> Result<()> {
        let count = usize::try_from(response).ok().and_then(|place| self.counts.get_mut(place)).ok_or_else(foreign)?;
        *count += 1;
        self.n += 1;
        Ok(())
    }

    /// Counts many responses.
    ///
    /// # Errors
    /// If one is not below k; none is counted then.
    pub fn add_all(&mut self, responses: &[u32]) -> Result<()> {
        let k = self.counts.len();
        if responses.iter().any(|&response| response as usize >= k) {
            return Err(foreign());
        }
        for &response in responses {
            self.counts[response as usize] += 1;
        }
        self.n += responses.len() as u64;
        Ok(())
    }

    /// The number of responses that named each value.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The number of responses.
    pub fn n(&self) -> u64 {
        self.n
    }
}

fn foreign() -> Error {
    Error::parameter("response", "outside the domain", "one that the task's mechanism can give")
}

/// Counts, for each value, the sets that it is in.
///
/// # Algorithm
/// Vertical counters: bit j of all the counts of 64 values is one word, and sets are added word by word with carries.
/// Eight sets at a time pass through a tree of full adders \[MKL18\], so that only every eighth carry goes further.
/// After at most 2^16 sets the counters are emptied into ordinary ones.
///
/// # Example
/// ```
/// use reticent::local::{SetTally, ValueSet};
///
/// let mut tally = SetTally::new(10);
/// tally.add(&ValueSet::from_bytes(10, &[0b101, 0]).unwrap())?;
/// tally.add(&ValueSet::from_bytes(10, &[0b100, 1]).unwrap())?;
/// assert_eq!(tally.counts(), [1, 0, 2, 0, 0, 0, 0, 0, 1, 0]);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SetTally {
    k: u32,
    /// Sets waiting until there are eight.
    waiting: Vec<u64>,
    /// Bits 0, 1, 2, … of the counts, one plane after another.
    planes: Vec<Vec<u64>>,
    /// Sets in the planes.
    in_planes: u64,
    counts: Vec<u64>,
    n: u64,
}

/// Sets that are added together.
const TOGETHER: usize = 8;
/// Bits of a vertical counter, and the sets that fit without an overflow.
const PLANES: usize = 16;
const MOST_IN_PLANES: u64 = (1 << PLANES) - TOGETHER as u64;

impl SetTally {
    /// For sets of k values.
    pub fn new(k: u32) -> Self {
        let words = (k as usize).div_ceil(64);
        Self {
            k,
            waiting: Vec::with_capacity(TOGETHER * words),
            planes: vec![vec![0; words]; PLANES],
            in_planes: 0,
            counts: vec![0; k as usize],
            n: 0,
        }
    }

    /// Counts one set.
    ///
    /// # Errors
    /// If the set is over a different number of values.
    pub fn add(&mut self, set: &ValueSet) -> Result<()> {
        if set.len() != self.k {
            return Err(foreign());
        }
        self.waiting.extend_from_slice(set.words());
        self.n += 1;
        if self.waiting.len() == TOGETHER * self.words() {
            self.add_together();
            if self.in_planes >= MOST_IN_PLANES {
                self.empty_planes();
            }
        }
        Ok(())
    }

    /// The number of sets that contain each value.
    pub fn counts(&mut self) -> &[u64] {
        // Empty sets in the remaining places.
        if !self.waiting.is_empty() {
            self.waiting.resize(TOGETHER * self.words(), 0);
            self.add_together();
        }
        self.empty_planes();
        &self.counts
    }

    /// The number of sets.
    pub fn n(&self) -> u64 {
        self.n
    }

    fn words(&self) -> usize {
        (self.k as usize).div_ceil(64)
    }

    fn add_together(&mut self) {
        let words = self.words();
        let [plane_1, plane_2, plane_4, higher @ ..] = &mut self.planes[..] else {
            unreachable!("there are more planes than three")
        };
        for word in 0..words {
            let set = |index: usize| self.waiting[index * words + word];
            let (ones, twos_a) = full_adder(plane_1[word], set(0), set(1));
            let (ones, twos_b) = full_adder(ones, set(2), set(3));
            let (twos, fours_a) = full_adder(plane_2[word], twos_a, twos_b);
            let (ones, twos_a) = full_adder(ones, set(4), set(5));
            let (ones, twos_b) = full_adder(ones, set(6), set(7));
            let (twos, fours_b) = full_adder(twos, twos_a, twos_b);
            let (fours, mut carry) = full_adder(plane_4[word], fours_a, fours_b);
            (plane_1[word], plane_2[word], plane_4[word]) = (ones, twos, fours);
            for plane in higher.iter_mut() {
                if carry == 0 {
                    break;
                }
                (plane[word], carry) = (plane[word] ^ carry, plane[word] & carry);
            }
        }
        self.waiting.clear();
        self.in_planes += TOGETHER as u64;
    }

    fn empty_planes(&mut self) {
        if self.in_planes == 0 {
            return;
        }
        for (bit, plane) in self.planes.iter_mut().enumerate() {
            for (counts, word) in self.counts.chunks_mut(64).zip(plane.iter_mut()) {
                for (place, count) in counts.iter_mut().enumerate() {
                    *count += (*word >> place & 1) << bit;
                }
                *word = 0;
            }
        }
        self.in_planes = 0;
    }
}

/// The sum of three bits, in each of 64 places: the bit itself and the carry.
#[inline]
fn full_adder(a: u64, b: u64, c: u64) -> (u64, u64) {
    let half = a ^ b;
    (half ^ c, a & b | half & c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use rand_core::Rng;

    /// More sets than the planes hold, so that they are emptied in between.
    #[test]
    fn vertical_counters_count() {
        const SETS: usize = 150_001;
        const K: u32 = 70;
        let mut entropy = Entropy::seeded(1);
        let mut rng = entropy.draw().unwrap();
        let (mut tally, mut expected) = (SetTally::new(K), vec![0u64; K as usize]);
        for index in 0..SETS {
            let mut bytes = [0; 9];
            rng.fill_bytes(&mut bytes);
            // The first value is in every set, the second in none.
            bytes[0] = bytes[0] & !2 | 1;
            bytes[8] &= 0x3f;
            let set = ValueSet::from_bytes(K, &bytes).unwrap();
            (0..K).filter(|&value| set.contains(value)).for_each(|value| expected[value as usize] += 1);
            tally.add(&set).unwrap();
            if index == 1234 {
                assert_eq!(tally.counts(), expected, "asked in between");
            }
        }
        assert_eq!(tally.counts(), expected);
        assert_eq!((tally.n(), expected[0], expected[1]), (SETS as u64, SETS as u64, 0));
    }

    #[test]
    fn what_is_not_of_the_domain_is_refused_and_not_counted() {
        let mut tally = ValueTally::new(3);
        assert!(tally.add(3).is_err() && tally.add_all(&[0, 4]).is_err());
        assert_eq!((tally.n(), tally.counts()), (0, &[0, 0, 0][..]));
        assert!(SetTally::new(10).add(&ValueSet::empty(11)).is_err());
    }
}
