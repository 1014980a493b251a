//! Clocks.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of time; it alone decides when steps of a fixed length end.
pub trait Clock: Send + Sync {
    /// The current time.
    fn now(&self) -> SystemTime;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that stands still until it is moved: for tests and simulations.
#[derive(Debug)]
pub struct HandClock(AtomicI64);

impl HandClock {
    /// A clock at this time, in milliseconds since 1970.
    pub fn at(milliseconds: i64) -> Self {
        Self(AtomicI64::new(milliseconds))
    }

    /// Sets the time, in milliseconds since 1970; it may go backwards.
    pub fn set(&self, milliseconds: i64) {
        self.0.store(milliseconds, Ordering::SeqCst);
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::SeqCst);
    }
}

impl Clock for HandClock {
    fn now(&self) -> SystemTime {
        let milliseconds = self.0.load(Ordering::SeqCst);
        let distance = Duration::from_millis(milliseconds.unsigned_abs());
        if milliseconds < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }
}

/// Milliseconds since 1970, rounded down.
pub(crate) fn milliseconds(clock: &dyn Clock) -> i64 {
    match clock.now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |before| -before - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_rounded_towards_the_past() {
        let clock = HandClock::at(1500);
        assert_eq!(milliseconds(&clock), 1500);
        clock.advance(Duration::from_millis(250));
        assert_eq!(milliseconds(&clock), 1750);
        clock.set(-1);
        assert!(milliseconds(&clock) < 0);
    }
}
