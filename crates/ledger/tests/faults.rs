//! A disk that fails never gives a permit for a charge that is not durable, and never takes one away.
//!
//! Every single call to the disk fails in turn, once or from then on, as an error of the device or because the disk is
//! full. A failed sync loses what it should have written, as Linux does it. While the disk fails, the ledger says so or
//! goes on; when it works again, so does the same ledger. At the end the power fails, too.

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crash_disk::{Call, Disk, Failure, Fault, Image, Replay, Survivors};
use reticent_ledger::{DurableLedger, Error};

use support::promise::{Promise, check, promise};
use support::workload::{Receipts, Step, ask, charge, release, workload, zcdp};
use support::{DiskFiles, LOG, create, create_in, open};

/// The first steps of the workload: four registrations, then charges and releases of all kinds.
const STEPS: usize = 26;
const LARGE: usize = 9_000;
const FEWEST_RUNS: usize = 1_000;
/// How often a failed request is retried while the disk still fails.
const ATTEMPTS: usize = 3;

const ALL: [Call; 9] = [
    Call::Open,
    Call::Read,
    Call::Write,
    Call::Truncate,
    Call::Sync,
    Call::Delete,
    Call::Access,
    Call::Size,
    Call::Share,
];

/// A promise, and the length of the disk's log when it was given.
type Promises = Vec<(usize, Promise)>;

/// How a workload is run.
#[derive(Debug, Clone, Default)]
struct Way {
    /// On what, and what was promised of it.
    start: Image,
    promised: Vec<Promise>,
    /// Whether a second handle of the same ledger is used in turn.
    second_handle: bool,
    /// A broken mutant does not write the log anew when it opens a ledger.
    no_rewrite: bool,
}

/// Runs a workload on a disk that fails somewhere, lets it recover, and then cuts the power.
fn run(disk: Disk, way: &Way, steps: &[Step], fault: &Fault) -> Result<(), String> {
    disk.load(&way.start);
    disk.fail(fault.clone());
    let files = DiskFiles { disk, rewrites: !way.no_rewrite };
    let mut receipts = Receipts::new();
    let mut promises: Promises = way.promised.iter().map(|promise| (0, promise.clone())).collect();
    let mut ledgers: Vec<Option<DurableLedger>> = if way.second_handle { vec![None, None] } else { vec![None] };
    let handles = ledgers.len();
    for (number, step) in steps.iter().enumerate() {
        let ledger = &mut ledgers[number % handles];
        for _ in 0..ATTEMPTS {
            if ledger.is_none() {
                *ledger = match create_in(files) {
                    Ok(ledger) => Some(ledger),
                    Err(Error::Storage { .. }) => continue,
                    Err(error) => return Err(format!("creating: {error}")),
                };
            }
            match ask(ledger.as_ref().expect("just made"), step, &mut receipts) {
                Ok(answer) => {
                    promises.extend(promise(step, &answer).map(|promise| (disk.steps(), promise)));
                    break;
                }
                // Without its dataset nothing can be charged, while the disk fails.
                Err(Error::Storage { .. } | Error::NoSuchDataset(_)) => {}
                Err(error) => return Err(format!("{step:?}: {error}")),
            }
        }
    }
    if disk.failed_at().is_none() {
        // It is the end of the process that fails.
        ledgers.fill_with(|| None);
    }
    disk.heal();
    // The same handles work again, and asking all of it again charges nothing twice.
    let mut there = 0;
    for ledger in &mut ledgers {
        if ledger.is_none() {
            *ledger = Some(create_in(files).map_err(|error| format!("healed: {error}"))?);
        }
        let ledger = ledger.as_ref().expect("just made");
        for step in steps {
            let answer = ask(ledger, step, &mut receipts).map_err(|error| format!("healed, {step:?}: {error}"))?;
            promises.extend(promise(step, &answer).map(|promise| (disk.steps(), promise)));
        }
        let all: Vec<_> = promises.iter().map(|(_, promise)| promise.clone()).collect();
        there = check(ledger, steps, &all)?.len();
    }
    let (log, failed_at) = (disk.log(), disk.failed_at().ok_or("nothing has failed")?);
    drop(ledgers);
    // The promises right after the failure are the interesting ones, and the last.
    let mut moments: Vec<usize> = promises.iter().map(|(moment, _)| *moment).collect();
    moments.dedup();
    let after = moments.partition_point(|moment| *moment < failed_at);
    for moment in moments[after..].iter().take(3).chain(moments.last()) {
        let due: Vec<_> =
            promises.iter().filter(|(given, _)| given <= moment).map(|(_, promise)| promise.clone()).collect();
        for some in [false, true] {
            let replay = Replay::new(&way.start);
            let mut replay = if some { replay.lose_some(*moment as u64) } else { replay };
            log[..*moment].iter().for_each(|operation| replay.step(operation));
            disk.load(&replay.image(Survivors::Nothing));
            let failed = |what: String| format!("power cut after step {moment} of {} ({some}): {what}", log.len());
            let ledger = open(disk).map_err(|error| failed(error.to_string()))?;
            if check(&ledger, steps, &due).map_err(failed)?.len() > there {
                return Err(failed("more is there than was written".into()));
            }
        }
    }
    Ok(())
}

/// Runs all faults, several at a time; returns the first complaints.
fn run_all(way: &Way, steps: &[Step], faults: &[Fault]) -> Vec<String> {
    let (next, complaints) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                let disk = Disk::new();
                while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(complaint) = run(disk, way, steps, fault) {
                        complaints.lock().unwrap().push(format!("{fault:?}: {complaint}"));
                        next.store(faults.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    complaints.into_inner().unwrap()
}

/// The calls that a workload makes when nothing fails.
fn calls(way: &Way, steps: &[Step]) -> Vec<Call> {
    let disk = Disk::new();
    disk.load(&way.start);
    let (mut ledgers, mut receipts) = (vec![create(disk).unwrap()], Receipts::new());
    for (number, step) in steps.iter().enumerate() {
        if number == 1 && way.second_handle {
            ledgers.push(create(disk).unwrap());
        }
        ask(&ledgers[number % ledgers.len()], step, &mut receipts).unwrap();
    }
    drop(ledgers);
    disk.calls()
}

#[test]
fn every_call_fails_in_turn() {
    let steps = workload(STEPS, LARGE);
    let calls = calls(&Way::default(), &steps);
    let mut faults = Vec::new();
    for (from, call) in calls.iter().enumerate() {
        for times in [1, Fault::LASTING] {
            let calls = ALL.to_vec();
            faults.push(Fault { from, times, calls: calls.clone(), failure: Failure::Device });
            if *call == Call::Write {
                let calls = vec![Call::Write];
                faults.push(Fault { from, times, calls: calls.clone(), failure: Failure::Full });
                faults.push(Fault { from, times, calls, failure: Failure::ReadOnly });
            }
        }
        // All syncs fail from here on, or all writes, while everything else works.
        if matches!(call, Call::Sync | Call::Write | Call::Read | Call::Truncate | Call::Delete) {
            faults.push(Fault { from, times: Fault::LASTING, calls: vec![*call], failure: Failure::Device });
        }
    }
    let kinds = ALL.map(|kind| format!("{kind:?} {}", calls.iter().filter(|call| **call == kind).count()));
    let complaints = run_all(&Way::default(), &steps, &faults);
    eprintln!("{} calls ({}), {} runs", calls.len(), kinds.join(", "), faults.len());
    assert_eq!(complaints, [""; 0]);
    assert!(faults.len() >= FEWEST_RUNS, "{} runs", faults.len());
}

/// A process that ended by force has left its log, and the disk fails while the ledger is opened.
#[test]
fn every_call_fails_while_a_ledger_is_opened() {
    let (steps, disk) = (workload(STEPS, LARGE), Disk::new());
    let ledger = create(disk).unwrap();
    let (mut receipts, mut promised) = (Receipts::new(), Vec::new());
    for step in &steps[..STEPS / 2] {
        let answer = ask(&ledger, step, &mut receipts).unwrap();
        promised.extend(promise(step, &answer));
    }
    let way = Way { start: disk.present(), promised, ..Way::default() };
    assert!(way.start.length(LOG).is_some_and(|length| length > 0));
    drop(ledger);
    disk.load(&way.start);
    let ledger = create(disk).unwrap();
    let calls = disk.calls();
    drop(ledger);
    let fault = |from: usize, times, call| Fault { from, times, calls: vec![call], failure: Failure::Device };
    let faults =
        calls.iter().enumerate().flat_map(|(from, call)| [1, Fault::LASTING].map(|times| fault(from, times, *call)));
    let faults: Vec<_> = faults.collect();
    eprintln!("while a ledger is opened: {} calls, {} runs", calls.len(), faults.len());
    assert!(calls.contains(&Call::Sync), "the log is written anew");
    assert_eq!(run_all(&way, &steps, &faults), [""; 0]);
}

/// A release so long that SQLite copies the log into the database when it is kept.
#[test]
fn failures_while_the_log_is_copied() {
    const LONG: usize = 4_300_000;
    const STRIDE: usize = 150;
    let mut steps = workload(STEPS / 2, 10);
    let charge = charge("open", "long", zcdp("0.1"));
    steps.extend([Step::Charge(charge.clone()), Step::Keep(charge, release(1, LONG))]);
    let way = Way::default();
    let before = calls(&way, &steps[..steps.len() - 1]).len();
    let calls = calls(&way, &steps);
    let kinds = |kind: Call| calls.iter().skip(before).filter(|call| **call == kind).count();
    assert!(kinds(Call::Write) > 3_000 && kinds(Call::Sync) >= 3, "it was copied");
    let mut faults = Vec::new();
    for (from, call) in calls.iter().copied().enumerate().skip(before) {
        let often = matches!(call, Call::Write | Call::Read);
        if !often || from % STRIDE == 0 {
            faults.extend([1, Fault::LASTING].map(|times| Fault {
                from,
                times,
                calls: vec![call],
                failure: Failure::Device,
            }));
        }
    }
    assert_eq!(run_all(&way, &steps, &faults), [""; 0]);
    eprintln!("while the log is copied: {} runs", faults.len());
}

/// Syncs fail from each sync on, for good or so often that it is the end or the beginning of a connection that fails,
/// too.
fn failing_syncs(way: &Way, steps: &[Step]) -> Vec<Fault> {
    let calls = calls(way, steps);
    let syncs = calls.iter().enumerate().filter(|(_, call)| **call == Call::Sync);
    let fault = |from, times| Fault { from, times, calls: vec![Call::Sync], failure: Failure::Device };
    syncs.flat_map(|(from, _)| [1, 2, 3, 4, Fault::LASTING].map(|times| fault(from, times))).collect()
}

#[test]
fn what_a_failed_sync_loses_is_not_built_on() {
    let (way, steps) = (Way::default(), workload(STEPS, LARGE));
    assert_eq!(run_all(&way, &steps, &failing_syncs(&way, &steps)), [""; 0]);
}

/// The commit of a handle fails, and the other handle, with a log that it shares, goes on.
#[test]
fn what_one_handle_loses_the_other_does_not_build_on() {
    let steps = workload(STEPS, LARGE);
    let way = Way { second_handle: true, ..Way::default() };
    assert_eq!(run_all(&way, &steps, &failing_syncs(&way, &steps)), [""; 0]);
}

/// A ledger that does not write the log anew when it opens it builds on what a failed sync has lost.
#[test]
fn a_log_that_is_not_written_anew_is_caught() {
    let steps = workload(STEPS, LARGE);
    let way = Way { no_rewrite: true, ..Way::default() };
    let complaints = run_all(&way, &steps, &failing_syncs(&way, &steps));
    assert!(complaints.iter().any(|complaint| complaint.contains("power cut")), "{complaints:?}");
}
