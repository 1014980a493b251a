//! A counter that `fork` increments in a child, and the process id.

use std::process;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How many forks there are between the first process that called and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Runs in the child, before `fork` returns there.
extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Differs after every `fork`, and whenever the process id does.
pub fn mark() -> u64 {
    // Two threads may install it twice: a fork then counts twice, which does no harm. If there is no memory for it, the
    // process id has to do, and the next caller tries again.
    if !INSTALLED.load(Ordering::Acquire) && install() {
        INSTALLED.store(true, Ordering::Release);
    }
    u64::from(FORKS.load(Ordering::Relaxed)) << 32 | u64::from(process::id())
}

fn install() -> bool {
    // SAFETY: the handler is a function of this program, and in a child, which may not even allocate, it only
    // increments an atomic number.
    #[allow(unsafe_code, reason = "registers a function with the C library")]
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child)) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The handler is not called by hand: a child reports its own mark, and the process id is left out of the
    /// comparison.
    #[test]
    #[allow(unsafe_code, reason = "forks, and reads what the child writes")]
    fn a_fork_raises_the_counter_in_the_child_only() {
        let forks = || mark() >> 32;
        let before = forks();
        let mut pipe = [0; 2];
        let mut told = [0_u8; 8];
        // SAFETY: the arrays are as long as stated; the child writes eight bytes and exits at once.
        unsafe {
            assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
            let child = libc::fork();
            if child == 0 {
                libc::write(pipe[1], forks().to_ne_bytes().as_ptr().cast(), 8);
                libc::_exit(0);
            }
            assert!(child > 0);
            assert_eq!(libc::read(pipe[0], told.as_mut_ptr().cast(), 8), 8);
            libc::waitpid(child, std::ptr::null_mut(), 0);
            libc::close(pipe[0]);
            libc::close(pipe[1]);
        }
        assert!(u64::from_ne_bytes(told) > before);
        assert_eq!(forks(), before);
    }
}
