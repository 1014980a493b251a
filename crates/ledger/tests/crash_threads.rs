//! Threads share commits; whenever the power fails, everything acknowledged to each is kept.

mod support;

use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use crash_disk::{Disk, Image, Random, Replay, Survivors};

use support::promise::{Promise, check, promise};
use support::workload::{Receipts, Step, ask, charge, dataset, pure, release};
use support::{create, entries, open};

const THREADS: usize = 16;
/// Of each thread: charges, each with its release.
const CHARGES: usize = 6;
const FEWEST_IMAGES: usize = 300;
const SEED: u64 = 8;

#[test]
fn every_crash_while_threads_share_commits() {
    let disk = Disk::new();
    let ledger = create(disk).unwrap();
    // So small that some of the charges do not fit.
    let register = Step::Register(dataset("people", Some(pure("9"))));
    ask(&ledger, &register, &mut Receipts::new()).unwrap();
    let mut steps = vec![register];
    let made = disk.steps();
    disk.slow_syncs(Duration::from_millis(2));
    let promises = Mutex::new(Vec::<(usize, Promise)>::new());
    let of_thread = |thread: usize| -> Vec<Step> {
        let charges = (0..CHARGES).map(|number| charge("people", format!("request {thread} {number}"), pure("0.1")));
        charges.flat_map(|charge| [Step::Charge(charge.clone()), Step::Keep(charge, release(thread, 50))]).collect()
    };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (ledger, promises, asked) = (&ledger, &promises, of_thread(thread));
            steps.extend(asked.clone());
            scope.spawn(move || {
                let mut receipts = Receipts::new();
                for step in &asked {
                    let answer = ask(ledger, step, &mut receipts).unwrap();
                    // The log may have gone on meanwhile: the promise is asked for a little later than it was given.
                    promises.lock().unwrap().extend(promise(step, &answer).map(|promise| (disk.steps(), promise)));
                }
            });
        }
    });
    let (promises, written) = (promises.into_inner().unwrap(), entries(&ledger).unwrap());
    let log = disk.log();
    let commits =
        log[made..].iter().filter(|operation| matches!(operation, crash_disk::Operation::Sync { .. })).count();
    disk.slow_syncs(Duration::ZERO);
    drop(ledger);
    assert_eq!(promises.len(), 2 * 90, "90 charges fit, each with its release");
    assert!(commits < promises.len(), "they shared commits: {commits}");

    let (mut replay, mut random, mut images) = (Replay::new(&Image::default()), Random::new(SEED), HashSet::new());
    for (position, operation) in log.iter().enumerate() {
        replay.step(operation);
        if position < made {
            continue;
        }
        let due: Vec<_> =
            promises.iter().filter(|(given, _)| *given <= position + 1).map(|(_, promise)| promise.clone()).collect();
        for survivors in [Survivors::Nothing, Survivors::Everything, Survivors::Sectors(random.number())] {
            let (image, print) = replay.numbered_image(survivors);
            if !images.insert((print, due.len())) {
                continue;
            }
            disk.load(&image);
            let ledger = open(disk).unwrap();
            let there = check(&ledger, &steps, &due).unwrap();
            assert_eq!(there, written[..there.len()], "the entries are the first of those that were written");
        }
    }
    eprintln!("{} promises, {commits} syncs, {} images", promises.len(), images.len());
    assert!(images.len() >= FEWEST_IMAGES, "{} images", images.len());
}
