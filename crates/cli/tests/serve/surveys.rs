//! Tasks, reports and estimates of the local model.

use std::io::Write;

use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::service::{COMMUTE, Place, Service};

/// As many reports as people, one per line, each from its own device.
fn reports(place: &Place, people: usize) -> String {
    let report = |person: usize| {
        let answer = ["on foot", "by train"][usize::from(!person.is_multiple_of(4))];
        let mut command = place.program("local respond --task commute.toml --answer");
        let output = command.arg(answer).args(["--device", &format!("device-{person}")]).output().expect("it starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    (0..people).map(report).collect()
}

fn send(service: &Service, lines: &str) -> Value {
    let answer = service.say("POST", "/v1/local/commute/reports", &[], lines.as_bytes()).answer();
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.json()
}

#[test]
fn reports_are_collected_once_durably_and_estimated_from_enough_of_them() {
    let place = Place::with_survey("survey", false);
    let service = place.start();
    let task = service.get("/v1/local/commute").json();
    assert_eq!((&task["question"], &task["epsilon"]), (&json!("How did you come here today?"), &json!("2")));
    let lines = reports(&place, 25);
    let (few, rest) = lines.split_at(lines.match_indices('\n').nth(9).expect("ten lines").0 + 1);
    assert_eq!(send(&service, few), json!({ "counted": 10, "rejected": {} }));
    let early = service.get("/v1/local/commute/estimate");
    assert_eq!(early.status, 409);
    assert!(early.problem().0.contains("minimum-batch is 20"), "{}", early.text());
    // Again, mixed with invalid reports and reports of another task.
    let with = |field: &str, value: Value| {
        let mut report: Value = serde_json::from_str(few.lines().next().expect("a line")).expect("JSON");
        report[field] = value;
        report
    };
    let (stranger, shape) = (with("task", json!("0".repeat(64))), with("response", json!({ "value": 3 })));
    let mixed = format!("{few}nonsense\n\n{stranger}\n{shape}\n");
    let rejected = json!({ "duplicate": 10, "unreadable": 1, "other-task": 1, "wrong-shape": 1 });
    assert_eq!(send(&service, &mixed), json!({ "counted": 0, "rejected": rejected }));
    // After a kill and a restart nothing is lost; compressed, nothing differs.
    drop(service);
    let service = place.start();
    let mut packed = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(rest.as_bytes()).expect("packed");
    let packed = packed.finish().expect("packed");
    let headers = [("Content-Encoding", "gzip")];
    let answer = service.say("POST", "/v1/local/commute/reports", &headers, &packed).answer();
    assert_eq!(answer.json(), json!({ "counted": 15, "rejected": {} }), "{}", answer.text());
    let estimate = service.get("/v1/local/commute/estimate").json();
    assert_eq!(estimate["reports"], json!(25));
    let rows = estimate["choices"].as_array().expect("rows");
    let total: f64 = rows.iter().map(|row| row["consistent"].as_f64().expect("a number")).sum();
    assert!(rows.len() == 3 && (total - 25.0).abs() < 1e-6, "{estimate}");
    assert!(rows.iter().all(|row| row["interval"].is_array() && row["standard_error"].is_number()), "{estimate}");
    assert!(estimate["no_interval"].is_null(), "{estimate}");
    let shuffled = service.get("/v1/local/commute/estimate?delta=0.01&honest=20").json();
    assert!(shuffled["shuffled"].as_str().expect("a guarantee").contains("δ = 0.01"), "{shuffled}");
    let too_many = service.get("/v1/local/commute/estimate?delta=0.01&honest=26");
    assert_eq!((too_many.status, too_many.problem().1.as_deref()), (400, Some("honest")));
    assert_eq!(service.get("/v1/local").json()["surveys"][0]["reports"], json!(25));
    assert_eq!(service.get("/v1/local/none").status, 404);
    assert_eq!(service.get("/v1/local/commute/estimate?detla=0.01").problem().1.as_deref(), Some("detla"));
}

/// Reports of devices that may send many are not people: nothing is stated that only holds for people.
#[test]
fn estimates_of_devices_that_repeat_themselves_have_no_intervals() {
    let place = Place::with_survey("repeated", false);
    place.write("commute.toml", &COMMUTE.replace("epsilon", "memoisation = \"first\"\nepsilon"));
    let service = place.start();
    for _ in 0..2 {
        assert_eq!(send(&service, &reports(&place, 10)), json!({ "counted": 10, "rejected": {} }));
    }
    let estimate = service.get("/v1/local/commute/estimate").json();
    let reason = estimate["no_interval"].as_str().expect("a reason");
    assert!(reason.starts_with("devices may report more than once (memoisation = first)"), "{reason}");
    let rows = estimate["choices"].as_array().expect("rows");
    for row in rows {
        assert!(
            row["count"].is_number() && row.get("interval").is_none() && row.get("standard_error").is_none(),
            "{row}"
        );
    }
    let refused = service.get("/v1/local/commute/estimate?delta=0.01");
    assert_eq!(refused.status, 409);
    assert!(
        refused.problem().0.starts_with("no guarantee for shuffled reports: devices may report"),
        "{}",
        refused.text()
    );
}

#[test]
fn a_task_that_changed_or_expired_is_refused() {
    let place = Place::with_survey("changed", false);
    drop(place.start());
    place.write("commute.toml", &COMMUTE.replace("\"2\"", "\"3\""));
    let refused = place.run("serve --listen 127.0.0.1:0 --data-dir data --config reticent.toml");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(2) && said.contains("choose another name"), "{said}");
    for (wrong, word) in [("epsilon = \"0\"", "epsilon"), ("espilon = \"1\"", "espilon")] {
        place.write("commute.toml", &COMMUTE.replace("epsilon = \"2\"", wrong));
        let refused = place.run("serve --listen 127.0.0.1:0 --data-dir data --config reticent.toml");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("commute.toml") && said.contains(word), "{said}");
    }
    let place = Place::with_survey("expired", false);
    place.write("commute.toml", &COMMUTE.replace("2999", "2001"));
    let service = place.start();
    let late = service.say("POST", "/v1/local/commute/reports", &[], b"{}").answer();
    assert!(late.status == 409 && late.problem().0.contains("2001-01-01"), "{}", late.text());
}

/// Nothing has to be built, fetched or configured for people to answer.
#[test]
fn the_page_and_all_it_needs_are_in_the_program() {
    let service = Place::with_survey("page", true).start();
    for (path, kind) in [
        ("/survey/commute", "text/html; charset=utf-8"),
        ("/assets/survey.js", "text/javascript; charset=utf-8"),
        ("/assets/survey.css", "text/css; charset=utf-8"),
        ("/assets/reticent.js", "text/javascript; charset=utf-8"),
        ("/assets/reticent.wasm", "application/wasm"),
    ] {
        let answer = service.get(path);
        assert_eq!((answer.status, answer.header("content-type")), (200, Some(kind)), "{path}");
        if kind == "application/wasm" {
            assert!(answer.body.starts_with(b"\0asm\x01\0\0\0") && answer.body.len() < 128_000);
        }
    }
}
