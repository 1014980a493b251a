//! What a power cut leaves.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::content::Content;
use crate::disk::Operation;
use crate::random::{Random, mix};

/// The unit that a disk writes atomically.
const SECTOR: usize = 512;

/// The files on a disk.
#[derive(Debug, Clone, Default)]
pub struct Image {
    pub(crate) files: BTreeMap<String, Content>,
}

impl Image {
    /// A file's length; `None` if it does not exist.
    pub fn length(&self, name: &str) -> Option<usize> {
        self.files.get(name).map(Content::len)
    }
}

/// Which unsynced changes reach the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Survivors {
    /// None.
    Nothing,
    /// All.
    Everything,
    /// A random prefix of the changes to each file and name.
    Prefixes(u64),
    /// Random writes, each whole.
    Writes(u64),
    /// Random sectors of random writes.
    Sectors(u64),
}

/// Follows a log, and knows at every point what a power cut would leave.
#[derive(Debug, Clone)]
pub struct Replay {
    files: HashMap<u64, File>,
    names: BTreeMap<String, Name>,
    ignore_syncs: bool,
    lost: Option<Random>,
    steps: u64,
}

#[derive(Debug, Clone, Default)]
struct File {
    durable: Content,
    /// A fingerprint of all sectors ever made durable.
    print: u64,
    pending: Vec<Change>,
}

#[derive(Debug, Clone)]
struct Change {
    /// Its position in the log.
    number: u64,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Write(usize, Arc<[u8]>),
    Resize(usize),
}

#[derive(Debug, Clone, Default)]
struct Name {
    durable: Option<u64>,
    pending: Vec<Option<u64>>,
}

impl Replay {
    /// Starts with the files at the beginning of the log, all of them durable.
    pub fn new(image: &Image) -> Self {
        let numbered = || image.files.iter().zip(0..);
        let file = |content: &Content| File { durable: content.clone(), ..File::default() };
        Self {
            files: numbered().map(|((_, content), number)| (number, file(content))).collect(),
            names: numbered()
                .map(|((name, _), number)| (name.clone(), Name { durable: Some(number), pending: Vec::new() }))
                .collect(),
            ignore_syncs: false,
            lost: None,
            steps: 0,
        }
    }

    /// Simulates a disk that lies about syncs. SQLite does the same with `synchronous=OFF`.
    #[must_use]
    pub fn ignore_syncs(mut self) -> Self {
        self.ignore_syncs = true;
        self
    }

    /// Of the writes lost by a failed sync, a random part has reached the disk.
    #[must_use]
    pub fn lose_some(mut self, seed: u64) -> Self {
        self.lost = Some(Random::new(seed));
        self
    }

    /// Applies one step of the log.
    pub fn step(&mut self, operation: &Operation) {
        self.steps += 1;
        let number = self.steps;
        match operation {
            Operation::Create { name, file } => {
                self.files.entry(*file).or_default();
                self.names.entry(name.clone()).or_default().pending.push(Some(*file));
            }
            Operation::Delete { name } => self.names.entry(name.clone()).or_default().pending.push(None),
            Operation::Write { file, offset, bytes } => {
                let kind = Kind::Write(*offset, Arc::clone(bytes));
                self.files.entry(*file).or_default().pending.push(Change { number, kind });
            }
            Operation::Truncate { file, length } => {
                let kind = Kind::Resize(*length);
                self.files.entry(*file).or_default().pending.push(Change { number, kind });
            }
            Operation::Sync { .. } | Operation::SyncNames if self.ignore_syncs => {}
            Operation::Sync { file } => self.files.entry(*file).or_default().sync(),
            Operation::SyncNames => {
                for name in self.names.values_mut() {
                    name.durable = name.pending.pop().unwrap_or(name.durable);
                    name.pending.clear();
                }
            }
            Operation::LoseWrites { file } => {
                let lost = &mut self.lost;
                let file = self.files.entry(*file).or_default();
                // Sizes are stored separately from the bytes and are not lost.
                file.pending.retain(|change| match change.kind {
                    Kind::Resize(_) => true,
                    Kind::Write(..) => lost.as_mut().is_some_and(Random::coin),
                });
            }
        }
    }

    /// What a power cut leaves now.
    pub fn image(&self, survivors: Survivors) -> Image {
        self.numbered_image(survivors).0
    }

    /// The image, and a number that almost certainly differs from those of other images of the same log.
    pub fn numbered_image(&self, survivors: Survivors) -> (Image, u64) {
        let seed = match survivors {
            Survivors::Prefixes(seed) | Survivors::Writes(seed) | Survivors::Sectors(seed) => seed,
            Survivors::Nothing | Survivors::Everything => 0,
        };
        let mut random = Random::new(mix(seed));
        let (mut image, mut print) = (Image::default(), 0);
        for (text, name) in &self.names {
            let kept = survivors.first(name.pending.len(), &mut random);
            let file = if kept == 0 { name.durable } else { name.pending[kept - 1] };
            let Some(file) = file else { continue };
            let stored = &self.files[&file];
            let (mut content, mut written) = (stored.durable.clone(), stored.print);
            let changes = match survivors {
                Survivors::Writes(_) | Survivors::Sectors(_) => stored.pending.len(),
                _ => survivors.first(stored.pending.len(), &mut random),
            };
            for change in &stored.pending[..changes] {
                written ^= change.survive(survivors, &mut random, &mut content);
            }
            print = mix(print ^ mix(file) ^ written).wrapping_add(1);
            image.files.insert(text.clone(), content);
        }
        (image, print)
    }
}

impl Survivors {
    /// How many of the first changes survive.
    fn first(self, changes: usize, random: &mut Random) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Everything => changes,
            Self::Prefixes(_) | Self::Writes(_) | Self::Sectors(_) => random.below(changes as u64 + 1) as usize,
        }
    }
}

impl File {
    fn sync(&mut self) {
        let mut unused = Random::new(0);
        for change in self.pending.drain(..) {
            self.print ^= change.survive(Survivors::Everything, &mut unused, &mut self.durable);
        }
    }
}

impl Change {
    /// Applies the surviving part of the change; returns a number that identifies it.
    fn survive(&self, survivors: Survivors, random: &mut Random, content: &mut Content) -> u64 {
        let by_lot = matches!(survivors, Survivors::Writes(_) | Survivors::Sectors(_));
        let whole = survivors != Survivors::Nothing && (!by_lot || random.coin());
        let print = |part: usize| mix(self.number << 32 | part as u64);
        match &self.kind {
            Kind::Resize(length) if whole => {
                content.resize(*length);
                print(0)
            }
            Kind::Resize(_) => 0,
            Kind::Write(offset, bytes) => {
                let (mut done, mut written) = (0, 0);
                while done < bytes.len() {
                    let place = offset + done;
                    let step = (SECTOR - place % SECTOR).min(bytes.len() - done);
                    let survives = if let Survivors::Sectors(_) = survivors { random.coin() } else { whole };
                    if survives {
                        content.write(place, &bytes[done..done + step]);
                        written ^= print(done);
                    }
                    done += step;
                }
                written
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(file: u64, offset: usize, bytes: &[u8]) -> Operation {
        Operation::Write { file, offset, bytes: bytes.into() }
    }

    fn bytes(image: &Image, name: &str) -> Option<Vec<u8>> {
        let content = image.files.get(name)?;
        let mut bytes = vec![0; content.len()];
        content.read(0, &mut bytes);
        Some(bytes)
    }

    fn follow(operations: &[Operation]) -> Replay {
        let mut replay = Replay::new(&Image::default());
        operations.iter().for_each(|operation| replay.step(operation));
        replay
    }

    #[test]
    fn what_was_synced_stays_and_what_was_not_may_go() {
        let create = Operation::Create { name: "a".into(), file: 7 };
        let log = [create, write(7, 0, b"one"), Operation::Sync { file: 7 }, Operation::SyncNames, write(7, 0, b"two")];
        assert_eq!(bytes(&follow(&log[..3]).image(Survivors::Nothing), "a"), None, "its name is not durable");
        assert_eq!(bytes(&follow(&log).image(Survivors::Nothing), "a").unwrap(), b"one");
        assert_eq!(bytes(&follow(&log).image(Survivors::Everything), "a").unwrap(), b"two");
        let before = follow(&log[..2]).numbered_image(Survivors::Everything).1;
        let synced = follow(&log[..4]).numbered_image(Survivors::Nothing).1;
        assert_eq!(before, synced, "the same image has the same number");
        assert_ne!(before, follow(&log).numbered_image(Survivors::Everything).1);
        let mut liar = Replay::new(&Image::default()).ignore_syncs();
        log.iter().for_each(|operation| liar.step(operation));
        assert_eq!(bytes(&liar.image(Survivors::Nothing), "a"), None);
    }

    #[test]
    fn a_deleted_name_may_come_back_until_the_directory_is_synced() {
        let create = Operation::Create { name: "a".into(), file: 7 };
        let delete = Operation::Delete { name: "a".into() };
        let mut replay = follow(&[create, Operation::SyncNames, delete]);
        assert!(replay.image(Survivors::Nothing).length("a").is_some());
        let some = (0..20).filter(|seed| replay.image(Survivors::Writes(*seed)).length("a").is_some()).count();
        assert!((1..20).contains(&some), "{some}");
        replay.step(&Operation::SyncNames);
        assert!(replay.image(Survivors::Nothing).length("a").is_none());
    }

    #[test]
    fn what_a_failed_sync_lost_is_not_written_by_the_next() {
        let create = Operation::Create { name: "a".into(), file: 7 };
        let lose = Operation::LoseWrites { file: 7 };
        let log =
            [create, Operation::SyncNames, write(7, 0, b"12"), lose, write(7, 2, b"34"), Operation::Sync { file: 7 }];
        assert_eq!(bytes(&follow(&log).image(Survivors::Everything), "a").unwrap(), b"\0\x0034");
    }

    #[test]
    fn a_write_is_torn_at_sectors() {
        let create = Operation::Create { name: "a".into(), file: 7 };
        let replay = follow(&[create, Operation::SyncNames, write(7, 500, &[1; 1000])]);
        let mut torn = 0;
        for seed in 0..100 {
            let bytes = bytes(&replay.image(Survivors::Sectors(seed)), "a").unwrap();
            let at = |place: usize| bytes.get(place).copied().unwrap_or(0);
            for (start, end) in [(500, 512), (512, 1024), (1024, 1500)] {
                assert!((start..end).all(|place| at(place) == at(start)), "{seed}");
            }
            torn += usize::from(at(500) != at(512));
        }
        assert!(torn > 20, "{torn}");
    }
}
