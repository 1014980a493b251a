//! From devices to estimates.

use std::fs;

use serde_json::{Value, json};

use crate::place::{Place, text};

const PEOPLE: usize = 60;

/// With the reports of all people in `reports.ndjson`: a third say yes.
fn surveyed(name: &str) -> Place {
    // At ε = 30 an answer is changed with probability 10⁻¹³.
    let place = Place::with_tea(name, "30", "--minimum-batch 50 --allow-large-epsilon");
    let reports: String =
        (0..PEOPLE).map(|person| place.report(person, if person % 3 == 0 { "yes" } else { "no" })).collect();
    fs::write(place.0.join("reports.ndjson"), reports).expect("written");
    place
}

fn collected(place: &Place, more: &str, input: &str) -> Value {
    let output =
        place.run_with(&format!("local collect --task tea.toml --store reports.sqlite --json {more}"), &[], input);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn reports_become_estimates() {
    let place = surveyed("survey");
    let lines = fs::read_to_string(place.0.join("reports.ndjson")).expect("reports");
    let (few, rest) = lines.split_at(lines.match_indices('\n').nth(9).expect("ten lines").0 + 1);
    assert_eq!(collected(&place, "", few), json!({ "counted": 10, "rejected": {} }));
    let estimate = "local estimate --task tea.toml --store reports.sqlite";
    let early = place.run(estimate);
    assert_eq!(early.status.code(), Some(3));
    assert!(early.stdout.is_empty() && text(&early.stderr).contains("minimum-batch is 50"), "{}", text(&early.stderr));
    // The same file as a whole, and twice: nothing counts twice.
    let rejected = json!({ "duplicate": 10 + PEOPLE });
    assert_eq!(collected(&place, "reports.ndjson reports.ndjson", ""), json!({ "counted": 50, "rejected": rejected }));
    assert_eq!(collected(&place, "", rest)["counted"], 0);

    let table = text(&place.run(estimate).stdout);
    let cells: Vec<&str> = table.lines().find(|line| line.contains("yes")).expect("a row").split_whitespace().collect();
    assert!(cells[..3] == ["yes", "20", "±"] && cells[4].contains('█'), "{table}");
    let json: Value = serde_json::from_slice(&place.run(&format!("{estimate} --format json")).stdout).expect("JSON");
    assert_eq!((&json["reports"], &json["epsilon"]), (&json!(PEOPLE), &json!("30")));
    assert!((json["choices"][0]["count"].as_f64().expect("a number") - 20.0).abs() < 1e-6, "{json}");
    let csv = text(&place.run(&format!("{estimate} --format csv")).stdout);
    assert!(csv.starts_with("answer,people,") && csv.lines().count() == 3, "{csv}");
}

#[test]
fn what_does_not_belong_is_rejected_and_counted_as_such() {
    let place = surveyed("rejected");
    let lines = fs::read_to_string(place.0.join("reports.ndjson")).expect("reports");
    let report: Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    let with = |field: &str, value: Value| {
        let mut report = report.clone();
        report[field] = value;
        format!("{report}\n")
    };
    let input = with("task", json!("f".repeat(64)))
        + &with("response", json!({ "value": 2 }))
        + &with("response", json!({ "bit": true }))
        + &with("period", json!(3))
        + &with("id", json!("short"))
        + &with("extra", json!(1))
        + "{\n\n";
    let rejected = json!({ "other-task": 1, "wrong-shape": 2, "wrong-period": 1, "unreadable": 3 });
    assert_eq!(collected(&place, "", &input), json!({ "counted": 0, "rejected": rejected }));
    // A different ε is a different task: its estimates do not see these reports.
    collected(&place, "reports.ndjson", "");
    let task = fs::read_to_string(place.0.join("tea.toml")).expect("the task");
    fs::write(place.0.join("other.toml"), task.replace("\"30\"", "\"3\"")).expect("written");
    let other = place.run("local estimate --task other.toml --store reports.sqlite");
    assert!(other.status.code() == Some(3) && text(&other.stderr).contains("there are 0 reports"));
    let moved = place.run("local collect --task other.toml --store reports.sqlite --json reports.ndjson");
    let moved: Value = serde_json::from_slice(&moved.stdout).expect("JSON");
    assert_eq!(moved, json!({ "counted": 0, "rejected": { "other-task": PEOPLE } }));
}

#[test]
fn a_shuffler_is_credited_for_honest_reports_only() {
    let place = Place::with_tea("shuffled", "1", "--minimum-batch 2");
    let reports: String = (0..40).map(|person| place.report(person, "yes")).collect();
    collected(&place, "", &reports);
    let estimate = "local estimate --task tea.toml --store reports.sqlite --format json --shuffled --delta 0.01";
    let epsilon = |more: &str| -> f64 {
        let output = place.run(&format!("{estimate} {more}"));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let guarantee = json["shuffled"]["guarantee"].as_str().expect("a guarantee").to_owned();
        guarantee.split([' ', ',']).nth(2).expect("a number").parse().expect("a number")
    };
    assert!(epsilon("") < epsilon("--honest 10") && epsilon("--honest 10") < 1.0);
    let many = place.run(&format!("{estimate} --honest 41"));
    assert!(many.status.code() == Some(2) && text(&many.stderr).contains("--honest is 41"));
    let alone = place.run("local estimate --task tea.toml --store reports.sqlite --honest 3");
    assert!(alone.status.code() == Some(2) && text(&alone.stderr).contains("--shuffled"));
}

/// A regression: ten devices that sent their memoised response four times each counted as forty people, who hide better
/// than ten.
#[test]
fn reports_are_not_people_where_a_device_may_send_more_than_one() {
    for (name, memoisation) in
        [("first", "first"), ("per-answer", "per-answer"), ("never-twice", "never --lifetime-epsilon 2")]
    {
        let place = Place::with_tea(name, "1", &format!("--minimum-batch 2 --memoisation {memoisation}"));
        let repeats = if name == "never-twice" { 2 } else { 4 };
        let reports: String = (0..10 * repeats).map(|report| place.report(report % 10, "yes")).collect();
        collected(&place, "", &reports);
        let estimate = "local estimate --task tea.toml --store reports.sqlite";
        let refused = place.run(&format!("{estimate} --shuffled"));
        assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stdout));
        let said = text(&refused.stderr);
        assert!(refused.stdout.is_empty() && said.contains("more than once") && !said.contains("δ ="), "{said}");

        let table = place.run(estimate);
        assert_eq!(table.status.code(), Some(0), "{}", text(&table.stderr));
        let (printed, said) = (text(&table.stdout), text(&table.stderr));
        assert!(printed.contains("reports") && !printed.contains("people") && !printed.contains('±'), "{printed}");
        assert!(said.contains("no 95 % interval: devices may report more than once"), "{said}");
        assert!(!said.contains('±'), "{said}");
        let json: Value =
            serde_json::from_slice(&place.run(&format!("{estimate} --format json")).stdout).expect("JSON");
        let row = &json["choices"][0];
        assert!(row["count"].is_number() && row["interval"].is_null() && row["standard_error"].is_null(), "{json}");
        assert!(json["no_interval"].as_str().expect("a reason").contains("more than once"), "{json}");
        let csv = text(&place.run(&format!("{estimate} --format csv")).stdout);
        assert!(csv.starts_with("answer,reports,consistent\n"), "{csv}");
    }
}

/// Reports that reveal the day they were made hide only among those of that day.
#[test]
fn reports_of_several_days_are_not_credited_with_one_shuffle() {
    let more = "--minimum-batch 2 --time-precision day --memoisation never";
    let place = Place::with_tea("days", "1", more);
    let reports: Vec<String> = (0..20).map(|person| place.report(person, "yes")).collect();
    // Even if midnight passes in between, all are still of one day.
    let (mut today, mut yesterday) = (String::new(), String::new());
    let day = serde_json::from_str::<Value>(&reports[0]).expect("JSON")["period"].as_u64().expect("a day");
    for (person, report) in reports.iter().enumerate() {
        let mut report: Value = serde_json::from_str(report).expect("JSON");
        report["period"] = json!(day - u64::from(person == 19));
        if person == 19 { yesterday = format!("{report}\n") } else { today += &format!("{report}\n") }
    }
    let estimate = "local estimate --task tea.toml --store reports.sqlite --shuffled --format json";
    collected(&place, "", &today);
    let stated = place.run(estimate);
    assert_eq!(stated.status.code(), Some(0), "{}", text(&stated.stderr));
    collected(&place, "", &yesterday);
    let refused = place.run(estimate);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stdout));
    let said = text(&refused.stderr);
    assert!(refused.stdout.is_empty() && said.contains("2 days"), "{said}");
    // Each person reported once: the interval holds.
    let table = place.run("local estimate --task tea.toml --store reports.sqlite");
    assert!(text(&table.stdout).contains('±'), "{}", text(&table.stdout));
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let place = surveyed("files");
    let nowhere = place.run("local estimate --task tea.toml --store none.sqlite");
    assert!(nowhere.status.code() == Some(2) && text(&nowhere.stderr).contains("--store none.sqlite"));
    assert!(!place.0.join("none.sqlite").exists());
    fs::write(place.0.join("odd.sqlite"), "not a database, but long enough to be looked at").expect("written");
    let odd = place.run("local collect --task tea.toml --store odd.sqlite reports.ndjson");
    assert!(odd.status.code() == Some(2) && text(&odd.stderr).contains("odd.sqlite"), "{}", text(&odd.stderr));
    let missing = place.run("local collect --task tea.toml --store reports.sqlite reports.ndjson none.ndjson");
    assert!(missing.status.code() == Some(2) && text(&missing.stderr).contains("none.ndjson"));
    // Nothing was collected before all files existed.
    let estimate = place.run("local estimate --task tea.toml --store reports.sqlite");
    assert_eq!(estimate.status.code(), Some(2));
    let task = fs::read_to_string(place.0.join("tea.toml")).expect("the task").replace("2999", "2001");
    fs::write(place.0.join("old.toml"), task).expect("written");
    let late = place.run("local collect --task old.toml --store reports.sqlite reports.ndjson");
    assert!(late.status.code() == Some(2) && text(&late.stderr).contains("2001-01-01"), "{}", text(&late.stderr));
}
