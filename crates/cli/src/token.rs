//! `reticent token`: who may do what with a service.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent_server::tokens::caps::written;
use reticent_server::tokens::{SpendingCaps, Token};
use reticent_server::{Role, Tokens};

use crate::exit::usage;
use crate::output::{Format, csv, json_lines, print, say, text_table};
use crate::serve::own_directory;

/// The commands of `reticent token`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Create a token and show it, once
    Create(Create),
    /// Show the owner's token of a running service that has no other tokens yet
    Owner(Owner),
    /// List all tokens; their secrets are not stored
    List(List),
    /// Revoke a token
    Revoke(Revoke),
}

#[derive(Debug, clap::Args)]
struct Place {
    /// The service's data directory [default: that of `reticent serve`]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Roles: owner does everything; analyst sees releases and asks queries within its caps; source sends events and \
sees nothing; viewer sees releases and budgets. The first token you create replaces the owner's temporary one (`reticent token owner`).

Examples:
  reticent token create ada --role owner
  reticent token create alan --role analyst --cap staff=1,1e-7 --cap visits=0.5
  reticent token create till-7 --role source
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8080/v1/streams"
)]
pub struct Create {
    /// Name of its holder, as the ledger will record it
    name: String,
    /// owner, analyst, source or viewer
    #[arg(long)]
    role: String,
    /// What an analyst may spend on a dataset: EPSILON, EPSILON,DELTA or rho:RHO
    #[arg(long = "cap", value_name = "DATASET=LIMIT")]
    caps: Vec<String>,
    /// Confirm caps with an epsilon above 10 or a delta above 0.001, which protect next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The token is created when the service starts. It expires when the service stops, or when you create the first token. \
`reticent stream` finds it, unless the service has a --data-dir.

Examples:
  export RETICENT_TOKEN=$(reticent token owner)
  curl -H \"Authorization: Bearer $(reticent token owner)\" http://127.0.0.1:8080/v1/streams"
)]
pub struct Owner {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reticent token list --format json")]
pub struct List {
    #[command(flatten)]
    place: Place,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "A running service notices at once. Example:\n  reticent token revoke till-7")]
pub struct Revoke {
    /// Name of the token
    name: String,
    #[command(flatten)]
    place: Place,
}

impl Place {
    fn directory(&self) -> Result<PathBuf> {
        self.data_dir.clone().map_or_else(own_directory, Ok)
    }

    fn tokens(&self) -> Result<Tokens> {
        let directory = self.directory()?;
        reticent_server::app::make_directory(&directory)?;
        Ok(Tokens::open(&directory)?)
    }
}

/// Runs the command.
pub fn run(command: &Command) -> Result<ExitCode> {
    match command {
        Command::Create(create) => {
            let role: Role = create.role.parse()?;
            let caps = create.caps.iter().map(|text| written(text)).collect::<Result<SpendingCaps, _>>()?;
            let text = create.place.tokens()?.create(&create.name, role, &caps, create.allow_large_epsilon)?;
            say!("the token of {} ({role}); it is shown only once, and only its hash is stored", create.name);
            print(&format!("{text}\n"))?;
        }
        Command::Owner(owner) => {
            let directory = owner.place.directory()?;
            let (_, token) = reticent_server::tokens::owner::Owner::published(&directory).ok_or_else(|| {
                let directory = directory.display();
                usage(format!(
                    "no service without tokens is running in {directory}; start `reticent serve`, or create a token with `reticent token create`"
                ))
            })?;
            print(&format!("{token}\n"))?;
        }
        Command::List(list) => print(&listed(&list.place.tokens()?.list()?, list.format))?,
        Command::Revoke(revoke) => {
            revoke.place.tokens()?.revoke(&revoke.name)?;
            say!("the token of {} is revoked", revoke.name);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(tokens: &[Token], format: Format) -> String {
    let caps = |token: &Token| {
        token.caps.iter().map(|(dataset, cap)| format!("{dataset}: {cap}")).collect::<Vec<_>>().join("; ")
    };
    let row = |token: &Token| {
        let ended = token.revoked.clone().unwrap_or_default();
        vec![token.name.clone(), token.role.to_string(), caps(token), token.created.clone(), ended]
    };
    let header = ["name", "role", "caps", "created", "revoked"];
    match format {
        Format::Table => format!("{}\n", text_table(&header, tokens.iter().map(row))),
        Format::Csv => csv(&header.join(","), tokens.iter().map(row)),
        Format::Json => json_lines(tokens.iter().map(Token::to_json)),
    }
}
