//! Signals to stop.

use std::sync::{Arc, OnceLock, Weak};

use anyhow::Result;
use reticent_ledger::DurableLedger;

/// The ledger of the service, once it is open; waiting for signals does not keep it open.
pub type OpenLedger = Arc<OnceLock<Weak<DurableLedger>>>;

/// Completes when the process is told to stop, by SIGTERM or SIGINT. At the second signal the process exits as soon as the
/// ledger says which queries that interrupts, and at the third one at once: everything acknowledged is durable.
///
/// # Errors
/// If signals cannot be handled.
#[cfg(unix)]
pub fn told_to_stop(ledger: OpenLedger) -> Result<impl Future<Output = ()> + Send + 'static> {
    use anyhow::Context;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot wait for signals")?;
    let (send, told) = tokio::sync::oneshot::channel();
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            let mut signals = signals.forever();
            signals.next();
            let _ = send.send(());
            signals.next();
            // On another thread: a ledger that does not answer must not keep the process from ending.
            std::thread::spawn(move || {
                if ledger.get().and_then(Weak::upgrade).is_some_and(|ledger| ledger.interrupt().is_err()) {
                    tracing::error!("cannot record that queries were interrupted; their datasets are suspended");
                }
                std::process::exit(1);
            });
            signals.next();
            std::process::exit(1);
        })
        .context("cannot start threads")?;
    Ok(async move {
        let _ = told.await;
    })
}

/// Without signals the process is ended from outside: everything acknowledged is durable, and the datasets of queries that
/// were running are suspended.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn told_to_stop(_: OpenLedger) -> Result<impl Future<Output = ()> + Send + 'static> {
    Ok(std::future::pending())
}
