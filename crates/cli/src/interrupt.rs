//! Ctrl-C and SIGTERM while rows are read.
//!
//! A process that ends before its charge has an outcome suspends the dataset, since that may depend on the rows. What the
//! user does depends on the user: it is recorded as such, and counted.

use std::sync::Arc;

use reticent_ledger::accounting::Payer;

/// The exit code of a program that its user ended.
#[cfg(unix)]
const INTERRUPTED: i32 = 130;

/// Calls `stop` at the first signal, for a run that then ends by itself. Otherwise, and at the second one, the program
/// ends at once, when it is recorded that the user ended the run.
///
/// # Errors
/// If signals cannot be handled.
#[cfg(unix)]
pub fn on_signals(account: &Arc<Payer>, stop: Option<impl Fn() + Send + 'static>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let account = Arc::clone(account);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    std::thread::spawn(move || {
        let mut stop = stop;
        for _ in signals.forever() {
            if let Some(stop) = stop.take() {
                stop();
                continue;
            }
            if account.interrupt().is_err() {
                crate::output::say!("it could not be recorded that you ended this; the dataset is suspended");
            }
            std::process::exit(INTERRUPTED);
        }
    });
    Ok(())
}

/// Elsewhere a signal ends the program, and the dataset is suspended.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn on_signals(_: &Arc<Payer>, _: Option<impl Fn() + Send + 'static>) -> std::io::Result<()> {
    Ok(())
}
