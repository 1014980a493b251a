//! Signals to stop.

use anyhow::Result;

/// Completes when the process is told to stop, by SIGTERM or SIGINT. At the second signal the process exits at once:
/// everything acknowledged is durable.
///
/// # Errors
/// If signals cannot be handled.
#[cfg(unix)]
pub fn told_to_stop() -> Result<impl Future<Output = ()> + Send + 'static> {
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
            std::process::exit(1);
        })
        .context("cannot start threads")?;
    Ok(async move {
        let _ = told.await;
    })
}

/// Without signals the process is ended from outside: everything acknowledged is durable.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn told_to_stop() -> Result<impl Future<Output = ()> + Send + 'static> {
    Ok(std::future::pending())
}
