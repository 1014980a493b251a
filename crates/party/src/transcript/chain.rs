//! The chain of hashes through all rounds.

use crate::hex::{Digest, sha256};
use crate::message::Kind;

/// The beginning of the chain.
const DOMAIN: &[u8] = b"reticent party transcript 1\n";

/// The head before the first round: the task alone.
pub fn beginning(task: Digest) -> Digest {
    sha256([DOMAIN, &task.0])
}

/// The head after a round in which each party sent one frame, in the task's order. Frames include their signatures, so
/// a transcript is unique byte for byte.
pub fn after<'frame>(head: Digest, round: Kind, frames: impl IntoIterator<Item = &'frame [u8]>) -> Digest {
    let digests: Vec<Digest> = frames.into_iter().map(|frame| sha256([frame])).collect();
    let start = [&head.0[..], &[round.code()]];
    sha256(start.into_iter().chain(digests.iter().map(|digest| &digest.0[..])))
}
