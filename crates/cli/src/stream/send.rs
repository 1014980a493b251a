//! `reticent stream send`: sends events from a file or a pipe.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;

use anyhow::{Context, Result};

use super::Service;
use crate::exit::usage;
use crate::marks::refuse_foreign;

/// The arguments of `reticent stream send`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "One event per line: {\"id\": \"a1\", \"key\": \"north\", \"value\": 3}, or a bare number. The value defaults to \
1. An id seen before within the stream's window is not counted again: with ids, lines can be resent after a failure. Slow \
input is sent once a second.

Examples:
  reticent stream send visits visits.ndjson
  tail -f access.log | sed -u 's/.*/1/' | reticent stream send visits"
)]
pub struct Arguments {
    /// Which stream
    name: String,
    /// The events [default: standard input]
    file: Option<PathBuf>,
    /// Number of lines per request
    #[arg(long, default_value = "1000", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    batch: u64,
    #[command(flatten)]
    service: Service,
}

/// Sends the events.
pub fn run(arguments: &Arguments) -> Result<()> {
    let client = arguments.service.client()?;
    let input: Box<dyn Read + Send> = match &arguments.file {
        Some(file) => {
            let failed = |error| usage(format!("cannot read {}: {error}", file.display()));
            Box::new(std::fs::File::open(file).map_err(failed)?)
        }
        None => Box::new(std::io::stdin()),
    };
    let mut input = BufReader::new(input);
    let name = arguments.file.as_ref().map_or("standard input".into(), |file| file.display().to_string());
    refuse_without_lines(&name, input.fill_buf().with_context(|| format!("cannot read {name}"))?)?;
    Ok(client.send_lines(&arguments.name, input, arguments.batch)?)
}

/// Refuses input that begins like this, which has no events in its lines. The senders know their input: nothing is
/// revealed.
fn refuse_without_lines(name: &str, start: &[u8]) -> Result<()> {
    refuse_foreign(name, start)?;
    match start.trim_ascii_start().first() {
        Some(b'[') => Err(usage(format!(
            "{name} is a JSON array; send one object per line, as in jq -c '.[]' events.json | reticent stream send NAME"
        ))),
        _ => Ok(()),
    }
}
