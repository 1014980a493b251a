//! Streams on a disk in memory that loses power and fails.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crash_disk::{Call, Disk, Failure, Fault, Image, Replay, Survivors};
use reticent_durable::FileId;
use reticent_durable::{Files, Held};
use reticent_ledger::Event;
use reticent_stream::{Error, Hold, Result, StepRelease, Stream, Streams};

use crate::bench::{Bench, START, all, definition, one};

/// One stream whose sums can be read off, and one whose noise would show if it were drawn again.
const STREAMS: [&str; 2] = [
    "name='exact'\nstep='1s'\ndedup=100\nepsilon='1000'\nallow_large_epsilon=true\ncounter='hybrid'",
    "name='noisy'\nstep='1s'\nhorizon=64\nkeys=['a','b']\nepsilon='0.01'\ncounter='binary'",
];
/// Batches, three a step.
const BATCHES: u64 = 9;
/// Events in a batch, each with an id of its own.
const EVENTS: u64 = 3;
/// How long a sync takes where somebody might not wait for it.
const SLOW: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
struct DiskFiles(Disk);

impl Files for DiskFiles {
    fn system(&self) -> Option<&str> {
        Some(self.0.system())
    }

    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        Ok(self.0.length(name(path)).map(|length| length as u64))
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        self.0.create(name(path))
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.0.sync_names()
    }

    /// Nobody else is at this disk.
    fn identity(&self, _: &Path) -> Option<FileId> {
        None
    }

    fn names(&self, _: &Path) -> io::Result<u64> {
        Ok(1)
    }

    fn turn(&self, _: &Path, _: Duration) -> Option<std::fs::File> {
        None
    }

    fn hold(&self, _: &Path, _: &Path) -> io::Result<Held> {
        Ok(Held::default())
    }

    /// The process that wrote to this disk has ended.
    fn is_held(&self, _: &Path) -> io::Result<bool> {
        Ok(false)
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        self.0.rewrite(name(path))
    }
}

fn name(path: &Path) -> &str {
    path.to_str().expect("a plain name")
}

fn open(bench: &Bench, disk: Disk) -> Result<Streams> {
    let files = move || Box::new(DiskFiles(disk)) as Box<dyn Files>;
    Streams::open_in(Hold::of(&bench.directory())?, Arc::clone(&bench.ledger), bench.clock.clone(), files)
}

fn batch(number: u64) -> Vec<u8> {
    let line = |event| format!("{{\"id\":\"{number}-{event}\",\"key\":\"a\"}}\n");
    (0..EVENTS).map(line).collect::<String>().into_bytes()
}

/// Sends a batch to all streams that are there; to the one whose sum can be read off last, so that nobody waits after
/// it is told.
fn send(streams: &Streams, number: u64) -> Result<()> {
    streams.list().iter().rev().try_for_each(|stream| stream.ingest_ndjson(&mut batch(number)))
}

fn create(streams: &Streams) -> Result<()> {
    for text in STREAMS {
        let definition = definition(text);
        if streams.get(definition.name()).is_none() {
            match streams.create(definition, "ada") {
                // It had been charged when the disk failed: it is there.
                Ok(_) | Err(Error::Exists(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn charges(bench: &Bench) -> usize {
    let mut charges = 0;
    bench.ledger.history(|entry| charges += usize::from(matches!(entry.event, Event::Charged { .. }))).unwrap();
    charges
}

/// Every release that anyone has seen; none may ever look different.
#[derive(Default)]
struct Shown(BTreeMap<(String, u64), StepRelease>);

impl Shown {
    fn see(&mut self, streams: &Streams) {
        for stream in streams.list() {
            for release in all(&stream) {
                let before = self.0.insert((stream.name().to_owned(), release.step), release.clone());
                assert!(before.is_none_or(|before| before == release), "a release has changed");
            }
        }
    }

    /// All releases that were seen are there.
    fn check(&self, stream: &Stream) {
        let there = all(stream);
        for ((name, step), release) in &self.0 {
            if name == stream.name() {
                assert_eq!(there.get(*step as usize - 1), Some(release), "{name}, step {step}");
            }
        }
    }
}

/// What had been acknowledged when the disk's log was so long.
struct Moment {
    log: usize,
    streams: usize,
    /// Batches.
    acknowledged: u64,
    /// Steps that were shown.
    steps: u64,
}

#[test]
fn whenever_the_power_fails_nothing_acknowledged_is_lost_or_counted_twice() {
    let (bench, disk) = (Bench::new(), Disk::new());
    let streams = open(&bench, disk).unwrap();
    // So slow that a caller that does not wait for the disk is told before anything is written.
    disk.slow_syncs(SLOW);
    let mut shown = Shown::default();
    let moment = |streams: &Streams, acknowledged, steps| Moment {
        log: disk.steps(),
        streams: streams.list().len(),
        acknowledged,
        steps,
    };
    let mut moments = vec![Moment { log: 0, streams: 0, acknowledged: 0, steps: 0 }];
    for text in STREAMS {
        streams.create(definition(text), "ada").unwrap();
        moments.push(moment(&streams, 0, 0));
    }
    for number in 0..BATCHES {
        send(&streams, number).unwrap();
        let steps = number / 3;
        moments.push(moment(&streams, number + 1, steps));
        if number % 3 == 2 {
            bench.clock.advance(Duration::from_secs(1));
            assert!(streams.list().iter().all(|stream| stream.wait_for_step(steps + 1, PATIENCE)));
            moments.push(moment(&streams, number + 1, steps + 1));
            shown.see(&streams);
        }
    }
    drop(streams);
    disk.slow_syncs(Duration::ZERO);
    let log = disk.log();
    assert_eq!(charges(&bench), STREAMS.len());
    let mut replay = Replay::new(&Image::default());
    let mut images = 0;
    for (position, operation) in log.iter().enumerate() {
        replay.step(operation);
        let due = moments.iter().rev().find(|moment| moment.log <= position + 1).unwrap();
        let some = if position % 2 == 0 { Survivors::Everything } else { Survivors::Sectors(position as u64) };
        for survivors in [Survivors::Nothing, some] {
            disk.load(&replay.image(survivors));
            disk.keep_no_log();
            // Nobody moves the clock: steps are closed when we say so.
            let clock = START + 1000 * due.steps as i64;
            bench.clock.set(clock);
            let streams = open(&bench, disk).unwrap();
            images += 1;
            assert!(streams.list().len() >= due.streams, "position {position}");
            for stream in streams.list() {
                let there = all(&stream);
                assert!(there.len() as u64 >= due.steps, "position {position}: a release that was shown is gone");
                for release in &there {
                    let first = &shown.0[&(stream.name().to_owned(), release.step)];
                    assert_eq!(release, first, "position {position}: a release has changed");
                }
            }
            // What may not have been acknowledged is sent again; every other time what was is, too, and must not be
            // missing if not.
            let end = (due.acknowledged + 1).min(BATCHES);
            let from = if images % 4 < 2 { 0 } else { due.acknowledged };
            (from..end).for_each(|number| send(&streams, number).unwrap());
            bench.clock.set(clock + 2000);
            streams.close_due().unwrap();
            if let Some(exact) = streams.get("exact") {
                assert_eq!(one(&exact.now().unwrap()), (end * EVENTS) as i64, "position {position}");
            }
        }
    }
    assert!(images > 200, "{images}");
    assert_eq!(charges(&bench), STREAMS.len(), "nothing is charged again");
}

#[test]
fn a_disk_that_fails_or_is_full_keeps_its_promises() {
    // How many calls there are.
    let calls = {
        let (bench, disk) = (Bench::new(), Disk::new());
        run(&bench, disk, None);
        disk.calls()
    };
    let mut runs = 0;
    let disk = Disk::new();
    for (from, call) in calls.iter().enumerate() {
        // Reading fails like anything else; a few of those are enough.
        let often = matches!(call, Call::Write | Call::Sync | Call::Truncate | Call::Delete);
        if !often && from % 13 != 0 || often && from % 2 == 1 && runs > 40 {
            continue;
        }
        let (times, failure) = match from % 3 {
            0 => (1, Failure::Device),
            1 => (4, Failure::Full),
            _ => (40, Failure::Full),
        };
        disk.load(&Image::default());
        disk.keep_no_log();
        let bench = Bench::new();
        run(&bench, disk, Some(Fault { from, times, calls: vec![*call], failure }));
        runs += 1;
    }
    assert!(runs > 60, "{runs}");
}

#[test]
fn a_full_disk_is_told_of_until_there_is_room() {
    let (bench, disk) = (Bench::new(), Disk::new());
    let streams = open(&bench, disk).unwrap();
    create(&streams).unwrap();
    assert!(streams.failing().is_none());
    disk.fail(Fault { from: 0, times: Fault::LASTING, calls: vec![Call::Write], failure: Failure::Full });
    bench.clock.advance(Duration::from_secs(1));
    assert!(streams.close_due().is_err());
    assert!(streams.failing().is_some_and(|error| error.is_storage()));
    disk.heal();
    // Nobody asks for anything.
    let since = Instant::now();
    while streams.failing().is_some() {
        assert!(since.elapsed() < PATIENCE);
        std::thread::sleep(SLOW);
    }
    assert!(streams.list().iter().all(|stream| stream.wait_for_step(1, PATIENCE)));
}

/// Creates, sends and closes on a disk that fails somewhere; a caller that is told of a failure asks again; then all is well
/// again.
fn run(bench: &Bench, disk: Disk, fault: Option<Fault>) {
    if let Some(fault) = fault {
        disk.fail(fault);
    }
    let mut streams = None;
    let mut shown = Shown::default();
    let mut acknowledged = 0;
    for number in 0..6 {
        for _ in 0..3 {
            if streams.is_none() {
                streams = open(bench, disk).map_err(|error| assert!(error.is_storage(), "{error}")).ok();
            }
            let Some(streams) = &streams else { continue };
            let sent = create(streams).and_then(|()| send(streams, number));
            match sent {
                Ok(()) => {
                    acknowledged |= 1u64 << number;
                    break;
                }
                Err(error) => assert!(error.is_storage(), "{error}"),
            }
        }
        if number % 2 == 1 {
            bench.clock.advance(Duration::from_secs(1));
            if let Some(streams) = &streams {
                let _ = streams.close_due();
                if streams.list().iter().all(|stream| stream.history(1, 100).is_ok()) {
                    shown.see(streams);
                }
            }
        }
    }
    disk.heal();
    let streams = streams.unwrap_or_else(|| open(bench, disk).unwrap());
    create(&streams).unwrap();
    // The same handles work again; whatever was not acknowledged is sent again, and what was, too.
    (0..6).for_each(|number| send(&streams, number).unwrap());
    assert!(acknowledged > 0 || charges(bench) == STREAMS.len());
    for again in [false, true] {
        bench.clock.advance(Duration::from_secs(1));
        streams.close_due().unwrap();
        shown.see(&streams);
        for stream in streams.list() {
            shown.check(&stream);
        }
        let exact = streams.get("exact").unwrap();
        assert_eq!(one(&exact.now().unwrap()), (6 * EVENTS) as i64, "{again}");
    }
    drop(streams);
    // And after a restart.
    let streams = open(bench, disk).unwrap();
    for stream in streams.list() {
        shown.check(&stream);
    }
    assert_eq!(charges(bench), STREAMS.len(), "charged once, whatever failed");
}

/// The process ends between the charge and what is written here: the charge is found, and used.
#[test]
fn a_charge_that_was_made_is_not_made_again() {
    let (bench, disk) = (Bench::new(), Disk::new());
    let streams = open(&bench, disk).unwrap();
    create(&streams).unwrap();
    drop(streams);
    let log = disk.log();
    let mut replay = Replay::new(&Image::default());
    let (mut counts, mut open_intentions) = (BTreeMap::new(), 0);
    for operation in &log {
        replay.step(operation);
        let image = replay.image(Survivors::Nothing);
        disk.load(&image);
        let (written, intended) = written(disk);
        open_intentions += intended;
        disk.load(&image);
        let streams = open(&bench, disk).unwrap();
        // Each was charged, so each is a stream, also where only the intention is written.
        assert_eq!(streams.list().len(), written);
        *counts.entry(written).or_insert(0) += 1;
        assert_eq!(charges(&bench), STREAMS.len());
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    assert!(open_intentions > 0);
}

/// How many streams are written on the disk, and of how many only the intention.
fn written(disk: Disk) -> (usize, usize) {
    let flags = rusqlite::OpenFlags::default();
    let pages = rusqlite::Connection::open_with_flags_and_vfs("streams.sqlite", flags, disk.system()).unwrap();
    let sql = "SELECT count(*), count(*) - count(entry) FROM stream";
    // Before the first write is durable there is no such table.
    let counts = pages.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    counts.map_or((0, 0), |(all, intended)| (all as usize, intended as usize))
}
