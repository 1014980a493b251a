//! A forked process must not draw its parent's noise again.
#![cfg(unix)]

mod children;

use children::{fork, told_by_child};
use rand_core::{Rng, SeedableRng};
use reticent::noise::Entropy;

#[test]
fn parent_and_child_draw_different_noise() {
    let mut entropy = Entropy::from_os().unwrap();
    entropy.draw().unwrap().next_u64();
    let [child] = told_by_child(fork, || [entropy.draw().unwrap().next_u64()]);
    assert_ne!(child, entropy.draw().unwrap().next_u64());
}

/// The control: a generator that does not check the process draws the same in both.
#[test]
fn a_careless_generator_is_caught() {
    let mut careless = chacha20::ChaCha20Rng::seed_from_u64(1);
    let [child] = told_by_child(fork, || [careless.next_u64()]);
    assert_eq!(child, careless.next_u64());
}

/// The first process in a PID namespace has the id 1, and so does its child that is the first in another one: a
/// generator that compared only process ids drew the same noise in both.
#[cfg(target_os = "linux")]
#[test]
fn a_child_in_a_new_pid_namespace_draws_different_noise() {
    use std::process::id;

    let [permitted, parent, parents_word, child, childs_word] = told_by_child(fork, || {
        if !children_get_a_namespace() {
            return [0; 5];
        }
        told_by_child(fork, || {
            let mut entropy = Entropy::from_os().unwrap();
            entropy.draw().unwrap().next_u64();
            assert!(children_get_a_namespace());
            let [child, childs_word] = told_by_child(fork, || [id().into(), entropy.draw().unwrap().next_u64()]);
            [1, id().into(), entropy.draw().unwrap().next_u64(), child, childs_word]
        })
    });
    if permitted == 0 {
        println!("SKIPPED: no PID namespaces for this user here; tests/same_process_id.rs has the same without them");
        return;
    }
    assert_eq!((parent, child), (1, 1), "the test should have made two processes with one id");
    assert_ne!(parents_word, childs_word);
}

/// From now on this process's children live in their own PID namespace, if permitted: for root, or in one's own user
/// namespace.
#[cfg(target_os = "linux")]
fn children_get_a_namespace() -> bool {
    // SAFETY: `unshare` touches no memory.
    unsafe { libc::unshare(libc::CLONE_NEWPID) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) == 0 }
}
