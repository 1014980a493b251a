//! Signals to stop, kills, and a full disk.

use std::process::Command;

use serde_json::json;

use crate::service::{Place, Service, wait_for};

#[test]
fn told_to_stop_it_finishes_and_ends_well() {
    let place = Place::new("stop");
    let mut service = place.start();
    service.create_exact("visits", 4);
    assert_eq!(service.send("visits", "1\n2\n").status, 200);
    // A client that follows a stream does not keep the service from stopping.
    let mut live = service.say("GET", "/v1/streams/visits/releases/stream", &[], b"");
    assert_eq!(live.head().status, 200);
    service.signal("TERM");
    assert_eq!(service.ended().code(), Some(0));
    assert!(place.logged().contains("stopped"), "{}", place.logged());
    let service = place.start();
    assert_eq!(service.send("visits", "3\n4\n").status, 200);
    assert_eq!(service.released("visits", 1)["value"].as_i64(), Some(10));
}

/// Ended at once, it records that running queries were interrupted. Killed, it cannot, and their dataset is suspended.
#[test]
fn told_twice_it_ends_and_records_what_it_interrupts() {
    let place = Place::with_visits("twice-told");
    let rows: String = (0..1_000_000).map(|row| format!("u{row},north,30\n")).collect();
    place.write("visits.csv", &("user,region,age\n".to_owned() + &rows));
    let slow = "SELECT COUNT(*) AS n FROM visits WHERE length(repeat(region, 50000)) > 3";
    let count = json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1 });
    let visits = |service: &Service| service.get("/v1/datasets/visits").json();
    for (signals, charges, code) in [(&["TERM", "TERM"][..], 1, Some(1)), (&["KILL"], 3, None)] {
        let asked = json!({ "sql": slow, "epsilon": 1, "request_id": signals[0] });
        let mut service = place.start();
        let headers = [("Content-Type", "application/json")];
        let _asked = service.say("POST", "/v1/query", &headers, asked.to_string().as_bytes());
        wait_for("the charge", || (visits(&service)["charges"] == json!(charges)).then_some(()));
        for signal in signals {
            service.signal(signal);
            // Two signals at once are one.
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        assert_eq!(service.ended().code(), code);
        let service = place.start();
        let found = visits(&service);
        assert_eq!((&found["charges"], &found["interrupted"]), (&json!(charges), &json!(1)), "{found}");
        assert_eq!(found["suspended"].is_null(), signals[0] == "TERM", "{found}");
        assert_eq!(service.post("/v1/query", &asked).status, 409, "it has no outcome, and is not computed again");
        assert_eq!(service.post("/v1/query", &count).status, if signals[0] == "TERM" { 200 } else { 409 });
    }
}

#[test]
fn killed_it_loses_no_acknowledged_event_counts_none_twice_and_changes_no_release() {
    let place = Place::new("kill");
    let mut service = place.start();
    service.create_exact("visits", 10);
    let line = |id: u64| format!("{{\"id\":\"e{id}\",\"value\":1}}\n");
    let mut expected = Vec::new();
    for round in 0..5u64 {
        // Six events are acknowledged, then it is killed while others are in transit.
        let first: String = (0..6).map(|event| line(10 * round + event)).collect();
        let sent = service.send("visits", &first);
        assert_eq!(sent.status, 200, "{}", sent.text());
        let rest: String = (6..10).map(|event| line(10 * round + event)).collect();
        let on_its_way = service.say("POST", "/v1/streams/visits/events", &[], rest.as_bytes());
        service.signal("KILL");
        service.ended();
        drop(on_its_way);
        service = place.start();
        let kept = service.get("/v1/streams/visits/releases?limit=1000").json();
        assert!(kept["releases"].as_array().unwrap().starts_with(&expected), "a release changed: {kept}");
        // All are sent again, as a client without an answer does: those that were counted are recognised by their ids.
        assert_eq!(service.send("visits", &(first + &rest)).status, 200);
        let now = service.released("visits", round + 1);
        assert_eq!((now["step"].as_u64(), now["value"].as_u64()), (Some(round + 1), Some(10 * (round + 1))));
        expected = service.get("/v1/streams/visits/releases?limit=1000").json()["releases"].as_array().unwrap().clone();
    }
}

#[test]
fn a_data_directory_has_one_process() {
    let place = Place::new("twice");
    let _service = place.start();
    let second = place.run("serve --listen 127.0.0.1:0 --data-dir data");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(2), "{said}");
    assert!(said.contains("another process"), "{said}");
}

#[test]
fn a_query_that_nobody_waits_for_is_kept() {
    let place = Place::with_visits("gone");
    let service = place.start();
    let asked = json!({ "sql": "SELECT COUNT(*) FROM visits", "epsilon": 1, "request_id": "gone" });
    let headers = [("Content-Type", "application/json")];
    drop(service.say("POST", "/v1/query", &headers, asked.to_string().as_bytes()));
    let [first, again] = [0; 2].map(|_| service.post("/v1/query", &asked));
    assert_eq!((first.status, first.undated()), (200, again.undated()));
    assert_eq!(service.get("/v1/datasets/visits").json()["charges"], json!(1));
}

/// Limits the size of every file that the service writes from now on.
#[cfg(target_os = "linux")]
fn files_up_to(bytes: &str, service: &Service) {
    let mut limit = Command::new("prlimit");
    limit.args(["--pid", &service.id().to_string(), &format!("--fsize={bytes}:")]);
    assert!(limit.status().expect("prlimit is there").success());
}

/// Only charges are written here: only the ledger is out of space.
#[test]
#[cfg(target_os = "linux")]
fn a_ledger_without_room_is_not_ready_until_there_is_room() {
    let place = Place::with_visits("ledger-full");
    let service = place.start_on_a_disk_that_can_be_full();
    let asked = json!({"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.1"});
    assert_eq!(service.post("/v1/query", &asked).status, 200);
    files_up_to("16384", &service);
    assert_eq!(service.post("/v1/query", &json!({"sql": "SELECT COUNT(*) FROM visits", "epsilon": "0.2"})).status, 500);
    let ready = service.get("/readyz");
    assert_eq!(ready.status, 500, "{}", ready.text());
    // Anyone may ask, and is not told where the ledger is.
    assert!(ready.problem().0.contains("see the service's log"), "{}", ready.text());
    wait_for("the log", || {
        place.logged().contains("cannot store charges or releases: the ledger could not be").then_some(())
    });
    // It shows without any request.
    files_up_to("unlimited", &service);
    wait_for("room on the disk", || (service.get("/readyz").status == 200).then_some(()));
    assert_eq!(service.post("/v1/query", &asked).status, 200);
}

/// A backup copied over the ledger of a running service restores no budget.
#[test]
fn an_older_ledger_written_over_the_running_one_is_not_ready() {
    let place = Place::with_visits("older");
    let service = place.start();
    let ledger = place.0.join("data/ledger.sqlite");
    // As a vandal would, with all of it in one file.
    let copied = || {
        let other = rusqlite::Connection::open(&ledger).unwrap();
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        std::fs::read(&ledger).unwrap()
    };
    let backup = copied();
    let ask =
        |epsilon: &str| service.post("/v1/query", &json!({"sql": "SELECT COUNT(*) FROM visits", "epsilon": epsilon}));
    assert_eq!(ask("0.1").status, 200);
    let whole = copied();
    std::fs::write(&ledger, backup).unwrap();
    assert_eq!((ask("0.2").status, service.get("/readyz").status, service.get("/v1/datasets").status), (500, 500, 500));
    std::fs::write(&ledger, whole).unwrap();
    wait_for("the right ledger", || (service.get("/readyz").status == 200).then_some(()));
    assert_eq!(service.get("/v1/datasets/visits").json()["charges"], json!(1));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_logged_counted_and_not_ready_until_there_is_room() {
    let place = Place::new("full");
    let service = place.start_on_a_disk_that_can_be_full();
    service.create_exact("visits", 1);
    let figure = || {
        let metrics = service.get("/metrics").text().to_owned();
        metrics.lines().find_map(|line| line.strip_prefix("reticent_storage_failing ").map(str::to_owned))
    };
    assert_eq!((service.get("/readyz").status, figure().as_deref()), (200, Some("0")));
    files_up_to("65536", &service);
    wait_for("the end of the disk", || (service.send("visits", "1\n").status == 500).then_some(()));
    let ready = service.get("/readyz");
    assert_eq!((ready.status, figure().as_deref()), (500, Some("1")), "{}", ready.text());
    assert!(place.logged().contains("cannot close steps"), "{}", place.logged());
    // It shows without any request.
    files_up_to("unlimited", &service);
    wait_for("room on the disk", || (service.get("/readyz").status == 200).then_some(()));
    assert_eq!(figure().as_deref(), Some("0"));
    assert_eq!(service.send("visits", "1\n").status, 200);
}
