//! Detects a fork, however it was made.
//!
//! A forked process starts with a copy of its parent's memory, noise generators included. [`mark`] is a number that
//! differs between the two: a generator that remembers the mark it was seeded under can tell whether it is the copy.
//! The check costs two loads and no system call.
//!
//! | module | does |
//! |---|---|
//! | `page` | a page of memory that the kernel wipes in a child: Linux since 4.14 |
//! | `handler` | a counter that `pthread_atfork` increments in a child, and the process id: other systems, and older kernels |
//!
//! # Why it works
//! Suppose that a process calls [`mark`], and later it, or one forked from it, calls it again. The two results are
//! equal if there was no fork in between, and differ if there was.
//!
//! *With a page.* The mark is a word in its own memory. It is 0 at first; a thread that finds 0 stores 64 random bits
//! there, by one atomic exchange, so that all threads agree on one value. It never changes otherwise, which is the
//! first half. For the second: the kernel gives a child a page of zeros in place of this one, because `MADV_WIPEONFORK`
//! is a property of the mapping, set before the mapping's address is published, and inherited by the child's copy. It
//! does so whenever it copies an address space: for `fork`, for `clone` with any flags and past the C library, in a new
//! PID namespace, in a child with its parent's id. (`vfork`, threads and `clone` with `CLONE_VM` copy nothing: the
//! memory is shared, including the generator, and nothing is drawn twice.) So a child's first mark is drawn after the
//! fork, and two draws of 64 bits of which one is always odd are equal with probability 2^−63. Random bits, not a
//! counter: a counter would be in memory that is copied while other threads write to it.
//!
//! *With a handler.* The mark is the process id and a counter, which the handler increments in the child before `fork`
//! returns there. It differs after every `fork` of the C library. A child created past the C library is detected by its
//! process id only.
//!
//! # Threads
//! There are no locks: a process may be forked while other threads are anywhere in [`mark`], and the child, in which
//! these threads do not exist, waits for nothing. At worst it maps a page again.
//!
//! # What is not promised
//! A virtual machine that is cloned or restored while it runs has the same marks in both copies, unless its kernel
//! wipes such pages then. So does a process that was checkpointed to disk and resumed twice.
//!
//! # Example
//! ```
//! # #[cfg(unix)] {
//! let before = reticent_fork::mark()?;
//! assert_eq!(reticent_fork::mark()?, before); // and another number in any child
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg(all(unix, not(target_family = "wasm")))]

mod handler;
#[cfg(any(target_os = "linux", target_os = "android"))]
mod page;

pub use getrandom::Error;

/// A number that stays the same for the life of this process, and differs from that of its parent and of every process
/// forked from it.
///
/// # Errors
/// If the system provides no random bits, and there is no mark yet.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub fn mark() -> Result<u64, Error> {
    match page::mark() {
        Some(mark) => Ok(mark),
        None => first_mark(),
    }
}

/// The first mark of a process, or a mark without a page.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn first_mark() -> Result<u64, Error> {
    if page::is_there() { Ok(page::put(getrandom::u64()?)) } else { Ok(handler::mark()) }
}

/// A number that stays the same for the life of this process, and differs from that of its parent and of every process
/// forked from it.
///
/// # Errors
/// Never on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn mark() -> Result<u64, Error> {
    Ok(handler::mark())
}
