//! The chain of hashes through all rounds.

use crate::hex::{Digest, sha256};
use crate::message::Kind;

/// What the chain begins with.
const DOMAIN: &[u8] = b"reticent party transcript 1\n";

/// Before the first round: the task alone.
pub fn beginning(task: Digest) -> Digest {
    sha256([DOMAIN, &task.0])
}

/// After a round, in which each party said one frame, in the task's order. Signatures are part of frames: a transcript is of one
/// wording.
pub fn after<'frame>(head: Digest, round: Kind, frames: impl IntoIterator<Item = &'frame [u8]>) -> Digest {
    let digests: Vec<Digest> = frames.into_iter().map(|frame| sha256([frame])).collect();
    let start = [&head.0[..], &[round.code()]];
    sha256(start.into_iter().chain(digests.iter().map(|digest| &digest.0[..])))
}
