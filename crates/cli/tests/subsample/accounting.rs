//! What is charged, when, and what a repeated request returns.

use std::fs;
use std::io::Write;
use std::time::{Duration, Instant};

use super::*;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Event, FailureKind, Location, Terms};

/// The timeout for something that should not wait.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often to look.
const PULSE: Duration = Duration::from_millis(5);

/// A ledger with one dataset, `people`, that protects rows.
fn ledger_with(folder: &Path, epsilon: &str, delta: &str) -> PathBuf {
    let place = folder.join("ledger.sqlite");
    let ledger = DurableLedger::create(&Location::File(place.clone())).expect("a ledger");
    let guarantee = Guarantee::Approx(epsilon.parse().expect("a number"), delta.parse().expect("a number"));
    let terms = Terms { unit: "row".into(), adjacency: Adjacency::AddRemove };
    let dataset = Dataset { name: "people".into(), budget: Budget::Limit(guarantee), terms: Some(terms) };
    ledger.register(&dataset).expect("registered");
    place
}

/// The descriptions of all charges.
fn charges(place: &Path) -> Vec<String> {
    let ledger = DurableLedger::open(&Location::File(place.into())).expect("a ledger");
    assert!(ledger.verify().expect("readable").is_sound());
    let mut charges = Vec::new();
    let note = |entry: &reticent_ledger::Entry| {
        if let Event::Charged { charge, .. } = &entry.event {
            charges.push(charge.description.clone());
        }
    };
    ledger.history(note).expect("readable");
    charges
}

#[test]
fn answers_and_refusals_cost_the_same_and_are_described() {
    let folder = directory("cost");
    let place = ledger_with(&folder, "60", "3e-3");
    let options = format!("{ALMOST_EXACT} {UNHURRIED} --ledger {} --dataset people", place.display());
    assert_eq!(answered(&ask_script(&folder, &options, "echo blue")).as_deref(), Some("blue"));
    let refused = ask_script(&folder, &options, "cksum");
    assert_eq!(answered(&refused), None);
    assert!(
        text(&refused.stderr).contains("ε = 20, δ = 0.001 of ε = 60, δ = 0.003 is left"),
        "{}",
        text(&refused.stderr)
    );
    let charges = charges(&place);
    assert_eq!(charges.len(), 2);
    let table = folder.join("people.csv").canonicalize().expect("there");
    for part in [
        format!("subsample of {:?}: program \"/bin/sh\" [\"-c\", \"cksum\"] (SHA-256 ", table.as_os_str()),
        "; most frequent answer of 6 blocks, no answer where there is none; a run has 60000 ms".into(),
    ] {
        assert!(charges[1].contains(&part), "{}", charges[1]);
    }
}

#[test]
fn a_request_that_was_answered_is_not_run_again() {
    let folder = directory("again");
    let log = folder.join("log");
    let script = format!("echo run >> {}; cksum | cut -c 1-2", log.display());
    for (options, code) in [(ALMOST_EXACT, 3), ("--epsilon 5 --blocks 6 --numeric 0..100", 0)] {
        let _ = fs::remove_file(&log);
        let options = format!("{options} {UNHURRIED} --request r{code} --format json");
        let first = ask_script(&folder, &options, &script);
        assert_eq!(first.status.code(), Some(code), "{}", text(&first.stderr));
        let runs = || fs::read_to_string(&log).expect("there").lines().count();
        // Once on invented rows, before the charge.
        assert_eq!(runs(), 7);
        let again = ask_script(&folder, &options, &script);
        assert_eq!((again.status.code(), text(&again.stdout)), (Some(code), text(&first.stdout)));
        assert!(text(&again.stderr).contains("was answered before: nothing is charged"), "{}", text(&again.stderr));
        assert_eq!(runs(), 7);
        // The same name for a different request.
        let other = ask_script(&folder, &options, &format!("{script}; true"));
        assert_eq!(other.status.code(), Some(2), "{}", text(&other.stderr));
        assert_eq!(runs(), 7);
    }
}

/// Whether a table can be read may depend on its rows: a failed request is not retried for the same charge, or each try
/// would reveal more.
#[test]
fn a_request_that_failed_fails_for_ever_and_is_charged_once() {
    let folder = directory("failed");
    let mut broken = include_bytes!("../query/tiny.parquet").to_vec();
    let whole = broken.clone();
    // The rows of the first column.
    broken[4..30].fill(0xff);
    let place = ledger_with(&folder, "20", "1e-3");
    let file = folder.join("people.parquet");
    let line =
        format!("{} --ledger {} --dataset people {UNHURRIED} --program /bin/sh", file.display(), place.display());
    let ask = |request: &str| {
        let more = format!("--epsilon 5 --blocks 6 --numeric 0..100 --request {request}");
        let mut arguments: Vec<&str> = line.split_whitespace().chain(more.split_whitespace()).collect();
        arguments.extend(["--", "-c", "echo 3"]);
        let output = command(&folder, &arguments).output().expect("it starts");
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    fs::write(&file, &broken).expect("written");
    for table in [&broken, &whole, &whole] {
        fs::write(&file, table).expect("written");
        let (code, printed, said) = ask("monday");
        assert_eq!((code, printed.as_str()), (Some(1), ""), "{said}");
        assert!(
            said.ends_with("error: the table could not be read to its end; what was charged stays charged\n"),
            "{said}"
        );
    }
    let (code, _, said) = ask("tuesday");
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("people is suspended"), "{said}");
    let mut reopen = std::process::Command::new(env!("CARGO_BIN_EXE_reticent"));
    reopen.args(["ledger", "reopen", "people", "--ledger"]).arg(&place);
    assert!(reopen.status().expect("it starts").success());
    let (code, _, said) = ask("tuesday");
    assert_eq!(code, Some(0), "{said}");
    // The first request was charged once: 10 of 20 is left.
    assert!(said.contains("ε = 10") && said.contains("of ε = 20"), "{said}");
}

/// The table is a pipe with nothing but a header in it: reading a row would wait forever.
#[test]
fn without_budget_no_row_is_read_and_with_it_the_charge_comes_first() {
    let folder = directory("pipe");
    let place = ledger_with(&folder, "20", "1e-3");
    let pipe = folder.join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let line =
        format!("{} --ledger {} --dataset people {UNHURRIED} --program /bin/sh", pipe.display(), place.display());
    let ask = |options: &str| {
        let mut arguments: Vec<&str> = line.split_whitespace().chain(options.split_whitespace()).collect();
        arguments.extend(["--", "-c", "echo blue"]);
        command(&folder, &arguments).spawn().expect("it starts")
    };
    // Opened for reading and writing, so that neither end waits for the other.
    let open = || fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("a pipe");

    let mut writer = open();
    writer.write_all(b"user\n").expect("written");
    let mut child = ask("--epsilon 21 --allow-large-epsilon --delta 1e-3 --blocks 6");
    let patience = Instant::now() + PATIENCE;
    while child.try_wait().expect("it runs").is_none() {
        if Instant::now() > patience {
            let _ = child.kill();
            panic!("it waits for rows");
        }
        std::thread::sleep(PULSE);
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    assert!(output.stdout.is_empty() && charges(&place).is_empty());
    drop(writer);

    let mut writer = open();
    writer.write_all(b"user\n").expect("written");
    let child = ask(ALMOST_EXACT);
    let patience = Instant::now() + PATIENCE;
    while charges(&place).is_empty() {
        assert!(Instant::now() < patience, "it is charged before there is a row");
        std::thread::sleep(PULSE);
    }
    writer.write_all(b"u1\nu2\n").expect("written");
    drop(writer);
    assert_eq!(answered(&child.wait_with_output().expect("it ends")).as_deref(), Some("blue"));
}

/// How the process ends decides: the user's signal is the user's, and everything else may be the rows'.
#[test]
fn a_process_that_is_killed_suspends_and_one_that_is_interrupted_does_not() {
    let folder = directory("killed");
    let place = ledger_with(&folder, "100", "1e-2");
    let pipe = folder.join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("it runs").success());
    let line =
        format!("{} --ledger {} --dataset people {UNHURRIED} --program /bin/sh", pipe.display(), place.display());
    let open = || DurableLedger::open(&Location::File(place.clone())).expect("a ledger");
    for (number, (signal, suspended)) in [("-INT", false), ("-TERM", false), ("-KILL", true)].into_iter().enumerate() {
        let mut writer = fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("a pipe");
        writer.write_all(b"user\n").expect("written");
        let mut arguments: Vec<&str> = line.split_whitespace().chain(ALMOST_EXACT.split_whitespace()).collect();
        arguments.extend(["--", "-c", "echo blue"]);
        let mut child = command(&folder, &arguments).spawn().expect("it starts");
        let patience = Instant::now() + PATIENCE;
        while charges(&place).len() == number {
            assert!(Instant::now() < patience, "it is charged before there is a row");
            std::thread::sleep(PULSE);
        }
        assert_eq!(open().account("people").expect("readable").expect("there").suspended, None);
        Command::new("kill").args([signal, &child.id().to_string()]).status().expect("it runs");
        child.wait().expect("it ends");
        let found = open().account("people").expect("readable").expect("there").suspended;
        assert_eq!(
            found.is_some_and(|suspension| suspension.failure == FailureKind::ProcessEnded),
            suspended,
            "{signal}"
        );
    }
}

#[test]
fn nothing_is_charged_on_request_and_that_is_said() {
    let folder = directory("no-ledger");
    let output = ask_script(&folder, &format!("{ALMOST_EXACT} {UNHURRIED} --no-ledger"), "echo blue");
    assert_eq!(answered(&output).as_deref(), Some("blue"));
    assert!(text(&output.stderr).contains("no ledger was charged"));
}
