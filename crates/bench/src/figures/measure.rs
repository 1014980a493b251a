//! Errors measured over many runs with fresh noise.

use std::ops::Range;
use std::time::{Duration, Instant};

use anyhow::Result;
use reticent::Permit;
use reticent::continual::AnyStrategy;

use crate::Effort;

/// The number of steps passed to a counter at a time.
const AT_ONCE: u64 = 4096;
/// Fewer runs would not be a measurement.
const LEAST_RUNS: u64 = 3;

/// The errors of a counter over several runs.
#[derive(Debug, Clone)]
pub struct Measured {
    pub runs: u64,
    /// The mean squared error in each window of steps.
    pub windows: Vec<f64>,
    /// The median over runs of the largest error at any step.
    pub median_largest: f64,
}

/// Runs a counter on made-up bits as often as the effort allows, and compares its releases with the truth. Windows are
/// ranges of steps, counted from 0, in order and without gaps, up to the horizon.
pub fn measure(strategy: &AnyStrategy, windows: &[Range<u64>], effort: Effort) -> Result<Measured> {
    let started = Instant::now();
    let mut sums = vec![0.0; windows.len()];
    let mut largest = Vec::new();
    let horizon = windows.last().map_or(1, |window| window.end);
    let planned = (effort.steps / horizon).clamp(LEAST_RUNS, effort.most_runs) as usize;
    let in_time = || started.elapsed() < Duration::from_secs_f64(effort.seconds);
    while largest.len() < LEAST_RUNS as usize || (largest.len() < planned && in_time()) {
        largest.push(run(strategy, windows, &mut sums)?);
    }
    largest.sort_by(f64::total_cmp);
    let runs = largest.len() as u64;
    let mean = |(sum, window): (&f64, &Range<u64>)| sum / (runs * (window.end - window.start)) as f64;
    let median_largest = (largest[(largest.len() - 1) / 2] + largest[largest.len() / 2]) / 2.0;
    Ok(Measured { runs, windows: sums.iter().zip(windows).map(mean).collect(), median_largest })
}

/// One run: adds up the squared errors of each window, and returns the largest error.
fn run(strategy: &AnyStrategy, windows: &[Range<u64>], sums: &mut [f64]) -> Result<f64> {
    let mut counter = strategy.clone().start(Permit::unaccounted()?)?;
    let (mut truth, mut largest) = (0i64, 0i64);
    for (window, sum) in windows.iter().zip(sums) {
        let mut from = window.start;
        while from < window.end {
            let to = window.end.min(from + AT_ONCE);
            let values: Vec<i64> = (from..to).map(bit).collect();
            let mut given = values.iter();
            counter.advance_all(&values, |released| {
                truth += given.next().copied().unwrap_or(0);
                let error = released - truth;
                largest = largest.max(error.abs());
                *sum += (error as f64).powi(2);
            })?;
            from = to;
        }
    }
    Ok(largest as f64)
}

/// Made-up data: about two in five steps have an event.
fn bit(step: u64) -> i64 {
    i64::from(step.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32 & 0xff < 0x66)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn about_two_in_five_steps_have_an_event() {
        let events: i64 = (0..100_000).map(bit).sum();
        assert!((38_000..42_000).contains(&events), "{events}");
    }
}
