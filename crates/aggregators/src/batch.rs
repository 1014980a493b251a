//! Batches: sets of reports, and how they are hashed, listed and judged.

use reticent_party::hex::{Digest, sha256};

use crate::scheme::{NONCE_BYTES, Nonce};
use crate::task::Task;

const DOMAIN: &[u8] = b"reticent aggregators 1 batch\n";

/// A batch's identifier: the hash of the task and its report numbers, in order.
pub(crate) fn digest(task: &Task, reports: &[Nonce]) -> Digest {
    let hash = task.hash();
    sha256([DOMAIN, hash.0.as_slice()].into_iter().chain(reports.iter().map(|nonce| nonce.as_slice())))
}

/// Report numbers in strictly increasing order; `None` if the bytes are anything else.
pub(crate) fn numbers(bytes: &[u8]) -> Option<&[Nonce]> {
    let (numbers, rest) = bytes.as_chunks::<NONCE_BYTES>();
    let ordered = numbers.windows(2).all(|pair| pair[0] < pair[1]);
    (rest.is_empty() && ordered).then_some(numbers)
}

/// Packs verdicts into bits, least significant first.
pub(crate) fn bits(verdicts: &[bool]) -> Vec<u8> {
    verdicts.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |byte, &verdict| byte << 1 | u8::from(verdict))).collect()
}

/// Unpacks `count` bits; `None` if the length differs or an unused bit is set.
pub(crate) fn read_bits(bytes: &[u8], count: usize) -> Option<Vec<bool>> {
    let read: Vec<bool> = (0..bytes.len() * 8).map(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1).collect();
    let (verdicts, beyond) = read.split_at_checked(count)?;
    (bytes.len() == count.div_ceil(8) && !beyond.contains(&true)).then(|| verdicts.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_and_whole() {
        let (low, high) = ([1; NONCE_BYTES], [2; NONCE_BYTES]);
        assert_eq!(numbers(&[low, high].concat()), Some(&[low, high][..]));
        assert_eq!(numbers(&[]), Some(&[][..]));
        assert_eq!(numbers(&[high, low].concat()), None);
        assert_eq!(numbers(&[low, low].concat()), None);
        assert_eq!(numbers(&low[1..]), None);
    }

    #[test]
    fn verdicts_have_one_way_to_be_written() {
        for count in 0..20 {
            let verdicts: Vec<bool> = (0..count).map(|place| place % 3 == 0).collect();
            let bytes = bits(&verdicts);
            assert_eq!(read_bits(&bytes, count), Some(verdicts));
            assert_eq!(read_bits(&bytes, count + 8), None);
            assert_eq!(read_bits(&[&bytes[..], &[0]].concat(), count), None);
        }
        assert_eq!(read_bits(&[0b100], 2), None);
    }
}
