//! What an attacker who seizes the machine finds: the memory of this process or another, and all bytes of a folder. For
//! tests, on Linux.
//!
//! If a process may not read another's memory there is nothing to search, which is reported.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE: usize = 4096;
/// Every process has more: if less can be read, memory is not readable.
const LEAST: usize = 1 << 20;
/// How many times in a row all threads must be found asleep.
const QUIET: usize = 25;
const PAUSE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(120);

/// All writable memory of the process, without all-zero pages; `None` if it cannot be read.
pub fn memory(process: u32) -> Option<Vec<u8>> {
    let bytes = read(process).unwrap_or_default();
    if bytes.len() < LEAST {
        println!("SKIPPED: the memory of another process cannot be read here");
        return None;
    }
    Some(bytes)
}

fn read(process: u32) -> std::io::Result<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mut memory = File::open(format!("/proc/{process}/mem"))?;
    let (mut bytes, mut page) = (Vec::new(), [0; PAGE]);
    for map in maps.lines() {
        let words: Vec<&str> = map.split_whitespace().collect();
        // A read-only mapping of a file is that file.
        let (rights, is_file) = (words[1], words[4] != "0");
        if !rights.starts_with('r') || is_file && !rights.starts_with("rw") {
            continue;
        }
        let (start, end) = words[0].split_once('-').expect("a range");
        let place = |text| u64::from_str_radix(text, 16).expect("an address");
        memory.seek(SeekFrom::Start(place(start)))?;
        for _ in 0..(place(end) - place(start)) / PAGE as u64 {
            // Some pages are reserved by the system.
            if memory.read_exact(&mut page).is_err() {
                break;
            }
            if page != [0; PAGE] {
                bytes.extend(page);
            }
        }
    }
    Ok(bytes)
}

/// Calls `with` with every aligned word in the writable memory of this process, except in the buffer that they are read
/// into. If the words that it looks for are masked in the program, they are found where they were left, and only there.
///
/// # Panics
/// If the process cannot read its own memory.
#[inline(never)]
pub fn own_words(mut with: impl FnMut(u64)) {
    let maps = fs::read_to_string("/proc/self/maps").expect("the map of this process");
    let mut memory = File::open("/proc/self/mem").expect("the memory of this process");
    let mut buffer = vec![0u8; 1 << 16];
    let own = buffer.as_ptr() as u64..buffer.as_ptr() as u64 + buffer.len() as u64;
    for line in maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.starts_with("rw"))) {
        let (from, to) = line.split_once(' ').and_then(|(range, _)| range.split_once('-')).expect("a range");
        let place = |text| u64::from_str_radix(text, 16).expect("an address");
        let (mut at, to) = (place(from), place(to));
        while at < to {
            let length = buffer.len().min((to - at) as usize);
            memory.seek(SeekFrom::Start(at)).expect("an address");
            // Some pages are reserved by the system.
            if memory.read_exact(&mut buffer[..length]).is_err() {
                break;
            }
            for (index, word) in buffer[..length].chunks_exact(8).enumerate() {
                if !own.contains(&(at + 8 * index as u64)) {
                    with(u64::from_ne_bytes(word.try_into().expect("eight bytes")));
                }
            }
            at += length as u64;
        }
    }
    buffer.fill(0);
    black_box(&buffer);
}

/// All bytes of all files in a folder and its subfolders.
///
/// # Panics
/// If there is no such folder.
pub fn files(folder: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        bytes.extend(if path.is_dir() { files(&path) } else { fs::read(&path).expect("a file") });
    }
    bytes
}

/// Waits until a process is idle: all of its threads have been asleep for a while.
///
/// # Panics
/// If it never is, or there is no such process.
pub fn wait_until_asleep(process: u32) {
    let (since, mut quiet) = (Instant::now(), 0);
    while quiet < QUIET {
        let mut threads = fs::read_dir(format!("/proc/{process}/task")).expect("a process").flatten();
        let asleep = threads.all(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('S'))
        });
        quiet = if asleep { quiet + 1 } else { 0 };
        assert!(since.elapsed() < PATIENCE, "the process never sleeps");
        std::thread::sleep(PAUSE);
    }
}
