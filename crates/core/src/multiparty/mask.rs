//! Pairwise masks that cancel out.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::{Zeroize, Zeroizing};

use crate::error::{Error, Result};

/// A secret of 32 bytes shared with one other party, for one message.
///
/// # Privacy
/// Two messages under the same seeds differ by the difference of the shares: the masks then hide nothing. So a seed is
/// made for one attempt of one session of one task and is destroyed with it; it cannot be copied,
/// [`Plan::mask`](super::Plan::mask) consumes it, and it is overwritten when it is dropped.
pub struct MaskSeed {
    peer: u32,
    bytes: Zeroizing<[u8; 32]>,
}

impl MaskSeed {
    /// The secret shared with party `peer`. The bytes passed in are overwritten.
    pub fn new(peer: u32, bytes: &mut [u8; 32]) -> Self {
        let seed = Self { peer, bytes: Zeroizing::new(*bytes) };
        bytes.zeroize();
        seed
    }

    /// The other party's number, counted from 0.
    pub fn peer(&self) -> u32 {
        self.peer
    }

    /// Adds the mask if `me` is the lower of the two parties, subtracts it if it is the higher.
    ///
    /// The mask is the key stream of ChaCha20 under the seed (nonce 0, block counter from 0), read as 64-bit words, lowest
    /// byte first.
    pub(super) fn apply(&self, me: u32, words: &mut [u64]) {
        let mut stream = ChaCha20Rng::from_seed(*self.bytes);
        if me < self.peer {
            words.iter_mut().for_each(|word| *word = word.wrapping_add(stream.next_u64()));
        } else {
            words.iter_mut().for_each(|word| *word = word.wrapping_sub(stream.next_u64()));
        }
    }
}

impl fmt::Debug for MaskSeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "MaskSeed(with party {}, …)", self.peer)
    }
}

/// Masks the words of party `me` of `parties` with one seed for each other party.
///
/// # Privacy
/// Let the seeds be independent and uniform, H the honest parties and ChaCha20 a pseudo-random function. Given all
/// seeds that the adversary shares, the honest messages are the shares plus a vector of masks that is, per cell,
/// uniform among those of sum 0: the graph of pairs in H is connected. So for the adversary they are |H| − 1 uniform
/// words that depend on nothing, and one that completes the sum: it learns the sum of the honest shares, and nothing
/// else.
///
/// # Errors
/// Unless there is exactly one seed for each other party.
pub(super) fn apply(words: &mut [u64], me: u32, parties: u32, seeds: &[MaskSeed]) -> Result<()> {
    if me >= parties {
        return Err(Error::parameter("party", me, "less than the number of parties: parties are counted from 0"));
    }
    let mut peers: Vec<u32> = seeds.iter().map(MaskSeed::peer).collect();
    peers.sort_unstable();
    if !peers.iter().copied().eq((0..parties).filter(|&party| party != me)) {
        return Err(Error::parameter("number of mask seeds", seeds.len(), "one for each other party, and no more"));
    }
    seeds.iter().for_each(|seed| seed.apply(me, words));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(peer: u32, byte: u8) -> MaskSeed {
        MaskSeed::new(peer, &mut [byte; 32])
    }

    /// The key stream of the all-zero key begins with 76 b8 e0 ad a0 f1 3d 90 40 5d 6a e5 53 86 bd 28 (RFC 8439, A.1).
    #[test]
    fn masks_are_the_key_stream_of_chacha20() {
        let stream = [0x903d_f1a0_ade0_b876_u64, 0x28bd_8653_e56a_5d40];
        let mut words = [0, 1];
        seed(1, 0).apply(0, &mut words);
        assert_eq!(words, [stream[0], stream[1] + 1]);
        seed(0, 0).apply(1, &mut words);
        assert_eq!(words, [0, 1], "the higher one takes off what the lower one adds");
    }

    #[test]
    fn exactly_one_seed_for_each_other_party() {
        for (me, peers) in
            [(0, vec![1]), (0, vec![1, 2, 2]), (0, vec![1, 1]), (0, vec![0, 1]), (0, vec![1, 3]), (3, vec![0, 1])]
        {
            let seeds: Vec<_> = peers.into_iter().map(|peer| seed(peer, 1)).collect();
            let mut words = [7];
            assert!(apply(&mut words, me, 3, &seeds).unwrap_err().is_parameter());
            assert_eq!(words, [7]);
        }
        assert!(apply(&mut [7], 1, 3, &[seed(2, 1), seed(0, 1)]).is_ok(), "in any order");
        assert!(apply(&mut [7], 0, 1, &[]).is_ok(), "one party needs none");
    }

    #[test]
    fn seeds_are_not_shown_and_not_left_behind() {
        let mut bytes = [171; 32];
        let seed = MaskSeed::new(4, &mut bytes);
        assert_eq!(format!("{seed:?}"), "MaskSeed(with party 4, …)");
        assert_eq!(bytes, [0; 32]);
    }
}
