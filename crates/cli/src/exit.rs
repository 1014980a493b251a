//! How the process ends.

use std::process::ExitCode;

/// Usage or bad configuration: nothing was spent.
pub const USAGE: u8 = 2;

/// The claim does not hold.
pub const REFUTED: u8 = 1;

/// Prints an error and says how to end.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    let usage = error.downcast_ref::<reticent::Error>().is_some_and(reticent::Error::is_parameter);
    if usage { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}
