//! Creating streams, sending events, reading releases.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;

use crate::service::{Place, WITHOUT_NOISE};

#[test]
fn events_become_releases() {
    let place = Place::new("events");
    let service = place.start();
    service.create_exact("visits", 4);
    let sent = service.send("visits", "1\n2\n{\"value\":3}\n{}\n");
    assert_eq!((sent.status, sent.json()), (200, json!({ "acknowledged": "durable" })));
    let now = service.released("visits", 1);
    assert_eq!((now["step"].as_u64(), now["value"].as_i64()), (Some(1), Some(7)));
    // Ids count once; values out of range are clamped; values that are not numbers are 0.
    service.send(
        "visits",
        "{\"id\":\"a\",\"value\":5}\n{\"id\":\"a\",\"value\":5}\n{\"value\":5000}\nnonsense\n{\"value\":\"x\"}\n",
    );
    assert_eq!(service.released("visits", 2)["value"].as_i64(), Some(1012));
    let page = service.get("/v1/streams/visits/releases?from=1&limit=1").json();
    assert_eq!((page["releases"][0]["value"].as_i64(), page["next"].as_u64()), (Some(7), Some(2)));
    let page = service.get("/v1/streams/visits/releases?from=2").json();
    assert_eq!((page["releases"][0]["value"].as_i64(), page["next"].as_u64()), (Some(1012), None));
    let csv = service.get("/v1/streams/visits/releases.csv");
    let lines: Vec<&str> = csv.text().lines().collect();
    assert_eq!(lines[0], "step,closed,value,half_width");
    assert!(lines.len() == 3 && lines[1].starts_with("1,20") && lines[2].contains(",1012,"), "{lines:?}");
    let chart = service.get("/v1/streams/visits/chart.svg?width=400&height=300");
    assert_eq!(chart.header("content-type"), Some("image/svg+xml"));
    assert!(chart.text().starts_with("<svg"));
}

#[test]
fn creation_is_charged_and_what_is_wrong_is_named() {
    let place = Place::new("create");
    let service = place.start();
    let create = |stream: serde_json::Value| service.post("/v1/streams", &stream);
    let created = create(json!({ "name": "visits", "step": "1m", "epsilon": 0.5, "horizon": 60 }));
    assert_eq!(created.status, 201, "{}", created.text());
    assert_eq!(created.json()["dataset"], "stream/visits");
    let dataset = service.get("/v1/datasets/stream%2Fvisits").json();
    assert_eq!((&dataset["charges"], &dataset["spent"][0]["spent"]["epsilon"]), (&json!(1), &json!("0.5")));
    assert_eq!(create(json!({ "name": "visits", "step": "1m", "epsilon": 0.5 })).status, 409);
    for (stream, field, says) in [
        (json!({ "name": "a b", "step": "1m", "epsilon": 1 }), "name", "front-door"),
        (json!({ "name": "a", "step": "1y", "epsilon": 1 }), "step", "1s to 1d"),
        (json!({ "name": "a", "step": "1m" }), "epsilon", "rho"),
        (json!({ "name": "a", "epsilon": 1 }), "step", "missing"),
        (json!({ "name": "a", "step": "1m", "epsilon": 1, "colour": "red" }), "colour", "unknown field"),
        (json!({ "name": "a", "step": "1m", "epsilon": 1, "mode": "pan-private" }), "horizon", ""),
    ] {
        let wrong = create(stream.clone());
        let (message, named) = wrong.problem();
        assert_eq!((wrong.status, named.as_deref()), (400, Some(field)), "{stream}: {message}");
        assert!(message.contains(says), "{stream}: {message}");
    }
    // Not enough budget left, and an unknown dataset.
    let budget = json!({ "name": "small", "unit": "event", "epsilon": 1 });
    assert_eq!(service.post("/v1/datasets", &budget).status, 201);
    let over = create(json!({ "name": "a", "step": "1m", "epsilon": 2, "dataset": "small" }));
    assert_eq!(over.status, 402);
    assert!(over.problem().0.contains("ε = 1 would fit"), "{}", over.text());
    assert_eq!(create(json!({ "name": "a", "step": "1m", "epsilon": 1, "dataset": "nowhere" })).status, 404);
    assert_eq!(create(json!({ "name": "a", "step": "1m", "epsilon": 0.25, "dataset": "small" })).status, 201);
    let small = service.get("/v1/datasets/small").json();
    assert_eq!((&small["share_spent"], &small["left"]["epsilon"]), (&json!(0.25), &json!("0.75")));
    let history = service.get("/v1/datasets/small/history").json();
    let charge = history["entries"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&charge["kind"], &charge["caller"], &charge["stream"]),
        (&json!("charged"), &json!("local"), &json!(true))
    );
}

#[test]
fn gzip_is_unpacked() {
    let place = Place::new("gzip");
    let service = place.start();
    service.create_exact("visits", 1000);
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all("1\n".repeat(1000).as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let path = "/v1/streams/visits/events";
    let sent = service.say("POST", path, &[("Content-Encoding", "gzip")], &packed).answer();
    assert_eq!(sent.status, 200, "{}", sent.text());
    assert_eq!(service.released("visits", 1)["value"].as_i64(), Some(1000));
    let broken = service.say("POST", path, &[("Content-Encoding", "gzip")], b"no gzip").answer();
    assert_eq!(broken.status, 400);
    let unknown = service.say("POST", path, &[("Content-Encoding", "br")], b"").answer();
    assert_eq!(unknown.status, 415);
}

#[test]
fn releases_are_sent_when_they_are_made_without_gaps() {
    let place = Place::new("live");
    let service = place.start();
    service.create_exact("visits", 1);
    service.send("visits", "1\n1\n");
    service.released("visits", 2);
    let mut live = service.say("GET", "/v1/streams/visits/releases/stream?from=1", &[], b"");
    let head = live.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")));
    let mut text = String::new();
    let mut until = |live: &mut crate::http::Waiting, what: &str| {
        while !text.contains(what) {
            text += &String::from_utf8(live.piece().expect("it goes on")).unwrap();
        }
        text.clone()
    };
    let caught_up = until(&mut live, "id: 2\n");
    assert!(caught_up.contains("event: release\nid: 1\ndata: {\"step\":1,"), "{caught_up}");
    service.send("visits", "1\n");
    let more = until(&mut live, "id: 3\n");
    assert!(more.contains("\"value\":3"), "{more}");
    // A client that reconnects gets what it missed.
    let mut again = service.say("GET", "/v1/streams/visits/releases/stream", &[("Last-Event-ID", "1")], b"");
    again.head();
    let first = String::from_utf8(again.piece().unwrap()).unwrap();
    assert!(first.contains("id: 2\n"), "{first}");
}

#[test]
fn keys_have_totals_of_their_own() {
    let place = Place::new("keys");
    let service = place.start();
    let stream = json!({
        "name": "doors", "step": "3 events", "epsilon": WITHOUT_NOISE, "allow_large_epsilon": true, "horizon": 100, "keys": ["south", "north"], "range": "0..9",
    });
    assert_eq!(service.post("/v1/streams", &stream).status, 201);
    service.send("doors", "{\"key\":\"north\",\"value\":2}\n{\"key\":\"south\"}\n{\"key\":\"nowhere\",\"value\":7}\n");
    let now = service.released("doors", 1);
    assert_eq!(now["values"], json!([{ "key": "north", "value": 2 }, { "key": "south", "value": 1 }]));
    let csv = service.get("/v1/streams/doors/releases.csv");
    assert!(csv.text().starts_with("step,closed,key,value,half_width\n1,"), "{}", csv.text());
    assert!(service.get("/v1/streams/doors/chart.svg").text().contains("north"));
}

#[test]
fn a_stream_that_has_ended_takes_no_more() {
    let place = Place::new("ended");
    let service = place.start();
    let stream = json!({ "name": "short", "step": "event", "epsilon": 1, "horizon": 2 });
    assert_eq!(service.post("/v1/streams", &stream).status, 201);
    service.send("short", "1\n1\n");
    service.released("short", 2);
    let late = service.send("short", "1\n");
    assert_eq!(late.status, 409, "{}", late.text());
    assert_eq!(service.get("/v1/streams/short").json()["ended"], json!(true));
}

#[test]
fn a_pan_private_stream_acknowledges_at_most_once() {
    let place = Place::new("pan-private");
    let service = place.start();
    let stream = json!({ "name": "clinic", "step": "event", "epsilon": 1, "horizon": 100, "mode": "pan-private" });
    let created = service.post("/v1/streams", &stream);
    assert_eq!(created.status, 201, "{}", created.text());
    let sent = service.send("clinic", "1\n");
    assert_eq!((sent.status, sent.json()), (202, json!({ "acknowledged": "at most once" })));
    service.released("clinic", 1);
}
