//! Nothing but releases depends on events.

use serde_json::json;

use crate::http::Answer;
use crate::service::{Place, Service};

/// What everyone but a reader of releases can see of a service that was sent these events, in the same number of
/// requests.
fn seen(name: &str, batches: &[&str], rows: &str) -> (Vec<Answer>, String, String) {
    let place = Place::new(name);
    place.write("people.csv", rows);
    place.write(
        "reticent.toml",
        "[[table]]\nname = \"people\"\nfile = \"people.csv\"\npolicy = { bounds = { age = \"0..9\" } }\n",
    );
    let mut service = place.start();
    let streams = [
        json!({ "name": "visits", "step": "1d", "epsilon": 1 }),
        json!({ "name": "keyed", "step": "1d", "epsilon": 1, "delta": "1e-8", "keys": "selected", "horizon": 10 }),
        json!({ "name": "clinic", "step": "1d", "epsilon": 1, "horizon": 10, "mode": "pan-private" }),
    ];
    let mut answers: Vec<Answer> = streams.iter().map(|stream| service.post("/v1/streams", stream)).collect();
    for batch in batches {
        answers.extend(["visits", "keyed", "clinic", "none"].map(|stream| service.send(stream, batch)));
    }
    for sql in ["SELECT AVG(age) FROM people", "SELECT age FROM people", "SELECT AVG(nothing) FROM people"] {
        answers.push(service.post("/v1/query", &json!({ "sql": sql, "epsilon": 1, "dry_run": true })));
    }
    for path in [
        "/v1/streams",
        "/v1/streams/visits",
        "/v1/streams/visits/releases",
        "/v1/streams/keyed/releases/now",
        "/v1/tables",
    ] {
        answers.push(service.get(path));
    }
    let metrics = metrics(&service);
    service.signal("TERM");
    assert!(service.ended().success());
    let log = place.logged().replace(&service.address.to_string(), "ADDRESS").replace(name, "NAME");
    (answers.into_iter().map(Answer::undated).collect(), metrics, log)
}

/// Except for how long it has run.
fn metrics(service: &Service) -> String {
    let text = service.get("/metrics").text().to_owned();
    assert!(text.contains("reticent_steps_closed_total{stream=\"visits\"} 0\n"), "{text}");
    assert!(
        text.contains("reticent_requests_total{route=\"/v1/streams\",method=\"POST\",role=\"owner\"} 3\n"),
        "{text}"
    );
    assert!(!text.contains("/events"), "how often events are sent depends on them: {text}");
    text.lines().filter(|line| !line.starts_with("reticent_uptime_seconds ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn neighbouring_events_and_rows_give_the_same_bytes_metrics_and_logs() {
    let plain = seen("silence-a", &["1\n1\n1\n", "{\"id\":\"a\",\"key\":\"k\"}\n"], "age\n1\n2\n");
    let strange = "{\"id\":\"a\",\"key\":\"\\u0000\",\"value\":1e999}\n\u{feff}NaN\n{{{{\n";
    let neighbour = seen("silence-b", &["1\n1\n", strange], "age\nNaN\n-1e99\nx,y\n\n");
    for (left, right) in plain.0.iter().zip(&neighbour.0) {
        assert_eq!(left, right);
    }
    assert_eq!(plain.0.len(), neighbour.0.len());
    assert_eq!(plain.1, neighbour.1);
    assert_eq!(plain.2, neighbour.2);
    // Neither does the number of requests with events show.
    let more = seen("silence-c", &["1\n", "1\n", "1\n"], "age\n1\n");
    assert_eq!((&plain.1, &plain.2), (&more.1, &more.2));
}

#[test]
fn logs_are_plain_lines_where_nobody_sits() {
    let place = Place::new("log");
    drop(place.start());
    let log = place.logged();
    assert!(
        log.lines().count() >= 2
            && log.lines().all(|line| line.trim_start().starts_with("INFO") || line.trim_start().starts_with("WARN")),
        "{log}"
    );
    assert!(!log.contains('\u{1b}'), "{log}");
}
