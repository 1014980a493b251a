//! A process that ends before an outcome was stored, in whatever way, suspends its dataset.
//!
//! The attack: a query is written so that one person's rows decide whether the machine runs out of memory. The system
//! kills the process after the charge, and each further charge would buy another such bit.

use std::io::Read;
use std::process::Child;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use reticent::ledger::{
    COMPUTATION_ERROR, Charge, ChargeOutcome, Keeper, Ledger, OnInterruption, PROCESS_ENDED, ReleaseOutcome, RunResult,
};
use reticent_ledger::{DurableLedger, Error, Event, FailureKind, Hash, MOST_INTERRUPTED, Result, Suspension};

use super::crowd::location_text;
use super::{Fresh, Place, ask, create, history, limited, open, pure, receipt_of, start_worker, tell, told, variable};

pub const TASK: &str = "run";
const ABANDON: OnInterruption = OnInterruption::Abandon;
/// A server takes a moment to notice that a connection is gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many notice at once that a process is gone.
const WATCHERS: usize = 8;

/// A child that charges and computes in this way, and the entries of its charges.
fn start(place: &dyn Place, way: &str) -> (Child, Vec<u64>) {
    let variables = [("PLACE", location_text(place).unwrap()), ("WAY", way.to_owned())];
    let mut child = start_worker(TASK, &variables);
    let line = told(&mut child).next().expect("it charges");
    (child, line.split(' ').map(|entry| entry.parse().unwrap()).collect())
}

/// What a child does: it charges, tells of it, and goes on when it is told to, if it still can.
pub fn work() {
    let ledger = DurableLedger::open(&variable("PLACE").parse().unwrap()).unwrap();
    let way = variable("WAY");
    let charged = |request: &str| permit(ledger.charge(&ask("people", request, pure("0.1")), ABANDON).unwrap());
    if way == "stream" || way == "statistic" {
        let stream = ledger.start(&ask("people", "stream", pure("0.1")).stream()).unwrap();
        let receipt = receipt_of(&stream);
        if way == "statistic" {
            let other = ledger.start(&ask("people", "other stream", pure("0.1")).stream()).unwrap();
            assert_eq!(ledger.compute(other.accounting(), || Ok(17)), Ok(Ok(17)));
            ledger.begin_run(&receipt).unwrap();
        }
        tell(&receipt.entry.to_string());
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        return;
    }
    let receipts = ["a", "b", "c"].map(charged);
    ledger.keep(&receipts[1], "17").unwrap();
    tell(&format!("{} {}", receipts[0].entry, receipts[2].entry));
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    match way.as_str() {
        "abort" => std::process::abort(),
        "leave" => drop(ledger),
        "interrupt" => ledger.interrupt().unwrap(),
        "keep" => [0, 2].into_iter().for_each(|place| drop(ledger.keep(&receipts[place], "18").unwrap())),
        other => panic!("no way {other}"),
    }
}

fn permit(outcome: ChargeOutcome) -> reticent::ledger::Receipt {
    match outcome {
        ChargeOutcome::New(permit) => receipt_of(&permit),
        other => panic!("{other:?}"),
    }
}

fn with_people(place: &dyn Place) -> DurableLedger {
    let ledger = create(place);
    for name in ["people", "others"] {
        ledger.register(&limited(name, pure("10"))).unwrap();
    }
    ledger
}

/// Charges something new, and keeps an answer to it.
fn charge_and_keep(ledger: &DurableLedger, dataset: &str, request: &str) -> Result<String> {
    let charge: Charge = ask(dataset, request, pure("0.1"));
    match ledger.charge(&charge, ABANDON)? {
        ChargeOutcome::New(permit) => ledger.keep(&receipt_of(&permit), "17"),
        other => panic!("{other:?}"),
    }
}

/// Waits until the dataset is suspended, and nobody recorded it.
fn wait(ledger: &DurableLedger) {
    let (since, before) = (Instant::now(), history(ledger).len());
    while ledger.account("people").unwrap().unwrap().suspended.is_none() {
        assert!(since.elapsed() < PATIENCE, "nobody notices");
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(history(ledger).len(), before, "a look writes nothing");
}

/// The charges that were recorded as failed, because their process had ended.
fn lost(ledger: &DurableLedger) -> Vec<u64> {
    let entries = history(ledger).into_iter();
    let lost = entries.filter_map(|entry| match entry.event {
        Event::Failed { charge, digest, .. } => {
            assert_eq!(digest, Hash::of(PROCESS_ENDED));
            Some(charge)
        }
        _ => None,
    });
    lost.collect()
}

fn is_sound(ledger: &DurableLedger) {
    let verdict = ledger.verify().unwrap();
    assert!(verdict.is_sound(), "{:?}", verdict.findings);
}

/// `share` takes the lock of all processes that compute, and returns what holds it.
#[allow(dead_code, reason = "only a server has strangers")]
pub fn a_process_that_ends_is_noticed_whoever_shares_its_lock<T>(place: &dyn Place, share: impl FnOnce() -> T) {
    let ledger = with_people(place);
    let (mut child, _) = start(place, "killed");
    let _shared = share();
    child.kill().unwrap();
    child.wait().unwrap();
    wait(&ledger);
}

pub fn a_process_that_ends_before_its_outcome_suspends(fresh: Fresh) {
    for way in ["killed", "abort", "leave"] {
        let place = fresh();
        let ledger = with_people(&*place);
        let (mut child, entries) = start(&*place, way);
        // It computes: nothing is suspended, whichever process looks.
        for (number, ledger) in [&ledger, &open(&*place)].into_iter().enumerate() {
            assert_eq!(ledger.account("people").unwrap().unwrap().suspended, None);
            charge_and_keep(ledger, "people", &format!("while it computes {number}")).unwrap();
        }
        match way {
            "killed" => child.kill().unwrap(),
            _ => drop(child.stdin.take()),
        }
        child.wait().unwrap();
        wait(&ledger);
        let suspension = Suspension { entry: entries[1], failure: FailureKind::ProcessEnded };
        for ledger in [&ledger, &open(&*place)] {
            let refused = charge_and_keep(ledger, "people", "afterwards").unwrap_err();
            assert_eq!(refused, Error::Suspended { dataset: "people".into(), suspension });
            assert!(refused.to_string().contains(PROCESS_ENDED), "{refused}");
            assert_eq!(lost(ledger), entries, "{way}");
        }
        charge_and_keep(&ledger, "others", "afterwards").unwrap();
        let account = ledger.account("people").unwrap().unwrap();
        assert_eq!((account.charges, account.suspended), (5, Some(suspension)));
        is_sound(&ledger);
        // What was kept is there; what was lost is not computed again, and has no outcome to show.
        let again = |request| ledger.charge(&ask("people", request, pure("0.1")), ABANDON).unwrap();
        assert!(matches!(again("a"), ChargeOutcome::Unfinished(_)));
        assert!(matches!(again("b"), ChargeOutcome::AlreadyAnswered(text) if text == "17"));
        assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(entries[1]));
        charge_and_keep(&ledger, "people", "afterwards").unwrap();
        assert_eq!(lost(&ledger), entries);
        is_sound(&ledger);
    }
}

pub fn a_process_that_stores_its_outcomes_suspends_nothing(fresh: Fresh) {
    for way in ["keep", "interrupt"] {
        let place = fresh();
        let ledger = with_people(&*place);
        let (mut child, _) = start(&*place, way);
        drop(child.stdin.take());
        child.wait().unwrap();
        charge_and_keep(&ledger, "people", "afterwards").unwrap();
        assert_eq!((lost(&ledger), ledger.reopen("people", "ada")), (Vec::new(), Ok(None)));
        let again = ledger.charge(&ask("people", "a", pure("0.1")), ABANDON).unwrap();
        match way {
            "keep" => assert!(matches!(again, ChargeOutcome::AlreadyAnswered(text) if text == "18")),
            _ => assert!(matches!(again, ChargeOutcome::Unfinished(_))),
        }
        is_sound(&ledger);
    }
}

/// A stream goes on from its own state; but rows that are read for one are rows.
pub fn a_stream_suspends_only_while_rows_are_read_for_it(fresh: Fresh) {
    for way in ["stream", "statistic"] {
        let place = fresh();
        let ledger = with_people(&*place);
        let (mut child, entries) = start(&*place, way);
        charge_and_keep(&ledger, "people", "while it computes").unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        if way == "stream" {
            // The server has noticed by then.
            thread::sleep(Duration::from_millis(200));
            charge_and_keep(&ledger, "people", "afterwards").unwrap();
            assert_eq!(lost(&ledger), Vec::<u64>::new());
        } else {
            wait(&ledger);
            assert!(charge_and_keep(&ledger, "people", "afterwards").unwrap_err().is_suspended());
            assert_eq!(lost(&ledger), entries);
            assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(entries[0]));
            charge_and_keep(&ledger, "people", "afterwards").unwrap();
        }
        is_sound(&ledger);
    }
}

pub fn all_who_notice_at_once_record_it_once(fresh: Fresh) {
    let place = fresh();
    let ledger = with_people(&*place);
    let (mut child, entries) = start(&*place, "killed");
    child.kill().unwrap();
    child.wait().unwrap();
    wait(&ledger);
    let (together, ledgers) = (Barrier::new(WATCHERS), [(); WATCHERS].map(|()| open(&*place)));
    thread::scope(|scope| {
        for (number, ledger) in ledgers.iter().enumerate() {
            let together = &together;
            scope.spawn(move || {
                together.wait();
                let refused = charge_and_keep(ledger, "people", &number.to_string()).unwrap_err();
                assert!(refused.is_suspended(), "{refused}");
            });
        }
    });
    assert_eq!(lost(&ledger), entries);
    assert_eq!(ledger.account("people").unwrap().unwrap().charges, 3);
    is_sound(&ledger);
}

/// Who was thought to be gone, and is not, has nothing to show.
pub fn what_was_recorded_as_lost_is_not_kept(fresh: Fresh) {
    let place = fresh();
    let ledger = with_people(&*place);
    let first = open(&*place);
    let charge = ask("people", "a", pure("0.1"));
    let receipt = permit(first.charge(&charge, ABANDON).unwrap());
    drop(first);
    wait(&ledger);
    // A dataset can also be reopened by the first who notices.
    assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(receipt.entry));
    assert_eq!(lost(&ledger), [receipt.entry]);
    for ended in [ledger.keep(&receipt, "17"), ledger.fail(&receipt, "failed")] {
        assert_eq!(ended, Err(Error::Unfinished));
    }
    is_sound(&ledger);
}

/// A computation that returns an error has failed. What is recorded is the same for all errors, which may depend on the
/// rows, and differs from what is recorded of a process that ended.
pub fn an_error_of_a_computation_suspends_with_a_text_of_its_own(fresh: Fresh) {
    let place = fresh();
    let ledger = with_people(&*place);
    for (request, error) in [("a", Error::Unfinished), ("b", Error::Damaged("a row".into()))] {
        let charge = ask("people", request, pure("0.1"));
        let nothing = |_| Err::<RunResult, _>(error.clone());
        assert_eq!(ledger.release(&charge, ABANDON, nothing), Err(error.clone()));
        let (_, receipt) = ledger.request("people", request).unwrap().unwrap();
        let Some(Event::Failed { charge: failed, digest, .. }) = history(&ledger).pop().map(|entry| entry.event) else {
            panic!("it is recorded")
        };
        assert_eq!((failed, digest), (receipt.entry, Hash::of(COMPUTATION_ERROR)));
        let suspension = Suspension { entry: receipt.entry, failure: FailureKind::Error };
        let refused = ledger.charge(&ask("people", "c", pure("0.1")), ABANDON).unwrap_err();
        assert_eq!(refused, Error::Suspended { dataset: "people".into(), suspension });
        assert!(refused.to_string().contains(COMPUTATION_ERROR), "{refused}");
        // The request has no outcome, and is not computed again.
        assert_eq!(ledger.release(&charge, ABANDON, nothing), Ok(ReleaseOutcome::Unfinished));
        assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(receipt.entry));
    }
    is_sound(&ledger);
}

/// The attack: an analyst watches how long their own run takes, and interrupts it after a while or not. Each charge buys a
/// bit about the rows that no ε covers.
pub fn interrupted_runs_are_counted_and_enough_of_them_suspend(fresh: Fresh) {
    let place = fresh();
    let ledger = with_people(&*place);
    let begin = |request: &str| permit(ledger.charge(&ask("people", request, pure("0.01")), ABANDON).unwrap());
    let count = || {
        let account = ledger.account("people").unwrap().unwrap();
        (account.interrupted, account.suspended)
    };
    let interrupt = |name: &str, runs: u64| {
        for run in 0..runs {
            let (request, (before, suspended)) = (format!("{name} {run}"), count());
            assert_eq!(suspended, None, "after {before} interrupted runs");
            match run % 2 {
                // The run notices that it was interrupted, and ends by itself.
                0 => {
                    let charge = ask("people", &request, pure("0.01"));
                    let ended = |_| Ok::<_, Error>(RunResult::Interrupted("nothing".into()));
                    let shown = ledger.release(&charge, ABANDON, ended);
                    assert_eq!(shown, Ok(ReleaseOutcome::Fresh("nothing".into())));
                    let replayed = ledger.release(&charge, ABANDON, ended);
                    assert_eq!(replayed, Ok(ReleaseOutcome::Replayed("nothing".into())));
                }
                // The process is about to end.
                _ => {
                    begin(&request);
                    ledger.interrupt().unwrap();
                }
            }
            assert_eq!(count().0, before + 1);
        }
    };
    let two_at_once = ["first", "second"].map(begin);
    let stream = ledger.start(&ask("people", "stream", pure("0.01")).stream()).unwrap();
    ledger.begin_run(&receipt_of(&stream)).unwrap();
    interrupt("a", 1);
    // Those that were still being computed count, too, once each.
    assert!(two_at_once.iter().all(|receipt| ledger.keep(receipt, "17").is_ok()));
    let before = count().0;
    ledger.interrupt().unwrap();
    assert_eq!(count(), (before + 1, None), "the stream's run");
    ledger.interrupt().unwrap();
    assert_eq!(count(), (before + 1, None), "nothing is left to be interrupted");

    interrupt("b", MOST_INTERRUPTED - 3);
    let (late, last) = (begin("late"), begin("last"));
    assert_eq!(ledger.interrupted(&late, "nothing"), Ok("nothing".into()));
    let suspension = Suspension { entry: late.entry, failure: FailureKind::Interrupted };
    assert_eq!(count(), (MOST_INTERRUPTED, Some(suspension)));
    let refused = ledger.charge(&ask("people", "refused", pure("0.01")), ABANDON).unwrap_err();
    assert_eq!(refused, Error::Suspended { dataset: "people".into(), suspension });
    assert!(refused.to_string().contains("users interrupted 20 runs"), "{refused}");
    assert_eq!(ledger.account("others").unwrap().unwrap().interrupted, 0);
    // One more does not hide that.
    assert_eq!(ledger.interrupted(&last, "nothing"), Ok("nothing".into()));
    assert_eq!(count(), (MOST_INTERRUPTED + 1, Some(Suspension { entry: last.entry, ..suspension })));
    assert_eq!(ledger.reopen("people", "ada").unwrap(), Some(last.entry));
    // The owner has looked: counting for the next suspension begins anew.
    interrupt("c", MOST_INTERRUPTED - 1);
    assert_eq!(count(), (2 * MOST_INTERRUPTED, None));
    // So it does after a failure.
    ledger.fail(&begin("failing"), "failed").unwrap();
    ledger.reopen("people", "ada").unwrap();
    interrupt("d", MOST_INTERRUPTED);
    assert_eq!(count().1.map(|suspension| suspension.failure), Some(FailureKind::Interrupted));
    is_sound(&ledger);
    assert_eq!(open(&*place).account("people").unwrap().unwrap().interrupted, 3 * MOST_INTERRUPTED);
}
