//! Charges, crashes, and batches that never overlap.

use std::path::Path;

use crash_disk::{Disk, Failure, Fault, Image, Replay, Survivors};
use reticent::error::Explained;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Location, Terms};
use tempfile::TempDir;

use super::*;
use crate::fault::Round;
use crate::{Aggregator, Report, Store};

const DATASET: &str = "reports";

struct World {
    simulated: Simulated,
    ledgers: Vec<DurableLedger>,
    folder: TempDir,
}

impl World {
    fn new(budget: &str) -> Self {
        Self::of(budget, draft(&Statistic::Count, 2))
    }

    fn of(budget: &str, draft: Draft) -> Self {
        let (folder, simulated) = (tempfile::tempdir().unwrap(), Simulated::new(draft).unwrap());
        let ledgers = ["0", "1"].map(|name| ledger(folder.path(), name, budget)).into();
        Self { simulated, ledgers, folder }
    }

    fn answer(&mut self, clients: usize) {
        self.simulated.answer(answers(&Statistic::Count, &vec![1; clients])).unwrap();
    }

    fn collect(&mut self, lie: Lie) -> Vec<Result<Collected>> {
        let ledgers = &self.ledgers;
        let honest = |task, place, key, store| Aggregator::new(task, place, key, store, &ledgers[place], DATASET);
        self.simulated.collect_over(network(2, lie), PATIENT, honest).unwrap()
    }

    fn charges(&self, place: usize) -> usize {
        let mut entries = 0;
        self.ledgers[place].history(|entry| entries += usize::from(format!("{entry:?}").contains("Charged"))).unwrap();
        entries
    }
}

fn ledger(folder: &Path, name: &str, budget: &str) -> DurableLedger {
    let ledger = DurableLedger::create(&Location::File(folder.join(name).with_extension("sqlite"))).unwrap();
    let budget = Budget::Limit(Guarantee::Pure(budget.parse().unwrap()));
    let terms = Some(Terms { unit: "report".into(), adjacency: Adjacency::Replace });
    ledger.register(&Dataset { name: DATASET.into(), budget, terms }).unwrap();
    ledger
}

fn honestly() -> Lie {
    Box::new(|_, frame| Some(frame))
}

/// Breaks off in a given round.
fn broken_off(round: Round) -> Lie {
    Box::new(move |_, mut frame| {
        if frame[KIND] == round as u8 {
            frame[KIND] = u8::MAX;
        }
        Some(frame)
    })
}

#[test]
fn each_batch_is_charged_by_each_aggregator_and_then_no_more() {
    let mut world = World::new("2");
    for batch in 1..=2 {
        world.answer(5);
        let (_, record) = released(world.collect(honestly()));
        assert_eq!(record.reports(), 5);
        assert_eq!((world.charges(0), world.charges(1)), (batch, batch));
    }
    world.answer(5);
    let outcomes = world.collect(honestly());
    assert!(outcomes.iter().any(|outcome| outcome.as_ref().is_err_and(|error| error.is_overdrawn())));
    assert!(outcomes.iter().all(Result::is_err));
    // Nothing was opened, so the reports wait for more budget.
    assert_eq!(world.simulated.store(0).pending().unwrap(), None);
    assert_eq!(world.simulated.store(0).waiting().unwrap(), 5);
}

#[test]
fn nothing_is_charged_before_the_batch_is_agreed_on() {
    for round in [Round::Commit, Round::Reveal, Round::Offer, Round::Verify, Round::Judge, Round::Agree] {
        let mut world = World::new("9");
        world.answer(5);
        assert!(world.collect(broken_off(round))[0].is_err());
        assert_eq!(world.charges(0), 0, "{round}");
        assert_eq!(released(world.collect(honestly())).1.reports(), 5);
    }
}

/// After a share was opened, only the same batch is opened again, with the same share and no further charge.
#[test]
fn a_batch_that_was_opened_in_part_is_completed_and_nothing_else() {
    for round in [Round::Open, Round::Sign] {
        let mut world = World::new("1");
        world.answer(5);
        let first = world.collect(broken_off(round));
        assert!(first[0].as_ref().unwrap_err().to_string().contains("the charge is kept"));
        let pending = world.simulated.store(0).pending().unwrap().unwrap();
        world.answer(7);
        // The one that broke off while signing had received everything, and is done; the other gets the record from it.
        assert_eq!(world.simulated.store(1).pending().unwrap().is_some(), round == Round::Open);
        let (_, record) = released(world.collect(honestly()));
        assert_eq!((record.batch(), record.reports()), (pending, 5));
        assert_eq!((world.charges(0), world.charges(1)), (1, 1));
        assert_eq!(world.simulated.store(0).pending().unwrap(), None);
        assert_eq!(world.simulated.store(0).waiting().unwrap(), 7);
    }
}

/// A record is looked up in the ledger, not charged to it: with another ledger, catching up once made a second charge.
#[test]
fn catching_up_with_another_ledger_is_an_error_and_no_charge() {
    let mut world = World::new("1");
    world.answer(5);
    assert!(world.collect(broken_off(Round::Sign))[0].is_err());
    world.ledgers[0] = ledger(world.folder.path(), "restored", "1");
    let error = world.collect(honestly()).swap_remove(0).unwrap_err();
    assert!(error.to_string().contains("was it charged to another ledger?"), "{error}");
    assert_eq!(world.charges(0), 0);
}

/// One aggregator has begun a batch that the other cannot complete: no other batch is opened until it is abandoned.
#[test]
fn a_begun_batch_stands_in_the_way_of_all_others() {
    let mut world = World::new("9");
    world.answer(5);
    assert!(world.collect(broken_off(Round::Open))[0].is_err());
    world.simulated.store(1).abandon().unwrap().unwrap();
    world.answer(7);
    for outcome in world.collect(honestly()) {
        assert!(outcome.is_err());
    }
    assert_eq!((world.charges(0), world.charges(1)), (1, 1));
    assert!(world.simulated.store(0).abandon().unwrap().is_some());
    assert_eq!(released(world.collect(honestly())).1.reports(), 7);
    assert_eq!(world.simulated.store(0).abandon().unwrap(), None);
}

/// One aggregator is killed at every disk call in turn; the disk then holds what was written, or what a power cut
/// leaves of it. When it comes back, more reports are waiting than fit in a batch.
#[test]
fn a_batch_is_completed_wherever_an_aggregator_is_killed() {
    const POWER_CUTS: [Survivors; 3] = [Survivors::Nothing, Survivors::Writes(1), Survivors::Sectors(2)];
    let disk = Disk::new();
    let kills = (0..).take_while(|&call| killed_and_recovered(disk, call, Survivors::Everything)).count();
    assert!(kills > 50, "{kills}");
    for call in 0..kills {
        assert!(killed_and_recovered(disk, call, POWER_CUTS[call % POWER_CUTS.len()]), "{call}");
    }
}

/// Whether there was such a call.
fn killed_and_recovered(disk: Disk, call: usize, survivors: Survivors) -> bool {
    use crash_disk::Call::{Access, Delete, Open, Read, Share, Size, Sync, Truncate, Write};
    disk.load(&Image::default());
    let mut world = World::of("9", Draft { maximum_reports: 5, ..draft(&Statistic::Count, 2) });
    let task = world.simulated.task().clone();
    let open = || {
        let flags = rusqlite::OpenFlags::default();
        let connection = rusqlite::Connection::open_with_flags_and_vfs("reports", flags, disk.system()).unwrap();
        Store::on(connection, "reports".as_ref(), &task, 1).unwrap()
    };
    *world.simulated.store(1) = open();
    world.answer(5);
    let calls = vec![Access, Delete, Open, Read, Share, Size, Sync, Truncate, Write];
    let (from, failure) = (disk.calls().len() + call, Failure::Device);
    disk.fail(Fault { from, times: Fault::LASTING, calls, failure });
    let first = world.collect(honestly());
    let Some(failed_at) = disk.failed_at() else {
        released(first);
        return false;
    };
    let mut replay = Replay::new(&disk.image());
    disk.log()[..failed_at].iter().for_each(|operation| replay.step(operation));
    *world.simulated.store(1) = Store::in_memory(&task, 1).unwrap();
    disk.load(&replay.image(survivors));
    *world.simulated.store(1) = open();
    let begun = world.simulated.store(0).pending().unwrap();
    world.answer(7);
    let (sums, record) = released(world.collect(honestly()));
    assert!(begun.is_none_or(|begun| begun == record.batch()), "call {call}, {survivors:?}");
    if let Ok(Collected::Released { release, record: before }) = &first[0] {
        assert_eq!(
            (release.value(), &**before),
            (&sums, &record),
            "call {call}, {survivors:?}: the same, and not drawn again"
        );
    }
    assert_eq!((record.reports(), world.charges(0), world.charges(1)), (5, 1, 1), "call {call}, {survivors:?}");
    let (_, next) = released(world.collect(honestly()));
    assert_eq!((next.reports(), world.charges(0), world.charges(1)), (5, 2, 2), "call {call}, {survivors:?}");
    assert_ne!(next.batch(), record.batch());
    true
}

#[test]
fn a_store_remembers_what_it_has_and_what_it_has_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reports");
    let statistic = Statistic::Count;
    let simulated = simulated(&statistic, 2);
    let task = simulated.task();
    let report = Report::new(task, statistic.number(1)).unwrap();
    let share = report.shares()[0].as_slice();
    let mut store = Store::open(&path, task, 0).unwrap();
    assert_eq!(store.receive([share]).unwrap().kept, 1);
    let contribution = store.contribution().unwrap();
    assert!(store.fix_key(&[1; 32]).unwrap());
    let number = store.candidates().unwrap();
    drop(store);
    let mut store = Store::open(&path, task, 0).unwrap();
    assert_eq!(store.receive([share]).unwrap().kept, 0);
    assert_eq!(*store.contribution().unwrap(), *contribution);
    assert!(store.fix_key(&[1; 32]).unwrap() && !store.fix_key(&[2; 32]).unwrap());
    let (one, other) = (reticent_party::hex::Hex([1; 32]), reticent_party::hex::Hex([2; 32]));
    store.begin(one, &number).unwrap();
    store.begin(one, &number).unwrap();
    assert!(store.begin(other, &number).is_err());
    assert!(store.begin(other, &[]).is_err());
    drop(store);
    let mut store = Store::open(&path, task, 0).unwrap();
    assert_eq!(store.pending().unwrap(), Some(one));
    assert_eq!(store.abandon().unwrap(), Some(one));
    assert!(store.begin(one, &number).is_err());
    assert_eq!(store.share(&number[0]).unwrap(), None);
    drop(store);
    assert!(!std::fs::read(&path).unwrap().windows(32).any(|bytes| share.ends_with(bytes)), "it is forgotten");
    let mut store = Store::open(&path, task, 0).unwrap();
    assert_eq!(store.receive([share]).unwrap().kept, 0);
    drop(store);
    assert!(Store::open(&path, task, 1).unwrap_err().is_usage());
    assert!(Store::open(&path, super::simulated(&statistic, 2).task(), 0).unwrap_err().is_usage());
    std::fs::write(&path, "something else").unwrap();
    assert!(Store::open(&path, task, 0).is_err());
}
