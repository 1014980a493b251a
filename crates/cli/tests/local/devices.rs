//! What a device sends, and what it remembers.

use std::fs;

use serde_json::Value;

use crate::place::{Place, text};

fn json(report: &str) -> Value {
    serde_json::from_str(report).expect("JSON")
}

#[test]
fn a_device_repeats_itself_under_another_id_and_another_device_does_not() {
    let place = Place::with_tea("repeats", "0.5", "--memoisation first");
    let first = json(&place.report(0, "yes"));
    for answer in ["yes", "no", "no"] {
        let again = json(&place.report(0, answer));
        assert_eq!(again["response"], first["response"]);
        assert_ne!(again["id"], first["id"]);
    }
    // At ε = ½ all of 40 devices send the same with probability 10⁻⁸.
    let said: std::collections::BTreeSet<String> =
        (1..=40).map(|device| json(&place.report(device, "yes"))["response"].to_string()).collect();
    assert_eq!(said.len(), 2);
}

/// A survey that does not mention being asked again asks once: its reports are people.
#[test]
fn a_device_answers_once_unless_the_task_says_otherwise() {
    let place = Place::with_tea("once", "1", "");
    place.report(0, "yes");
    for answer in ["yes", "no"] {
        let again = place.run(&format!("local respond --task tea.toml --answer {answer} --device devices/0"));
        assert_eq!(again.status.code(), Some(4), "{}", text(&again.stdout));
        assert!(again.stdout.is_empty(), "{}", text(&again.stdout));
        let said = text(&again.stderr);
        assert!(said.contains("this device has already answered; the task allows one answer"), "{said}");
        assert!(!said.contains("permit"), "{said}");
    }
    place.report(1, "yes");
}

#[test]
fn the_answer_is_kept_nowhere_and_not_repeated_in_an_error() {
    let place = Place::with_tea("kept", "1", "");
    let output = place.run_with("local respond --task tea.toml --device device --answer", &["-"], "yes\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for entry in fs::read_dir(place.0.join("device")).expect("a folder") {
        let path = entry.expect("an entry").path();
        let content = fs::read(&path).expect("a file");
        assert!(!content.windows(3).any(|part| part == b"yes"), "{}", path.display());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o077, 0, "{}", path.display());
        }
    }
    let wrong = place.run("local respond --task tea.toml --device device --answer perhaps");
    assert!(wrong.status.code() == Some(2) && wrong.stdout.is_empty());
    let said = text(&wrong.stderr);
    assert!(said.contains("--answer") && said.contains("letter for letter") && !said.contains("perhaps"), "{said}");
}

#[test]
fn a_lifetime_that_is_spent_or_a_memory_that_is_damaged_sends_nothing() {
    let place = Place::with_tea("spent", "1", "--memoisation never --lifetime-epsilon 2");
    place.report(0, "yes");
    place.report(0, "yes");
    let spent = place.run("local respond --task tea.toml --answer yes --device devices/0");
    assert!(spent.status.code() == Some(4) && spent.stdout.is_empty(), "{}", text(&spent.stdout));
    let said = text(&spent.stderr);
    assert!(said.contains("has already answered 2 times; the task allows 2 answers"), "{said}");
    place.report(1, "yes");
    for entry in fs::read_dir(place.0.join("devices/1")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.file_name().is_some_and(|name| name != "key" && name != "lock") {
            fs::write(path, "nonsense").expect("written");
        }
    }
    let damaged = place.run("local respond --task tea.toml --answer yes --device devices/1");
    assert!(!damaged.status.success() && damaged.stdout.is_empty());
    assert!(text(&damaged.stderr).contains("nothing was sent"), "{}", text(&damaged.stderr));
}
