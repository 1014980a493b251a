//! Rate limits.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

/// Beyond this many callers, idle ones are forgotten: a full bucket is the same as none.
const MOST_CALLERS: usize = 10_000;

/// A token bucket for each caller. Only the arrival of a request counts.
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
    /// Allows `per_second` requests per second, and `burst` at once.
    pub fn new(per_second: u32, burst: u32) -> Self {
        Self { per_second: per_second.into(), burst: burst.into(), buckets: Mutex::default() }
    }

    /// Whether a request by this caller is within the limit.
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
