//! Exit codes.

use std::borrow::Cow;
use std::error::Error;
use std::process::ExitCode;

use reticent::error::{Class, Explained};
use reticent::message::Spelling;
use reticent::secrets::hide;

/// Usage or bad configuration: nothing was spent.
pub const USAGE: u8 = 2;

/// The mechanism refused everything, which is a charged answer.
pub const REFUSED: u8 = 3;

/// Not enough budget left: nothing was spent.
pub const OVERDRAWN: u8 = 4;

/// The claim does not hold.
pub const REFUTED: u8 = 1;

/// The request is impossible; the text says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(String);

/// An error that exits with [`USAGE`].
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}

/// Prints what is wrong with the arguments, or the requested help, and exits. Secrets among them are not repeated.
pub fn of_arguments(error: &clap::Error) -> ! {
    let text = error.to_string();
    if error.use_stderr() && matches!(hide(&text), Cow::Owned(_)) {
        crate::output::say!("{}", text.trim_end());
        std::process::exit(USAGE.into());
    }
    error.exit()
}

impl Explained for Usage {
    fn class(&self) -> Class {
        Class::Request
    }
}

/// An error in words, with settings spelled as flags.
pub fn message(error: &anyhow::Error) -> String {
    let sentences = error.chain().map(|cause| match explained(cause) {
        Some(explained) => explained.message().spelled(Spelling::Flag),
        None => cause.to_string(),
    });
    sentences.collect::<Vec<_>>().join(": ")
}

/// Prints an error and returns the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    crate::output::say!("error: {}", message(error));
    match error.chain().find_map(explained).map_or(Class::Machine, Explained::class) {
        Class::Exhausted => ExitCode::from(OVERDRAWN),
        Class::Request | Class::Missing | Class::Conflict => ExitCode::from(USAGE),
        _ => ExitCode::FAILURE,
    }
}

/// The error as one of those that can be explained.
fn explained<'error>(cause: &'error (dyn Error + 'static)) -> Option<&'error dyn Explained> {
    fn as_one<'one, E: Explained + 'static>(cause: &'one (dyn Error + 'static)) -> Option<&'one dyn Explained> {
        cause.downcast_ref::<E>().map(|error| error as &dyn Explained)
    }
    let known = [
        as_one::<Usage>,
        as_one::<reticent::Error>,
        as_one::<reticent_aggregators::Error>,
        as_one::<reticent_client::Error>,
        as_one::<reticent_collector::Error>,
        as_one::<reticent_ledger::Error>,
        as_one::<reticent_party::Error>,
        as_one::<reticent_server::Error>,
        as_one::<reticent_sql::Error>,
        as_one::<reticent_stream::count::Error>,
        #[cfg(unix)]
        as_one::<reticent_subsample::Error>,
    ];
    known.iter().find_map(|as_one| as_one(cause))
}
