//! Ctrl-C during a query.

use reticent_sql::bounding::Interrupt;

/// The first Ctrl-C ends the run, and its failure is recorded with the charge; the second one ends the program.
///
/// # Errors
/// If signals cannot be handled.
#[cfg(unix)]
pub fn on_ctrl_c(interrupt: &Interrupt) -> std::io::Result<()> {
    use signal_hook::consts::SIGINT;
    use signal_hook::iterator::Signals;

    let interrupt = interrupt.clone();
    let mut signals = Signals::new([SIGINT])?;
    std::thread::spawn(move || {
        for (number, _) in signals.forever().enumerate() {
            if number > 0 {
                std::process::exit(130);
            }
            interrupt.stop();
            crate::output::say!(
                "interrupted; what was charged stays charged, and the same --request fails from now on"
            );
        }
    });
    Ok(())
}

/// Elsewhere Ctrl-C ends the program, and the charge has no outcome.
#[cfg(not(unix))]
pub fn on_ctrl_c(_: &Interrupt) -> std::io::Result<()> {
    Ok(())
}
