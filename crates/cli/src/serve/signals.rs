//! Being told to stop.

use anyhow::Result;

/// Is over when the process is told to stop, by SIGTERM or SIGINT. Told a second time, the process ends at once: all that was
/// acknowledged is durable.
///
/// # Errors
/// If signals cannot be waited for.
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

/// Where there are no signals the process is ended from outside: all that was acknowledged is durable.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn told_to_stop() -> Result<impl Future<Output = ()> + Send + 'static> {
    Ok(std::future::pending())
}
