//! Child processes that report a few numbers to their parent.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Forks a child and returns what `tell` returns there, through a pipe.
pub fn told_by_child<const N: usize>(fork: impl FnOnce() -> libc::pid_t, tell: impl FnOnce() -> [u64; N]) -> [u64; N] {
    let mut pipe = [0; 2];
    // SAFETY: `pipe` writes two descriptors into the array it is given.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    match fork() {
        0 => {
            // A panic must not continue the parent's tests in the child.
            let told = catch_unwind(AssertUnwindSafe(tell));
            // SAFETY: as many bytes as the live array has; `_exit` runs no destructor of the parent's.
            unsafe {
                if let Ok(words) = &told {
                    libc::write(pipe[1], words.as_ptr().cast(), size_of_val(words));
                }
                libc::_exit(told.is_err().into());
            }
        }
        child => {
            assert!(child > 0, "no child: {}", std::io::Error::last_os_error());
            let mut words = [0; N];
            // SAFETY: as many bytes as the live array has, and a child that exists.
            unsafe {
                libc::close(pipe[1]);
                let read = libc::read(pipe[0], words.as_mut_ptr().cast(), size_of_val(&words));
                assert_eq!(read, size_of_val(&words) as isize, "the child failed");
                libc::waitpid(child, std::ptr::null_mut(), 0);
                libc::close(pipe[0]);
            }
            words
        }
    }
}

/// The C library's `fork`, which runs the handlers of `pthread_atfork`.
pub fn fork() -> libc::pid_t {
    // SAFETY: the children of these tests draw, report and exit; they take no lock that another thread may hold.
    unsafe { libc::fork() }
}
