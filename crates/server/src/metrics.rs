//! Metrics for operators, in Prometheus' text format. None depends on events or rows.
//!
//! | metric | why it may be shown |
//! |---|---|
//! | uptime, version, number of streams, including those that cannot be opened | set by operators |
//! | whether storage is writable | a property of the machine |
//! | steps closed | closed by the clock; if a step is a number of events, their arrival is public |
//! | requests by route and role | except those that send events, whose number depends on the events |
//!
//! Left out because they depend on data: events, bytes and batches received, duplicates, the size of the data
//! directory, durations, and the outcomes of requests.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::http::Method;
use reticent_stream::{Stream, Streams};

use crate::role::Role;

/// Counts of requests, and the start time.
#[derive(Debug)]
pub struct Metrics {
    started: Instant,
    requests: Mutex<BTreeMap<(String, String, Role), u64>>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self { started: Instant::now(), requests: Mutex::default() }
    }
}

impl Metrics {
    /// Counts an accepted request.
    pub fn asked(&self, method: &Method, route: &str, role: Role) {
        let mut requests = self.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *requests.entry((route.to_owned(), method.to_string(), role)).or_default() += 1;
    }

    /// All metrics; `failing` is whether charges or releases cannot be stored.
    pub fn text(&self, all: &Streams, failing: bool) -> String {
        let streams = all.list();
        let mut text = String::new();
        let mut figure = |name: &str, kind: &str, help: &str, lines: &[(String, u64)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in lines {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
        figure("reticent_build_info", "gauge", "The running version.", &[(version, 1)]);
        let uptime = self.started.elapsed().as_secs();
        figure("reticent_uptime_seconds", "counter", "Seconds since the service started.", &[(String::new(), uptime)]);
        let number = streams.len() as u64;
        figure("reticent_streams", "gauge", "Number of open streams.", &[(String::new(), number)]);
        let unopened = all.unopened().len() as u64;
        figure(
            "reticent_streams_unopened",
            "gauge",
            "Number of streams that cannot be opened.",
            &[(String::new(), unopened)],
        );
        let help = "1 while the ledger or the data directory cannot be written, so that steps cannot be closed or nothing can be charged.";
        figure("reticent_storage_failing", "gauge", help, &[(String::new(), u64::from(failing))]);
        let steps = |stream: &Arc<Stream>| (format!("{{stream=\"{}\"}}", stream.name()), stream.status().steps);
        let steps: Vec<_> = streams.iter().map(steps).collect();
        figure("reticent_steps_closed_total", "counter", "Steps closed and released.", &steps);
        let requests = self.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let requests: Vec<_> = requests
            .iter()
            .map(|((route, method, role), count)| {
                (format!("{{route=\"{route}\",method=\"{method}\",role=\"{role}\"}}"), *count)
            })
            .collect();
        let help = "Accepted requests, except those that send events.";
        figure("reticent_requests_total", "counter", help, &requests);
        text
    }
}
