//! Whenever the power fails, nothing acknowledged is lost, and nothing is half written.
//!
//! A workload of 200 operations runs on a disk in memory that writes down every write, truncation, sync and delete.
//! After each of them the power fails: what was not synced reaches the disk or not, by lot, even by sectors. The ledger
//! is then opened as always and compared with what was acknowledged. Where opening itself writes, the power fails there
//! again.

mod support;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crash_disk::{Disk, Image, Operation, Random, Replay, Survivors};
use reticent::ledger::{Accounting, ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::{Entry, Error, Event};

use support::sums::{Sums, accounts, sums};
use support::workload::{Answer, Receipts, Step, ask, charge, dataset, pure, workload};
use support::{LEDGER, LOG, create, entries, open};

/// Creating the ledger is the first of 200.
const STEPS: usize = 199;
/// Some releases are many pages long.
const LARGE: usize = 90_000;
const FEWEST_IMAGES: usize = 10_000;
/// A workload so long that SQLite copies its log into the database (after 1,000 pages) and begins the log anew.
const MANY_STEPS: usize = 480;
const FEWEST_CHECKPOINT_IMAGES: usize = 800;
const FEWEST_SECOND_CRASHES: usize = 2_000;
const FEWEST_LOSING_IMAGES: usize = 10;
const SEED: u64 = 5;
/// How many images are made at one point, and at one point of a second crash.
const VARIANTS: usize = 9;
const SECOND_VARIANTS: usize = 4;

/// A workload as it went.
struct Recorded {
    /// What was on the disk before, all of it durable, and how many entries.
    before: Image,
    floor: usize,
    log: Vec<Operation>,
    moments: Vec<Moment>,
    /// Everything that was ever written.
    entries: Vec<Entry>,
    /// The sums after each number of entries.
    sums: Vec<Sums>,
    receipts: Receipts,
}

/// A step (none: the ledger is opened or made), and how long the disk's log was when it was acknowledged.
struct Moment {
    step: Option<Step>,
    acknowledged_at: usize,
    entries: usize,
    answer: Answer,
}

/// What an image must hold.
struct Expected<'a> {
    recorded: &'a Recorded,
    /// How many entries were acknowledged,
    acknowledged: usize,
    /// and how many were requested.
    asked: usize,
    /// What was being requested when the power failed.
    in_flight: Option<&'a Moment>,
    /// The last acknowledged release: its charge and text.
    kept: Option<(&'a Step, &'a str)>,
}

impl Recorded {
    /// Runs steps on what is on a disk: a ledger, or nothing yet.
    fn new(disk: Disk, before: &Image, steps: &[Step]) -> Self {
        disk.load(before);
        let floor = open(disk).and_then(|ledger| entries(&ledger)).map_or(0, |entries| entries.len());
        disk.load(before);
        let ledger = create(disk).unwrap();
        let mut receipts = Receipts::new();
        let count = || entries(&ledger).unwrap().len();
        let mut moments =
            vec![Moment { step: None, acknowledged_at: disk.steps(), entries: count(), answer: Answer::Done }];
        for step in steps {
            let answer = ask(&ledger, step, &mut receipts).unwrap();
            moments.push(Moment { step: Some(step.clone()), acknowledged_at: disk.steps(), entries: count(), answer });
        }
        let entries = entries(&ledger).unwrap();
        drop(ledger);
        let sums = (0..=entries.len()).map(|count| sums(&entries[..count]).unwrap()).collect();
        Self { before: before.clone(), floor, log: disk.log(), moments, entries, sums, receipts }
    }

    /// Follows the log to a position.
    fn replay(&self, position: usize) -> Replay {
        let mut replay = Replay::new(&self.before);
        self.log[..position].iter().for_each(|operation| replay.step(operation));
        replay
    }

    /// Where a file is written to in the log.
    fn writes(&self, name: &str) -> Vec<(usize, usize)> {
        let number = self.log.iter().rev().find_map(|operation| match operation {
            Operation::Create { name: other, file } if other == name => Some(*file),
            _ => None,
        });
        let number = number.expect("it was made");
        let writes = self.log.iter().enumerate().filter_map(|(position, operation)| match operation {
            Operation::Write { file, offset, .. } if *file == number => Some((position, *offset)),
            _ => None,
        });
        writes.collect()
    }

    fn expected(&self, position: usize, hasty: bool) -> Expected<'_> {
        let done = self.moments.partition_point(|moment| moment.acknowledged_at <= position);
        let in_flight = self.moments.get(done);
        let asked = in_flight.map_or(self.entries.len(), |moment| moment.entries);
        let mut acknowledged = self.moments[..done].last().map_or(self.floor, |moment| moment.entries);
        if hasty {
            acknowledged = asked;
        }
        let kept = self.moments[..done].iter().rev().find_map(|moment| match (&moment.step, &moment.answer) {
            (Some(step @ Step::Keep(..)), Answer::Release(text)) => Some((step, text.as_str())),
            _ => None,
        });
        Expected { recorded: self, acknowledged, asked, in_flight, kept }
    }
}

fn said<T>(outcome: Result<T, Error>) -> Result<T, String> {
    outcome.map_err(|error| error.to_string())
}

macro_rules! must {
    ($condition:expr, $($text:tt)+) => { if !$condition { return Err(format!($($text)+)); } };
}

impl Expected<'_> {
    /// Opens what the crash left and says what is wrong with it.
    fn check(&self, disk: Disk, image: &Image) -> Result<(), String> {
        disk.load(image);
        disk.keep_no_log();
        let ledger = match open(disk) {
            Err(Error::Missing(_)) if self.acknowledged == 0 => return self.check_creation(disk),
            other => said(other)?,
        };
        let there = said(entries(&ledger))?;
        if there.is_empty() && self.acknowledged == 0 {
            drop(ledger);
            return self.check_creation(disk);
        }
        let Recorded { entries: written, sums, .. } = self.recorded;
        must!(
            there.len() >= self.acknowledged,
            "{} entries were acknowledged, {} are there",
            self.acknowledged,
            there.len()
        );
        must!(there.len() <= self.asked, "{} entries were asked for, {} are there", self.asked, there.len());
        must!(there == written[..there.len()], "the entries are not those that were written");
        must!(said(accounts(&ledger))? == sums[there.len()], "the sums are wrong");

        let (mut receipts, mut right) = (self.recorded.receipts.clone(), there.len());
        if let Some(moment) = self.in_flight
            && let Some(step) = &moment.step
        {
            self.ask_again(&ledger, moment, step, there.len() == self.asked, &mut receipts)?;
            right = self.asked;
        }
        let verdict = said(ledger.verify())?;
        must!(verdict.is_sound(), "not sound: {:?}", verdict.findings);
        must!(verdict.entries == right as u64, "{right} entries were to be there, {} are", verdict.entries);
        if let Some((Step::Keep(charge, _), text)) = self.kept {
            let again = said(ask(&ledger, &Step::Charge(charge.clone()), &mut receipts))?;
            must!(again == Answer::Release(text.into()), "an acknowledged release is another one: {again:?}");
        }
        fresh_charge(&ledger)
    }

    /// There was no ledger yet: one can be created.
    fn check_creation(&self, disk: Disk) -> Result<(), String> {
        let ledger = said(create(disk))?;
        let there = said(entries(&ledger))?;
        must!(matches!(&there[..], [Entry { event: Event::Opened { .. }, .. }]), "not a new ledger: {there:?}");
        must!(said(ledger.verify())?.is_sound(), "a new ledger is not sound");
        fresh_charge(&ledger)
    }

    fn ask_again(
        &self,
        ledger: &reticent_ledger::DurableLedger,
        moment: &Moment,
        step: &Step,
        there: bool,
        receipts: &mut Receipts,
    ) -> Result<(), String> {
        // Computing a release again draws different noise; the first one stored counts.
        let (step, other) = match step {
            Step::Keep(charge, _) => (Step::Keep(charge.clone(), "drawn again".into()), "drawn again"),
            step => (step.clone(), ""),
        };
        let answer = said(ask(ledger, &step, receipts))?;
        let right = match &step {
            Step::Keep(..) if !there => answer == Answer::Release(other.into()),
            _ => answer == moment.answer,
        };
        must!(right, "{:?} was to be answered {:?}, and was {answer:?}", step, moment.answer);
        Ok(())
    }
}

fn fresh_charge(ledger: &reticent_ledger::DurableLedger) -> Result<(), String> {
    let (name, mut receipts) = ("open", Receipts::new());
    said(ask(ledger, &Step::Register(dataset(name, None)), &mut receipts))?;
    let answer = said(ask(ledger, &Step::Charge(charge(name, "fresh", pure("0.01"))), &mut receipts))?;
    must!(matches!(answer, Answer::Permitted(_)), "a fresh charge is answered {answer:?}");
    Ok(())
}

/// What can be left at one position: everything, nothing, and by lot.
fn variants(position: usize) -> [Survivors; VARIANTS] {
    let mut random = Random::new(SEED ^ ((position as u64) << 8));
    let mut seed = || random.number();
    [
        Survivors::Everything,
        Survivors::Nothing,
        Survivors::Sectors(seed()),
        Survivors::Writes(seed()),
        Survivors::Prefixes(seed()),
        Survivors::Sectors(seed()),
        Survivors::Sectors(seed()),
        Survivors::Writes(seed()),
        Survivors::Sectors(seed()),
    ]
}

/// What a run over all crashes found.
#[derive(Default)]
struct Outcome {
    checks: usize,
    images: HashSet<u64>,
    complaints: Vec<String>,
}

/// Where and how to crash.
struct Plan {
    replay: Replay,
    positions: Range<usize>,
    variants: usize,
    /// A broken mutant acknowledges before it commits.
    hasty: bool,
    most_complaints: usize,
}

impl Recorded {
    /// Everywhere, until the first complaint.
    fn plan(&self) -> Plan {
        let (replay, positions) = (Replay::new(&self.before), 0..self.log.len() + 1);
        Plan { replay, positions, variants: VARIANTS, hasty: false, most_complaints: 1 }
    }
}

/// Crashes after every step of the log that is planned, and checks each image, several at a time.
fn crash_everywhere(recorded: &Recorded, plan: Plan) -> Outcome {
    let Plan { replay: start, positions, variants: most_variants, hasty, most_complaints } = plan;
    let log = &recorded.log;
    let next = AtomicUsize::new(positions.start);
    let outcome = Mutex::new(Outcome::default());
    let seen = Mutex::new(HashSet::new());
    let work = || {
        let disk = Disk::new();
        let (mut replay, mut followed) = (start.clone(), 0);
        loop {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= positions.end {
                return;
            }
            while followed < position {
                replay.step(&log[followed]);
                followed += 1;
            }
            let expected = recorded.expected(position, hasty);
            for survivors in variants(position).into_iter().take(most_variants) {
                let (image, print) = replay.numbered_image(survivors);
                // The same image may have to hold more, once more was acknowledged.
                if !seen.lock().unwrap().insert((print, expected.acknowledged, expected.asked)) {
                    continue;
                }
                let checked = expected.check(disk, &image);
                let mut outcome = outcome.lock().unwrap();
                outcome.checks += 1;
                outcome.images.insert(print);
                if let Err(complaint) = checked {
                    outcome.complaints.push(format!("after step {position}, {survivors:?}: {complaint}"));
                }
                if outcome.complaints.len() >= most_complaints {
                    next.store(positions.end, Ordering::Relaxed);
                    return;
                }
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    outcome.into_inner().unwrap()
}

fn count(log: &[Operation], kind: fn(&Operation) -> bool) -> usize {
    log.iter().filter(|operation| kind(operation)).count()
}

#[test]
fn every_crash_of_a_workload() {
    let recorded = Recorded::new(Disk::new(), &Image::default(), &workload(STEPS, LARGE));
    let Recorded { log, moments, .. } = &recorded;
    let answers = |kind: fn(&Answer) -> bool| moments.iter().filter(|moment| kind(&moment.answer)).count();
    let refused = answers(|answer| *answer == Answer::Refused);
    assert!(refused >= 10 && answers(|answer| matches!(answer, Answer::Release(_))) >= 70);
    let outcome = crash_everywhere(&recorded, recorded.plan());
    eprintln!(
        "{} operations, {} entries; {} writes, {} syncs, {} truncations, {} deletes; {} images, {} checks",
        moments.len(),
        recorded.entries.len(),
        count(log, |operation| matches!(operation, Operation::Write { .. })),
        count(log, |operation| matches!(operation, Operation::Sync { .. })),
        count(log, |operation| matches!(operation, Operation::Truncate { .. })),
        count(log, |operation| matches!(operation, Operation::Delete { .. })),
        outcome.images.len(),
        outcome.checks,
    );
    assert_eq!(outcome.complaints, [""; 0]);
    assert!(outcome.images.len() >= FEWEST_IMAGES, "{} images", outcome.images.len());
}

#[test]
fn every_crash_while_the_log_is_copied() {
    let recorded = Recorded::new(Disk::new(), &Image::default(), &workload(MANY_STEPS, LARGE / 10));
    let moments = &recorded.moments;
    // From the step before the first copy of the log until some steps after it was begun anew.
    let made = moments[0].acknowledged_at;
    let copied = recorded.writes(LEDGER).iter().find(|(position, _)| *position > made).expect("it was copied").0;
    let restarted = recorded.writes(LOG).iter().find(|write| write.0 > copied && write.1 == 0).expect("begun anew").0;
    let step = |position: usize| moments.partition_point(|moment| moment.acknowledged_at <= position);
    let (first, last) = (step(copied) - 2, step(restarted) + 6);
    assert!(last < moments.len(), "it is not the copy at the end");
    let positions = moments[first].acknowledged_at..moments[last].acknowledged_at;
    let pages = positions.len();
    let outcome = crash_everywhere(&recorded, Plan { positions, ..recorded.plan() });
    eprintln!("a copy of the log: {pages} steps, {} images, {} checks", outcome.images.len(), outcome.checks);
    assert_eq!(outcome.complaints, [""; 0]);
    assert!(outcome.images.len() >= FEWEST_CHECKPOINT_IMAGES, "{} images", outcome.images.len());
}

/// Opening a ledger after a crash writes, too, and so do the next charge and the end of the process: crashes there.
#[test]
fn every_second_crash() {
    const IMAGES: usize = 12;
    let disk = Disk::new();
    let recorded = Recorded::new(disk, &Image::default(), &workload(STEPS / 2, LARGE / 10));
    let next = [Step::Register(dataset("open", None)), Step::Charge(charge("open", "after the crash", pure("0.01")))];
    let (mut images, mut checks, mut steps) = (0, 0, 0);
    // While the ledger is made, and evenly while it is used.
    let made = recorded.moments[0].acknowledged_at;
    let spread = (0..IMAGES).map(|part| made + (recorded.log.len() - made) * part / IMAGES);
    for position in (0..made).step_by(made / IMAGES).chain(spread) {
        let survivors = variants(position)[[0, 2, 3][position % 3]];
        let second = Recorded::new(disk, &recorded.replay(position).image(survivors), &next);
        let outcome = crash_everywhere(&second, Plan { variants: SECOND_VARIANTS, ..second.plan() });
        assert_eq!(outcome.complaints, [""; 0], "a second crash, after the first at step {position}, {survivors:?}");
        images += outcome.images.len();
        checks += outcome.checks;
        steps += second.log.len();
    }
    eprintln!("second crashes: {steps} steps, {images} images, {checks} checks");
    assert!(images >= FEWEST_SECOND_CRASHES, "{images} images");
}

/// The checks are worth something: they notice a disk whose syncs do nothing, which is what `synchronous=OFF` comes to,
#[test]
fn a_disk_that_does_not_sync_is_caught() {
    let disk = Disk::new();
    drop(create(disk).unwrap());
    let recorded = Recorded::new(disk, &disk.present(), &workload(20, LARGE / 10));
    let replay = Replay::new(&recorded.before).ignore_syncs();
    let outcome = crash_everywhere(&recorded, Plan { replay, most_complaints: 200, ..recorded.plan() });
    let lost = outcome.complaints.iter().filter(|complaint| complaint.contains("entries were acknowledged")).count();
    assert!(lost > 20, "{lost} of {} complaints are of lost entries", outcome.complaints.len());
}

/// and a ledger that gives a permit, or shows a release, before it is durable.
#[test]
fn an_acknowledgement_before_the_write_is_durable_is_caught() {
    let recorded = Recorded::new(Disk::new(), &Image::default(), &workload(20, LARGE / 10));
    let outcome = crash_everywhere(&recorded, Plan { hasty: true, most_complaints: 200, ..recorded.plan() });
    let lost = outcome.complaints.iter().filter(|complaint| complaint.contains("entries were acknowledged")).count();
    assert!(lost > 20, "{lost} of {} complaints are of lost entries", outcome.complaints.len());
}

/// Two charges whose process is gone are recorded as failed, together or not at all, and not a second time.
#[test]
fn every_crash_while_lost_runs_are_recorded() {
    let disk = Disk::new();
    let before = {
        let ledger = create(disk).unwrap();
        ledger.register(&dataset("open", None)).unwrap();
        for request in ["first", "second", "third"] {
            let charged = ledger.charge(&charge("open", request, pure("0.01")), OnInterruption::Abandon).unwrap();
            let ChargeOutcome::New(permit) = charged else { panic!("{charged:?}") };
            if let (Accounting::Charged(receipt), "second") = (permit.accounting(), request) {
                ledger.keep(receipt, "17").unwrap();
            }
        }
        drop(ledger);
        let mut replay = Replay::new(&Image::default());
        disk.log().iter().for_each(|operation| replay.step(operation));
        replay.image(Survivors::Everything)
    };
    let refused = |ledger: &reticent_ledger::DurableLedger| {
        let next = ledger.charge(&charge("open", "next", pure("0.01")), OnInterruption::Abandon);
        assert!(matches!(next, Err(Error::Suspended { .. })), "{next:?}");
    };
    disk.load(&before);
    let ledger = open(disk).unwrap();
    let (opened, floor) = (disk.steps(), entries(&ledger).unwrap().len());
    refused(&ledger);
    drop(ledger);
    let (log, mut replay, mut seen) = (disk.log(), Replay::new(&before), HashSet::new());
    for (position, operation) in log.iter().enumerate() {
        replay.step(operation);
        for survivors in variants(position) {
            let (image, print) = replay.numbered_image(survivors);
            if position < opened || !seen.insert(print) {
                continue;
            }
            disk.load(&image);
            let ledger = open(disk).unwrap();
            let there = entries(&ledger).unwrap().len();
            assert!(there == floor || there == floor + 2, "{there} entries, {floor} before");
            refused(&ledger);
            refused(&ledger);
            assert_eq!(entries(&ledger).unwrap().len(), floor + 2);
            assert_eq!(ledger.account("open").unwrap().unwrap().charges, 3);
            assert!(ledger.verify().unwrap().is_sound());
        }
    }
    assert!(seen.len() >= FEWEST_LOSING_IMAGES, "{} images", seen.len());
}
