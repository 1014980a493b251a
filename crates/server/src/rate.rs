//! How often a token may ask.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// Beyond so many callers the ones that have been quiet are forgotten: a full bucket is like none.
const MOST_CALLERS: usize = 10_000;

/// A bucket for each token: so many requests a second, and so many at once. Nothing of a request but its arrival counts.
#[derive(Debug)]
pub struct Rate {
    per_second: f64,
    burst: f64,
    buckets: Mutex<HashMap<String, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rate {
    /// So many requests a second, and so many at once.
    pub fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second: per_second.into(), burst: burst.into(), buckets: Mutex::default() }
    }

    /// May this caller ask now?
    pub fn admits(&self, caller: &str, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if buckets.len() >= MOST_CALLERS {
            let refill = self.burst / self.per_second;
            buckets.retain(|_, bucket| now.saturating_duration_since(bucket.at).as_secs_f64() < refill);
        }
        let bucket = buckets.entry(caller.to_owned()).or_insert(Bucket { left: self.burst, at: now });
        let since = now.saturating_duration_since(bucket.at).as_secs_f64();
        bucket.left = (bucket.left + since * self.per_second).min(self.burst);
        bucket.at = now;
        let admitted = bucket.left >= 1.0;
        if admitted {
            bucket.left -= 1.0;
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_and_is_ones_own() {
        let rate = Rate::new(2, 3);
        let start = Instant::now();
        let admitted = |caller: &str, after: u64| rate.admits(caller, start + Duration::from_millis(after));
        assert_eq!([0; 4].map(|_| admitted("ada", 0)), [true, true, true, false]);
        assert!(admitted("alan", 0));
        assert_eq!([0; 2].map(|_| admitted("ada", 500)), [true, false]);
        assert_eq!([0; 4].map(|_| admitted("ada", 60_000)), [true, true, true, false]);
    }
}
