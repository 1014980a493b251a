//! Replies that are long, and clients that do not read them.

use std::collections::BTreeSet;
use std::io::Write;
use std::net::TcpStream;

use reticent::ledger::{Charge, Ledger as _, OnInterruption, RunResult};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_client::Client;
use reticent_ledger::{Budget, Dataset, DurableLedger, Location};
use serde_json::{Value, json};

use crate::service::{Place, Service, WITHOUT_NOISE, wait_for};

/// About a page, and more than any page of short entries or releases.
const MEGABYTE: usize = 1 << 20;
const STEPS: usize = 120;
const KEYS: usize = 400;

/// With a dataset `visits` that was charged for very long queries.
fn with_long_history(name: &str, charges: usize) -> Place {
    let place = Place::new(name);
    place.write("reticent.toml", "ledger = \"long.sqlite\"\n[limits]\nrequest_seconds = 3600\n");
    let ledger = DurableLedger::create(&Location::File(place.0.join("long.sqlite"))).expect("a ledger");
    let dataset = Dataset { name: "visits".into(), budget: Budget::Unlimited, terms: None };
    ledger.register(&dataset).expect("registered");
    // JSON doubles every quote.
    let description = "\"".repeat(60_000);
    for charge in 0..charges {
        let charge =
            Charge::new("visits", format!("request {charge}"), Guarantee::Pure("0.001".parse().expect("an ε")))
                .caller("ada")
                .description(description.clone())
                .unit("row", Adjacency::AddRemove);
        let released = ledger.release(&charge, OnInterruption::Abandon, |_| {
            Ok::<_, reticent_ledger::Error>(RunResult::Released("1".into()))
        });
        released.expect("it is charged");
    }
    place
}

/// A long key.
fn key(number: usize) -> String {
    format!("{number:03}{}", "x".repeat(197))
}

/// A stream `doors` with many releases of many long keys.
fn create_doors(service: &Service, owner: &str) {
    let keys: Vec<String> = (0..KEYS).map(key).collect();
    let stream = json!({
        "name": "doors", "step": "1 events", "epsilon": WITHOUT_NOISE, "allow_large_epsilon": true,
        "horizon": STEPS, "keys": keys,
    });
    assert_eq!(service.post_as(owner, "/v1/streams", &stream).status, 201);
    let bearer = format!("Bearer {owner}");
    let lines = format!("{{\"key\":\"{}\"}}\n", key(7)).repeat(STEPS);
    let sent = service.say("POST", "/v1/streams/doors/events", &[("Authorization", &bearer)], lines.as_bytes());
    assert_eq!(sent.answer().status, 200);
    wait_for("the last step", || (service.get_as(owner, "/v1/streams/doors").json()["steps"] == STEPS).then_some(()));
}

/// All pages, each of which is short.
fn pages(service: &Service, token: &str, path: &str, list: &str, cursor: &str) -> Vec<Value> {
    let (mut all, mut next, mut pages) = (Vec::new(), String::new(), 0);
    loop {
        let page = service.get_as(token, &format!("{path}{next}"));
        assert_eq!(page.status, 200, "{}", page.text());
        assert!(page.body.len() <= MEGABYTE + MEGABYTE / 10, "{} bytes", page.body.len());
        let page = page.json();
        all.extend(page[list].as_array().expect("a list").iter().cloned());
        pages += 1;
        match page["next"].as_u64() {
            Some(number) => next = format!("&{cursor}={number}"),
            None => break,
        }
    }
    assert!(pages > 1, "there is more than a page");
    all
}

#[test]
fn pages_of_long_entries_are_short_and_have_all_of_them_once() {
    let place = with_long_history("long-history", 40);
    let owner = place.token("grace", "owner", "");
    let service = place.start();
    let entries = pages(&service, &owner, "/v1/datasets/visits/history?limit=1000", "entries", "after");
    let numbers: Vec<u64> = entries.iter().map(|entry| entry["number"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
    let charged = entries.iter().filter(|entry| entry["kind"] == "charged");
    let requests: BTreeSet<&str> = charged.map(|entry| entry["request"].as_str().unwrap()).collect();
    assert_eq!(requests.len(), 40);
    assert!(entries.iter().filter(|entry| entry["kind"] == "charged").count() == 40);
}

#[test]
fn pages_of_releases_with_many_keys_are_short_and_have_all_of_them_once() {
    let place = Place::new("long-releases");
    let owner = place.token("grace", "owner", "");
    let service = place.start();
    create_doors(&service, &owner);
    let releases = pages(&service, &owner, "/v1/streams/doors/releases?limit=10000", "releases", "from");
    let steps: Vec<u64> = releases.iter().map(|release| release["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, (1..=STEPS as u64).collect::<Vec<_>>());
    assert!(releases.iter().all(|release| release["values"].as_array().unwrap().len() == KEYS));
    // In pieces, but whole.
    let csv = service.get_as(&owner, "/v1/streams/doors/releases.csv");
    assert_eq!(csv.text().lines().count(), 1 + STEPS * KEYS);
    let of_key: Vec<&str> = csv.text().lines().filter(|line| line.contains(&key(7))).collect();
    assert_eq!(of_key.len(), STEPS);
    assert!(of_key[STEPS - 1].starts_with(&format!("{STEPS},")) && of_key[STEPS - 1].contains(&format!(",{STEPS},")));
    let chart = service.get_as(&owner, "/v1/streams/doors/chart.svg?steps=10000");
    assert!(chart.text().contains("the 5 largest of 400 keys") && chart.text().contains("007xxx"));
    let client = Client::new(Some(&format!("http://{}", service.address)), |_| Some(owner.clone())).unwrap();
    let shown = client.newest("doors", 100).unwrap().releases;
    let steps: Vec<u64> = shown.iter().map(|release| release["step"].as_u64().unwrap()).collect();
    assert_eq!(steps, (STEPS as u64 - 99..=STEPS as u64).collect::<Vec<_>>(), "the client reads all pages");
}

/// A request whose reply nobody reads.
fn unread_from(service: &Service, token: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).expect("it listens");
    let head = format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    stream
}

/// In bytes.
#[cfg(target_os = "linux")]
fn memory(service: &Service) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

/// A regression: every unread reply stayed in memory, tens of megabytes each, and a viewer could ask for a thousand.
#[cfg(target_os = "linux")]
#[test]
fn replies_that_nobody_reads_take_little_memory_and_others_get_theirs() {
    let place = with_long_history("unread-pages", 40);
    let [viewer, other] = ["ada", "alan"].map(|name| place.token(name, "viewer", ""));
    let owner = place.token("grace", "owner", "");
    let service = place.start();
    create_doors(&service, &owner);
    let before = memory(&service);
    let history = "/v1/datasets/visits/history?limit=1000";
    let unread = |token: &str, path: &str| unread_from(&service, token, path);
    let mut waiting = Vec::new();
    for _ in 0..12 {
        for (token, path) in [
            (&owner, history),
            (&viewer, "/v1/streams/doors/releases?limit=10000"),
            (&viewer, "/v1/streams/doors/releases/stream?from=1"),
            (&viewer, "/v1/streams/doors/releases.csv"),
            (&viewer, "/v1/streams/doors/chart.svg?steps=10000"),
        ] {
            waiting.push(unread(token, path));
        }
    }
    let mut grown = 0;
    for _ in 0..50 {
        grown = grown.max(memory(&service).saturating_sub(before));
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(grown < 100 << 20, "{grown} bytes");
    // The connections are all still open, and others are not affected.
    assert_eq!(service.get_as(&other, "/v1/streams/doors/releases?limit=10000").status, 200);
    assert_eq!(service.get_as(&other, history).status, 200);
    // One token has only its share: soon there is no more for it, and then again when these are gone.
    let path = "/v1/streams/doors/releases?limit=10000";
    let refused = wait_for("its share", || {
        waiting.push(unread(&viewer, path));
        Some(service.get_as(&viewer, path)).filter(|answer| answer.status == 503)
    });
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(service.get_as(&other, path).status, 200);
    assert_eq!(service.get_as(&viewer, "/v1/streams").status, 200, "short replies need none");
    drop(waiting);
    wait_for("its share again", || (service.get_as(&viewer, path).status == 200).then_some(()));
}

/// A regression: it was copied twice, outside the memory for bodies, for as long as the request waited.
#[test]
fn a_request_id_that_is_too_long_is_refused_before_the_request_waits() {
    let place = Place::with_visits("long-id");
    let service = place.start();
    let ask = |length: usize| {
        let question =
            json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, "request_id": "x".repeat(length) });
        service.post("/v1/query", &question)
    };
    let refused = ask(4097);
    let (message, field) = refused.problem();
    assert_eq!((refused.status, field.as_deref()), (400, Some("request_id")));
    assert!(message.contains("4097 bytes") && message.contains("at most 4096"), "{message}");
    assert_eq!(ask(4096).status, 200);
}

/// A regression: an answer that waited for memory kept its query slot, so that one caller who read nothing kept all
/// others from asking.
#[test]
fn an_answer_that_waits_for_memory_holds_up_no_other_query() {
    let place = Place::with_visits("waiting-answers");
    let config = std::fs::read_to_string(place.0.join("reticent.toml")).unwrap();
    place.write("reticent.toml", &("[limits]\nqueries = 1\nrequest_seconds = 3600\n".to_owned() + &config));
    let [ada, alan] =
        ["ada", "alan"].map(|name| place.token(name, "analyst", "--cap visits=500 --allow-large-epsilon"));
    let owner = place.token("grace", "owner", "");
    let service = place.start();
    // A single release of megabytes: twenty of them are all that one caller may have.
    let keys: Vec<String> = (0..25_000).map(key).collect();
    let stream = json!({ "name": "wide", "step": "1 events", "epsilon": 1, "horizon": 10, "keys": keys });
    assert_eq!(service.post_as(&owner, "/v1/streams", &stream).status, 201);
    let bearer = format!("Bearer {owner}");
    let sent = service.say("POST", "/v1/streams/wide/events", &[("Authorization", &bearer)], b"1\n").answer();
    assert_eq!(sent.status, 200);
    let newest = "/v1/streams/wide/releases/now";
    wait_for("a release", || (service.get_as(&owner, newest).status == 200).then_some(()));
    let mut unread = Vec::new();
    wait_for("the last room", || {
        unread.push(unread_from(&service, &ada, newest));
        (service.get_as(&ada, newest).status == 503).then_some(())
    });
    let groups = |number: u32| (0..number).map(|key| key.to_string()).collect::<Vec<_>>();
    let large = json!({
        "sql": "SELECT region, age, COUNT(*) AS n FROM visits GROUP BY region, age", "epsilon": 1,
        "request_id": "large", "keys": { "region": groups(200), "age": groups(900) },
    });
    let bearer = format!("Bearer {ada}");
    let headers = [("Authorization", &*bearer), ("Content-Type", "application/json")];
    let waiting = service.say("POST", "/v1/query", &headers, large.to_string().as_bytes());
    wait_for("its charge", || (service.get_as(&owner, "/v1/datasets/visits").json()["charges"] == 1).then_some(()));
    let small = json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1 });
    for token in [&alan, &ada] {
        assert_eq!(service.post_as(token, "/v1/query", &small).status, 200);
    }
    drop(unread);
    let answer = waiting.answer();
    assert!(answer.status == 200 && answer.body.len() > 5 * MEGABYTE, "{} bytes", answer.body.len());
    assert_eq!(service.post_as(&ada, "/v1/query", &large).body, answer.body);
}
