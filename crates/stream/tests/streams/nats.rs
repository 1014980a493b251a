//! A real `nats-server` with JetStream, Debian's.
#![cfg(feature = "nats")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use reticent_stream::source::nats::NatsSource;

use crate::bench::{Bench, EXACT, START, definition, one};
use crate::child::Process;

const MESSAGES: usize = 600;
const KILLS: usize = 4;
/// For anything that must happen at some time.
const PATIENCE: Duration = Duration::from_secs(120);

struct Server {
    process: Child,
    url: String,
    _store: tempfile::TempDir,
}

impl Server {
    fn start() -> Self {
        let store = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut process = Command::new("nats-server")
            .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
            .arg(store.path())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("nats-server is installed");
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("Server is ready")));
        std::thread::spawn(move || lines.for_each(drop));
        Self { process, url: format!("nats://127.0.0.1:{port}"), _store: store }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

pub fn source(url: &str) -> NatsSource {
    let mut source = NatsSource::new(url, "VISITS", "reticent");
    source.subject = "visits.>".into();
    source.acknowledged_within = Duration::from_secs(1);
    source
}

/// Two lines a message, without ids; every third message is for somebody else.
async fn publish(url: &str) {
    let client = async_nats::connect(url).await.unwrap();
    let context = async_nats::jetstream::new(client);
    let config = async_nats::jetstream::stream::Config {
        name: "VISITS".into(),
        subjects: vec!["visits.>".into(), "others.>".into()],
        ..Default::default()
    };
    context.get_or_create_stream(config).await.unwrap();
    for number in 0..MESSAGES {
        context.publish("visits.door", "1\n{\"value\":1}".into()).await.unwrap().await.unwrap();
        if number % 3 == 0 {
            context.publish("others.door", "1".into()).await.unwrap().await.unwrap();
        }
    }
}

/// The server forgets what was acknowledged.
async fn forget(url: &str) {
    let context = async_nats::jetstream::new(async_nats::connect(url).await.unwrap());
    context.get_stream("VISITS").await.unwrap().delete_consumer("reticent").await.unwrap();
}

fn count_all(bench: &Bench, url: &str, runtime: &tokio::runtime::Runtime, enough: i64) -> i64 {
    let streams = bench.open();
    let stream = streams.get("s").unwrap();
    let running = runtime.spawn({
        let (source, stream) = (source(url), Arc::clone(&stream));
        async move { source.run(stream).await }
    });
    let since = std::time::Instant::now();
    let mut total = 0;
    let mut quiet = 0;
    // Until all is counted, and a while longer, in which too much would show.
    while quiet < 5 && since.elapsed() < PATIENCE {
        bench.advance(&streams, 1000);
        total = one(&stream.now().unwrap());
        quiet = if total >= enough { quiet + 1 } else { 0 };
        std::thread::sleep(Duration::from_millis(300));
    }
    running.abort();
    total
}

#[test]
#[ignore = "needs a NATS server; cargo xtask test runs it"]
fn every_message_counts_once_however_often_the_process_is_killed() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let bench = Bench::new();
    bench.open().create(definition(&format!("name='s'\nstep='1s'{EXACT}")), "ada").unwrap();
    runtime.block_on(publish(&server.url));
    for kill in 0..KILLS {
        let mut process = Process::start(&bench, "nats", START, 0, &server.url);
        assert_eq!(process.hear().unwrap().0, "ready");
        std::thread::sleep(Duration::from_millis(15 * kill as u64));
        process.kill();
    }
    let total = count_all(&bench, &server.url, &runtime, 2 * MESSAGES as i64);
    assert_eq!(total, 2 * MESSAGES as i64);
    // A server that knows nothing of us any more sends everything again; and we know all of it.
    runtime.block_on(forget(&server.url));
    assert_eq!(count_all(&bench, &server.url, &runtime, total), total);
}

#[test]
#[ignore = "needs a NATS server; cargo xtask test runs it"]
fn in_pan_private_mode_a_message_counts_at_most_once() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let bench = Bench::new();
    let text = format!("name='s'\nstep='1s'\nhorizon=100000\nmode='pan-private'{EXACT}");
    bench.open().create(definition(&text), "ada").unwrap();
    runtime.block_on(publish(&server.url));
    let first = count_all(&bench, &server.url, &runtime, 2 * MESSAGES as i64);
    assert_eq!(first, 2 * MESSAGES as i64, "nobody was killed");
    // Nothing comes again.
    assert_eq!(count_all(&bench, &server.url, &runtime, first), first);
}
