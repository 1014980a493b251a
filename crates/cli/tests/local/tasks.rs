//! Creating, checking and showing tasks.

use std::fs;

use serde_json::Value;

use crate::place::{Place, text};

#[test]
fn a_task_is_made_checked_and_shown_and_never_overwritten() {
    let place = Place::with_tea("tasks", "1", "--minimum-batch 7 --time-precision day");
    let written = fs::read_to_string(place.0.join("tea.toml")).expect("the task");
    // Defaults are written out, too.
    for line in [
        "epsilon = \"1\"",
        "mechanism = \"k-ary\"",
        "memoisation = \"never\"",
        "lifetime-epsilon = \"1\"",
        "minimum-batch = 7",
        "choices = [\"yes\", \"no\"]",
    ] {
        assert!(written.contains(line), "{line} in {written}");
    }
    let checked = place.run("local task check tea.toml");
    assert_eq!(checked.status.code(), Some(0));
    let shown = text(&place.run("local task show tea.toml").stdout);
    assert!(shown.contains("73.1 %") && shown.contains("26.9 %") && shown.contains("ε = 1"), "{shown}");
    // As JSON it is the same task.
    let json = place.run("local task show tea.toml --format json").stdout;
    fs::write(place.0.join("tea.json"), &json).expect("written");
    let hash = |file: &str| {
        let said = text(&place.run(&format!("local task check {file}")).stderr);
        said.split_whitespace().last().expect("a hash").to_owned()
    };
    assert_eq!(hash("tea.toml"), hash("tea.json"));
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["question"], "Tea?");
    let again = place.run("local task new --question ? --choices a,b --epsilon 2 --expires 2999-01-01 --out tea.toml");
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(fs::read_to_string(place.0.join("tea.toml")).expect("the task"), written);
}

#[test]
fn mistakes_are_named_as_the_user_knows_them() {
    let place = Place::new("mistakes");
    let new = "local task new --question ? --expires 2999-01-01";
    for (arguments, words) in [
        ("--choices a,b --epsilon 0", "--epsilon is 0"),
        ("--choices a,b --epsilon 11", "--epsilon is 11, but it must be at most 10"),
        ("--choices a,b --epsilon 1 --mechanism olh", "--mechanism is olh"),
        ("--choices a,b,c --epsilon 1 --mechanism fair-coin", "--mechanism is fair-coin"),
        ("--choices a,a --epsilon 1", "--choices is a twice"),
        ("--choices a,b --epsilon 1 --lifetime-epsilon 0.5", "--lifetime-epsilon is 0.5"),
        ("--choices a,b --epsilon 1 --minimum-batch 0", "--minimum-batch is 0"),
        ("--choices a,b --epsilon 1 --memoisation always", "always"),
        ("--integers 1..x --epsilon 1", "--integers 1..x"),
        ("--integers 5..5 --epsilon 1", "5..5"),
        ("--epsilon 1", "--choices"),
        ("--alphabet abc --epsilon 1", "--longest"),
        ("--choices a,b --integers 0..1 --epsilon 1", "--integers"),
    ] {
        let output = place.run(&format!("{new} {arguments}"));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(words), "{arguments}: {said}");
        assert!(output.stdout.is_empty());
    }
    let day = place.run("local task new --question ? --choices a,b --epsilon 1 --expires tomorrow");
    assert!(text(&day.stderr).contains("--expires is tomorrow"), "{}", text(&day.stderr));
    let missing = place.run("local task check none.toml");
    assert!(missing.status.code() == Some(2) && text(&missing.stderr).contains("none.toml"));
    fs::write(place.0.join("odd.toml"), "question = 1\n").expect("written");
    let odd = place.run("local task check odd.toml");
    assert!(odd.status.code() == Some(2) && text(&odd.stderr).contains("odd.toml"), "{}", text(&odd.stderr));
}

#[test]
fn every_help_ends_with_an_example() {
    let place = Place::new("help");
    for command in ["task new", "task check", "task show", "respond", "collect", "estimate"] {
        let help = text(&place.run(&format!("local {command} --help")).stdout);
        assert!(help.contains(&format!("reticent local {command} ")) && help.contains("Example"), "{command}");
    }
}
