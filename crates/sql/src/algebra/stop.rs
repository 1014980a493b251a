//! Lets a slow function give up once nobody waits for its result any more.

use std::cell::RefCell;

use reticent_bounding::Interrupt;

thread_local! {
    static CURRENT: RefCell<Interrupt> = RefCell::default();
}

/// Runs `work`, during which [`is_stopped`] on this thread asks this interrupt.
///
/// A function that was stopped returns any value. An interrupt never takes back that it has stopped, so the caller only
/// has to ask it after `work`, and to discard the result if it has.
pub fn until<T>(interrupt: &Interrupt, work: impl FnOnce() -> T) -> T {
    struct Restore(Interrupt);
    impl Drop for Restore {
        fn drop(&mut self) {
            CURRENT.set(std::mem::take(&mut self.0));
        }
    }
    let _restore = Restore(CURRENT.replace(interrupt.clone()));
    work()
}

/// Whether the result is no longer wanted.
pub fn is_stopped() -> bool {
    CURRENT.with_borrow(Interrupt::is_stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_runs_inside_is_stopped() {
        let interrupt = Interrupt::new();
        let inside = until(&interrupt, || {
            let before = is_stopped();
            interrupt.stop();
            (before, is_stopped(), until(&Interrupt::new(), is_stopped), is_stopped())
        });
        assert_eq!(inside, (false, true, false, true));
        assert!(!is_stopped());
    }
}
