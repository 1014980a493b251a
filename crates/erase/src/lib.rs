//! Leaving no trace in memory: freed blocks, and the stack.
//!
//! Whoever must leave nothing behind cannot know where libraries put what passes through them: a body of a request lies in the
//! buffers of a connection, of an inflater, in vectors that grow and move. What all of these have in common is that they are
//! given back to the allocator. [`Erasing`] is one that overwrites a block before it is free, from the moment [`begin`] is
//! called. Until then it costs one look at a flag for each block that is freed or moved.
//!
//! | item | does |
//! |---|---|
//! | [`Erasing`] | the allocator; a program installs it, libraries do not |
//! | [`begin`] | from now on freed memory is overwritten, for good |
//! | [`burn_stack`] | overwrites what calls left on the stack |
//!
//! # What is not promised
//! Memory that is held is not touched: buffers that are kept for the next use must be given back, or overwritten by whoever holds
//! them. Code in other languages has an allocator of its own. Registers, swap and the kernel's copies are out of reach.
//!
//! # Example
//! ```
//! #[global_allocator]
//! static ALLOCATOR: reticent_erase::Erasing = reticent_erase::Erasing;
//!
//! reticent_erase::begin();
//! drop(b"a secret".to_vec()); // and nothing of it is left
//! assert!(reticent_erase::is_on());
//! ```

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};

use zeroize::Zeroize;
use zeroizing_alloc::ZeroAlloc;

/// Freed memory is left as it is.
const OFF: u8 = 0;
/// Freed memory is overwritten.
const ON: u8 = 1;
/// A test has seen to it that it never will be.
#[cfg(debug_assertions)]
const NEVER: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OFF);

/// 64 KiB: more than reading events and counting them takes, also in unoptimised builds.
const BURNT_BYTES: usize = 1 << 16;

/// From now on freed memory is overwritten, if the program has installed [`Erasing`]. To be called before the first byte that must
/// leave no trace is read. There is no way back: whoever else needs it would not know.
pub fn begin() {
    let _ = STATE.compare_exchange(OFF, ON, Ordering::Relaxed, Ordering::Relaxed);
}

/// Is freed memory overwritten?
pub fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Makes [`begin`] do nothing, for tests that must see that they would find what they look for. In optimised builds this does not
/// exist.
#[cfg(debug_assertions)]
pub fn never() {
    STATE.store(NEVER, Ordering::Relaxed);
}

/// Overwrites the stack below the caller's frame, where functions that it called before kept their variables.
#[inline(never)]
pub fn burn_stack() {
    let mut frame = [0u8; BURNT_BYTES];
    frame.zeroize();
    black_box(&frame);
}

/// The system's allocator; after [`begin`], one that overwrites what is freed.
///
/// A block that grows or shrinks is then always copied to a new one and overwritten: the system would leave the end of a block that
/// shrinks as it is, and may move a block that grows.
#[derive(Debug, Clone, Copy, Default)]
pub struct Erasing;

/// Overwrites, in a way that no optimiser takes away.
const ERASER: ZeroAlloc<System> = ZeroAlloc(System);

// SAFETY: blocks come from the system's allocator and go back to it, with their own layouts, whichever way the flag stands: the
// eraser has no other memory. Nothing here panics or allocates.
#[allow(unsafe_code, reason = "an allocator is unsafe by its nature; every call is handed on as it came")]
unsafe impl GlobalAlloc for Erasing {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises; the block came from the system's allocator.
        unsafe { if is_on() { ERASER.dealloc(block, layout) } else { System.dealloc(block, layout) } }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises; the block came from the system's allocator. The eraser's own is the trait's: a new
        // block, a copy, and `dealloc` of the old one.
        unsafe { if is_on() { ERASER.realloc(block, layout, size) } else { System.realloc(block, layout, size) } }
    }
}
