//! A ledger that is missing, older than before, or a different one: spent budgets are not restored.

use std::fs;

use serde_json::{Value, json};

use crate::http::Answer;
use crate::service::{Place, Service, wait_for};

fn ask(service: &Service, request: &str) -> Answer {
    let asked = json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, "request_id": request });
    service.post("/v1/query", &asked)
}

#[track_caller]
fn is_answered(service: &Service, request: &str) {
    let answer = ask(service, request);
    assert_eq!(answer.status, 200, "{}", answer.text());
}

fn stop(mut service: Service, signal: &str) {
    service.signal(signal);
    service.ended();
}

/// A query makes two entries, after those that opened the ledger and registered the table.
const ENTRIES_OF_ONE_QUERY: u64 = 4;

#[test]
fn a_ledger_that_is_gone_or_swapped_while_the_service_runs_is_not_charged() {
    let place = Place::with_visits("swapped-ledger");
    let [ledger, aside, older] = ["data/ledger.sqlite", "data/aside", "data/older"].map(|name| place.0.join(name));
    let service = place.start();
    is_answered(&service, "one");
    fs::copy(&ledger, &older).expect("a copy");
    is_answered(&service, "two");
    let is_refused = |why: &str| {
        for request in ["one", "three"] {
            let answer = ask(&service, request);
            assert!(answer.status == 500 && answer.text().contains("was removed or replaced"), "{why}: {answer:?}");
        }
        assert_eq!(service.get("/v1/datasets").status, 500, "{why}");
        wait_for("a service that is not ready", || (service.get("/readyz").status == 500).then_some(()));
    };
    fs::rename(&ledger, &aside).expect("moved");
    is_refused("gone");
    fs::rename(&older, &ledger).expect("moved");
    is_refused("an older copy");
    fs::rename(&aside, &ledger).expect("moved");
    is_answered(&service, "three");
    assert_eq!(service.get("/v1/datasets/visits").json()["charges"], json!(3));
}

#[test]
fn where_a_ledger_was_no_other_one_takes_its_place() {
    let place = Place::with_visits("lost-ledger");
    let [ledger, older, memory] =
        ["data/ledger.sqlite", "data/older", "data/ledger.head"].map(|name| place.0.join(name));
    let service = place.start();
    is_answered(&service, "one");
    stop(service, "TERM");
    fs::copy(&ledger, &older).expect("a copy");
    let service = place.start();
    is_answered(&service, "two");
    stop(service, "TERM");
    let is_refused = || {
        let said = place.does_not_start("");
        assert!(said.contains("is not the ledger that was charged before") && said.contains("ledger.head"), "{said}");
    };
    fs::rename(&older, &ledger).expect("replaced");
    is_refused();
    fs::remove_file(&ledger).expect("removed");
    is_refused();
    assert!(!ledger.exists(), "none is made");
    assert!(place.run("ledger create --ledger data/ledger.sqlite").status.success());
    is_refused();
    // Unless it is requested explicitly.
    fs::remove_file(&memory).expect("removed");
    assert_eq!(place.start().get("/v1/datasets/visits").json()["charges"], json!(0));
}

/// What is still in the write-ahead log when a service is killed is part of the ledger.
#[test]
fn a_log_that_is_removed_after_a_kill_is_missed() {
    let place = Place::with_visits("lost-log");
    let [log, memory] = ["data/ledger.sqlite-wal", "data/ledger.head"].map(|name| place.0.join(name));
    let service = place.start();
    is_answered(&service, "one");
    wait_for("the memory of a charge", || {
        let head: Value = serde_json::from_str(&fs::read_to_string(&memory).ok()?).expect("a head");
        (head["number"].as_u64() >= Some(ENTRIES_OF_ONE_QUERY)).then_some(())
    });
    stop(service, "KILL");
    fs::remove_file(&log).expect("it is there");
    assert!(place.does_not_start("").contains("is not the ledger that was charged before"));
}

#[test]
fn an_anchor_knows_every_charge() {
    let place = Place::with_visits("anchor");
    let [log, memory, anchor] =
        ["data/ledger.sqlite-wal", "data/ledger.head", "elsewhere.json"].map(|name| place.0.join(name));
    let config = fs::read_to_string(place.0.join("reticent.toml")).expect("there");
    place.write("reticent.toml", &format!("anchor = \"elsewhere.json\"\n{config}"));
    let service = place.start();
    is_answered(&service, "one");
    stop(service, "KILL");
    let head: Value = serde_json::from_str(&fs::read_to_string(&anchor).expect("made")).expect("a head");
    assert_eq!(head["number"], json!(ENTRIES_OF_ONE_QUERY));
    // It is updated before a charge is granted, and does not depend on the data directory.
    fs::remove_file(&log).expect("removed");
    fs::remove_file(&memory).expect("removed");
    assert!(place.does_not_start("").contains("is not the ledger that was charged before"));
    // A missing anchor is not created silently.
    let place = Place::with_visits("no-anchor");
    let service = place.start();
    is_answered(&service, "one");
    stop(service, "TERM");
    let said = place.does_not_start("--anchor elsewhere.json");
    assert!(said.contains("reticent ledger verify") && !place.0.join("elsewhere.json").exists(), "{said}");
    assert!(place.run("ledger verify --ledger data/ledger.sqlite --anchor elsewhere.json").status.success());
}
