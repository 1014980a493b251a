//! The key that makes verification unpredictable for clients, and that no aggregator chooses.
//!
//! Each aggregator has a random contribution, generated once per task. In each session all first send a hash of theirs,
//! and the contribution itself once all hashes have arrived, so that the last one cannot choose. The key is the hash of
//! all of them. It is the same in every session of a task, so a report that is verified again after an abort is
//! verified in the same way.

use reticent_party::hex::{Digest, Hex, sha256};

use crate::scheme::KEY_BYTES;

const COMMITMENT: &[u8] = b"reticent aggregators 1 commitment\n";
const KEY: &[u8] = b"reticent aggregators 1 verification key\n";

/// What an aggregator sends before its contribution.
pub(crate) fn commitment(task: Digest, place: usize, contribution: &[u8; KEY_BYTES]) -> Digest {
    sha256([COMMITMENT, &task.0, &[place as u8], contribution])
}

/// A task's key, from the contributions in the aggregators' order.
pub(crate) fn key(task: Digest, contributions: &[[u8; KEY_BYTES]]) -> [u8; KEY_BYTES] {
    let Hex(key) = sha256([KEY, &task.0].into_iter().chain(contributions.iter().map(|part| part.as_slice())));
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commitment_is_of_one_task_one_aggregator_and_one_contribution() {
        let known = commitment(Hex([1; 32]), 0, &[2; 32]);
        assert_ne!(known, commitment(Hex([9; 32]), 0, &[2; 32]));
        assert_ne!(known, commitment(Hex([1; 32]), 1, &[2; 32]));
        assert_ne!(known, commitment(Hex([1; 32]), 0, &[3; 32]));
    }

    #[test]
    fn every_contribution_counts() {
        let (task, parts) = (Hex([1; 32]), [[2; 32], [3; 32]]);
        assert_ne!(key(task, &parts), key(task, &[[2; 32], [4; 32]]));
        assert_ne!(key(task, &parts), key(task, &[[4; 32], [3; 32]]));
        assert_ne!(key(task, &parts), key(Hex([7; 32]), &parts));
    }
}
