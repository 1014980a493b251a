//! Noticing a fork, whatever it was made with.
//!
//! A forked process starts with a copy of its parent's memory, generators of noise included. [`mark`] is a number that differs
//! between the two: a generator that remembers the mark it was seeded under, and compares, knows whether it is the copy. This
//! costs two loads and no system call.
//!
//! | module | does |
//! |---|---|
//! | `page` | a page of memory that the kernel wipes in a child: Linux since 4.14 |
//! | `handler` | a counter that `pthread_atfork` raises in a child, beside the process id: other systems, and older kernels |
//!
//! # Why it works
//! Say that a process calls [`mark`] at some time, and it, or one forked from it, calls it again. The two answers are the same
//! if there was no fork in between, and differ if there was.
//!
//! *With a page.* The mark is a word in memory of its own. It is 0 at first; whoever finds 0 puts 64 random bits there, by one
//! atomic exchange, so that all threads agree on one. It changes at no other time, which is the first half. For the second: the
//! kernel gives a child a page of zeros in place of this one, because `MADV_WIPEONFORK` is a property of the mapping, set before
//! the mapping's address is published to anyone, and kept by the child's copy of it. It does so wherever it copies an address
//! space: for `fork`, for `clone` with any flags and past the C library, in a new PID namespace, in a child that has its
//! parent's id. (`vfork`, threads and `clone` with `CLONE_VM` copy nothing: the memory is shared, the generator in it, too, and
//! nothing is drawn twice.) So a child's first answer is drawn after the fork, and two draws of 64 bits of which one is always odd
//! are equal with probability 2^−63. Random bits, not a counter: a counter would lie in memory that is copied while other threads
//! write to it.
//!
//! *With a handler.* The mark is the process id and a counter, which the handler raises in the child before `fork` returns there. It
//! differs after every `fork` of the C library. A child that was made past it is noticed by its process id only.
//!
//! # Threads
//! There is no lock here: a process may be forked while other threads are anywhere in [`mark`], and the child, in which these
//! threads do not exist, waits for nobody. At worst it maps a page again.
//!
//! # What is not promised
//! A virtual machine that is copied or put back while it runs has the same marks in both copies, unless its kernel wipes such pages
//! then. So has a process that was written to disk and is continued twice.
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

/// A number that this process keeps for life and shares with no process forked from it, nor with the one that it was forked
/// from.
///
/// # Errors
/// If the system has no random bits, and there is no mark yet.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[inline]
pub fn mark() -> Result<u64, Error> {
    match page::mark() {
        Some(mark) => Ok(mark),
        None => first_mark(),
    }
}

/// The first mark of a process, or one without a page.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[cold]
fn first_mark() -> Result<u64, Error> {
    if page::is_there() { Ok(page::put(getrandom::u64()?)) } else { Ok(handler::mark()) }
}

/// A number that this process keeps for life and shares with no process forked from it, nor with the one that it was forked
/// from.
///
/// # Errors
/// None on this system.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub fn mark() -> Result<u64, Error> {
    Ok(handler::mark())
}
