//! How the process ends.

use std::borrow::Cow;
use std::process::ExitCode;

use reticent::secrets::hide;

/// Usage or bad configuration: nothing was spent.
pub const USAGE: u8 = 2;

/// Everything was refused by the mechanism, which is a charged answer.
pub const REFUSED: u8 = 3;

/// Not enough budget left: nothing was spent.
pub const OVERDRAWN: u8 = 4;

/// The claim does not hold.
pub const REFUTED: u8 = 1;

/// What the user asked for cannot be done; the text says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

/// Not enough budget left, says a service.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Overdrawn(pub String);

/// An error that ends the program with [`USAGE`].
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}

/// Prints what is wrong with the arguments, or the help that was asked for, and ends. A secret among them is not repeated.
pub fn of_arguments(error: &clap::Error) -> ! {
    let text = error.to_string();
    if error.use_stderr() && matches!(hide(&text), Cow::Owned(_)) {
        crate::output::say!("{}", text.trim_end());
        std::process::exit(USAGE.into());
    }
    error.exit()
}

/// Prints an error and says how to end.
pub fn report(error: &anyhow::Error) -> ExitCode {
    crate::output::say!("error: {error:#}");
    let of_ledger = error.downcast_ref::<reticent_ledger::Error>();
    let of_party = error.downcast_ref::<reticent_party::Error>();
    let of_core = error.downcast_ref::<reticent::Error>();
    let of_server = error.downcast_ref::<reticent_server::Error>();
    if of_ledger.is_some_and(reticent_ledger::Error::is_overdrawn)
        || of_party.is_some_and(reticent_party::Error::is_overdrawn)
        || of_server.is_some_and(reticent_server::Error::is_overdrawn)
        // A device is its own ledger.
        || of_core.is_some_and(reticent::Error::is_already_answered)
        || error.is::<Overdrawn>()
    {
        return ExitCode::from(OVERDRAWN);
    }
    #[cfg(unix)]
    let of_subsample =
        error.downcast_ref::<reticent_subsample::Error>().is_some_and(reticent_subsample::Error::is_usage);
    #[cfg(not(unix))]
    let of_subsample = false;
    let usage = error.is::<Usage>()
        || of_subsample
        || of_core.is_some_and(reticent::Error::is_parameter)
        || error.downcast_ref::<reticent_sql::Error>().is_some_and(reticent_sql::Error::is_usage)
        || error.downcast_ref::<reticent_collect::Error>().is_some_and(reticent_collect::Error::is_usage)
        || of_party.is_some_and(reticent_party::Error::is_usage)
        || of_server.is_some_and(reticent_server::Error::is_usage)
        || of_ledger.is_some_and(reticent_ledger::Error::is_usage);
    if usage { ExitCode::from(USAGE) } else { ExitCode::FAILURE }
}
