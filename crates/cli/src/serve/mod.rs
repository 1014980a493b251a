//! `reticent serve`: the service.
//!
//! | file | holds |
//! |---|---|
//! | `signals` | signals to stop |

mod signals;

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use reticent_erase::Care;
use reticent_ledger::{Location, named_by_environment};
use reticent_server::{Config, Server};

use crate::exit::usage;
use crate::output::print;

/// How long idle threads that wait for the disk are kept. Each new one has its own heap: memory would grow as they come
/// and go.
const KEPT: Duration = Duration::from_secs(3600);

/// The arguments of `reticent serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// What to serve, in a TOML file: tables with their policies, streams, budgets, limits
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory, for one process at a time [default: a folder in your data directory]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The ledger to charge, a file or postgres://… [default: $RETICENT_LEDGER, or else a file in the data directory]
    #[arg(long, value_name = "PLACE")]
    ledger: Option<String>,
    /// Record the ledger's newest hash in this file, best on another disk, and refuse to charge a ledger that lacks that entry
    /// (detects a restored older copy)
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// Also take events from NATS JetStream, such as nats://127.0.0.1:4222
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
}

const AFTER_HELP: &str = "Without arguments, the service keeps its data in a folder of yours, listens on 127.0.0.1:8080 and prints a link \
to open in a browser. Until you create the first token (`reticent token create`), the owner has a token for each run: it is in the link, \
`reticent stream` finds it, and `reticent token owner` shows it. To listen on any other address, create tokens and put a TLS proxy in front.

Examples:
  reticent serve
  reticent serve --config reticent.toml --data-dir /var/lib/reticent
  reticent stream create visits --step 1s --epsilon 1
  printf '1\\n1\\n1\\n' | reticent stream send visits
  curl -H \"Authorization: Bearer $(reticent token owner)\" http://127.0.0.1:8080/v1/streams/visits/releases/now

A configuration:
  listen = \"127.0.0.1:8080\"
  [[table]]
  name = \"staff\"
  file = \"examples/staff.csv\"
  policy = { bounds = { salary = \"0..200000\" }, budget = { epsilon = 3, delta = \"1e-7\" } }
  [[stream]]
  name = \"visits\"
  step = \"1m\"
  epsilon = 1

SIGTERM and SIGINT stop it cleanly: open requests finish, everything is durable, and the exit code is 0. A second signal ends \
it at once, with exit code 1; queries that it was answering are recorded as interrupted.";

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    // A panic's message may contain rows or events.
    std::panic::set_hook(Box::new(|_| {}));
    // A pan-private stream may be created at any time. (Freed memory is overwritten from then on: it begins with the stream.)
    Care::new(true).apply().context("cannot disable core dumps")?;
    reticent_server::logs::start();
    let mut config = arguments.config.as_deref().map(Config::read).transpose()?.unwrap_or_default();
    config.listen = arguments.listen.or(config.listen);
    config.nats = arguments.nats.clone().or(config.nats);
    if let Some(place) = named_ledger(arguments)? {
        config.ledger = Some(place);
    }
    if let Some(anchor) = &arguments.anchor {
        config.anchor = Some(std::path::absolute(anchor)?);
    }
    let directory = match arguments.data_dir.clone().or_else(|| config.data_dir.clone()) {
        Some(directory) => directory,
        None => own_directory()?,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_keep_alive(KEPT)
        .build()
        .context("cannot start threads")?;
    runtime.block_on(async {
        let ledger = signals::OpenLedger::default();
        let stop = signals::told_to_stop(Arc::clone(&ledger))?;
        let server = Server::bind(config, &directory).await?;
        let (address, app) = (server.address(), server.app());
        let _ = ledger.set(Arc::downgrade(&app.ledger));
        tracing::info!(data_directory = %directory.display(), version = env!("CARGO_PKG_VERSION"), "opened");
        // A terminal belongs to the owner; piped output may end up in a log.
        let mut link = format!("http://{address}/");
        if let Some(owner) = &app.owner {
            let directory = directory.display();
            tracing::info!(
                "no tokens yet: `reticent token owner --data-dir {directory}` shows the owner's token for this run"
            );
            if std::io::stdout().is_terminal() {
                link = owner.link(address);
            }
        }
        if !app.is_loopback() {
            tracing::warn!(
                "no TLS: put a TLS proxy in front of {address}, or tokens and events can be read in transit"
            );
        }
        print(&format!("{link}\n"))?;
        tracing::info!("listening on {address}");
        server.run(stop).await?;
        tracing::info!("stopped");
        Ok(ExitCode::SUCCESS)
    })
}

/// As an absolute path: it is not relative to the configuration's folder.
fn named_ledger(arguments: &Arguments) -> Result<Option<String>> {
    let Some(named) = arguments.ledger.clone().or_else(named_by_environment) else { return Ok(None) };
    Ok(Some(match named.parse()? {
        Location::File(path) => std::path::absolute(path)?.to_string_lossy().into_owned(),
        Location::Postgres(url) => url,
    }))
}

/// The default data directory.
pub fn own_directory() -> Result<PathBuf> {
    let folder = dirs::data_dir()
        .ok_or_else(|| usage("your data directory is unknown (HOME is not set); name a folder with --data-dir"))?;
    Ok(folder.join("reticent").join("service"))
}
