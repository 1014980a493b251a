//! One counter for each key.

use super::*;

/// (step, key, value) of JSON releases.
fn releases(output: &Output) -> Vec<(u64, String, i64)> {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let releases = text(&output.stdout);
    let releases = releases.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    releases
        .map(|release| {
            let key = release["key"].as_str().expect("a key").to_owned();
            (release["step"].as_u64().expect("a step"), key, release["value"].as_i64().expect("a value"))
        })
        .collect()
}

fn exact(arguments: &str, input: &[u8]) -> Vec<(u64, String, i64)> {
    releases(&count_with(&format!("- --epsilon {WITHOUT_NOISE} --format json {arguments}"), input))
}

fn owned(releases: &[(u64, &str, i64)]) -> Vec<(u64, String, i64)> {
    releases.iter().map(|&(step, key, value)| (step, key.into(), value)).collect()
}

#[test]
fn every_known_key_is_released_at_every_step() {
    let rows = b"page\nhome\nelsewhere\n\nhelp\n";
    let expected = [
        (1, "help", 0),
        (1, "home", 1),
        (2, "help", 0),
        (2, "home", 1),
        (3, "help", 0),
        (3, "home", 1),
        (4, "help", 1),
        (4, "home", 1),
    ];
    assert_eq!(exact("--key page --keys home,help --horizon 9", rows), owned(&expected));
    let file = directory("keys").join("keys.txt");
    std::fs::write(&file, "home\nhelp\n").expect("written");
    assert_eq!(exact(&format!("--key page --keys {} --horizon 9", file.display()), rows), owned(&expected));
}

#[test]
fn keys_values_and_times_go_together() {
    let rows = b"k,n,at\na,3,0\nb,99,1\n\"a\",2,61\nc,1,62\nb,x,63\n,5,64\n";
    let time = "--time at --step 1m --from 0 --to 180";
    let expected = [(1, "a", 3), (1, "b", 9), (2, "a", 5), (2, "b", 9), (3, "a", 5), (3, "b", 9)];
    assert_eq!(exact(&format!("--key k --keys a,b --column n --range 0..9 {time}"), rows), owned(&expected));
    let json = b"{\"k\":\"a\",\"n\":3,\"at\":0}\n{\"k\":7,\"n\":4,\"at\":61}\n{\"n\":1,\"at\":1}\n";
    let expected = [(1, "7", 0), (1, "a", 3), (2, "7", 4), (2, "a", 3), (3, "7", 4), (3, "a", 3)];
    let arguments = format!("--input ndjson --key k --keys a,7 --column n --range 0..9 {time}");
    assert_eq!(exact(&arguments, json), owned(&expected));
    let json = b"{\"k\":true,\"n\":3,\"at\":0}\n{\"k\":\"1\",\"n\":4,\"at\":true}\n{\"k\":1,\"n\":2,\"at\":\"61\"}\n";
    let arguments = format!("--input ndjson --key k --keys 1 --column n --range 0..9 {time}");
    assert_eq!(exact(&arguments, json), owned(&[(1, "1", 0), (2, "1", 2), (3, "1", 2)]), "true is no key and no time");
}

#[test]
fn an_empty_key_is_no_key() {
    let arguments = "- --epsilon 1 --delta 1e-9 --key k --horizon 2000 --format json";
    for (input, row) in [("csv", ",1\n"), ("ndjson", "{\"k\":\"\",\"n\":1}\n")] {
        let rows = format!("k,n\n{}", row.repeat(1000));
        let released = releases(&count_with(&format!("{arguments} --input {input}"), rows.as_bytes()));
        assert!(released.is_empty(), "{input}: {released:?}");
    }
}

#[test]
fn unknown_keys_appear_when_many_have_them() {
    let mut rows = String::from("k,at\nrare,1\n");
    for _ in 0..2000 {
        rows += "often,2\n";
    }
    let arguments = "- --epsilon 1 --delta 1e-9 --key k --time at --step 1m --from 0 --to 240 --format json";
    let released = releases(&count_with(arguments, rows.as_bytes()));
    assert_eq!(released.len(), 4, "{released:?}");
    assert!(released.iter().all(|(_, key, value)| key == "often" && (*value - 2000).abs() < 1000), "{released:?}");
    let output = count_with("- --epsilon 1 --key k --horizon 9", rows.as_bytes());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--keys") && text(&output.stderr).contains("--delta"));
}

#[test]
fn every_format_has_a_column_for_keys() {
    let rows = b"k\n\"a, \"\"b\"\"\"\n";
    let file = directory("key-formats").join("keys.txt");
    std::fs::write(&file, "a, \"b\"\n").expect("written");
    let file = file.to_str().expect("text");
    let run = |format| {
        let arguments = ["-", "--epsilon", "900", "--key", "k", "--keys", file, "--horizon", "9", "--format", format];
        text(&count(&arguments, rows).stdout)
    };
    assert!(run("json").starts_with("{\"step\":1,\"key\":\"a, \\\"b\\\"\",\"value\":1,"), "{}", run("json"));
    assert!(run("csv").starts_with("step,key,value,half_width,level\n1,\"a, \"\"b\"\"\",1,"), "{}", run("csv"));
    assert!(run("table").lines().nth(1).expect("a release").contains("a, \"b\""));
}

#[test]
fn keyed_counters_are_saved_and_go_on() {
    let save = directory("keyed-state").join("state.json");
    let save = save.display();
    let first = exact(&format!("--key k --keys a,b --horizon 9 --save {save}"), b"k\na\nb\n");
    assert_eq!(first, owned(&[(1, "a", 1), (1, "b", 0), (2, "a", 1), (2, "b", 1)]));
    let next = releases(&count_with(&format!("- --format json --resume --save {save}"), b"k\na\n"));
    assert_eq!(next, owned(&[(3, "a", 2), (3, "b", 1)]));
    let output = count_with(&format!("- --resume --save {save} --key page"), b"page\na\n");
    assert!(text(&output.stderr).contains("--key is page, but the saved counter began with k"));
}

#[test]
fn mistakes_are_named() {
    for (arguments, message) in [
        ("--key k --keys , --horizon 9 --epsilon 1", "there is no key"),
        ("--key nokey --keys a --horizon 9 --epsilon 1", "has no column nokey"),
        ("--keys a --horizon 9 --epsilon 1", "--key"),
        ("--key k --keys a --horizon 9 --epsilon 1 --unit step", "unit is step, but it must be"),
        ("--key k --keys a --horizon 9 --epsilon 1 --counter pan-private", "leave --key out"),
        ("--key k --keys a --horizon 9 --epsilon 1 --input text", "--input csv"),
    ] {
        let output = count_with(&format!("- {arguments}"), b"k\na\n");
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{arguments}: {}", text(&output.stderr));
    }
}

#[test]
fn charts_are_drawn_with_and_without_keys() {
    let place = directory("plot");
    for (name, arguments) in [("one", "--column n --range 0..9"), ("keys", "--key n --keys 1,2")] {
        let svg = place.join(format!("{name}.svg"));
        let arguments = format!("- {arguments} --epsilon 1 --horizon 9 --plot {}", svg.display());
        let output = count_with(&arguments, b"n\n1\n2\n");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let svg = std::fs::read_to_string(svg).expect("drawn");
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
    }
    // More than can be told apart: the largest, and the chart says how many there are.
    let svg = place.join("many.svg");
    let keys: Vec<String> = (10..25).map(|key| format!("key{key}")).collect();
    let arguments =
        format!("- --key k --keys {} --epsilon {WITHOUT_NOISE} --horizon 999 --plot {}", keys.join(","), svg.display());
    let lines = keys.iter().enumerate().flat_map(|(times, key)| vec![format!("{key}\n"); times]);
    let output = count_with(&arguments, ("k\n".to_owned() + &lines.collect::<String>()).as_bytes());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let svg = std::fs::read_to_string(svg).expect("drawn");
    assert!(svg.contains("the 8 largest of 15 keys"), "{svg}");
    let drawn: Vec<bool> = keys.iter().map(|key| svg.contains(key)).collect();
    assert_eq!(drawn, [[false; 7].as_slice(), &[true; 8]].concat());
    let output = count_with("- --epsilon 1 --horizon 9 --plot /nowhere/chart.svg", b"1\n");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(text(&output.stderr).contains("--plot cannot write /nowhere/chart.svg"), "{}", text(&output.stderr));
}
