//! How many events per second a curator's stream accepts, and how late its releases are.
//!
//! `cargo bench -p reticent-stream --bench load -- [SECONDS] [KEYS] [SENDERS] [EVENTS A SECOND]`
//!
//! Every event has an id and a key; senders send batches of a thousand and wait for each to be durable, at the given
//! rate or as fast as they can.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use reticent_ledger::{DurableLedger, Location};
use reticent_stream::{Definition, Streams, SystemClock};

const BATCH: u64 = 1000;
/// How long to wait for the last step.
const LIMIT: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter(|word| word != "--bench");
    let mut argument = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse());
    let (seconds, keys, senders, rate) = (argument(10)?, argument(10_000)?, argument(4)?, argument(0)?);
    let folder = tempfile::tempdir()?;
    let ledger = DurableLedger::create(&Location::File(folder.path().join("ledger.sqlite")))?;
    let streams = Streams::open(&folder.path().join("data"), Arc::new(ledger), Arc::new(SystemClock))?;
    let names: Vec<String> = (0..keys).map(|key| format!("key-{key}")).collect();
    let definition: Definition = serde_json::from_value(serde_json::json!({
        "name": "load", "step": "1s", "horizon": 86_400, "epsilon": 1, "keys": names, "dedup": 10,
    }))?;
    let stream = streams.create(definition, "load")?;
    println!("counter {}", stream.status().counter);
    let (sent, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut delays = Vec::new();
    let memory_before = resident();
    let begin = Instant::now();
    thread::scope(|scope| {
        for sender in 0..senders {
            let (stream, sent, stop) = (&stream, &sent, &stop);
            scope.spawn(move || {
                let mut next = sender << 40;
                for batch in 1u64.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let line = |number: u64| {
                        format!("{{\"id\":\"{number}\",\"key\":\"key-{}\"}}\n", number.wrapping_mul(0x9e37_79b9) % keys)
                    };
                    let mut body = (next..next + BATCH).map(line).collect::<String>().into_bytes();
                    next += BATCH;
                    stream.ingest_ndjson(&mut body).expect("counted");
                    sent.fetch_add(BATCH, Ordering::Relaxed);
                    if rate > 0 {
                        let due = Duration::from_secs_f64((batch * BATCH * senders) as f64 / rate as f64);
                        thread::sleep(due.saturating_sub(begin.elapsed()));
                    }
                }
            });
        }
        for step in 1..=seconds {
            if !stream.wait_for_step(step, LIMIT) {
                break;
            }
            let closed = SystemTime::from(stream.now().expect("released").closed);
            delays.push(SystemTime::now().duration_since(closed).unwrap_or_default());
        }
        stop.store(true, Ordering::Relaxed);
    });
    let elapsed = begin.elapsed().as_secs_f64();
    delays.sort_unstable();
    let percentile = |part: f64| delays[((delays.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    println!("{:.0} events a second", sent.into_inner() as f64 / elapsed);
    println!(
        "release delay: median {:.1} ms, 99 % {:.1} ms, worst {:.1} ms",
        percentile(0.5),
        percentile(0.99),
        percentile(1.0)
    );
    println!("memory: {memory_before} MiB before, {} MiB after", resident());
    streams.stop();
    Ok(())
}

/// Resident memory in MiB; 0 if unknown.
fn resident() -> u64 {
    let pages =
        std::fs::read_to_string("/proc/self/statm").ok().and_then(|text| text.split(' ').nth(1)?.parse::<u64>().ok());
    pages.map_or(0, |pages| (pages * 4096) >> 20)
}
