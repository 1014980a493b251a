//! `reticent stream`: streams of a running service.
//!
//! | file | holds |
//! |---|---|
//! | `create` | a stream from arguments |
//! | `show` | streams and releases, for people and programs |
//! | `send` | events from a file or a pipe |

mod create;
mod send;
mod show;

use std::process::ExitCode;

use anyhow::Result;

use reticent_client::Client;
use reticent_server::tokens::owner::Owner;

use crate::serve::own_directory;

/// The commands of `reticent stream`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create a stream; everything it will ever release is charged at once
    Create(Box<create::Arguments>),
    /// List all streams
    List(show::ListArguments),
    /// Show a stream and its latest releases
    Show(show::Arguments),
    /// Send events, one per line, from a file or standard input
    Send(send::Arguments),
}

/// The service.
#[derive(Debug, clap::Args)]
struct Service {
    /// Where the service is [default: $RETICENT_SERVER, or else http://127.0.0.1:8080]; the token is $RETICENT_TOKEN, or else the owner's if your own service has no other tokens
    #[arg(long, value_name = "URL")]
    server: Option<String>,
}

impl Service {
    fn client(&self) -> Result<Client> {
        Ok(Client::new(self.server.as_deref(), owners_token)?)
    }
}

/// Runs the command.
pub fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Create(arguments) => create::run(arguments)?,
        Command::List(arguments) => show::list(arguments)?,
        Command::Show(arguments) => show::run(arguments)?,
        Command::Send(arguments) => send::run(arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The owner's token, if this user's own service is at this address and has no tokens yet. It is sent to no other
/// address.
fn owners_token(address: &str) -> Option<String> {
    let (own, token) = Owner::published(&own_directory().ok()?)?;
    (own == address).then_some(token)
}
