//! What is freed, and what is left behind by a block that grows, shrinks or moves. One test: the flag is the whole process's.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom};

#[global_allocator]
static ALLOCATOR: reticent_erase::Erasing = reticent_erase::Erasing;

/// Blocks of these sizes: small ones, which the system keeps on lists, and ones that it maps.
const SIZES: [usize; 5] = [64, 1000, 5000, 100_000, 3_000_000];
/// Words that are found by chance hardly ever; masked, so that the test's own copy is not what is found.
const MASK: u64 = 0x3c5a_96e1_b4d2_7f08;
const MARK: u64 = 0x1b7e_60d3_a95c_f824 ^ MASK;

/// The word that stands for a way to lose memory.
fn word(way: u64) -> [u8; 8] {
    ((MARK ^ black_box(MASK)) + way).to_le_bytes()
}

fn fill(block: &mut [u8], way: u64) {
    let mut bytes = word(way);
    block.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&bytes));
    black_box(&mut bytes).fill(0);
}

fn freed(size: usize) {
    let mut block = vec![0; size];
    fill(&mut block, 1);
    drop(black_box(block));
}

fn grown(size: usize) -> Vec<u8> {
    let mut block = vec![0; size];
    fill(&mut block, 2);
    // So that it cannot grow where it is.
    let behind = black_box(vec![1u8; size]);
    block.reserve_exact(5 * size);
    drop(behind);
    block.fill(0);
    block
}

fn shrunk(size: usize) -> Vec<u8> {
    let mut block = vec![0; size];
    fill(&mut block, 3);
    block.truncate(size / 4);
    block.shrink_to_fit();
    block.fill(0);
    block
}

/// Which ways left words in memory that can be written to.
fn found() -> Vec<u64> {
    reticent_erase::burn_stack();
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let mut memory = File::open("/proc/self/mem").unwrap();
    let mut buffer = vec![0u8; 1 << 16];
    let own = buffer.as_ptr() as u64;
    let mut found = Vec::new();
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw"))) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let (mut at, to) = (u64::from_str_radix(from, 16).unwrap(), u64::from_str_radix(to, 16).unwrap());
        while at < to {
            let length = buffer.len().min((to - at) as usize);
            memory.seek(SeekFrom::Start(at)).unwrap();
            if memory.read_exact(&mut buffer[..length]).is_err() {
                break;
            }
            for (index, chunk) in buffer[..length].chunks_exact(8).enumerate() {
                let is_own = (own..own + buffer.len() as u64).contains(&(at + 8 * index as u64));
                let way = u64::from_le_bytes(chunk.try_into().unwrap()).wrapping_sub(MARK ^ black_box(MASK));
                if !is_own && (1..=3).contains(&way) {
                    found.push(way);
                }
            }
            at += length as u64;
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// All ways, and what is still held.
fn lose() -> Vec<Vec<u8>> {
    SIZES.iter().for_each(|size| freed(*size));
    SIZES.iter().flat_map(|size| [grown(*size), shrunk(*size)]).collect()
}

#[test]
fn nothing_is_left_of_what_was_freed_or_moved_once_it_has_begun() {
    // The control: the search finds what an ordinary allocator leaves.
    let held = lose();
    assert_eq!(found(), [1, 2, 3]);
    assert!(!reticent_erase::is_on());
    drop(held);
    reticent_erase::begin();
    assert!(reticent_erase::is_on());
    // What was freed before it began lies where it was: those blocks are taken, and freed once more.
    let again: Vec<Vec<u8>> = (0..200).flat_map(|_| SIZES.map(|size| vec![0xff; size])).collect();
    drop(black_box(again));
    let before = found();
    let held = lose();
    assert_eq!(found(), before);
    assert_eq!(before, [0u64; 0]);
    drop(held);
}
