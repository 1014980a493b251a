//! What a process does whose memory may be seized.

use std::hint::black_box;

use zeroize::Zeroize;

/// 64 KiB: more than reading events and counting them takes, also in unoptimised builds.
const BURNT_BYTES: usize = 1 << 16;

/// Overwrites the stack below the caller's frame, where functions that it called before kept their variables.
#[inline(never)]
pub fn burn_stack() {
    let mut frame = [0u8; BURNT_BYTES];
    frame.zeroize();
    black_box(&frame);
}
