//! Resource limits of a run, set by the operator.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use reticent_bounding::{Interrupt, Memory};

use crate::engine::{BUCKETS, Engine};

/// Used if the machine does not report its memory.
const MEMORY: u64 = 8 << 30;

/// Resource limits of a run. A run that exceeds them ends as [`Error::Reading`](crate::Error::Reading), after the
/// charge: how much a run needs depends on rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunLimits {
    /// Bytes of memory.
    pub memory: Option<u64>,
    /// Running time.
    pub time: Option<Duration>,
    /// Threads; by default one per core.
    pub threads: Option<usize>,
    /// Where to spill rows that do not fit in memory; by default the system's directory for temporary files.
    pub folder: Option<PathBuf>,
}

impl RunLimits {
    /// The memory limit in bytes; by default half of the machine's memory.
    pub(crate) fn memory(&self) -> usize {
        usize::try_from(self.memory.unwrap_or_else(|| machine_memory() / 2)).unwrap_or(usize::MAX)
    }

    /// The number of threads.
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores).max(1)
    }

    /// An engine for one run, whose time starts now.
    pub fn engine(&self) -> Engine {
        let folder = self.folder.clone().unwrap_or_else(std::env::temp_dir);
        let deadline = self.time.and_then(|time| Instant::now().checked_add(time));
        Engine {
            threads: self.threads(),
            buckets: BUCKETS,
            memory: Memory::new(self.memory()).spilling_to(folder),
            interrupt: deadline.map_or_else(Interrupt::new, Interrupt::at),
        }
    }
}

/// The most memory that this process can have: the machine's, or its container's.
pub fn machine_memory() -> u64 {
    let number =
        |path: &str, find: fn(&str) -> Option<u64>| std::fs::read_to_string(path).ok().as_deref().and_then(find);
    let total = number("/proc/meminfo", |text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    });
    let container = number("/sys/fs/cgroup/memory.max", |text| text.trim().parse().ok());
    total.into_iter().chain(container).min().unwrap_or(MEMORY)
}

/// Parses a duration such as `500ms`, `10s` or `2m`.
pub fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split_unit(text);
    let milliseconds = match unit {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let length = number.zip(milliseconds).and_then(|(number, unit)| number.checked_mul(unit));
    length
        .filter(|length| (1..=LONGEST).contains(length))
        .map(Duration::from_millis)
        .ok_or_else(|| "write a duration from 1ms to 24h, for example 500ms, 10s or 2m".into())
}

/// Parses a number of bytes such as `512MiB` or `2GiB`.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split_unit(text);
    let shift = match unit {
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    let size = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    size.filter(|size| *size > 0).ok_or_else(|| "write a size, for example 512MiB or 2GiB".into())
}

/// Milliseconds in 24 hours.
const LONGEST: u64 = 86_400_000;

/// Splits a text into its leading digits and the rest.
fn split_unit(text: &str) -> (Option<u64>, &str) {
    let digits = text.len() - text.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    (text[..digits].parse().ok(), &text[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_read_as_written() {
        assert_eq!((duration("500ms"), duration("2m")), (Ok(Duration::from_millis(500)), Ok(Duration::from_secs(120))));
        assert_eq!((bytes("512MiB"), bytes("2GiB"), bytes("8KiB")), (Ok(512 << 20), Ok(2 << 30), Ok(8192)));
        for text in ["", "1", "s", "0s", "-1s", "1.5s", "25h", "18446744073709551615h", "1S"] {
            assert!(duration(text).is_err(), "{text}");
        }
        for text in ["", "1", "0MiB", "1MB", "18446744073709551615GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_engine_is_as_the_operator_says() {
        let limits = RunLimits { memory: Some(1 << 20), time: Some(Duration::ZERO), threads: Some(3), folder: None };
        let engine = limits.engine();
        assert_eq!(engine.threads, 3);
        assert!(engine.interrupt.is_stopped(), "its time is over at once");
        assert!(engine.memory.reserve().try_grow(2 << 20).is_err());
        assert!(!RunLimits::default().engine().interrupt.is_stopped());
        assert!(machine_memory() > 1 << 20);
    }
}
