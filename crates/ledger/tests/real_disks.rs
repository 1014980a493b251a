//! Real disks that are full or read-only: small file systems, mounted for the test. Only a privileged user may do so;
//! elsewhere these tests say `SKIPPED`.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reticent::ledger::{Keeper, OnInterruption};
use reticent_ledger::{DurableLedger, Error, Location};

use support::entries;
use support::sums::{accounts, sums};
use support::workload::{Answer, Receipts, Step, ask, charge, dataset, pure, release};

/// Something mounted, until it is dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// Runs `mount` with these arguments and the place; `None`, said aloud, if it is not allowed.
    fn new(arguments: &[&str], place: &Path) -> Option<Self> {
        fs::create_dir_all(place).unwrap();
        match Command::new("mount").args(arguments).arg(place).output() {
            Ok(output) if output.status.success() => Some(Self(place.into())),
            other => {
                eprintln!("SKIPPED: mount {arguments:?} is not allowed here: {other:?}");
                None
            }
        }
    }

    /// A directory once more, read-only.
    fn read_only(directory: &Path, place: &Path) -> Option<Self> {
        let mounted = Self::new(&["--bind", directory.to_str().unwrap()], place)?;
        Self::new(&["-o", "remount,ro,bind"], place).map(std::mem::forget)?;
        Some(mounted)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn place(directory: &Path) -> Location {
    Location::File(directory.join("ledger.sqlite"))
}

fn is_read_only<T: std::fmt::Debug>(outcome: Result<T, Error>) {
    let text = outcome.expect_err("it cannot be written to").to_string();
    assert!(text.contains("it is read-only"), "{text}");
}

#[test]
fn a_full_disk_stops_the_ledger_until_there_is_room() {
    const BALLAST: usize = 300_000;
    let folder = tempfile::tempdir().unwrap();
    let Some(disk) = Mounted::new(&["-t", "tmpfs", "-o", "size=1m", "tmpfs"], &folder.path().join("small")) else {
        return;
    };
    let ballast = disk.0.join("ballast");
    fs::write(&ballast, vec![1; BALLAST]).unwrap();
    let ledger = DurableLedger::create(&place(&disk.0)).unwrap();
    let mut receipts = Receipts::new();
    ask(&ledger, &Step::Register(dataset("people", None)), &mut receipts).unwrap();

    let (mut granted, mut number) = (Vec::new(), 0);
    let failed = loop {
        number += 1;
        let charge = charge("people", format!("request {number}"), pure("0.1"));
        match ask(&ledger, &Step::Charge(charge.clone()), &mut receipts) {
            Ok(answer) => {
                assert!(matches!(answer, Answer::Permitted(_)));
                granted.push(charge.clone());
            }
            Err(error) => break (charge, error),
        }
        // A release that cannot be kept is not shown; its charge stands.
        if let Err(error) = ask(&ledger, &Step::Keep(charge.clone(), release(number, 20_000)), &mut receipts) {
            break (charge, error);
        }
        assert!(number < 1000, "it is never full");
    };
    assert!(failed.1.to_string().contains("the disk is full"), "{}", failed.1);
    let full = entries(&ledger).unwrap().len();
    assert!(full >= granted.len() && ledger.verify().unwrap().is_sound());
    assert!(ledger.charge(&charge("people", "while it is full", pure("0.1")), OnInterruption::Recompute).is_err());

    fs::remove_file(&ballast).unwrap();
    let again = ask(&ledger, &Step::Charge(failed.0.clone()), &mut receipts).unwrap();
    assert!(matches!(again, Answer::Permitted(_)), "{again:?}");
    let kept = ask(&ledger, &Step::Keep(failed.0, "kept at last".into()), &mut receipts).unwrap();
    assert_eq!(kept, Answer::Release("kept at last".into()));
    drop(ledger);
    let ledger = DurableLedger::open(&place(&disk.0)).unwrap();
    assert!(ledger.verify().unwrap().is_sound());
    // `sums` sees a request that was charged twice.
    assert_eq!(accounts(&ledger).unwrap(), sums(&entries(&ledger).unwrap()).unwrap());
    for charge in granted {
        assert!(!matches!(ask(&ledger, &Step::Charge(charge), &mut receipts).unwrap(), Answer::Refused));
    }
    assert_eq!(accounts(&ledger).unwrap(), sums(&entries(&ledger).unwrap()).unwrap());
}

#[test]
fn a_read_only_ledger_can_be_read_with_all_that_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let (origin, shown) = (folder.path().join("origin"), folder.path().join("shown"));
    fs::create_dir(&origin).unwrap();
    let ledger = DurableLedger::create(&place(&origin)).unwrap();
    let mut receipts = Receipts::new();
    ask(&ledger, &Step::Register(dataset("people", Some(pure("1")))), &mut receipts).unwrap();
    ask(&ledger, &Step::Charge(charge("people", "first", pure("0.25"))), &mut receipts).unwrap();
    drop(ledger);

    let written = {
        let Some(disk) = Mounted::read_only(&origin, &shown) else { return };
        is_read_only(DurableLedger::open(&place(&disk.0)));
        let ledger = DurableLedger::open_to_read(&place(&disk.0)).unwrap();
        assert!(ledger.verify().unwrap().is_sound());
        is_read_only(ledger.charge(&charge("people", "second", pure("0.25")), OnInterruption::Recompute));
        let written = entries(&ledger).unwrap();
        assert_eq!(accounts(&ledger).unwrap(), sums(&written).unwrap());
        written
    };
    assert_eq!(written.len(), 3);

    // A process that ended by force has left its log beside the ledger.
    let ledger = DurableLedger::open(&place(&origin)).unwrap();
    ask(&ledger, &Step::Charge(charge("people", "second", pure("0.25"))), &mut receipts).unwrap();
    let spent = accounts(&ledger).unwrap();
    let left = folder.path().join("left");
    fs::create_dir(&left).unwrap();
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
        fs::copy(origin.join(name), left.join(name)).unwrap();
    }
    drop(ledger);
    {
        let disk = Mounted::read_only(&left, &shown).expect("it was allowed before");
        is_read_only(DurableLedger::open(&place(&disk.0)));
        let ledger = DurableLedger::open_to_read(&place(&disk.0)).unwrap();
        assert_eq!(accounts(&ledger).unwrap(), spent, "the log counts");
        assert!(ledger.verify().unwrap().is_sound());
        is_read_only(ledger.charge(&charge("people", "third", pure("0.25")), OnInterruption::Recompute));
    }
    // Without the index to the log, SQLite cannot read it where it cannot write.
    fs::remove_file(left.join("ledger.sqlite-shm")).unwrap();
    {
        let disk = Mounted::read_only(&left, &shown).expect("it was allowed before");
        is_read_only(DurableLedger::open(&place(&disk.0)));
        let refused = DurableLedger::open_to_read(&place(&disk.0)).unwrap_err().to_string();
        assert!(refused.contains("ledger.sqlite-wal, which cannot be read on a read-only disk"), "{refused}");
    }
    // Copied elsewhere it can be read.
    assert_eq!(accounts(&DurableLedger::open_to_read(&place(&left)).unwrap()).unwrap(), spent);
}
