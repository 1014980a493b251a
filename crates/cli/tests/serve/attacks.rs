//! Queries and configurations written to learn more than an answer, or to keep the service busy.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::service::Place;

/// Two columns, user and age, and four rows; where those of the first column begin, after the letters PAR1.
const TINY: &[u8] = include_bytes!("../query/tiny.parquet");
const ROWS: std::ops::Range<usize> = 4..30;

fn broken() -> Vec<u8> {
    let mut broken = TINY.to_vec();
    broken[ROWS].fill(0xff);
    broken
}

/// Whether a run fails depends on rows: if it were retried for the same charge, each try would reveal more.
#[test]
fn a_request_that_failed_fails_for_ever_also_after_a_restart() {
    let place = Place::new("failed");
    let file = place.0.join("visits.parquet");
    fs::write(&file, broken()).expect("written");
    place.write(
        "reticent.toml",
        "[[table]]\nname = \"visits\"\nfile = \"visits.parquet\"\npolicy = { unit = \"user\", max_rows = 1, max_groups = 1 }\n",
    );
    let mut service = place.start();
    let asked = json!({ "sql": "SELECT COUNT(age) AS n FROM visits", "epsilon": 200, "allow_large_epsilon": true, "request_id": "monday" });
    let first = service.post("/v1/query", &asked);
    assert_eq!(first.status, 500, "{}", first.text());
    assert!(first.text().contains("the table could not be read to its end"), "{}", first.text());
    fs::write(&file, TINY).expect("written");
    assert_eq!(service.post("/v1/query", &asked).undated(), first.clone().undated());
    service.signal("KILL");
    service.ended();
    let service = place.start();
    assert_eq!(service.post("/v1/query", &asked).undated(), first.undated());
    assert_eq!(service.get("/v1/datasets/visits").json()["charges"], json!(1));
    let fresh = json!({ "sql": "SELECT COUNT(age) AS n FROM visits", "epsilon": 200, "allow_large_epsilon": true, "request_id": "tuesday" });
    // Nothing else is answered until the owner of the data has looked into it.
    let refused = service.post("/v1/query", &fresh);
    assert_eq!(refused.status, 409, "{}", refused.text());
    let reopened = place.run("ledger reopen visits --ledger data/ledger.sqlite");
    assert!(reopened.status.success(), "{reopened:?}");
    assert_eq!(service.post("/v1/query", &fresh).status, 200);
}

/// A client that repeats its request, because no answer came yet, gets the same answer.
#[test]
fn two_who_ask_the_same_at_once_hear_the_same() {
    let place = Place::with_visits("at-once");
    let service = place.start();
    let asked = json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1, "request_id": "monday" });
    let answers: Vec<_> = std::thread::scope(|scope| {
        let ask = || service.post("/v1/query", &asked).undated();
        let threads: Vec<_> = (0..6).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().expect("it answers")).collect()
    });
    assert_eq!(answers[0].status, 200, "{}", answers[0].text());
    assert!(answers.iter().all(|answer| *answer == answers[0]));
}

/// One person with many rows tries to count as many people by giving another column the unit's name.
#[test]
fn an_analyst_does_not_choose_the_unit_by_a_name() {
    let place = Place::new("unit-by-name");
    let rows: String = (0..500).map(|row| format!("u1,n{row},30\n")).collect();
    place.write("t.csv", &("user,id,age\n".to_owned() + &rows));
    place.write(
        "reticent.toml",
        "[[table]]\nname = \"t\"\nfile = \"t.csv\"\npolicy = { unit = \"user\", max_rows = 1, max_groups = 1 }\n",
    );
    let token = place.token("ada", "analyst", "--cap t=1000 --allow-large-epsilon");
    let service = place.start();
    for sql in [
        "SELECT COUNT(*) AS n FROM (SELECT id AS user, age FROM t)",
        "WITH t AS (SELECT id AS user FROM t) SELECT COUNT(*) AS n FROM t",
        "SELECT COUNT(DISTINCT user) AS n FROM (SELECT id AS user, age FROM t)",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(privacy_unit_column=id) COUNT(*) AS n FROM t",
    ] {
        let answer =
            service.post_as(&token, "/v1/query", &json!({ "sql": sql, "epsilon": 200, "allow_large_epsilon": true }));
        match answer.status {
            200 => assert!(answer.json()["rows"][0][0]["value"].as_f64().is_some_and(|number| number <= 1.0), "{sql}"),
            status => assert_eq!(status, 400, "{sql}: {}", answer.text()),
        }
    }
}

/// Also if no policy sets a privacy unit: then each row is a unit, and no column can change that.
#[test]
fn an_analyst_does_not_choose_the_unit_of_a_table_without_a_policy() {
    let place = Place::new("unit-in-sql");
    place.write("t.csv", "user,id\nu1,n1\nu1,n2\n");
    place.write("reticent.toml", "[[table]]\nname = \"t\"\nfile = \"t.csv\"\n");
    let token = place.token("ada", "analyst", "--cap t=1000 --allow-large-epsilon");
    let service = place.start();
    for options in ["privacy_unit_column=user", "epsilon=1, PRIVACY_UNIT_COLUMN = t.id"] {
        let sql = format!("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({options}) COUNT(*) AS n FROM t");
        for dry_run in [false, true] {
            let asked = json!({ "sql": sql, "epsilon": 1, "dry_run": dry_run });
            let answer = service.post_as(&token, "/v1/query", &asked);
            assert_eq!(answer.status, 400, "{sql}: {}", answer.text());
            let (message, field) = answer.problem();
            assert!(message.contains("set by the table's policy") && field.as_deref() == Some("sql"), "{message}");
        }
    }
}

/// A public side that fails if a private row reaches it: whether it was reached must not show.
#[test]
fn a_public_side_fails_for_all_private_rows_or_for_none() {
    let seen: Vec<_> = ["", "u1,30\n", "u1,30\nu2,40\n"]
        .into_iter()
        .enumerate()
        .map(|(number, rows)| {
            let place = Place::new(&format!("public-side-{number}"));
            fs::write(place.0.join("b.parquet"), broken()).expect("written");
            place.write("visits.csv", &("user,age\n".to_owned() + rows));
            place.write(
                "reticent.toml",
                "[[table]]\nname = \"visits\"\nfile = \"visits.csv\"\npolicy = { unit = \"user\", max_rows = 1, max_groups = 1 }\n[[table]]\nname = \
                 \"b\"\nfile = \"b.parquet\"\npublic = true\n",
            );
            let service = place.start();
            let sql = "SELECT COUNT(*) AS n FROM visits JOIN b ON visits.user = b.user";
            let answer = service.post("/v1/query", &json!({ "sql": sql, "epsilon": 1 }));
            (answer.status, answer.text().to_owned())
        })
        .collect();
    assert_eq!(seen[0].0, seen[1].0, "{seen:?}");
    assert!(seen.iter().all(|one| *one == seen[0]), "{seen:?}");
}

/// A dry run is free, so anyone can request many.
#[test]
fn dry_runs_that_are_hard_to_plan_do_not_stop_the_service() {
    let place = Place::with_visits("flood");
    let service = place.start();
    let terms = (0..20_000).map(|term| format!("age > {term}")).collect::<Vec<_>>().join(" OR ");
    let few = (0..4_000).map(|term| format!("age > {term}")).collect::<Vec<_>>().join(" OR ");
    let joins: String = (1..=9)
        .map(|level| {
            let from = level - 1;
            format!(
                ", c{level} AS (SELECT a.user AS user, a.age + b.age AS age FROM c{from} AS a JOIN c{from} AS b ON a.user = b.user)"
            )
        })
        .collect();
    let chain = format!("WITH c0 AS (SELECT user, age FROM visits){joins} SELECT COUNT(*) AS n FROM c9");
    let hard = [
        format!("SELECT COUNT(*) AS n FROM visits WHERE {terms}"),
        format!("SELECT COUNT(*) AS n FROM visits WHERE {few}"),
        format!("SELECT COUNT(*) AS n FROM visits WHERE {}age > 0{}", "(".repeat(9_000), ")".repeat(9_000)),
        chain,
    ];
    std::thread::scope(|scope| {
        let flood: Vec<_> = (0..12)
            .map(|number| {
                let asked = json!({ "sql": hard[number % hard.len()], "epsilon": 1, "dry_run": true });
                let service = &service;
                scope.spawn(move || (number, service.post("/v1/query", &asked)))
            })
            .collect();
        for _ in 0..10 {
            let began = Instant::now();
            assert_eq!(service.get("/v1/tables").status, 200);
            assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        }
        for thread in flood {
            let (number, answer) = thread.join().expect("it answers");
            assert!(matches!(answer.status, 200 | 400), "{number}: {} {}", answer.status, answer.text());
        }
    });
    let answer = service.post("/v1/query", &json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1 }));
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// The message for a configuration with which the service must not start.
fn does_not_start(place: &Place, config: &str) -> String {
    place.write("reticent.toml", config);
    place.does_not_start("")
}

fn table(name: &str, file: &str, more: &str) -> String {
    format!("[[table]]\nname = \"{name}\"\nfile = \"{file}\"\n{more}\n")
}

/// A public table is shown as it is: a file that is private under one name must not be public under another.
#[test]
fn a_file_is_not_public_in_one_table_and_private_in_another() {
    let place = Place::new("public-names");
    fs::create_dir_all(place.0.join("data-files")).expect("a folder");
    place.write("data-files/visits.csv", "user,age\nu1,30\n");
    let full = place.0.join("data-files/visits.csv");
    fs::hard_link(&full, place.0.join("hard.csv")).expect("a hard link");
    std::os::unix::fs::symlink(&full, place.0.join("soft.csv")).expect("a link");
    let private = table("visits", "data-files/visits.csv", "");
    for name in ["data-files/visits.csv", "hard.csv", "soft.csv", "data-files", "data-files/*.csv", "*ard.csv"] {
        let said = does_not_start(&place, &(private.clone() + &table("b", name, "public = true")));
        assert!(said.contains("have a file in common, and one of them is public"), "{name}: {said}");
        let said = does_not_start(&place, &(private.clone() + &table("b", name, "dataset = \"other\"")));
        assert!(said.contains("have a file in common; give both the same dataset"), "{name}: {said}");
    }
    // Keys are public, too.
    let keys = |file: &str| format!("policy = {{ unit = \"user\", keys = {{ user = \"{file}\" }} }}");
    for name in ["data-files/visits.csv", "hard.csv", "soft.csv"] {
        let said = does_not_start(&place, &table("visits", "data-files/visits.csv", &keys(name)));
        assert!(said.contains("which is private, and keys are public"), "{name}: {said}");
    }
    // A file that the ledger knows as private is not public either.
    let full = full.canonicalize().expect("its full path");
    let with_dataset = table("visits", "data-files/visits.csv", &format!("dataset = {full:?}"));
    place.write("reticent.toml", &with_dataset);
    let service = place.start();
    assert_eq!(
        service.post("/v1/query", &json!({ "sql": "SELECT COUNT(*) AS n FROM visits", "epsilon": 1 })).status,
        200
    );
    drop(service);
    for name in ["data-files/visits.csv", "hard.csv", "soft.csv", "data-files"] {
        let said = does_not_start(&place, &table("b", name, "public = true"));
        assert!(said.contains("is public, but the ledger knows"), "{name}: {said}");
    }
}

/// A second service on the same data directory is refused before it has set budgets in the first one's ledger.
#[test]
fn a_second_service_changes_nothing() {
    let place = Place::with_visits("second");
    let service = place.start();
    let before = service.get("/v1/datasets").text().to_owned();
    let said = does_not_start(&place, "[[dataset]]\nname = \"other\"\nunit = \"row\"\nbudget = { epsilon = 1 }\n");
    assert!(said.contains("another process is using the data directory"), "{said}");
    assert_eq!(service.get("/v1/datasets").text(), before);
}

/// A table's file is fixed when the service starts; a link or file swapped since then must not be queried under another
/// table's budget.
#[test]
fn a_table_whose_file_was_swapped_is_not_asked_about() {
    use std::os::unix::fs::symlink;
    let place = Place::new("swapped");
    for folder in ["folder", "elsewhere"] {
        fs::create_dir_all(place.0.join(folder)).expect("a folder");
        place.write(&format!("{folder}/x.csv"), "user,age\nu1,30\n");
    }
    for file in ["a.csv", "b.csv", "free.csv"] {
        place.write(file, "user,age\nu1,30\n");
    }
    let at = |name: &str| place.0.join(name);
    let link = |to: &str, name: &str| {
        let _ = fs::remove_file(at(name));
        symlink(at(to), at(name)).expect("a link");
    };
    link("a.csv", "link.csv");
    link("folder", "linked");
    let policy = "policy = { budget = { epsilon = 10 } }";
    let tables = [("a", "link.csv"), ("b", "b.csv"), ("f", "linked")].map(|(name, file)| table(name, file, policy));
    place.write("reticent.toml", &tables.concat());
    let service = place.start();
    let ask = |table: &str| {
        service.post("/v1/query", &json!({ "sql": format!("SELECT COUNT(*) AS n FROM {table}"), "epsilon": 1 }))
    };
    let charges = || {
        let datasets = service.get("/v1/datasets").json()["datasets"].as_array().expect("a list").clone();
        datasets.iter().map(|dataset| dataset["charges"].as_u64().expect("a number")).sum::<u64>()
    };
    let is_refused = |table: &str, why: &str| {
        let (before, answer) = (charges(), ask(table));
        assert!(matches!(answer.status, 400 | 409) && answer.text().contains(why), "{table}: {}", answer.text());
        assert_eq!(charges(), before, "nothing was charged");
    };
    let is_answered = |table: &str| {
        let answer = ask(table);
        assert_eq!(answer.status, 200, "{table}: {}", answer.text());
    };
    ["a", "b", "f"].into_iter().for_each(is_answered);
    // A link that points elsewhere: to another table's file, or to an unknown one.
    for other in ["b.csv", "free.csv"] {
        link(other, "link.csv");
        is_refused("a", "was moved since the service started");
        is_answered("b");
    }
    link("a.csv", "link.csv");
    link("elsewhere", "linked");
    is_refused("f", "was moved since the service started");
    link("folder", "linked");
    // The same name for another table's file.
    fs::hard_link(at("b.csv"), at("second name")).expect("a hard link");
    fs::rename(at("second name"), at("a.csv")).expect("replaced");
    is_refused("a", "have a file in common");
    is_refused("b", "have a file in common");
    // The owner of a table may change content and add files.
    place.write("new", "user,age\nu2,40\n");
    fs::rename(at("new"), at("a.csv")).expect("replaced");
    place.write("folder/y.csv", "user,age\nu2,40\n");
    ["a", "b", "f"].into_iter().for_each(is_answered);
    // But not another table's.
    link("b.csv", "folder/z.csv");
    is_refused("f", "have a file in common");
}

#[test]
fn limits_of_a_query_stand_in_the_configuration() {
    let place = Place::with_visits("query-limits");
    let config = fs::read_to_string(place.0.join("reticent.toml")).expect("there");
    for (wrong, why) in [
        ("memory_limit = \"4\"", "query.memory_limit"),
        ("time_limit = \"soon\"", "query.time_limit"),
        ("temp_dir = \"nowhere\"", "there is no such folder"),
        ("threads = 0", "threads"),
    ] {
        let said = does_not_start(&place, &format!("[query]\n{wrong}\n{config}"));
        assert!(said.contains(why), "{wrong}: {said}");
    }
    let rows: String = (0..300_000).map(|row| format!("u{row},north,30\n")).collect();
    place.write("visits.csv", &("user,region,age\n".to_owned() + &rows));
    place.write(
        "reticent.toml",
        &format!("[query]\ntime-limit = \"1ms\"\nmemory-limit = \"1GiB\"\nthreads = 1\n{config}"),
    );
    let service = place.start();
    let sql = "SELECT COUNT(*) AS n FROM visits WHERE length(repeat(region, 1000)) > 3";
    let answer = service.post("/v1/query", &json!({ "sql": sql, "epsilon": 1, "request_id": "monday" }));
    assert_eq!(answer.status, 500, "{}", answer.text());
    assert!(answer.text().contains("what was charged stays charged"), "{}", answer.text());
    let dataset = service.get("/v1/datasets/visits").json();
    assert_eq!((&dataset["charges"], dataset["suspended"].is_u64()), (&json!(1), true), "{dataset}");
    let sql = "SELECT COUNT(*) AS n FROM visits";
    let refused = service.post("/v1/query", &json!({ "sql": sql, "epsilon": 1 }));
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("visits is suspended"), "{}", refused.text());
    assert_eq!(service.get("/v1/datasets/visits").json()["charges"], json!(1));
}
