//! The process ends at every point of draw, fsync, show and erase; the disk is full.
//!
//! Nothing but the file survives the process, so a stream that is dropped is one that was killed. That one charge
//! covers the trees before and after it is worked out exactly in `reticent`, beside the counters.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use reticent::Permit;
use reticent::ledger::Accounting;

use super::log::{Log, LogFile, Medium};
use super::record::Record;
use super::*;
use crate::event::Rules;

const HORIZON: u64 = 5;

/// The fate of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Written,
    /// Only this many bytes of it reach the disk, and an error is returned.
    Torn(usize),
    /// It reaches the disk, but the process ends before it is shown.
    Unheard,
}

/// A file with a fate for every record, and all records it was given.
struct Fated {
    file: LogFile,
    fates: Vec<Fate>,
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Log for Fated {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        self.asked.lock().unwrap().push(record.to_vec());
        let fate = if self.fates.is_empty() { Fate::Written } else { self.fates.remove(0) };
        let full = || Err(io::Error::from(io::ErrorKind::StorageFull));
        match fate {
            Fate::Written => self.file.append(record),
            Fate::Torn(length) => self.file.append_torn(&record[..length]).and_then(|()| full()),
            Fate::Unheard => self.file.append(record).and_then(|()| full()),
        }
    }
}

struct Opened {
    stream: PanPrivateStream,
    board: Arc<Board>,
    rules: Arc<Rules>,
    asked: Arc<Mutex<Vec<Vec<u8>>>>,
}

fn open(folder: &Path, keys: &str, fates: &[Fate]) -> Opened {
    let text = format!(
        "{{\"name\":\"s\",\"step\":\"event\",\"epsilon\":0.5,\"horizon\":{HORIZON},\"mode\":\"pan-private\"{keys}}}"
    );
    let definition: Arc<Definition> = Arc::new(serde_json::from_str(&text).unwrap());
    let (file, shelf, last) = LogFile::open(folder, &definition).unwrap();
    let (board, asked) = (Arc::new(Board::new()), Arc::new(Mutex::new(Vec::new())));
    let log = Box::new(Fated { file, fates: fates.to_vec(), asked: Arc::clone(&asked) });
    let rules = Rules::new(Arc::clone(&definition), [0; 16]);
    let permit = Permit::unaccounted().unwrap().resume_stream(&Accounting::Unaccounted).unwrap();
    let ended = last.as_ref().is_some_and(|last| last.step == HORIZON);
    let tree = (!ended).then(|| Tree::new(&definition, last.as_ref(), permit).unwrap());
    let stream = PanPrivateStream::on(log, shelf, last, tree, definition, 0, Arc::clone(&board)).unwrap();
    Opened { stream, board, rules, asked }
}

impl Opened {
    fn send(&self, lines: &str) {
        self.stream.ingest(Events::from_ndjson(Arc::clone(&self.rules), lines.as_bytes()), 0).unwrap();
    }

    fn shown(&self) -> Vec<StepRelease> {
        self.stream.history(1, usize::MAX, usize::MAX).unwrap()
    }
}

#[test]
fn whenever_the_process_ends_what_was_shown_is_on_the_disk_and_what_is_on_the_disk_is_shown() {
    for keys in ["", ",\"keys\":[\"a\",\"b\"]"] {
        let lanes = if keys.is_empty() { 1 } else { 2 };
        // After draw; in the middle of the write, at many bytes; after fsync, before show; after show, before erase.
        let torn = (0..Record::length(lanes)).step_by(lanes * 3 - 2).map(Fate::Torn);
        for fate in torn.chain([Fate::Unheard, Fate::Written]) {
            let folder = tempfile::tempdir().unwrap();
            let first = open(folder.path(), keys, &[Fate::Written, Fate::Written, fate]);
            first.send("1\n0\n1\n");
            let shown = first.shown();
            assert_eq!(shown.len(), if fate == Fate::Written { 3 } else { 2 }, "{fate:?}");
            let drawn = first.asked.lock().unwrap().clone();
            assert_eq!(drawn.len(), 3);
            drop(first);

            let second = open(folder.path(), keys, &[]);
            let found = second.shown();
            assert_eq!(found[..shown.len()], shown[..], "what was shown is there, and the same");
            let whole = !matches!(fate, Fate::Torn(_));
            assert_eq!(found.len(), if whole { 3 } else { 2 }, "{fate:?}: a complete record counts as published");
            if whole {
                let record = Record::from_bytes(&drawn[2]).unwrap();
                assert_eq!(found[2], record.release(&second.stream.definition), "as it was drawn");
            }
            assert_eq!(second.board.newest().as_deref(), found.last());
            assert_eq!(second.stream.restarts(), 1);
            // Up to the horizon, and not a step further; all on top of what was published.
            second.send(&"1\n".repeat(2 * HORIZON as usize));
            let all = second.shown();
            assert_eq!(all.len() as u64, HORIZON);
            assert_eq!(all[..found.len()], found[..]);
            assert!(second.stream.ingest(Events::new(Arc::clone(&second.rules), 0), 0).unwrap_err().is_ended());
            drop(second);
            assert_eq!(open(folder.path(), keys, &[]).shown(), all);
        }
    }
}

#[test]
fn a_release_that_cannot_be_published_is_not_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let fates = [Fate::Torn(0), Fate::Torn(20), Fate::Torn(0), Fate::Written];
    let opened = open(folder.path(), "", &fates);
    // With every event it is tried again, and nothing that came meanwhile is lost.
    opened.send("1\n1\n1\n");
    assert!(opened.shown().is_empty());
    opened.send("1\n");
    let asked = opened.asked.lock().unwrap().clone();
    assert!(asked[..4].iter().all(|record| *record == asked[0]), "the same bytes");
    assert_eq!(opened.shown()[0], Record::from_bytes(&asked[0]).unwrap().release(&opened.stream.definition));
    drop(opened);
    assert!(!open(folder.path(), "", &[]).shown().is_empty());
}

#[test]
fn a_file_of_another_stream_or_with_a_step_missing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let opened = open(folder.path(), "", &[]);
    opened.send("1\n1\n1\n");
    let definition = Arc::clone(&opened.stream.definition);
    drop(opened);
    let path = folder.path().join("s.releases");
    let whole = std::fs::read(&path).unwrap();
    let header = whole.len() - 3 * Record::length(1);
    let mut without_the_first = whole[..header].to_vec();
    without_the_first.extend(&whole[header + Record::length(1)..]);
    std::fs::write(&path, without_the_first).unwrap();
    assert!(matches!(LogFile::open(folder.path(), &definition), Err(Error::Damaged(_))));
    let text = String::from_utf8_lossy(&whole[..header]).replace("0.5", "0.6");
    std::fs::write(&path, text).unwrap();
    assert!(matches!(LogFile::open(folder.path(), &definition), Err(Error::Damaged(_))));
    std::fs::write(&path, "").unwrap();
    assert!(matches!(LogFile::open(folder.path(), &definition), Err(Error::Damaged(_))));
}

/// A disk with the system's memory before it: what is not synced is lost with the power. The first syncs fail,
/// and, as Linux does it, what they should have written is then taken for written.
#[derive(Clone, Default)]
struct Forgetful(Arc<Mutex<Pages>>);

#[derive(Default)]
struct Pages {
    seen: Vec<u8>,
    /// Which of the bytes seen are still to be written.
    dirty: Vec<bool>,
    durable: Vec<u8>,
    failing: usize,
}

impl Medium for Forgetful {
    fn put(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        let mut pages = self.0.lock().unwrap();
        let (from, to) = (place as usize, place as usize + bytes.len());
        let length = pages.seen.len().max(to);
        pages.seen.resize(length, 0);
        pages.dirty.resize(length, false);
        pages.seen[from..to].copy_from_slice(bytes);
        pages.dirty[from..to].fill(true);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let pages = &mut *self.0.lock().unwrap();
        if pages.failing > 0 {
            pages.failing -= 1;
            pages.dirty.fill(false);
            return Err(io::ErrorKind::Other.into());
        }
        pages.durable.resize(pages.seen.len(), 0);
        for (place, dirty) in pages.dirty.iter_mut().enumerate().filter(|(_, dirty)| **dirty) {
            pages.durable[place] = pages.seen[place];
            *dirty = false;
        }
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        let pages = &mut *self.0.lock().unwrap();
        pages.seen.truncate(length as usize);
        pages.dirty.truncate(length as usize);
        Ok(())
    }
}

#[test]
fn a_record_is_on_the_disk_before_anybody_hears_of_it() {
    let disk = Forgetful::default();
    let mut log = LogFile::on(disk.clone());
    let mut expected = Vec::new();
    for (number, failing) in [0, 1, 0, 3, 0].into_iter().enumerate() {
        let record = [number as u8 + 1; 40];
        disk.0.lock().unwrap().failing = failing;
        for _ in 0..failing {
            assert!(log.append(&record).is_err());
            assert_eq!(disk.0.lock().unwrap().durable, expected);
        }
        log.append(&record).unwrap();
        expected.extend(record);
        assert_eq!(disk.0.lock().unwrap().durable, expected);
    }
}
