//! Panics whose messages are not printed.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The guards that are alive.
static GUARDS: AtomicUsize = AtomicUsize::new(0);
static HOOK: Once = Once::new();

/// While one exists, panics of this process print nothing: the message of a panic on a malformed row may quote it.
///
/// Whatever works on rows takes one for as long as it does. Other panic hooks see no panic meanwhile, unless they are
/// installed later.
///
/// # Example
/// ```
/// use reticent::secrets::Quiet;
///
/// let quiet = Quiet::new();
/// let row = "Ada Lovelace";
/// assert!(std::panic::catch_unwind(|| panic!("bad row: {row}")).is_err()); // and nothing is printed
/// drop(quiet);
/// ```
#[derive(Debug)]
pub struct Quiet(());

impl Quiet {
    /// Silences panics until it is dropped.
    #[allow(clippy::new_without_default, reason = "a guard, not a value")]
    pub fn new() -> Self {
        GUARDS.fetch_add(1, Ordering::SeqCst);
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |panic| {
                if GUARDS.load(Ordering::SeqCst) == 0 {
                    usual(panic);
                }
            }));
        });
        Self(())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        GUARDS.fetch_sub(1, Ordering::SeqCst);
    }
}
