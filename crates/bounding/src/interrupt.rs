//! Time limits and Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use crate::error::{Error, Result};

/// Stops the work with [`Error::Interrupted`]: on request or at a deadline. It is polled every few thousand rows and
/// before every bucket.
///
/// Clones share one flag, so that a signal handler can hold one and the workers another.
///
/// # Privacy
/// The running time depends on the rows, and so does whether a deadline is met. Charge the budget before you start, and
/// never refund it for an interrupted query.
///
/// # Example
/// ```
/// use reticent_bounding::Interrupt;
///
/// let interrupt = Interrupt::new();
/// let on_ctrl_c = interrupt.clone();
/// on_ctrl_c.stop();
/// assert!(interrupt.is_stopped());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Interrupt {
    stopped: Arc<AtomicBool>,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// Stops the work only when [`Interrupt::stop`] is called.
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the work at the deadline, or when [`Interrupt::stop`] is called.
    pub fn at(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Stops the work as soon as possible.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`Interrupt::stop`] was called, whatever the deadline.
    pub fn was_called(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Whether it is time to stop.
    pub fn is_stopped(&self) -> bool {
        self.was_called() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.is_stopped() { Err(Error::Interrupted) } else { Ok(()) }
    }
}
