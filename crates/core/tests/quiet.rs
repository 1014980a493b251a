//! Panics on rows print nothing while a guard exists. Alone in its process: the panic hook is everyone's.

use std::panic::{catch_unwind, set_hook};
use std::sync::atomic::{AtomicUsize, Ordering};

use reticent::secrets::Quiet;

static PRINTED: AtomicUsize = AtomicUsize::new(0);

fn printed() -> usize {
    let before = PRINTED.load(Ordering::SeqCst);
    let worker = std::thread::spawn(|| panic!("bad row: Ada Lovelace"));
    assert!(worker.join().is_err() && catch_unwind(|| panic!("bad row: Ada Lovelace")).is_err());
    PRINTED.load(Ordering::SeqCst) - before
}

#[test]
fn panics_are_silent_while_a_guard_exists() {
    set_hook(Box::new(|_| {
        PRINTED.fetch_add(1, Ordering::SeqCst);
    }));
    assert_eq!(printed(), 2);
    let (first, second) = (Quiet::new(), Quiet::new());
    assert_eq!(printed(), 0);
    drop(first);
    assert_eq!(printed(), 0, "the second one still exists");
    drop(second);
    assert_eq!(printed(), 2);
}
