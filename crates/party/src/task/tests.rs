use super::*;
use crate::keys::PrivateKey;
use reticent::error::Explained;

const TASK: &str = r#"
title = "Patients with influenza"
session = "week 46"
protocol = "masked"
colluders = 1
epsilon = 0.5
unit = "patient"
adjacency = "add-remove"
sql = "SELECT region, COUNT(*) FROM visits GROUP BY region"
bounds = { age = "0..120" }
keys = { region = ["north", "south"] }
max_groups = 1
bound = 1000000
sensitivity = 1
cells = ["north", { name = "south", step = "1/8" }]
"#;

fn text() -> String {
    let members = ["a", "b", "c"].map(|name| {
        let key = PrivateKey::generate().unwrap().public();
        format!("[[party]]\nname = \"{name}\"\nkey = \"{key}\"\naddress = \"{name}.example:7001\"\n")
    });
    format!("{TASK}{}", members.concat())
}

#[test]
fn files_that_say_the_same_have_the_same_hash() {
    let text = text();
    let task: Task = text.parse().unwrap();
    let same = [
        text.replace("epsilon = 0.5", "epsilon = \"1/2\" # as agreed"),
        text.replace("\"1/8\"", "0.125"),
        text.replace("cells = [\"north\",", "cells = [{ name = \"north\", step = 1 },"),
        text.replace(
            "title = \"Patients with influenza\"\nsession = \"week 46\"",
            "session = \"week 46\"\ntitle = \"Patients with influenza\"",
        ),
    ];
    for other in same {
        assert_ne!(other, text);
        assert_eq!(other.parse::<Task>().unwrap().hash(), task.hash(), "{other}");
    }
    let again: Task = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
    assert_eq!(again.hash(), task.hash());
}

#[test]
fn every_field_counts() {
    let text = text();
    let changes = [
        ("influenza", "measles"),
        ("week 46", "week 47"),
        ("colluders = 1", "colluders = 2"),
        ("epsilon = 0.5", "epsilon = 0.51"),
        ("unit = \"patient\"", "unit = \"row\""),
        ("add-remove", "replace"),
        ("COUNT(*)", "COUNT (*)"),
        ("0..120", "0..121"),
        ("[\"north\", \"south\"]", "[\"south\", \"north\"]"),
        ("max_groups = 1", "max_groups = 2"),
        ("max_groups = 1", "max_rows = 1"),
        ("bound = 1000000", "bound = 1000001"),
        ("sensitivity = 1", "sensitivity = 2"),
        ("[\"north\", {", "[\"nord\", {"),
        ("1/8", "1/4"),
        ("name = \"a\"", "name = \"d\""),
        ("a.example:7001", "a.example:7002"),
    ];
    let hash = text.parse::<Task>().unwrap().hash();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        assert_ne!(text.replacen(from, to, 1).parse::<Task>().unwrap().hash(), hash, "{from} → {to}");
    }
    let mut parties: Vec<&str> = text.split("[[party]]").collect();
    parties.swap(1, 2);
    assert_ne!(parties.join("[[party]]").parse::<Task>().unwrap().hash(), hash, "the order of the parties");
}

#[test]
fn what_means_nothing_is_refused_by_its_name() {
    let text = text();
    let wrong = [
        ("colluders = 1", "", "colluders is missing"),
        ("protocol = \"masked\"", "protocol = \"broadcast\"", "colluders is 1, but it must be left out"),
        ("protocol = \"masked\"", "protocol = \"secret\"", "protocol is secret"),
        ("colluders = 1", "colluders = 3", "number of colluders is 3"),
        ("epsilon = 0.5", "epsilon = 0", "epsilon is 0"),
        ("epsilon = 0.5", "epsilon = 11", "epsilon is 11, but it must be at most 10"),
        ("add-remove", "remove", "adjacency is remove"),
        ("bound = 1000000", "bound = 9223372036854775807", "bound is 9223372036854775807"),
        ("bound = 1000000", "bound = 0", "bound is 0"),
        ("sensitivity = 1", "sensitivity = 0", "sensitivity is 0"),
        ("1/8", "-1/8", "a cell's step is"),
        ("name = \"south\"", "name = \"north\"", "a cell's name is north"),
        ("title = ", "titel = ", "unknown field `titel`"),
        ("step = \"1/8\"", "steps = \"1/8\"", "did not match any variant"),
        ("name = \"b\"", "name = \"a\"", "a party's name is a, but it must be different"),
        ("name = \"b\"", "name = \"B\"", "a party's name is B"),
        ("b.example:7001", "a.example:7001", "a party's address is a.example:7001, but it must be different"),
        ("b.example:7001", "b.example", "a party's address is b.example"),
        ("ed25519:", "rsa:", "a party's key"),
        ("week 46", "week\\n46", "session is"),
    ];
    for (from, to, why) in wrong {
        assert!(text.contains(from), "{from}");
        let error = text.replacen(from, to, 1).parse::<Task>().unwrap_err();
        assert!(error.is_usage() && error.to_string().contains(why), "{from} → {to}: {error}");
    }
}
