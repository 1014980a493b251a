//! This program again, as a process of its own that can be killed and looked into.

use std::env;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reticent_ledger::{DurableLedger, Location};
use reticent_stream::source::FileSource;
use reticent_stream::{HandClock, Streams};

use crate::bench::{Bench, one};

/// What the process is to do; without it, the test below does nothing.
const TASK: &str = "RETICENT_TEST_CHILD";
const DIRECTORY: &str = "RETICENT_TEST_DIRECTORY";
/// The clock, in milliseconds since 1970, and the number to begin with.
const CLOCK: &str = "RETICENT_TEST_CLOCK";
const FROM: &str = "RETICENT_TEST_FROM";
/// The server's address.
const URL: &str = "RETICENT_TEST_URL";

/// Events in a batch.
pub const EVENTS: u64 = 5;

pub struct Process {
    pub child: Child,
    pub lines: BufReader<ChildStdout>,
    pub input: ChildStdin,
}

impl Process {
    pub fn start(bench: &Bench, task: &str, clock: i64, from: u64, url: &str) -> Self {
        let mut child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child::the_other_process", "--nocapture", "--test-threads=1"])
            .env(TASK, task)
            .env(DIRECTORY, bench.folder.path())
            .env(CLOCK, clock.to_string())
            .env(FROM, from.to_string())
            .env(URL, url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take().unwrap();
        Self { child, lines, input }
    }

    /// The next line that is meant for us: what it is about and its numbers.
    pub fn hear(&mut self) -> Option<(String, Vec<i64>)> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            // The test harness prints, too, without a line break.
            if let Some(ours) = line.split("» ").nth(1)
                && line.ends_with('\n')
            {
                let mut words = ours.split_whitespace();
                let about = words.next()?.to_owned();
                return Some((about, words.map(|word| word.parse().unwrap()).collect()));
            }
        }
    }

    /// Kills it, with no time to do anything.
    pub fn kill(mut self) -> Vec<(String, Vec<i64>)> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        // What it had said before.
        std::iter::from_fn(|| self.hear()).collect()
    }
}

fn setting(name: &str) -> String {
    env::var(name).unwrap()
}

#[test]
fn the_other_process() {
    let Ok(task) = env::var(TASK) else { return };
    let folder = setting(DIRECTORY);
    let ledger = DurableLedger::open(&Location::File(Path::new(&folder).join("ledger.sqlite"))).unwrap();
    let clock = Arc::new(HandClock::at(setting(CLOCK).parse().unwrap()));
    let streams = Streams::open(&Path::new(&folder).join("data"), Arc::new(ledger), clock.clone()).unwrap();
    let stream = streams.get("s").unwrap();
    match task.as_str() {
        // Sends batches, says which were acknowledged, and what was released after every third.
        "count" => {
            for number in setting(FROM).parse::<u64>().unwrap().. {
                let line = |event| format!("{{\"id\":\"{number}-{event}\"}}\n");
                let mut body = (0..EVENTS).map(line).collect::<String>().into_bytes();
                stream.ingest_ndjson(&mut body).unwrap();
                println!("» acknowledged {number}");
                if number % 3 == 2 {
                    clock.advance(Duration::from_secs(1));
                    streams.close_due().unwrap();
                    let release = stream.now().unwrap();
                    println!("» released {} {}", release.step, one(&release));
                }
            }
        }
        // Counts what comes on standard input, and says when a step is released.
        "read" => {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for step in 1.. {
                        if !stream.wait_for_step(step, Duration::from_secs(600)) {
                            return;
                        }
                        println!("» released {step}");
                    }
                });
                FileSource::new("/dev/stdin").run(&stream, &AtomicBool::new(false)).unwrap();
                streams.stop();
            });
        }
        #[cfg(feature = "nats")]
        "nats" => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            println!("» ready");
            runtime.block_on(crate::nats::source(&setting(URL)).run(stream)).unwrap();
        }
        other => panic!("{other}"),
    }
}
