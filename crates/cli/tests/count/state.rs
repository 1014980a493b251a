//! Saving and resuming.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

use super::*;

fn arguments(save: &Path) -> String {
    format!("- --format json --save {}", save.display())
}

fn fresh(save: &Path, more: &str, input: &[u8]) -> Output {
    count_with(&format!("{} --epsilon {WITHOUT_NOISE} --range 0..9 {more}", arguments(save)), input)
}

fn resumed(save: &Path, more: &str, input: &[u8]) -> Output {
    count_with(&format!("{} --resume {more}", arguments(save)), input)
}

#[track_caller]
fn succeeded(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn going_on_is_as_if_there_had_been_no_stop() {
    let save = directory("resume").join("state.json");
    for (first, more) in [(0, ""), (3, "--skip-counted")] {
        let _ = fs::remove_file(&save);
        let _ = fs::remove_file(save.with_extension("json.epoch"));
        let output = fresh(&save, "--horizon 100 --counter two-level", b"1\n2\n3\n");
        succeeded(&output);
        assert_eq!(values_from(1, &output), [1, 3, 6]);
        let input = &b"1\n2\n3\n4\n5\n"[if first == 0 { 6 } else { 0 }..];
        let output = resumed(&save, more, input);
        succeeded(&output);
        assert_eq!(values_from(4, &output), [10, 15], "what was shown is not shown again");
    }
    assert!(text(&resumed(&save, "", b"").stderr).contains("continuing after step 5"));
}

#[test]
fn columns_and_times_are_remembered() {
    let save = directory("columns").join("state.json");
    succeeded(&fresh(&save, "--horizon 100 --column n", b"n\n1\n"));
    let output = resumed(&save, "", b"m,n\n5,2\n");
    succeeded(&output);
    assert_eq!(values_from(2, &output), [3]);

    let save = directory("times").join("state.json");
    let rows = b"at\n0\n61\n61\n125\n";
    succeeded(&fresh(&save, "--time at --step 1m --from 0 --to 180", rows));
    let output = resumed(&save, "", rows);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("the horizon of 3 steps is reached"));
}

/// What earlier builds saved goes on, also with releases that nobody saw.
#[test]
fn the_format_of_a_state_stays() {
    let one = r#"{"version":1,"definition":{"fields":{"input":"text","events":false,"column":null,"time":null},"timeline":null},"highest":{"one":7},"unshown":[],"counter":{"one":{"p-sums":{"epoch":3,"stream":{"low":0,"high":9,"unit":"step","adjacency":"replace","horizon":{"steps":8}},"guarantee":{"pure":"900"},"accounting":"unaccounted","parameters":{"kind":"two-level","schedule":{"blocks":[1,3]}},"steps":2,"sum":7,"value":7,"state":{"by_length":[0,0],"sum":0}}}}}"#;
    let keyed = r#"{"version":1,"definition":{"fields":{"input":"ndjson","events":false,"column":"n","time":null,"key":"k"},"timeline":null},"highest":{"one":null},"unshown":[{"step":1,"key":"a","value":3},{"step":1,"key":"b","value":0}],"counter":{"keyed":{"p-sums":{"epoch":2,"stream":{"low":0,"high":9,"unit":"event","adjacency":"replace","horizon":{"steps":4}},"guarantee":{"pure":"900"},"admits":false,"accounting":"unaccounted","parameters":{"kind":"two-level","schedule":{"blocks":[1,2]}},"steps":1,"keys":[{"key":"a","pending":0,"counter":{"sum":3,"value":3,"state":{"by_length":[0,0],"sum":0}}},{"key":"b","pending":0,"counter":{"sum":0,"value":0,"state":{"by_length":[0,0],"sum":0}}}],"shown":[0,1],"era":null}}}}"#;
    let goes_on = |name: &str, state: &str, epoch: &str, input: &[u8]| {
        let save = directory("format").join(name);
        fs::write(&save, state).expect("written");
        fs::write(save.with_extension("json.epoch"), epoch).expect("written");
        let output = resumed(&save, "", input);
        succeeded(&output);
        let lines = text(&output.stdout);
        let releases = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        releases.map(|release| release["value"].as_i64().expect("a whole number")).collect::<Vec<_>>()
    };
    assert_eq!(goes_on("one.json", one, "3\n", b"2\n"), [9]);
    assert_eq!(goes_on("keyed.json", keyed, "2\n", b"{\"k\":\"b\",\"n\":4}\n"), [3, 0, 3, 4]);
}

#[test]
fn monotone_goes_on_from_the_highest() {
    let save = directory("monotone").join("state.json");
    // So much noise that without the saved state the sums of nothing would fall.
    let noisy = format!("- --format json --save {} --epsilon 0.01 --horizon 200 --monotone", save.display());
    let zeros = b"0\n".repeat(100);
    let before = values_from(1, &count_with(&noisy, &zeros));
    let after = values_from(101, &resumed(&save, "--monotone", &zeros));
    assert!(before.iter().chain(&after).is_sorted() && before.len() + after.len() == 200, "{before:?} {after:?}");
    let negative = count_with("- --epsilon 1 --horizon 9 --range -1..1 --monotone", b"");
    assert!(text(&negative.stderr).contains("--monotone is for sums that never fall"));
}

#[test]
fn other_parameters_are_refused_by_name() {
    let save = directory("parameters").join("state.json");
    succeeded(&fresh(&save, "--horizon 100 --counter two-level", b"1\n"));
    for (more, message) in [
        ("--epsilon 2", "--epsilon is 2, but the saved counter began with 900"),
        ("--epsilon 900 --delta 1e-6", "--delta is 1e-6, but the saved counter began without"),
        ("--rho 1", "--rho is 1"),
        ("--horizon 101", "--horizon is 101, but the saved counter began with 100"),
        ("--unbounded", "--unbounded is unbounded, but the saved counter began with 100 steps"),
        ("--counter input-noise", "--counter is input-noise, but the saved counter began with two-level"),
        ("--range 0..8", "--range is 0..8, but the saved counter began with 0..9"),
        ("--unit event", "--unit is event, but the saved counter began with step"),
        ("--adjacency add-remove", "--adjacency is add-remove"),
        ("--column n", "--column is n, but the saved counter began without"),
        ("--input csv", "--input is csv, but the saved counter began with text"),
        ("--events", "--events is true"),
        ("--step 1m", "--step is 60000ms, but the saved counter began without"),
    ] {
        let output = resumed(&save, more, b"1\n");
        assert_eq!(output.status.code(), Some(2), "{more}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{more}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
    let output = resumed(&save, "--epsilon 9e2 --horizon 100 --counter auto --range 0..9 --unit step", b"1\n");
    succeeded(&output);
    assert_eq!(values_from(2, &output), [2]);
}

#[test]
fn a_saved_counter_is_not_overwritten() {
    let save = directory("exists").join("state.json");
    succeeded(&fresh(&save, "--horizon 9", b"1\n"));
    let before = fs::read(&save).expect("saved");
    let output = fresh(&save, "--horizon 9", b"1\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("already exists; continue it with --resume"), "{}", text(&output.stderr));
    assert_eq!(fs::read(&save).expect("saved"), before);
}

#[test]
fn an_old_state_put_back_is_refused() {
    let save = directory("stale").join("state.json");
    succeeded(&fresh(&save, "--horizon 9", b"1\n"));
    let old = fs::read(&save).expect("saved");
    succeeded(&resumed(&save, "", b"1\n"));
    fs::write(&save, old).expect("written");
    let output = resumed(&save, "", b"1\n");
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("is known to exist; resume from the newest state"), "{said}");
    assert!(output.stdout.is_empty());

    fs::remove_file(save.with_extension("json.epoch")).expect("removed");
    let output = resumed(&save, "", b"1\n");
    assert!(output.status.code() == Some(1) && text(&output.stderr).contains("cannot be shown to be the newest state"));
}

#[test]
fn a_damaged_state_is_refused_whatever_is_missing() {
    let save = directory("damaged").join("state.json");
    succeeded(&fresh(&save, "--horizon 9", b"1\n2\n"));
    let whole = fs::read(&save).expect("saved");
    for length in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(&save, &whole[..length]).expect("written");
        let output = resumed(&save, "", b"1\n");
        assert_eq!(output.status.code(), Some(1), "{length}");
        assert!(text(&output.stderr).contains("is damaged, or not a saved counter"), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn two_processes_do_not_count_with_one_state() {
    let save = directory("two").join("state.json");
    let first = format!("{} --epsilon 1 --horizon 9", arguments(&save));
    let mut first = command(&first.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
    let mut stdin = first.stdin.take().expect("a pipe");
    stdin.write_all(b"1\n").expect("written");
    let mut stdout = BufReader::new(first.stdout.take().expect("a pipe"));
    stdout.read_line(&mut String::new()).expect("read");
    for more in ["--resume", "--epsilon 1 --horizon 9"] {
        let output = count_with(&format!("{} {more}", arguments(&save)), b"1\n");
        assert_eq!(output.status.code(), Some(1), "{more}");
        assert!(text(&output.stderr).contains("another process is counting"), "{}", text(&output.stderr));
    }
    drop(stdin);
    assert!(first.wait().expect("it ends").success());
}

/// Killed repeatedly at any moment: no step is ever shown with two values, and none is missing.
#[test]
fn no_step_is_drawn_twice_however_often_it_is_killed() {
    const KILLS: u32 = 12;
    let save = directory("killed").join("state.json");
    let mut shown: BTreeMap<u64, i64> = BTreeMap::new();
    for kill in 0..=KILLS {
        // Unsaved lines are counted again, saved ones are not.
        let more = if kill == 0 { "--epsilon 1 --unbounded --counter input-noise" } else { "--resume" };
        let line = format!("{} {more}", arguments(&save));
        let mut child = command(&line.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        let feeder = std::thread::spawn(move || {
            for _ in 0..2000 {
                if stdin.write_all(b"1\n1\n1\n").is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_micros(300));
            }
        });
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut all = String::new();
        stdout.read_line(&mut all).expect("a release");
        std::thread::sleep(Duration::from_millis(u64::from(3 + 7 * kill)));
        child.kill().expect("killed");
        let _ = stdout.read_to_string(&mut all);
        child.wait().expect("it ends");
        drop(stdout);
        feeder.join().expect("fed");
        // A truncated line was not shown as a whole.
        for line in all.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let release: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let (step, value) =
                (release["step"].as_u64().expect("a step"), release["value"].as_i64().expect("a value"));
            assert_eq!(*shown.entry(step).or_insert(value), value, "step {step} was drawn twice");
        }
    }
    let output = resumed(&save, "", b"");
    succeeded(&output);
    for line in text(&output.stdout).lines() {
        let release: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let step = release["step"].as_u64().expect("a step");
        assert_eq!(
            *shown.entry(step).or_insert(release["value"].as_i64().unwrap()),
            release["value"].as_i64().unwrap()
        );
    }
    assert!(shown.len() > 50, "{}", shown.len());
    assert_eq!(
        shown.keys().copied().collect::<Vec<_>>(),
        (1..=shown.len() as u64).collect::<Vec<_>>(),
        "none is missing"
    );
    assert!(resumed(&save, "", b"").stdout.is_empty(), "everything was shown");
}

/// Releases that a process saved and could not show are shown by the next one.
#[test]
fn releases_that_nobody_saw_are_shown_again() {
    let save = directory("unseen").join("state.json");
    let line = format!("{} --epsilon 1 --horizon 9", arguments(&save));
    let mut child = command(&line.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
    drop(child.stdout.take());
    child.stdin.take().expect("a pipe").write_all(b"1\n1\n").expect("written");
    assert!(child.wait().expect("it ends").success());
    let state: serde_json::Value = serde_json::from_slice(&fs::read(&save).expect("saved")).expect("JSON");
    let seen = values_from(1, &resumed(&save, "", b""));
    let saved: Vec<i64> =
        state["unshown"].as_array().expect("a list").iter().map(|release| release["value"].as_i64().unwrap()).collect();
    assert_eq!(seen, saved);
    assert_eq!(seen.len(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_saved_is_not_shown() {
    let directory = directory("full");
    let save = directory.join("state.json");
    let line = format!("{} --epsilon 1 --horizon 9", arguments(&save));
    let mut child = command(&line.split_whitespace().collect::<Vec<_>>()).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdin.write_all(b"1\n").expect("written");
    let mut first = String::new();
    stdout.read_line(&mut first).expect("read");
    // From now on nothing can be written: what is in the place of the next state cannot be removed.
    let in_the_way = directory.join("state.json.new");
    fs::create_dir(&in_the_way).expect("a folder");
    stdin.write_all(b"1\n").expect("written");
    drop(stdin);
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).expect("read");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), rest.as_str()), (Some(1), ""), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("what was not saved is not shown"), "{}", text(&output.stderr));
    fs::remove_dir(&in_the_way).expect("removed");
    let output = resumed(&save, "", b"1\n");
    succeeded(&output);
    assert_eq!(values_from(1, &output).len(), 2);
    assert!(text(&output.stdout).starts_with(&first), "what was shown is shown again as it was");
}

#[cfg(unix)]
#[test]
fn a_state_is_for_its_owner_only() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let place = directory("owner");
    let save = place.join("state.json");
    succeeded(&fresh(&save, "--horizon 9", b"1\n"));
    assert_eq!(fs::metadata(&save).expect("saved").permissions().mode() & 0o777, 0o600);

    let read_only = directory("read-only");
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o500)).expect("set");
    let output = fresh(&read_only.join("state.json"), "--horizon 9", b"1\n");
    fs::set_permissions(&read_only, fs::Permissions::from_mode(0o700)).expect("set");
    // The superuser may write everywhere.
    if fs::metadata(&place).expect("made").uid() != 0 {
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
        assert!(output.stdout.is_empty() && text(&output.stderr).contains("--save cannot use"));
    }
}
