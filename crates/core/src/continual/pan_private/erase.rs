//! Overwriting what calls leave on the stack.

use std::hint::black_box;

/// 8 KiB: more than a step's frames take (drawing noise, one call of the generator, one of the operating system).
const WORDS: usize = 1024;

/// Overwrites the stack below the caller's frame, where functions that it called before kept their variables.
///
/// The compiler may keep values in places that no safe code can name; but they lie in the frames of functions that have
/// returned, and this function's frame takes the same place.
#[inline(never)]
pub(super) fn burn_stack() {
    black_box(&mut [0u64; WORDS]);
}
