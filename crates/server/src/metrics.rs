//! Figures for operators, in the text form of Prometheus. Not one depends on events or rows.
//!
//! | figure | why it may be shown |
//! |---|---|
//! | uptime, version, number of streams, also of those that cannot be opened | set by operators |
//! | whether the disk takes what is written | the machine's |
//! | steps closed | closed by the clock; where steps are of events, their arrival is public |
//! | requests by route and role | all but the sending of events, whose number tells of the events |
//!
//! Left out for their dependence on data: events, bytes and batches received, duplicates, sizes of the data directory, how long
//! anything took, and how requests ended.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::http::Method;
use reticent_stream::{Stream, Streams};

use crate::role::Role;

/// What was asked, and since when.
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
    /// A request was let through.
    pub fn asked(&self, method: &Method, route: &str, role: Role) {
        let mut requests = self.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *requests.entry((route.to_owned(), method.to_string(), role)).or_default() += 1;
    }

    /// All figures; `failing` is whether what is due or charged cannot be kept.
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
        figure("reticent_build_info", "gauge", "The version that runs.", &[(version, 1)]);
        let uptime = self.started.elapsed().as_secs();
        figure("reticent_uptime_seconds", "counter", "Since when it runs.", &[(String::new(), uptime)]);
        let number = streams.len() as u64;
        figure("reticent_streams", "gauge", "How many streams run.", &[(String::new(), number)]);
        let unopened = all.unopened().len() as u64;
        figure(
            "reticent_streams_unopened",
            "gauge",
            "How many streams are there but cannot be opened.",
            &[(String::new(), unopened)],
        );
        let help = "1 while the ledger or the data directory cannot be written: no step is closed, or nothing charged.";
        figure("reticent_storage_failing", "gauge", help, &[(String::new(), u64::from(failing))]);
        let steps = |stream: &Arc<Stream>| (format!("{{stream=\"{}\"}}", stream.name()), stream.status().steps);
        let steps: Vec<_> = streams.iter().map(steps).collect();
        figure("reticent_steps_closed_total", "counter", "Steps that were closed and released.", &steps);
        let requests = self.requests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let requests: Vec<_> = requests
            .iter()
            .map(|((route, method, role), count)| {
                (format!("{{route=\"{route}\",method=\"{method}\",role=\"{role}\"}}"), *count)
            })
            .collect();
        let help = "Requests that were let through, but for those that send events.";
        figure("reticent_requests_total", "counter", help, &requests);
        text
    }
}
