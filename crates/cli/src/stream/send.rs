//! `reticent stream send`: sends events from a file or a pipe.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::Service;
use super::client::{Client, Sent};
use crate::exit::usage;
use crate::marks::refuse_foreign;

/// Slow input is sent after this time, however little it is.
const SLOWEST: Duration = Duration::from_secs(1);
/// How many lines wait while others are being sent.
const WAITING: usize = 10_000;
/// A longer line is not an event; it is truncated, and counts as whatever remains.
const LONGEST_LINE: u64 = 1 << 16;
/// How long to wait when the service is overloaded.
const PAUSE: Duration = Duration::from_millis(200);

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
    let (give, take) = sync_channel::<std::io::Result<Vec<u8>>>(WAITING);
    std::thread::spawn(move || {
        for line in lines(input) {
            if give.send(line).is_err() {
                return;
            }
        }
    });
    let mut acknowledged = 0;
    while let Some((lines, count)) = batch(&take, arguments.batch)? {
        send(&client, &arguments.name, &lines)
            .with_context(|| format!("after {acknowledged} lines, which were acknowledged; those after were not"))?;
        acknowledged += count;
    }
    Ok(())
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

fn lines(mut input: impl BufRead) -> impl Iterator<Item = std::io::Result<Vec<u8>>> {
    std::iter::from_fn(move || {
        let mut line = Vec::new();
        match input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(Err(error)),
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if let Err(error) = input.skip_until(b'\n') {
            return Some(Err(error));
        }
        Some(Ok(line))
    })
}

/// The next lines, as many as arrive within a second; `None` at the end.
fn batch(take: &Receiver<std::io::Result<Vec<u8>>>, most: u64) -> Result<Option<(Vec<u8>, u64)>> {
    let Ok(first) = take.recv() else { return Ok(None) };
    let (mut lines, mut count) = (first?, 1);
    lines.push(b'\n');
    let start = Instant::now();
    while count < most {
        match take.recv_timeout(SLOWEST.saturating_sub(start.elapsed())) {
            Ok(line) => lines.append(&mut line?),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
        lines.push(b'\n');
        count += 1;
    }
    Ok(Some((lines, count)))
}

/// Sends until acknowledged. Only lines that the service certainly has not accepted are sent again: without ids, any
/// others might be counted twice.
fn send(client: &Client, stream: &str, lines: &[u8]) -> Result<()> {
    while let Sent::Later = client.send(stream, lines)? {
        std::thread::sleep(PAUSE);
    }
    Ok(())
}
