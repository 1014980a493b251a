//! Leaves no trace in freed memory.
//!
//! A program that must leave nothing behind cannot know where libraries copy data: a request's body is in the buffers
//! of a connection, of a decompressor, in vectors that grow and move. All of these have in common that they are
//! returned to the allocator. [`Erasing`] is an allocator that overwrites each block before freeing it, once [`begin`]
//! has been called. Until then it costs one flag check for each block that is freed or moved.
//!
//! | item | does |
//! |---|---|
//! | [`Erasing`] | the allocator; a program installs it, libraries do not |
//! | [`begin`] | from now on freed memory is overwritten, permanently |
//! | [`Care`] | also keeps other processes from dumping or reading the memory |
//!
//! # What is not promised
//! Allocated memory is not touched: buffers kept for reuse must be freed, or overwritten by their owner. Code in other
//! languages has its own allocator. Registers, swap and the kernel's copies are out of reach. So is the stack: that is
//! what `reticent::secrets::burn_stack` is for.
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

pub mod care;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU8, Ordering};

use zeroizing_alloc::ZeroAlloc;

pub use care::Care;

/// Freed memory is left unchanged.
const OFF: u8 = 0;
/// Freed memory is overwritten.
const ON: u8 = 1;
/// A test has turned erasing off permanently.
#[cfg(debug_assertions)]
const NEVER: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(OFF);

/// From now on freed memory is overwritten, if the program has installed [`Erasing`]. Call it before reading the first
/// byte that must leave no trace. It cannot be undone: other users of it would not know.
pub fn begin() {
    let _ = STATE.compare_exchange(OFF, ON, Ordering::Relaxed, Ordering::Relaxed);
}

/// Whether freed memory is overwritten.
pub fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Makes [`begin`] do nothing, for tests that must show that they would find what they look for. Does not exist in
/// optimised builds.
#[cfg(debug_assertions)]
pub fn never() {
    STATE.store(NEVER, Ordering::Relaxed);
}

/// The system's allocator; after [`begin`], one that overwrites freed memory.
///
/// A block that grows or shrinks is then always copied to a new one and overwritten: the system would leave the end of
/// a shrinking block unchanged, and may move a growing one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Erasing;

/// Overwrites memory in a way that no optimiser removes.
const ERASER: ZeroAlloc<System> = ZeroAlloc(System);

// SAFETY: blocks come from the system's allocator and go back to it, with their own layouts, whatever the flag: the
// eraser has no other memory. Nothing here panics or allocates.
#[allow(unsafe_code, reason = "an allocator is unsafe by nature; every call is passed on unchanged")]
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
        // SAFETY: as the caller promises; the block came from the system's allocator. The eraser uses the trait's
        // default: a new block, a copy, and `dealloc` of the old one.
        unsafe { if is_on() { ERASER.realloc(block, layout, size) } else { System.realloc(block, layout, size) } }
    }
}
