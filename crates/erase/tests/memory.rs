//! What is left behind by blocks that are freed, grow, shrink or move. One test: the flag is global to the process.
#![cfg(target_os = "linux")]

use std::hint::black_box;

use reticent::secrets::burn_stack;

#[global_allocator]
static ALLOCATOR: reticent_erase::Erasing = reticent_erase::Erasing;

/// Block sizes: small ones, which the system keeps on free lists, and ones that it maps.
const SIZES: [usize; 5] = [64, 1000, 5000, 100_000, 3_000_000];
/// Words that hardly ever occur by chance; masked, so that the test does not find its own copy.
const MASK: u64 = 0x3c5a_96e1_b4d2_7f08;
const MARK: u64 = 0x1b7e_60d3_a95c_f824 ^ MASK;

/// Each way to lose memory has its own words, before erasing has begun and after.
const FREED: u64 = 1;
const GROWN: u64 = 2;
const SHRUNK: u64 = 3;
const LATER: u64 = 16;

fn fill(block: &mut [u8], way: u64) {
    let word = (MARK ^ black_box(MASK)) + way;
    block.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&word.to_ne_bytes()));
}

fn freed(size: usize, when: u64) {
    let mut block = vec![0; size];
    fill(&mut block, when + FREED);
    drop(black_box(block));
}

fn grown(size: usize, when: u64) -> Vec<u8> {
    let mut block = vec![0; size];
    fill(&mut block, when + GROWN);
    // So that it cannot grow in place.
    let behind = black_box(vec![1u8; size]);
    block.reserve_exact(5 * size);
    drop(behind);
    block.fill(0);
    block
}

fn shrunk(size: usize, when: u64) -> Vec<u8> {
    let mut block = vec![0; size];
    fill(&mut block, when + SHRUNK);
    block.truncate(size / 4);
    block.shrink_to_fit();
    block.fill(0);
    block
}

/// Which ways left words in writable memory.
fn found(when: u64) -> Vec<u64> {
    burn_stack::<{ 1 << 16 }>();
    let mut found = Vec::new();
    memory_search::own_words(|word| {
        let way = word.wrapping_sub(MARK ^ black_box(MASK));
        if (when + FREED..=when + SHRUNK).contains(&way) {
            found.push(way - when);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// All ways, and the blocks still allocated.
fn lose(when: u64) -> Vec<Vec<u8>> {
    let shrunk: Vec<_> = SIZES.iter().map(|size| shrunk(*size, when)).collect();
    let grown: Vec<_> = SIZES.iter().map(|size| grown(*size, when)).collect();
    SIZES.iter().for_each(|size| freed(*size, when));
    shrunk.into_iter().chain(grown).collect()
}

#[test]
fn nothing_is_left_of_what_was_freed_or_moved_once_it_has_begun() {
    // The control: the search finds what an ordinary allocator leaves.
    let held = lose(0);
    assert_eq!(found(0), [FREED, GROWN, SHRUNK]);
    assert!(!reticent_erase::is_on());
    drop(held);
    reticent_erase::begin();
    assert!(reticent_erase::is_on());
    let held = lose(LATER);
    assert_eq!(found(LATER), [0u64; 0]);
    drop(held);
}
