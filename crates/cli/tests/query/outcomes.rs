//! The outcome of a charge is final: also a failure, and also no outcome at all.
//!
//! The attack: whether a run fails depends on rows. If a failed request were computed again for the same charge, each
//! try would reveal more, and all of them together would cost one answer.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use reticent::ledger::{ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::{Budget, Dataset, DurableLedger, Location};

use super::*;

const COUNT: &str = "SELECT COUNT(*) AS n FROM visits";
const FAILED: &str = "error: the table could not be read to its end; what was charged stays charged\n";
const UNFINISHED: &str = "error: this request was charged and has no outcome: it is still being answered, or it was interrupted and is \
                          not computed again\n";
/// Four rows; where those of the first column begin, after the letters PAR1.
const TINY: &[u8] = include_bytes!("tiny.parquet");
const ROWS: std::ops::Range<usize> = 4..30;

fn broken() -> Vec<u8> {
    let mut broken = TINY.to_vec();
    broken[ROWS].fill(0xff);
    broken
}

#[test]
fn a_request_that_failed_fails_for_ever_and_is_charged_once() {
    let desk = Desk::new("failed");
    desk.write("visits.parquet", broken());
    let sql = "SELECT COUNT(age) AS n FROM visits";
    let arguments = "--table visits=visits.parquet --unit user --max-rows 1 --epsilon 200 --request monday";
    assert!(desk.fails(1, sql, arguments).ends_with(FAILED));
    // The table is repaired (or its rows have changed): repeating the request must not reveal that.
    desk.write("visits.parquet", TINY);
    for _ in 0..2 {
        let said = desk.fails(1, sql, arguments);
        assert!(said.contains("request monday was answered before") && said.ends_with(FAILED), "{said}");
    }
    assert_eq!(desk.all_charges(), 1);
    desk.reopen("visits.parquet");
    desk.answer(sql, &arguments.replace("monday", "tuesday"));
    // And an answer stays when the table breaks.
    let arguments = arguments.replace("monday", "tuesday") + " --format csv";
    let first = desk.answer(sql, &arguments);
    desk.write("visits.parquet", broken());
    assert_eq!(desk.answer(sql, &arguments), first);
    assert_eq!(desk.all_charges(), 2);
}

/// As if the process had been killed between the charge and the answer.
#[test]
fn a_request_that_crashed_is_not_computed_again() {
    let desk = Desk::with_visits("crashed");
    let dataset = desk.0.join("visits.csv").display().to_string();
    let arguments = "--table visits=visits.csv --epsilon 1 --request monday";
    desk.answer(COUNT, arguments);
    let own = desk.program().args(["ledger", "show"]).output().expect("it starts");
    let shown = text(&own.stdout);
    let place = shown.lines().next().and_then(|line| line.strip_prefix("Ledger ")).expect("its place").to_owned();
    let ledger = DurableLedger::open(&place.parse::<Location>().expect("a place")).expect("it is there");
    let (charge, _) = ledger.request(&dataset, "monday").expect("readable").expect("charged");

    let second = desk.0.join("second.sqlite");
    let ledger = DurableLedger::create(&Location::File(second.clone())).expect("a ledger");
    ledger.register(&Dataset { name: dataset, budget: Budget::Unlimited, terms: None }).expect("registered");
    assert!(matches!(ledger.charge(&charge, OnInterruption::Recompute), Ok(ChargeOutcome::New(_))));
    drop(ledger);
    let arguments = format!("{arguments} --ledger {}", second.display());
    for _ in 0..2 {
        let said = desk.fails(1, COUNT, &arguments);
        assert!(said.ends_with(UNFINISHED), "{said}");
    }
}

/// Answers stored by versions that did not store failures are still read.
#[test]
fn an_answer_that_an_older_program_kept_is_printed() {
    let desk = Desk::with_visits("older");
    let dataset = desk.0.join("visits.csv").display().to_string();
    let arguments = "--table visits=visits.csv --epsilon 1 --format csv";
    let place = desk.0.join("budgets.sqlite");
    let ledger = DurableLedger::create(&Location::File(place.clone())).expect("a ledger");
    ledger.register(&Dataset { name: dataset.clone(), budget: Budget::Unlimited, terms: None }).expect("registered");
    drop(ledger);
    let named = format!("{arguments} --ledger {}", place.display());
    desk.answer(COUNT, &format!("{named} --request new"));
    let ledger = DurableLedger::open(&Location::File(place)).expect("a ledger");
    let (mut charge, _) = ledger.request(&dataset, "new").expect("readable").expect("charged");
    charge.request = "old".into();
    let Ok(ChargeOutcome::New(permit)) = ledger.charge(&charge, OnInterruption::Recompute) else { panic!("it is new") };
    let reticent::ledger::Accounting::Charged(receipt) = permit.accounting() else { panic!("it was charged") };
    let old = r#"{"columns":["n"],"rows":[[{"released":{"value":17,"half_width":3.0}}]],"summary":{"guarantee":"ε = 1","unit":"row","adjacency":"add-remove","max_groups":1,"max_rows":1,"split":[],"half_widths":""}}"#;
    ledger.keep(receipt, old).expect("kept");
    drop(ledger);
    assert_eq!(desk.answer(COUNT, &format!("{named} --request old")), "n,n ±\n17,3\n");
}

#[test]
fn the_clock_of_a_request_stands_still() {
    let desk = Desk::with_visits("clock");
    let sql = "SELECT COUNT(*) AS n FROM visits WHERE now() > TIMESTAMP '2020-01-01 00:00:00'";
    let arguments = "--table visits=visits.csv --epsilon 1e-6 --request monday --format csv";
    let first = desk.answer(sql, arguments);
    // It is later now, but still the same request.
    assert_eq!(desk.answer(sql, arguments), first);
    assert_eq!(desk.all_charges(), 1);
    let history = desk.program().args(["ledger", "history"]).output().expect("it starts");
    assert!(text(&history.stdout).contains("; the clock says 20"), "{}", text(&history.stdout));
    let said = desk.fails(2, &sql.replace("2020", "2021"), arguments);
    assert!(said.contains("was already used for a different request"), "{said}");
}

#[test]
fn a_limit_that_is_exceeded_is_a_charged_failure() {
    let desk = Desk::new("limits");
    desk.write("visits.csv", visits(200_000));
    let slow = "SELECT COUNT(*) AS n FROM visits WHERE length(repeat(note, 1000)) > 3";
    let arguments = "--table visits=visits.csv --epsilon 1 --request monday";
    let said = desk.fails(1, slow, &format!("{arguments} --time-limit 1ms"));
    assert!(said.ends_with(FAILED), "{said}");
    // With more time it is the same request.
    assert!(desk.fails(1, slow, arguments).ends_with(FAILED));
    assert_eq!(desk.all_charges(), 1);
    // One failure is all that it reveals: nothing more is charged until the owner of the data has looked into it.
    for question in [slow, COUNT] {
        let said = desk.fails(1, question, "--table visits=visits.csv --epsilon 1 --time-limit 10m");
        assert!(said.contains("visits.csv is suspended") && said.contains("`reticent ledger reopen`"), "{said}");
    }
    assert_eq!(desk.all_charges(), 1);
    desk.reopen("visits.csv");
    for (wrong, why) in [
        ("--time-limit 10", "write a duration"),
        ("--memory-limit 4", "write a size"),
        ("--temp-dir nowhere", "there is no such folder"),
    ] {
        let said = desk.fails(2, COUNT, &format!("--table visits=visits.csv --epsilon 1 {wrong}"));
        assert!(said.contains(why), "{said}");
    }
    desk.answer(COUNT, "--table visits=visits.csv --epsilon 1 --time-limit 10m --memory-limit 1GiB --temp-dir .");
    assert_eq!(desk.all_charges(), 2);
}

/// The attack: a histogram of very many groups, which exist only if one person does. It must not end the process, whose
/// exit code would reveal it.
#[test]
fn one_person_cannot_use_up_the_memory() {
    let digits = (0..64).map(|digit| format!("({digit})")).collect::<Vec<_>>().join(",");
    let sql = format!(
        "WITH d AS (SELECT * FROM (VALUES {digits}) AS v(i)) SELECT k, HISTOGRAM(x, 100000) AS h FROM (SELECT p.k AS k, t.x AS x \
         FROM t CROSS JOIN (SELECT a.i * 4096 + b.i * 64 + c.i AS k FROM d a CROSS JOIN d b CROSS JOIN d c) p WHERE t.name = 'bob') \
         GROUP BY k"
    );
    let arguments = "--table t=t.csv --unit name --max-rows 1 --max-groups 1 --epsilon 1 --delta 1e-8 --bounds x=0..10 --memory-limit 256MiB --format csv";
    for person in ["bob", "eve"] {
        let desk = Desk::new(&format!("memory-{person}"));
        desk.write("t.csv", format!("name,x\nada,1\n{person},2\n"));
        assert_eq!(desk.answer(&sql, arguments).lines().count(), 1, "{person}: a header, and no key of one person");
    }
}

/// How many numbers an answer has is public if its keys are: a query with too many is refused at no cost.
#[test]
fn an_answer_that_is_too_large_is_not_charged() {
    let desk = Desk::with_visits("large");
    let keys = |number: usize| (0..number).map(|key| key.to_string()).collect::<Vec<_>>().join("\n");
    desk.write("regions.csv", format!("region\n{}\n", keys(3000)));
    desk.write("notes.csv", format!("note\n{}\n", keys(1000)));
    let sql = "SELECT region, note, HISTOGRAM(age, 100000) AS h FROM visits GROUP BY region, note";
    let arguments = "--table visits=visits.csv --unit user --max-rows 1 --max-groups 1 --epsilon 1 --bounds age=0..100 --keys region=regions.csv";
    let said = desk.fails(2, sql, &format!("{arguments} --keys note=notes.csv"));
    assert!(said.contains("would have 3000000 × 100002 numbers") && said.contains("fewer columns or bins"), "{said}");
    let said = desk.fails(
        2,
        &sql.replace("100000", "5000").replace(", note", ""),
        &format!("{arguments} --memory-limit 256MiB"),
    );
    assert!(said.contains("3000 groups with 5000 numbers") && said.contains("raise the limit"), "{said}");
    assert_eq!(desk.all_charges(), 0);
}

#[test]
fn ctrl_c_ends_a_query_and_the_charge_stays() {
    let desk = Desk::new("ctrl-c");
    desk.write("visits.csv", visits(1_000_000));
    let slow = "SELECT COUNT(*) AS n FROM visits WHERE length(repeat(note, 50000)) > 3";
    let arguments = "--table visits=visits.csv --epsilon 1 --request monday";
    let mut command = desk.program();
    command.arg("query").arg(slow).args(arguments.split_whitespace()).stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("charged to")), "it is charged first");
    // Repeated meanwhile, it has no outcome yet, and none is claimed.
    assert!(desk.fails(1, slow, arguments).ends_with(UNFINISHED));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("it runs");
    let said: Vec<String> = lines.collect();
    assert_eq!(child.wait().expect("it ends").code(), Some(1), "{said:?}");
    assert!(said[0].starts_with("interrupted; what was charged stays charged"), "{said:?}");
    assert!(desk.fails(1, slow, arguments).ends_with(FAILED));
    assert_eq!(desk.all_charges(), 1);
    // The owner sees how often that happens.
    let show =
        |format: &str| text(&desk.program().args(["ledger", "show", "--format", format]).output().unwrap().stdout);
    assert!(show("table").contains("visits.csv: users interrupted 1 run\n"), "{}", show("table"));
    assert!(show("json").contains("\"interrupted\":1,"), "{}", show("json"));
    let history = text(&desk.program().args(["ledger", "history"]).output().unwrap().stdout);
    assert!(history.contains("interrupted run number 1"), "{history}");
}

/// The attack: one person's rows decide whether the machine runs out of memory, and the system kills the process after the
/// charge. Each further charge would buy another such bit.
#[test]
fn a_query_whose_process_is_killed_suspends_its_dataset() {
    let desk = Desk::new("killed");
    desk.write("visits.csv", visits(1_000_000));
    let slow = "SELECT COUNT(*) AS n FROM visits WHERE length(repeat(note, 50000)) > 3";
    let next = "--table visits=visits.csv --epsilon 1";
    for (signal, suspends) in [("-TERM", false), ("-KILL", true)] {
        let arguments = format!("{next} --request {}", signal.trim_start_matches('-'));
        let mut command = desk.program();
        command.arg("query").arg(slow).args(arguments.split_whitespace()).stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.starts_with("charged to")), "it is charged first");
        // It still computes.
        desk.answer(COUNT, next);
        Command::new("kill").args([signal, &child.id().to_string()]).status().expect("it runs");
        let said: Vec<String> = lines.collect();
        child.wait().expect("it ends");
        if !suspends {
            assert!(said[0].starts_with("interrupted"), "{said:?}");
            desk.answer(COUNT, next);
            continue;
        }
        let shown = desk.program().args(["ledger", "show"]).output().expect("it starts");
        for said in [text(&shown.stdout), desk.fails(1, COUNT, next), desk.fails(1, slow, next)] {
            assert!(said.contains("visits.csv is suspended: the process ended before an outcome was stored"), "{said}");
            assert!(said.contains("`reticent ledger reopen`"), "{said}");
        }
        assert!(desk.fails(1, slow, &arguments).ends_with(UNFINISHED));
        desk.reopen("visits.csv");
        desk.answer(COUNT, next);
    }
    assert_eq!(desk.all_charges(), 6);
    let verdict = desk.program().args(["ledger", "verify"]).output().expect("it starts");
    assert!(verdict.status.success(), "{}", text(&verdict.stdout));
}

/// What is computed from released values depends on them alone: too much of it is charged and final, but no failure, with
/// which anyone could have any dataset suspended for next to nothing.
#[test]
fn too_much_made_of_released_values_suspends_nothing() {
    let desk = Desk::with_visits("large-answer");
    let digits: Vec<String> = (0..10).map(|digit| format!("({digit})")).collect();
    let sql = format!(
        "WITH d AS (SELECT * FROM (VALUES {}) v(i)), k AS (SELECT a.i + 10 * b.i + 100 * c.i AS n FROM d a, d b, d c), \
         l AS (SELECT k.n + 1000 * d.i AS n FROM k, d), z AS (SELECT COUNT(*) AS c FROM visits) \
         SELECT COUNT(*) AS m FROM z, l, k",
        digits.join(",")
    );
    let arguments = "--table visits=visits.csv --epsilon 1e-12 --request monday";
    for _ in 0..2 {
        let said = desk.fails(1, &sql, arguments);
        assert!(said.contains("the answer is too large") && said.contains("stays charged"), "{said}");
    }
    assert_eq!(desk.all_charges(), 1);
    desk.answer(COUNT, "--table visits=visits.csv --epsilon 1");
}

/// The attack: a row that opens what it does not close, or closes the array, decides how all rows after it are read.
#[test]
fn a_row_of_an_array_moves_no_other_rows() {
    let desk = Desk::new("arrays");
    let others: Vec<String> = (0..100).map(|age| format!("{{\"age\":{age}}}")).collect();
    for row in [r#"{"age":"1}"#, r#"{"age":{"years":1}"#, r#"{"age":1}]"#] {
        let rows = [&others[..50], &[row.to_owned()], &others[50..]].concat();
        desk.write("visits.json", format!("[{}]", rows.join(",\n")));
        let said = desk.fails(1, COUNT, "--table visits=visits.json --epsilon 1");
        assert!(said.ends_with(FAILED), "{row}: {said}");
        desk.reopen("visits.json");
    }
}
