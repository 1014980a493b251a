//! Events from a file or a pipe, in batches.

use std::io::{BufRead, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use crate::client::{Client, Sent};
use crate::error::{Error, Result};

/// Slow input is sent after this time, however little it is.
const SLOWEST: Duration = Duration::from_secs(1);
/// How many lines wait while others are being sent.
const WAITING: usize = 10_000;
/// A longer line is not an event; it is truncated, and counts as whatever remains.
const LONGEST_LINE: u64 = 1 << 16;
/// How long to wait when the service is overloaded.
const PAUSE: Duration = Duration::from_millis(200);

impl Client {
    /// Sends all lines of an input to a stream, up to `most` at a time; slow input once a second.
    ///
    /// # Errors
    /// If the input cannot be read, the service does not answer, or it refuses; the error tells how many lines were
    /// acknowledged before.
    pub fn send_lines(&self, stream: &str, input: impl BufRead + Send + 'static, most: u64) -> Result<()> {
        let (give, take) = sync_channel::<std::io::Result<Vec<u8>>>(WAITING);
        std::thread::spawn(move || {
            for line in lines(input) {
                if give.send(line).is_err() {
                    return;
                }
            }
        });
        let mut acknowledged = 0;
        while let Some((lines, count)) = batch(&take, most)? {
            let sent = self.send_until_acknowledged(stream, &lines);
            sent.map_err(|error| Error::Partly { acknowledged, error: Box::new(error) })?;
            acknowledged += count;
        }
        Ok(())
    }

    /// Only lines that the service certainly has not accepted are sent again: without ids, any others might be counted
    /// twice.
    fn send_until_acknowledged(&self, stream: &str, lines: &[u8]) -> Result<()> {
        while let Sent::Later = self.send(stream, lines)? {
            std::thread::sleep(PAUSE);
        }
        Ok(())
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
    let failed = |error: std::io::Error| Error::Input(error.to_string());
    let (mut lines, mut count) = (first.map_err(failed)?, 1);
    lines.push(b'\n');
    let start = Instant::now();
    while count < most {
        match take.recv_timeout(SLOWEST.saturating_sub(start.elapsed())) {
            Ok(line) => lines.append(&mut line.map_err(failed)?),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
        lines.push(b'\n');
        count += 1;
    }
    Ok(Some((lines, count)))
}
