//! A forked process must not draw its parent's noise again, even if it has its parent's process id.
//!
//! That happens between PID namespaces, and when ids wrap around; the first takes privileges, the second patience. So
//! this program has its own `getpid`, which always returns the same: the library's query for the process id ends there,
//! and no fork can be detected by ids.
#![cfg(unix)]

mod children;

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use children::{fork, told_by_child};
use rand_core::Rng;
use reticent::noise::Entropy;

const FORGED: libc::pid_t = 4711;

// SAFETY: like the C library's own, except for the result. Nothing in this program depends on its process id.
#[unsafe(no_mangle)]
extern "C" fn getpid() -> libc::pid_t {
    FORGED
}

/// The kernel's way to create a process, past the C library and its handlers.
#[cfg(target_os = "linux")]
fn clone() -> libc::pid_t {
    // SAFETY: no flag but the exit signal: a copy of the process, as `fork` makes it. The child draws, reports and
    // exits.
    unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD as libc::c_long, 0, 0, 0, 0) as libc::pid_t }
}

#[test]
fn the_process_id_is_forged() {
    let forged = FORGED as u64;
    assert_eq!(u64::from(std::process::id()), forged);
    assert_eq!(told_by_child(fork, || [std::process::id().into()]), [forged]);
}

#[test]
fn a_child_with_its_parents_id_draws_different_noise() {
    let mut entropy = Entropy::from_os().unwrap();
    entropy.draw().unwrap().next_u64();
    let [child] = told_by_child(fork, || [entropy.draw().unwrap().next_u64()]);
    assert_ne!(child, entropy.draw().unwrap().next_u64());
}

#[cfg(target_os = "linux")]
#[test]
fn so_does_one_made_without_the_c_library() {
    let mut entropy = Entropy::from_os().unwrap();
    entropy.draw().unwrap().next_u64();
    let [child] = told_by_child(clone, || [entropy.draw().unwrap().next_u64()]);
    assert_ne!(child, entropy.draw().unwrap().next_u64());
}

/// Parent, child and grandchild, each with its inherited generator, and a child that draws before and after it forks a
/// child itself.
#[test]
fn generations_draw_different_noise() {
    let mut entropy = Entropy::from_os().unwrap();
    entropy.draw().unwrap().next_u64();
    let mut words = told_by_child(fork, || {
        let before = entropy.draw().unwrap().next_u64();
        let [grandchild] = told_by_child(fork, || [entropy.draw().unwrap().next_u64()]);
        [before, grandchild, entropy.draw().unwrap().next_u64()]
    })
    .to_vec();
    words.extend([entropy.draw().unwrap().next_u64(), entropy.draw().unwrap().next_u64()]);
    assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len(), "{words:x?}");
}

/// Processes are forked while another thread draws all the time. A child that inherits the generator between two draws
/// must not continue like its parent.
#[test]
fn forks_in_the_middle_of_another_threads_draws_are_noticed() {
    const CHILDREN: usize = 40;
    const DRAWS_BETWEEN: u64 = 8;
    let entropy = Arc::new(Mutex::new(Entropy::from_os().unwrap()));
    let stop = Arc::new(AtomicBool::new(false));
    let drawing = {
        let (entropy, stop) = (entropy.clone(), stop.clone());
        std::thread::spawn(move || {
            let mut words = HashSet::new();
            while !stop.load(Ordering::Relaxed) {
                for _ in 0..DRAWS_BETWEEN {
                    words.insert(entropy.lock().unwrap().draw().unwrap().next_u64());
                }
                std::thread::yield_now();
            }
            words
        })
    };
    let mut of_children = Vec::new();
    // In a child, a lock that the other thread held is held forever: how many find it free is up to the scheduler.
    while of_children.len() < CHILDREN {
        let [drawn, word] = told_by_child(fork, || {
            entropy.try_lock().map_or([0, 0], |mut entropy| [1, entropy.draw().unwrap().next_u64()])
        });
        of_children.extend((drawn == 1).then_some(word));
    }
    stop.store(true, Ordering::Relaxed);
    let of_parent = drawing.join().unwrap();
    assert_eq!(of_children.iter().filter(|word| of_parent.contains(word)).count(), 0);
    assert_eq!(of_children.iter().collect::<HashSet<_>>().len(), of_children.len(), "two children drew the same");
}
