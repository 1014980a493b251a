//! The service under load, on loopback: a real process, a bounded load generator, and a follower.
//!
//! ```text
//! service_bench RETICENT FOLDER SECONDS
//! ```
//!
//! Sends 100,000 events per second in batches of 1,000 to a stream with 10,000 keys and steps of one second, follows
//! its releases, and prints one JSON object per figure: how many events per second were acknowledged, how long after
//! the end of its step a release was seen, and how much memory the service used. The load generator sends at a fixed
//! pace and never has more than one batch in flight per connection, so no backlog builds up.

mod connection;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use connection::Connection;
use jiff::Timestamp;
use serde_json::json;

const EVENTS_PER_SECOND: u64 = 100_000;
const BATCH: u64 = 1_000;
const KEYS: u64 = 10_000;
/// A day of seconds. (Without an end the counters themselves would grow, with the logarithm of the steps.)
const HORIZON: u64 = 86_400;
const CONNECTIONS: u64 = 4;
/// How many different batches are prepared.
const BODIES: u64 = 64;
/// Steps and memory in the first seconds are ignored, since the service is still growing.
const WARM_UP: Duration = Duration::from_secs(5);
const SAMPLE: Duration = Duration::from_secs(1);

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [program, folder, seconds] = &arguments[..] else { return Err("service_bench RETICENT FOLDER SECONDS".into()) };
    let folder = PathBuf::from(folder);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let service = Service::start(program, &folder)?;
    let measured = measure(&service, Duration::from_secs(seconds.parse()?));
    drop(service);
    let _ = std::fs::remove_dir_all(&folder);
    measured
}

fn measure(service: &Service, lasts: Duration) -> Outcome<()> {
    let keys: Vec<String> = (0..KEYS).map(|key| format!("k{key}")).collect();
    let stream = json!({ "name": "load", "step": "1s", "horizon": HORIZON, "epsilon": 1, "keys": keys });
    let mut control = Connection::open(&service.link)?;
    let status = control.post("/v1/streams", "application/json", stream.to_string().as_bytes())?;
    if status != 201 {
        return Err(format!("the stream was not created: {status}").into());
    }
    let bodies: Vec<Vec<u8>> = (0..BODIES).map(body).collect();
    let (stop, acknowledged, start) = (AtomicBool::new(false), AtomicU64::new(0), Instant::now());
    std::thread::scope(|scope| {
        let loaders: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                scope.spawn({
                    let (stop, acknowledged, bodies, link) = (&stop, &acknowledged, &bodies, &service.link);
                    move || load(link, number, bodies, stop, acknowledged)
                })
            })
            .collect();
        let follower = scope.spawn(|| follow(&service.link, &stop));
        let mut memory = Vec::new();
        while start.elapsed() < lasts {
            std::thread::sleep(SAMPLE);
            if start.elapsed() >= WARM_UP {
                memory.push(service.memory()?);
            }
        }
        let rate = acknowledged.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        for loader in loaders {
            loader.join().map_err(|_| "a loader panicked")??;
        }
        let mut delays = follower.join().map_err(|_| "the follower panicked")??;
        delays.sort_by(f64::total_cmp);
        let quantile =
            |part: f64| delays.get(((delays.len() as f64 * part) as usize).min(delays.len().saturating_sub(1)));
        let print = |figure: &str, value: f64, unit: &str, target: Option<f64>| {
            println!("{}", json!({ "figure": figure, "value": value, "unit": unit, "target": target }));
        };
        print("events acknowledged", rate, "a second", Some(EVENTS_PER_SECOND as f64));
        print("releases seen", delays.len() as f64, "steps", None);
        print("release delay, median", *quantile(0.5).ok_or("no release was seen")?, "ms", None);
        print("release delay, p99", *quantile(0.99).ok_or("no release was seen")?, "ms", Some(100.0));
        print("release delay, largest", *quantile(1.0).ok_or("no release was seen")?, "ms", None);
        let part = |from: usize, to: usize| memory[from..to].iter().sum::<f64>() / (to - from).max(1) as f64;
        let fifth = (memory.len() / 5).max(1).min(memory.len());
        print("memory, first fifth", part(0, fifth), "MiB", None);
        print("memory, last fifth", part(memory.len() - fifth, memory.len()), "MiB", None);
        Ok(())
    })
}

/// A batch of events with evenly distributed keys.
fn body(number: u64) -> Vec<u8> {
    let line =
        |event: u64| format!("{{\"key\":\"k{}\",\"value\":1}}\n", (number * BATCH + event).wrapping_mul(7919) % KEYS);
    (0..BATCH).map(line).collect::<String>().into_bytes()
}

/// Sends batches at a fixed pace, each after the previous one was acknowledged.
fn load(link: &str, number: u64, bodies: &[Vec<u8>], stop: &AtomicBool, acknowledged: &AtomicU64) -> Outcome<()> {
    let mut connection = Connection::open(link)?;
    let pace = Duration::from_secs_f64((BATCH * CONNECTIONS) as f64 / EVENTS_PER_SECOND as f64);
    let start = Instant::now() + pace.mul_f64(number as f64 / CONNECTIONS as f64);
    for round in 0u32.. {
        let due = start + pace * round;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let body = &bodies[(round as usize * CONNECTIONS as usize + number as usize) % bodies.len()];
        let status = connection.post("/v1/streams/load/events", "application/x-ndjson", body)?;
        if status != 200 {
            return Err(format!("events were answered with {status}").into());
        }
        acknowledged.fetch_add(BATCH, Ordering::Relaxed);
    }
    Ok(())
}

/// How many milliseconds after the end of its step each release was fully received.
fn follow(link: &str, stop: &AtomicBool) -> Outcome<Vec<f64>> {
    let mut lines = Connection::open(link)?.follow("/v1/streams/load/releases/stream")?;
    let (mut delays, start) = (Vec::new(), Instant::now());
    let mut line = String::new();
    while !stop.load(Ordering::Relaxed) {
        line.clear();
        lines.read_line(&mut line)?;
        let Some((_, rest)) = line.split_once("\"closed\":\"") else { continue };
        let closed: Timestamp = rest.split('"').next().unwrap_or_default().parse()?;
        let delay = Timestamp::now().duration_since(closed).as_secs_f64() * 1000.0;
        if start.elapsed() >= WARM_UP {
            delays.push(delay);
        }
    }
    Ok(delays)
}

struct Service {
    child: Child,
    /// The link to the dashboard, with the owner's token, without `http://`.
    link: String,
}

impl Service {
    fn start(program: &str, folder: &Path) -> Outcome<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(folder.join("data"));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        // It is listening now, and the owner's token exists.
        let link = std::fs::read_to_string(folder.join("data/owner.url"))?;
        Ok(Self { child, link: link.trim().trim_start_matches("http://").to_owned() })
    }

    /// The memory of the process, in MiB.
    fn memory(&self) -> Outcome<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no memory is told")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes / 1024.0)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
