//! Mistakes outside the rows: named, and not charged.

use super::hospitals::{BY_WARD, Hospitals, WARDS};

#[test]
fn what_cannot_be_asked_of_parties_is_refused_by_its_name() {
    let hospitals = Hospitals::new("mistakes", 2);
    let cases = [
        (BY_WARD, "--epsilon 1 --colluders 1", "--keys ward=a,b,c"),
        (BY_WARD, "--epsilon 1 --keys ward=A", "add --colluders 1"),
        (BY_WARD, "--epsilon 1 --keys ward=A --colluders 2", "number of colluders is 2"),
        (BY_WARD, "--epsilon 0 --keys ward=A --colluders 1", "--epsilon is 0"),
        (BY_WARD, "--epsilon 1 --keys ward=A --protocol broadcast --colluders 1", "broadcast holds against all others"),
        (
            BY_WARD,
            "--epsilon 1 --keys ward=A --colluders 1 --bound 9223372036854775807",
            "bound is 9223372036854775807",
        ),
        (BY_WARD, "--epsilon 1 --keys ward=A --colluders 1 --party x,nowhere.pub,h:1", "there is no file nowhere.pub"),
        (BY_WARD, "--epsilon 1 --keys ward=A --colluders 1 --party x", "--party NAME,KEY,HOST:PORT"),
        (
            "SELECT MEDIAN(age) FROM visits",
            "--epsilon 1 --bounds age=0..9 --colluders 1",
            "ranks do not add up over parties",
        ),
        (
            "SELECT COUNT(DISTINCT patient) FROM visits",
            "--epsilon 1 --unit patient --colluders 1",
            "someone with data at several parties would be counted at each",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT patient, COUNT(*) AS n FROM visits GROUP BY patient) AS q WHERE n > 0",
            "--epsilon 1 --unit patient --colluders 1",
            "someone with data at several parties would be counted at each",
        ),
        ("SELECT AVG(age) FROM visits", "--epsilon 1 --colluders 1", "add --bounds age=LO..HI"),
        ("SELECT AVG(age) FROM visits", "--epsilon 1 --bounds age=auto --colluders 1", "agree on a range"),
        ("SELECT COUNT(*) FROM visits", "--epsilon 1 --unit patient --colluders 1", "are required: add --max-rows N"),
        ("SELECT COUNT(*) FROM visits", "--epsilon 11 --colluders 1", "--epsilon is 11, but it must be at most 10"),
        ("SELECT * FROM visits", "--epsilon 1 --colluders 1", "a list of rows cannot be answered privately"),
        ("SELEC", "--epsilon 1 --colluders 1", "invalid query"),
    ];
    for (sql, more, why) in cases {
        let ended = hospitals.agree("task.toml", sql, more);
        assert_eq!(ended.code, Some(2), "{sql} {more}: {}", ended.stderr);
        assert!(ended.stderr.contains(why), "{sql} {more}: {}", ended.stderr);
        assert!(!hospitals.folder.join("task.toml").exists(), "{sql} {more}");
    }
}

/// A task is public, and so are the keys in it: a file with charged rows cannot be a list of keys.
#[test]
fn keys_are_not_read_from_a_private_file() {
    let hospitals = Hospitals::new("private-keys", 2);
    hospitals.write("patients.csv", "name\nada\nalan\n");
    let table = ["--table", "patients=patients.csv", "--epsilon", "1"];
    hospitals.succeeds(&[&["query", "SELECT COUNT(*) AS n FROM patients"][..], &table].concat());
    let ended = hospitals.agree("task.toml", BY_WARD, "--epsilon 1 --keys ward=patients.csv --colluders 1");
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("was queried as a private table before"), "{}", ended.stderr);
    assert!(!hospitals.folder.join("task.toml").exists() && !ended.stderr.contains("ada"), "{}", ended.stderr);
    hospitals.write("wards.csv", "ward\nA\nB\n");
    let made = hospitals.agree("task.toml", BY_WARD, "--epsilon 1 --keys ward=wards.csv --colluders 1");
    assert_eq!(made.code, Some(0), "{}", made.stderr);
}

#[test]
fn what_does_not_go_together_is_found_before_anything_is_sent() {
    let hospitals = Hospitals::new("unfit", 2);
    let made = hospitals.agree("task.toml", BY_WARD, &format!("--epsilon 1 --keys {WARDS} --colluders 1"));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let again = hospitals.agree("task.toml", BY_WARD, &format!("--epsilon 1 --keys {WARDS} --colluders 1"));
    assert_eq!(again.code, Some(1), "a task is never overwritten: {}", again.stderr);
    let checked = hospitals.succeeds(&["party", "task", "check", "task.toml", "--config", "p0.toml"]);
    assert!(made.stderr.contains(checked.stdout.trim()), "one hash: {} {}", made.stderr, checked.stdout);
    let task = hospitals.read("task.toml");
    let fails = |code: i32, why: &str| {
        let ended = hospitals.start("p0").end();
        assert_eq!(ended.code, Some(code), "{why}: {}", ended.stderr);
        assert!(ended.stdout.is_empty() && ended.stderr.contains(why), "{why}: {}", ended.stderr);
        assert_eq!(hospitals.charges("p0"), 0);
    };
    // A smaller sensitivity, or another step, would state a guarantee or a number that does not hold.
    for (from, to, why) in [
        ("sensitivity = 1", "sensitivity = 0", "sensitivity is 0"),
        (
            "unit = \"row\"",
            "unit = \"patient\"\nmax_rows = 3\nmax_groups = 1",
            "sensitivity = 1, but its query requires 3",
        ),
        ("    \"rows, ward = A\",\n", "", "cells = 2, but its query requires 3"),
        (
            "    \"rows, ward = A\",\n",
            "    { name = \"A\", step = 2 },\n",
            "step of \"A\" = 2, but its query requires 1",
        ),
    ] {
        assert!(task.contains(from), "{from}");
        hospitals.write("task.toml", &task.replace(from, to));
        fails(2, why);
    }
    hospitals.write("task.toml", &task);
    let config = hospitals.read("p0.toml");
    for (from, to, code, why) in [
        ("party = \"p0\"", "party = \"p1\"", 2, "the private key is"),
        ("party = \"p0\"", "party = \"p7\"", 2, "one of the task's: p0, p1"),
        ("dataset = \"visits\"", "dataset = \"stays\"", 2, "has no dataset stays"),
        ("visits = \"p0.csv\"", "visits = \"nowhere.csv\"", 2, "nowhere.csv"),
        ("visits = \"p0.csv\"", "stays = \"p0.csv\"", 2, "the query reads a table visits"),
        ("join_seconds = 200", "join_seconds = 0", 2, "join_seconds is 0"),
    ] {
        assert!(config.contains(from), "{from}");
        hospitals.write("p0.toml", &config.replace(from, to));
        fails(code, why);
    }
    hospitals.write("p0.toml", &config);
    hospitals.write("p0.csv", "patient,floor\nu1,2\n");
    fails(2, "ward");
}

#[test]
fn a_dry_run_reads_no_row_and_charges_nothing() {
    let hospitals = Hospitals::new("dry", 2);
    assert_eq!(
        hospitals.agree("task.toml", BY_WARD, &format!("--epsilon 1 --keys {WARDS} --colluders 1")).code,
        Some(0)
    );
    let ended = hospitals.succeeds(&["party", "run", "--config", "p0.toml", "--dry-run"]);
    assert!(ended.stderr.contains("p0 is ready; nothing was charged or sent"), "{}", ended.stderr);
    assert_eq!(hospitals.charges("p0"), 0);
    assert!(!hospitals.folder.join("p0.state").exists(), "no state is made");
}

/// A dry run finds everything that would keep the run from its first message.
#[test]
fn a_dry_run_is_ready_only_if_the_run_would_be() {
    let hospitals = Hospitals::new("not-ready", 2);
    assert_eq!(
        hospitals.agree("task.toml", BY_WARD, &format!("--epsilon 1 --keys {WARDS} --colluders 1")).code,
        Some(0)
    );
    let not_ready = |code: i32, why: &str| {
        let dry = hospitals.run(&["party", "run", "--config", "p0.toml", "--dry-run"]);
        assert!(dry.code == Some(code) && dry.stdout.is_empty(), "{why}: {dry:?}");
        assert!(dry.stderr.contains(why) && !dry.stderr.contains("is ready"), "{why}: {}", dry.stderr);
        let run = hospitals.start("p0").end();
        assert!(run.code == dry.code && run.stderr.contains(why), "the run itself finds the same: {}", run.stderr);
    };
    hospitals.write("result.json", "{}");
    for (more, why) in [
        ("transcript = \"result.json\"\n", "a transcript is never overwritten"),
        ("transcript = \"nowhere/result.json\"\n", "in an existing directory"),
    ] {
        hospitals.configure("p0", more);
        not_ready(2, why);
    }
    hospitals.configure("p0", "");
    hospitals.write("p0.toml", &hospitals.read("p0.toml").replace("p0.key", "p1.key"));
    not_ready(2, "the private key is");
    hospitals.configure("p0", "");
    let listener = std::net::TcpListener::bind(&hospitals.addresses[0]).expect("it is free");
    not_ready(1, "listening on");
    drop(listener);
    hospitals.budget("p0", "0.5");
    not_ready(4, "0.5");
}

/// A task cannot turn one patient into many by giving another column the unit's name.
#[test]
fn a_unit_is_a_column_of_the_table_and_not_a_name() {
    let hospitals = Hospitals::new("unit-by-name", 2);
    let sql = "SELECT COUNT(*) AS n FROM (SELECT age AS patient, ward FROM visits)";
    let made = hospitals.agree(
        "task.toml",
        sql,
        "--epsilon 200 --allow-large-epsilon --unit patient --max-rows 1 --colluders 1",
    );
    if made.code == Some(2) {
        return;
    }
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let rows: String = (0..80).map(|row| format!("same,A,{row}\n")).collect();
    for party in ["p0", "p1"] {
        hospitals.write(&format!("{party}.csv"), &format!("patient,ward,age\n{rows}"));
        let ledger = format!("{party}.sqlite");
        std::fs::remove_file(hospitals.folder.join(&ledger)).expect("a ledger of rows");
        let budget = ["--epsilon", "1000", "--allow-large-epsilon", "--unit", "patient", "--ledger", &ledger];
        let create = [&["ledger", "create", "visits"][..], &budget].concat();
        hospitals.succeeds(&create);
    }
    for ended in hospitals.run_all() {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let number = ended.rows()[0]["n"]["value"].as_f64().expect("a number");
        assert!(number < 10.0, "one patient of each party counts once, but for noise: {number}");
    }
}
