//! Time steps.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use super::*;

const MINUTES: &str = "- --time at --step 1m --from 1970-01-01T00:00:00Z --to 1970-01-01T00:04:00Z";

#[test]
fn events_fall_into_their_step_in_any_order() {
    let rows = b"at\n1970-01-01T00:02:30Z\n10\n1970-01-01 00:00:59.999\n1970-01-01T01:01:00+01:00\n239.5\n";
    assert_eq!(sums(MINUTES, rows), [2, 3, 4, 5]);
    let outside = b"at\n-1\n240\n1969-12-31T23:59:59Z\nnever\n\n99999999999999999999\n60\n";
    assert_eq!(sums(MINUTES, outside), [0, 1, 1, 1], "what lies outside or cannot be read is ignored");
    assert_eq!(sums(MINUTES, b"at\n"), [0; 4], "empty steps are released too");
}

#[test]
fn values_are_clamped_event_by_event_or_step_by_step() {
    let rows = b"n,at\n100,0\n-100,1\n3,2\n7,61\nx,62\n,63\n";
    assert_eq!(sums(&format!("{MINUTES} --column n --range -5..10"), rows), [8, 15, 15, 15]);
    assert_eq!(sums(&format!("{MINUTES} --column n --range 0..5 --unit step"), rows), [3, 8, 8, 8]);
    let json = b"{\"at\":0,\"n\":2}\n{\"at\":\"1970-01-01T00:01:00Z\",\"n\":3}\n{\"n\":4}\n";
    assert_eq!(sums(&format!("{MINUTES} --input ndjson --column n --range 0..9"), json), [2, 5, 5, 5]);
}

#[test]
fn releases_name_the_end_of_their_step() {
    let output = count_with(&format!("{MINUTES} --epsilon 1 --format json"), b"at\n");
    let first = text(&output.stdout).lines().next().expect("a release").to_owned();
    assert!(first.starts_with("{\"step\":1,\"time\":\"1970-01-01T00:01:00Z\",\"value\":"), "{first}");
    let csv = text(&count_with(&format!("{MINUTES} --epsilon 1 --format csv"), b"at\n").stdout);
    assert!(csv.starts_with("step,time,value,half_width,level\n1,1970-01-01T00:01:00Z,"), "{csv}");
    let table = text(&count_with(&format!("{MINUTES} --epsilon 1"), b"at\n").stdout);
    let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
    assert!(widths.len() == 5 && widths.iter().all(|width| *width == widths[0]), "{table}");
}

#[test]
fn the_clock_closes_the_steps_of_a_live_stream() {
    let arguments = format!("- --events --step 500ms --horizon 3 --epsilon {WITHOUT_NOISE} --format json");
    let mut child = command(&arguments.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"an event\n\nanother\n").expect("written");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut lines = Vec::new();
    for _ in 0..3 {
        let mut line = String::new();
        // The input stays open: only the clock can have closed the step.
        stdout.read_line(&mut line).expect("read");
        lines.push(serde_json::from_str::<serde_json::Value>(&line).expect("JSON"));
    }
    assert_eq!(lines[2]["value"], 2, "{lines:?}");
    assert!(child.wait().expect("it ends").success(), "it ends with its last step");
}

/// If a late time closed the steps, one event would decide where all later ones are counted.
#[test]
fn one_event_from_the_future_moves_no_other() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let run = |first: String| {
        let arguments =
            format!("- --time at --step 1h --from {now} --horizon 3 --epsilon {WITHOUT_NOISE} --format json");
        let mut child = command(&arguments.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(format!("at\n{first}\n").as_bytes()).expect("written");
        std::thread::sleep(Duration::from_millis(100));
        stdin.write_all(format!("{}\n{}\n", now + 1, now + 3601).as_bytes()).expect("written");
        drop(stdin);
        values_from(1, &child.wait_with_output().expect("it ends"))
    };
    // The input ends in the first step, which is closed; the others have not begun.
    assert_eq!(run(String::new()), [1]);
    assert_eq!(run((now + 7201).to_string()), [1]);
    assert_eq!(run((now - 1).to_string()), [1], "before the first step");
}

/// `tail` starts with the last lines again; released ones must not be counted twice.
#[test]
fn an_event_sent_again_after_a_restart_is_not_counted_again() {
    let save = directory("live-restart").join("state.json");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let rows = format!("at\n{now}\n");
    let run = |more: String| {
        let arguments = format!("- --format json --save {} {more}", save.display());
        let mut child = command(&arguments.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(rows.as_bytes()).expect("written");
        (child, stdin)
    };
    // Whether the event is late depends on the clock; one step contains it in any case.
    let (mut child, stdin) = run(format!("--time at --step 1s --from {now} --horizon 60 --epsilon {WITHOUT_NOISE}"));
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("\"value\":1,") {
        line.clear();
        assert!(stdout.read_line(&mut line).expect("a release") > 0, "it ended too early");
    }
    child.kill().expect("killed");
    child.wait().expect("it ends");
    drop(stdin);
    let (child, stdin) = run("--resume".into());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let last = text(&output.stdout).lines().last().expect("a release").to_owned();
    assert!(last.contains("\"value\":1,"), "{last}");
}

#[test]
fn the_end_of_a_live_stream_closes_what_is_open() {
    let arguments = "- --events --step 1h --unbounded";
    assert_eq!(sums(arguments, b"a\nb\n"), [2]);
    // Steps that have not begun are left for the saved counter.
    assert_eq!(sums("- --events --step 1h --horizon 3", b"a\nb\n"), [2]);
}
