//! Where a file of separated values may be cut: at any line end, since each one ends a row.

use std::io::{Read, Result, Seek, SeekFrom};

use memchr::memchr2;

use super::records::fill;

/// How much is read at a time: lines are usually short.
const CHUNK: usize = 4 << 10;

/// The first line ends at or after each of the ascending `targets`; the end of the input if no line ends there.
pub fn cuts(input: &mut (impl Read + Seek), targets: &[u64]) -> Result<Vec<u64>> {
    let mut found: Vec<u64> = Vec::with_capacity(targets.len());
    let mut chunk = vec![0; CHUNK];
    for &target in targets {
        // A line that is longer than a part is scanned only once.
        if let Some(&last) = found.last().filter(|last| **last > target) {
            found.push(last);
            continue;
        }
        let mut position = input.seek(SeekFrom::Start(target))?;
        loop {
            let filled = fill(input, &mut chunk)?;
            let end = memchr2(b'\n', b'\r', &chunk[..filled]);
            position += end.map_or(filled, |end| end + 1) as u64;
            if end.is_some() || filled == 0 {
                break;
            }
        }
        found.push(position);
    }
    Ok(found)
}
