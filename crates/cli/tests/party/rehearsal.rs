//! Simulations, views, and transcripts that were tampered with.

use std::fs;

use serde_json::Value;

use super::hospitals::{Hospitals, truth};

const TABLES: [&str; 6] = ["--table", "p0.visits=p0.csv", "--table", "p1.visits=p1.csv", "--table", "p2.visits=p2.csv"];

#[test]
fn a_simulation_is_what_processes_do() {
    let hospitals = Hospitals::new("simulated", 3);
    hospitals.agree_on_wards();
    let arguments =
        [&["party", "simulate", "task.toml", "--format", "json", "--transcript", "said.json"], &TABLES[..]].concat();
    let simulated = hospitals.succeeds(&arguments);
    assert_eq!(simulated.counts(), truth([10, 20, 30]));
    assert!(simulated.stderr.contains("nothing is charged"), "{}", simulated.stderr);
    assert_eq!(hospitals.charges("p0"), 0);
    let verified = hospitals.succeeds(&["party", "verify", "said.json", "--format", "json"]);
    assert_eq!(verified.rows(), simulated.rows());
    // Its keys are not the task's.
    let compared = hospitals.run(&["party", "verify", "said.json", "--task", "task.toml"]);
    assert_eq!(compared.code, Some(1), "{}", compared.stderr);
    assert!(compared.stderr.contains("is not the given one"), "{}", compared.stderr);
    let missing = hospitals.run(&["party", "simulate", "task.toml", "--table", "p0.visits=p0.csv"]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
    assert!(missing.stderr.contains("party p1: the query reads a table visits"), "{}", missing.stderr);
}

#[test]
fn whatever_was_changed_in_a_transcript_is_found() {
    let hospitals = Hospitals::new("tampered", 3);
    hospitals.agree_on_wards();
    hospitals.succeeds(&[&["party", "simulate", "task.toml", "--transcript", "said.json"], &TABLES[..]].concat());
    let said: Value = serde_json::from_str(&hospitals.read("said.json")).expect("JSON");
    let changes: [(&str, Value, &str); 4] = [
        ("/output/0", 99.into(), "not the sum of the contributions"),
        ("/contribution/1/words/0", 1.into(), "did not sign this"),
        ("/attempt", 7.into(), "not the largest one proposed"),
        ("/task/title", "Stays".into(), "the task's hash is"),
    ];
    for (place, value, why) in changes {
        let mut changed = said.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("{place} in {said}")) = value;
        hospitals.write("changed.json", &changed.to_string());
        let verified = hospitals.run(&["party", "verify", "changed.json"]);
        assert_eq!(verified.code, Some(1), "{place}: {}", verified.stderr);
        assert!(verified.stderr.contains(why) && verified.stdout.is_empty(), "{place}: {}", verified.stderr);
    }
    for nonsense in ["", "{}", "[1]"] {
        hospitals.write("changed.json", nonsense);
        assert_eq!(hospitals.run(&["party", "verify", "changed.json"]).code, Some(2), "{nonsense}");
    }
}

#[test]
fn all_but_one_see_that_ones_numbers_with_its_own_noise() {
    let hospitals = Hospitals::new("viewed", 3);
    hospitals.agree_on_wards();
    let arguments =
        [&["party", "view", "task.toml", "--all-but", "p1", "--format", "json", "--out", "view.json"], &TABLES[..]]
            .concat();
    let seen = hospitals.succeeds(&arguments).stdout;
    assert_eq!(seen, hospitals.read("view.json"));
    let seen: Value = serde_json::from_str(&seen).expect("JSON");
    // There is no noise at this ε: nothing else hides them from all others.
    let expected: Vec<i64> = truth([20]).into_iter().map(|(_, count)| count).collect();
    assert_eq!(seen["left_of_the_honest_party"], serde_json::json!(expected));
    assert_eq!(seen["held_parties"], serde_json::json!(["p0", "p2"]));
    // What p1 itself sent is masked.
    assert_ne!(seen["view"]["transcript"]["rounds"][0][1], serde_json::json!(expected));
    let stranger = hospitals.run(&[&["party", "view", "task.toml", "--all-but", "p9"], &TABLES[..]].concat());
    assert_eq!(stranger.code, Some(2), "{}", stranger.stderr);
}

#[test]
fn every_example_of_the_help_works() {
    let hospitals = Hospitals::new("help", 3);
    for (place, name) in ["north", "south", "east"].iter().enumerate() {
        fs::copy(hospitals.folder.join(format!("p{place}.pub")), hospitals.folder.join(format!("{name}.pub")))
            .expect("a key");
        fs::copy(hospitals.folder.join(format!("p{place}.csv")), hospitals.folder.join(format!("{name}.csv")))
            .expect("a table");
    }
    let mut examples = 0;
    for command in [
        &["keygen"][..],
        &["task", "new"],
        &["task"],
        &["task", "show"],
        &["task", "check"],
        &["simulate"],
        &["view"],
        &["verify"],
        &[],
    ] {
        let help = hospitals.succeeds(&[&["party"], command, &["--help"]].concat()).stdout;
        let joined = help.replace("\\\n", " ");
        for example in joined.lines().filter_map(|line| line.trim().strip_prefix("reticent ")) {
            // What one example writes, another one reads or overwrites.
            let _ = fs::remove_file(hospitals.folder.join("north.key"));
            let _ = fs::copy(hospitals.folder.join("rehearsal.json"), hospitals.folder.join("transcript.json"));
            // A party's own configuration is in the guide; the keys of a rehearsal are not the task's.
            if example.contains("--config") || example.contains("--task task.toml") {
                continue;
            }
            let arguments = words(example);
            let ended = hospitals.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(ended.code, Some(0), "{example}: {}", ended.stderr);
            examples += 1;
        }
    }
    assert!(examples >= 9, "{examples}");
}

/// Splits a command line into words, as a shell would.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            other => words.last_mut().expect("one").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
