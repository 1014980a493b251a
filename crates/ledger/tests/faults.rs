//! A disk that fails never gives a permit for a charge that is not durable, and never takes one away.
//!
//! Every single call to the disk fails in turn, once or from then on, as an error of the device or because the disk is full. A
//! failed sync loses what it should have written, as Linux does it. While the disk fails, the ledger says so or goes on; when
//! it works again, so does the same ledger. At the end the power fails, too.

mod support;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crash_disk::{Call, Disk, Failure, Fault, Image, Operation, Replay, Survivors};
use reticent_ledger::hash::Hash;
use reticent_ledger::{DurableLedger, Entry, Error, Event};

use support::sums::{accounts, sums};
use support::workload::{Answer, Receipts, Step, ask, charge, release, workload, zcdp};
use support::{DiskFiles, create, create_in, entries, open};

/// The first steps of the workload: four registrations, then charges and releases of all kinds.
const STEPS: usize = 26;
const LARGE: usize = 9_000;
const FEWEST_RUNS: usize = 1_000;
/// How often whoever was told of a failure asks again while the disk still fails.
const ATTEMPTS: usize = 2;

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

/// What was acknowledged, in the words of whoever asked.
#[derive(Debug, Clone)]
enum Promise {
    Registered(String),
    Charged(Box<reticent::ledger::Charge>),
    Kept(Box<reticent::ledger::Charge>, String),
}

/// A promise, and the length of the disk's log when it was given.
type Promises = Vec<(usize, Promise)>;

fn promise(step: &Step, answer: &Answer) -> Option<Promise> {
    match (step, answer) {
        (Step::Register(dataset), _) => Some(Promise::Registered(dataset.name.clone())),
        (Step::Charge(charge), Answer::Permitted(_)) => Some(Promise::Charged(Box::new(charge.clone()))),
        (Step::Charge(charge) | Step::Keep(charge, _), Answer::Release(text)) => {
            Some(Promise::Kept(Box::new(charge.clone()), text.clone()))
        }
        _ => None,
    }
}

/// Is every promise kept, and is nothing there that was not asked for?
fn check(ledger: &DurableLedger, steps: &[Step], promises: &[Promise]) -> Result<Vec<Entry>, String> {
    let said = |error: Error| error.to_string();
    let there = entries(ledger).map_err(said)?;
    let verdict = ledger.verify().map_err(said)?;
    if !verdict.is_sound() {
        return Err(format!("not sound: {:?}", verdict.findings));
    }
    if accounts(ledger).map_err(said)? != sums(&there)? {
        return Err("the sums are wrong".into());
    }
    let charged = |wanted: &reticent::ledger::Charge| {
        there.iter().find_map(|entry| match &entry.event {
            Event::Charged { charge, .. } if **charge == *wanted => Some(entry.number),
            _ => None,
        })
    };
    for promise in promises {
        let kept = match promise {
            Promise::Registered(name) => {
                there.iter().any(|entry| matches!(&entry.event, Event::Registered(dataset) if dataset.name == *name))
            }
            Promise::Charged(charge) => charged(charge).is_some(),
            Promise::Kept(charge, text) => {
                let (number, digest) = (charged(charge), Hash::of(text));
                there.iter().any(|entry| {
                    matches!(&entry.event, Event::Released { charge, digest: kept } if Some(*charge) == number && *kept == digest)
                })
            }
        };
        if !kept {
            return Err(format!("lost: {promise:?}"));
        }
    }
    let asked = |event: &Event| match event {
        Event::Opened { .. } | Event::Released { .. } => true,
        Event::Registered(dataset) => {
            steps.iter().any(|step| matches!(step, Step::Register(asked) if asked == dataset))
        }
        Event::Charged { charge, .. } => {
            steps.iter().any(|step| matches!(step, Step::Charge(asked) if *asked == **charge))
        }
    };
    match there.iter().find(|entry| !asked(&entry.event)) {
        Some(entry) => Err(format!("nobody asked for {entry:?}")),
        None => Ok(there),
    }
}

/// How a workload is run: through so many handles of the same ledger in turn, and on which files.
#[derive(Debug, Clone, Copy)]
struct Way {
    handles: usize,
    rewrites: bool,
}

/// One handle, as it is meant to be.
const ALONE: Way = Way { handles: 1, rewrites: true };

/// Runs a workload on a disk that fails somewhere, lets it recover, and then cuts the power.
fn run(disk: Disk, way: Way, steps: &[Step], fault: &Fault) -> Result<(), String> {
    disk.load(&Image::default());
    disk.fail(fault.clone());
    let files = DiskFiles { disk, rewrites: way.rewrites };
    let (mut receipts, mut promises) = (Receipts::new(), Promises::new());
    let mut ledgers: Vec<Option<DurableLedger>> = (0..way.handles).map(|_| None).collect();
    for (number, step) in steps.iter().enumerate() {
        let ledger = &mut ledgers[number % way.handles];
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
    let log = disk.log();
    drop(ledgers);
    cut_power(disk, &log, steps, &promises, there)
}

/// Cuts the power after the last promise, and just after others: each holds.
fn cut_power(disk: Disk, log: &[Operation], steps: &[Step], promises: &Promises, entries: usize) -> Result<(), String> {
    let mut moments: Vec<usize> = promises.iter().map(|(moment, _)| *moment).collect();
    moments.dedup();
    // Those right after a failure are the interesting ones: a few, and the end.
    let lost = log.iter().position(|operation| matches!(operation, Operation::LoseWrites { .. }));
    let from = moments.partition_point(|moment| *moment <= lost.unwrap_or(0));
    let chosen = moments.iter().skip(from).take(3).chain(moments.last());
    for moment in chosen {
        for some in [false, true] {
            let replay = Replay::new(&Image::default());
            let mut replay = if some { replay.lose_some(*moment as u64) } else { replay };
            log[..*moment].iter().for_each(|operation| replay.step(operation));
            let due: Vec<_> =
                promises.iter().filter(|(given, _)| given <= moment).map(|(_, promise)| promise.clone()).collect();
            disk.load(&replay.image(Survivors::Nothing));
            let failed = |what: String| format!("power cut after step {moment} of {} ({some}): {what}", log.len());
            let ledger = open(disk).map_err(|error| failed(error.to_string()))?;
            let there = check(&ledger, steps, &due).map_err(failed)?;
            if there.len() > entries {
                return Err(failed("more is there than was written".into()));
            }
        }
    }
    Ok(())
}

/// Runs all faults, several at a time; the first complaints.
fn run_all(way: Way, steps: &[Step], faults: &[Fault]) -> Vec<String> {
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
fn calls(steps: &[Step]) -> Vec<Call> {
    let disk = Disk::new();
    let ledger = create(disk).unwrap();
    let mut receipts = Receipts::new();
    for step in steps {
        ask(&ledger, step, &mut receipts).unwrap();
    }
    drop(ledger);
    disk.calls()
}

#[test]
fn every_call_fails_in_turn() {
    let steps = workload(STEPS, LARGE);
    let calls = calls(&steps);
    let mut faults = Vec::new();
    for (from, call) in calls.iter().enumerate() {
        for lasting in [false, true] {
            let calls = ALL.to_vec();
            faults.push(Fault { from, lasting, calls: calls.clone(), failure: Failure::Device });
            if *call == Call::Write {
                let calls = vec![Call::Write];
                faults.push(Fault { from, lasting, calls: calls.clone(), failure: Failure::Full });
                faults.push(Fault { from, lasting, calls, failure: Failure::ReadOnly });
            }
        }
        // All syncs fail from here on, or all writes, while everything else works.
        if matches!(call, Call::Sync | Call::Write | Call::Read | Call::Truncate | Call::Delete) {
            faults.push(Fault { from, lasting: true, calls: vec![*call], failure: Failure::Device });
        }
    }
    let kinds = ALL.map(|kind| format!("{kind:?} {}", calls.iter().filter(|call| **call == kind).count()));
    let complaints = run_all(ALONE, &steps, &faults);
    eprintln!("{} calls ({}), {} runs", calls.len(), kinds.join(", "), faults.len());
    assert_eq!(complaints, [""; 0]);
    assert!(faults.len() >= FEWEST_RUNS, "{} runs", faults.len());
}

/// A release so long that SQLite copies the log into the database when it is kept.
#[test]
fn failures_while_the_log_is_copied() {
    const LONG: usize = 4_300_000;
    const STRIDE: usize = 150;
    let mut steps = workload(STEPS / 2, 10);
    let charge = charge("open", "long", zcdp("0.1"));
    steps.extend([Step::Charge(charge.clone()), Step::Keep(charge, release(1, LONG))]);
    let before = calls(&steps[..steps.len() - 1]).len();
    let mut calls = calls(&steps);
    let kinds = |kind: Call| calls.iter().skip(before).filter(|call| **call == kind).count();
    assert!(kinds(Call::Write) > 3_000 && kinds(Call::Sync) >= 3, "it was copied");
    let mut faults = Vec::new();
    for (from, call) in calls.drain(..).enumerate().skip(before) {
        let often = matches!(call, Call::Write | Call::Read);
        if !often || from % STRIDE == 0 {
            faults.extend([false, true].map(|lasting| Fault {
                from,
                lasting,
                calls: vec![call],
                failure: Failure::Device,
            }));
        }
    }
    assert_eq!(run_all(ALONE, &steps, &faults), [""; 0]);
    eprintln!("while the log is copied: {} runs", faults.len());
}

/// Syncs fail from each sync on, for a while or for good.
fn failing_syncs(steps: &[Step]) -> Vec<Fault> {
    let calls = calls(steps);
    let syncs = calls.iter().enumerate().filter(|(_, call)| **call == Call::Sync);
    let fault = |from, lasting| Fault { from, lasting, calls: vec![Call::Sync], failure: Failure::Device };
    syncs.flat_map(|(from, _)| [fault(from, false), fault(from, true)]).collect()
}

/// The commit of a handle fails, and the other handle, with a log that it shares, goes on.
#[test]
fn what_one_handle_loses_the_other_does_not_build_on() {
    let steps = workload(STEPS, LARGE);
    let faults = failing_syncs(&steps);
    assert_eq!(run_all(Way { handles: 2, ..ALONE }, &steps, &faults), [""; 0]);
}

/// A ledger that does not write the log anew when it opens it builds on what a failed sync has lost.
#[test]
fn a_log_that_is_not_written_anew_is_caught() {
    let steps = workload(STEPS, LARGE);
    let faults = failing_syncs(&steps);
    let complaints = run_all(Way { rewrites: false, ..ALONE }, &steps, &faults);
    assert!(complaints.iter().any(|complaint| complaint.contains("power cut")), "{complaints:?}");
}
