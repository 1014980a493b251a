//! Log lines on standard error: with colours and times on a terminal, without for systemd.

use std::io::{self, IsTerminal, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging.
///
/// # Privacy
/// Only this project's own crates log: messages of libraries about the bytes that they process depend on events.
pub fn start() {
    let own = Targets::new().with_target("reticent", LevelFilter::INFO);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| WithoutSecrets(io::stderr())).with_target(false);
    let registry = tracing_subscriber::registry().with(own);
    // Only a test can have started a logger before.
    let _ = if io::stderr().is_terminal() {
        registry.with(lines.with_ansi(true)).try_init()
    } else {
        registry.with(lines.with_ansi(false).without_time()).try_init()
    };
}

/// Writes lines with secrets hidden. Each line arrives as a whole.
struct WithoutSecrets(io::Stderr);

impl Write for WithoutSecrets {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(reticent::secrets::hide(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
