//! Looks for values, sums, spent noise and seeds in the memory of the process itself, after pan-private steps.
//!
//! Needles are kept masked, so that the test's own copies are not what is found. Only Linux shows a process its memory.
#![cfg(target_os = "linux")]

use std::hint::black_box;

use reticent::continual::pan_private::{Cell, Design};
use reticent::continual::{Counter, CounterKind, PanPrivate, PanPrivateSurviving, SeizableCounter, Stream};
use reticent::noise::{Entropy, EntropySource};
use reticent::privacy::Guarantee;
use reticent::secrets::burn_stack;
use reticent::{Permit, Result};

const MASK: i64 = 0x3c5a_96e1_b4d2_7f08;
const FIRST: i64 = 0x1234_5678_9abc_def1;
const SECOND: i64 = 0x0fed_cba9_8765_4321;
const THIRD: i64 = 0x0102_0408_1020_4081;
/// Values so large that they are found by chance once in 2^64 words; masked before the program runs.
const VALUES: [i64; 3] = [FIRST ^ MASK, SECOND ^ MASK, THIRD ^ MASK];
/// Of the first two and of all three, masked.
const SUMS: [i64; 2] = [(FIRST + SECOND) ^ MASK, (FIRST + SECOND + THIRD) ^ MASK];
const HORIZON: u64 = 8;
/// Brings the values into the range of the stream.
const SHIFT: u32 = 22;

/// Puts the mask on or takes it off.
fn masked(value: i64) -> i64 {
    value ^ black_box(MASK)
}

/// How often a masked number lies in the memory that this process can write to.
#[inline(never)]
fn occurrences(needle: i64) -> usize {
    let mut found = 0;
    memory_search::own_words(|word| found += usize::from(masked(word as i64) == needle));
    found
}

/// Overwrites what the test's own calls left on the stack.
fn burn() {
    burn_stack::<{ 1 << 17 }>();
}

/// Seeds that can be looked for: eight bytes four times over.
struct Recorded(i64);

/// The eight bytes, masked.
fn seed(nth: i64) -> i64 {
    nth.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

impl EntropySource for Recorded {
    fn seed(&mut self) -> Result<[u8; 32]> {
        self.0 += 1;
        let mut bytes = [0; 32];
        bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&masked(seed(self.0)).to_ne_bytes()));
        Ok(bytes)
    }
}

fn guarantee() -> Guarantee {
    Guarantee::Pure("1".parse().unwrap())
}

fn permit() -> Permit {
    Permit::unaccounted_from(Entropy::from_source(Recorded(0)).unwrap())
}

/// A range that makes the noise large, too.
fn stream() -> Stream {
    Stream::new(0..=(1 << 40)).unwrap().until(HORIZON).unwrap()
}

#[inline(never)]
fn feed<C: Counter>(counter: &mut C) {
    for needle in VALUES {
        let mut value = masked(needle);
        counter.advance_erasing(&mut value).unwrap();
        burn();
    }
}

/// Masked: the values, their sums, the seeds of the steps. (The seed before them made a generator that has drawn nothing yet,
/// and was moved about; a fresh one is mixed in before the first draw.)
fn needles() -> Vec<i64> {
    let seeds = (2..=1 + VALUES.len() as i64).map(seed);
    VALUES.into_iter().chain(SUMS).chain(seeds).collect()
}

fn nothing_is_found<D: Design>() {
    let mut counter = SeizableCounter::start(D::new(stream(), guarantee()).unwrap(), permit()).unwrap();
    feed(&mut counter);
    burn();
    for (index, needle) in needles().into_iter().enumerate() {
        assert_eq!(occurrences(needle), 0, "{}: needle {index}", counter.kind());
    }
    // What is held can be found: the search works.
    let held = counter.state_after().cells.iter().map(Cell::value).find(|value| *value != 0).unwrap();
    assert!(occurrences(masked(held as i64)) > 0);
    assert_eq!(counter.steps(), VALUES.len() as u64);
}

/// All values are events of one step, which stays open.
fn nothing_is_found_within_a_step<D: Design>() {
    let mut counter = SeizableCounter::start(D::new(stream(), guarantee()).unwrap(), permit()).unwrap();
    counter.open_step().unwrap();
    for needle in VALUES {
        // Within the range, or it would be clamped.
        let mut value = masked(needle) >> SHIFT;
        counter.add(&mut value).unwrap();
        burn();
    }
    burn();
    let shifted = |value: i64| masked(masked(value) >> SHIFT);
    let sums = [2, 3].map(|count| masked(VALUES[..count].iter().map(|value| masked(*value) >> SHIFT).sum::<i64>()));
    burn();
    for (index, needle) in VALUES.map(shifted).into_iter().chain(sums).chain([seed(2)]).enumerate() {
        assert_eq!(occurrences(needle), 0, "{}: needle {index}", counter.kind());
    }
    let held = counter.state_after().cells.iter().map(Cell::value).find(|value| *value != 0).unwrap();
    assert!(occurrences(masked(held as i64)) > 0);
    assert_eq!(counter.steps(), 0);
}

#[test]
fn neither_values_nor_sums_nor_seeds_are_left_in_memory() {
    nothing_is_found::<PanPrivate>();
    nothing_is_found::<PanPrivateSurviving>();
    nothing_is_found_within_a_step::<PanPrivate>();
    nothing_is_found_within_a_step::<PanPrivateSurviving>();

    // The control: a curator's counter holds the exact sum, and it is found.
    let mut counter = CounterKind::Binary.start(stream(), guarantee(), permit()).unwrap();
    feed(&mut counter);
    burn();
    assert!(occurrences(needles()[VALUES.len() + 1]) > 0);
    assert_eq!(counter.steps(), VALUES.len() as u64);
}
