//! A forked process must not draw its parent's noise again.
#![cfg(unix)]

use rand_core::{Rng, SeedableRng};
use reticent::noise::Entropy;

/// Forks; the child's next word, as it tells the parent through a pipe.
fn word_in_child(mut draw: impl FnMut() -> u64) -> u64 {
    let mut pipe = [0; 2];
    // SAFETY: `pipe` writes two descriptors into the array it is given.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    // SAFETY: the child only draws, writes eight bytes and leaves at once; it touches no lock of another thread.
    match unsafe { libc::fork() } {
        0 => {
            let bytes = draw().to_le_bytes();
            // SAFETY: eight bytes of a live array; `_exit` runs no destructor of the parent's.
            unsafe {
                libc::write(pipe[1], bytes.as_ptr().cast(), 8);
                libc::_exit(0);
            }
        }
        child => {
            assert!(child > 0, "fork failed");
            let mut bytes = [0u8; 8];
            // SAFETY: eight bytes of a live array, and a child that exists.
            unsafe {
                assert_eq!(libc::read(pipe[0], bytes.as_mut_ptr().cast(), 8), 8);
                libc::waitpid(child, std::ptr::null_mut(), 0);
                libc::close(pipe[0]);
                libc::close(pipe[1]);
            }
            u64::from_le_bytes(bytes)
        }
    }
}

#[test]
fn parent_and_child_draw_different_noise() {
    let mut entropy = Entropy::from_os().unwrap();
    entropy.draw().unwrap().next_u64();
    let child = word_in_child(|| entropy.draw().unwrap().next_u64());
    assert_ne!(child, entropy.draw().unwrap().next_u64());
}

/// The control: a generator that does not look at the process draws the same in both.
#[test]
fn a_careless_generator_is_caught() {
    let mut careless = chacha20::ChaCha20Rng::seed_from_u64(1);
    let child = word_in_child(|| careless.next_u64());
    assert_eq!(child, careless.next_u64());
}
