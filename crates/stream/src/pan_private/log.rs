//! The file of a pan-private stream: its definition and its published releases. Nothing else is ever written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use reticent_durable::{Files, SystemFiles, private, replace, sync_directory};
use serde::{Deserialize, Serialize};

use super::record::Record;
use super::tree::Tree;
use crate::definition::Definition;
use crate::error::{Error, Result};

const VERSION: u32 = 1;
/// How many bytes are read at a time.
const STRETCH: usize = 1 << 20;

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    definition: Definition,
}

/// The progress of closing a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    /// All events are counted; nothing is drawn.
    Due,
    /// The record is made; none of it is written.
    Drawn,
    /// The record is durable and shown.
    Shown,
    /// Only the published record is left of the step; the next one is open.
    Opened,
}

/// Where releases are published: the seam at which tests inject failures and crashes.
pub(super) trait Log: Send {
    /// Appends a record, durable when this returns; after an error it is not in the file.
    fn append(&mut self, record: &[u8]) -> io::Result<()>;

    /// A step has reached a point. Only tests do anything here: a process ends.
    fn reached(&mut self, _: Point, _: &Tree, _: Option<&Record>) {}
}

/// What records are written to: a file, or in tests a disk that loses unsynced data.
pub(super) trait Medium: Send {
    /// Writes bytes at an offset, at first only to the system's cache.
    fn put(&mut self, place: u64, bytes: &[u8]) -> io::Result<()>;
    /// Syncs everything written to the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Truncates to a length.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

impl Medium for File {
    fn put(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(place))?;
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

/// The file itself.
#[derive(Debug)]
pub(crate) struct LogFile<M = File> {
    file: M,
    /// The length of its complete records, header included.
    length: u64,
}

/// The records of a stream, for reading.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    path: PathBuf,
    header: u64,
    lanes: usize,
}

impl LogFile {
    /// Opens the file, or creates it. An incomplete record is cut off; all others count as published, and are made
    /// durable, since they may already have been read. Also returns the last one.
    pub fn open(directory: &Path, definition: &Definition) -> Result<(Self, Shelf, Option<Record>)> {
        let path = directory.join(format!("{}.releases", definition.name()));
        let unusable = |error: io::Error| Error::storage("opened", format!("{}: {error}", path.display()));
        let damaged = || Error::Damaged(path.display().to_string());
        if !path.exists() {
            fs::create_dir_all(directory).and_then(|()| sync_directory(directory)).map_err(unusable)?;
            let header = Header { version: VERSION, definition: definition.clone() };
            let mut text = serde_json::to_vec(&header).map_err(|error| unusable(error.into()))?;
            text.push(b'\n');
            replace(&path, &text).map_err(unusable)?;
        }
        let file = private(OpenOptions::new().read(true).write(true)).open(&path).map_err(unusable)?;
        let header = read_header(&file).map_err(unusable)?.ok_or_else(damaged)?;
        let found: Header = serde_json::from_slice(&header).map_err(|_| damaged())?;
        if found.version != VERSION || found.definition != *definition {
            return Err(damaged());
        }
        let shelf = Shelf { path: path.clone(), header: header.len() as u64, lanes: Record::lanes(definition) };
        (&file).seek(SeekFrom::Start(shelf.header)).map_err(unusable)?;
        let (records, last) = complete(&file, shelf.lanes).map_err(unusable)?.ok_or_else(damaged)?;
        let length = shelf.place_of(records + 1);
        file.set_len(length).map_err(unusable)?;
        SystemFiles.rewrite(&path).map_err(unusable)?;
        Ok((Self { file, length }, shelf, last))
    }
}

#[cfg(test)]
impl<M: Medium> LogFile<M> {
    pub fn on(file: M) -> Self {
        Self { file, length: 0 }
    }

    /// Writes part of a record, as a disk does that loses power or is full.
    pub fn append_torn(&mut self, part: &[u8]) -> io::Result<()> {
        self.file.put(self.length, part)
    }
}

impl<M: Medium> Log for LogFile<M> {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let written = self.file.put(self.length, record).and_then(|()| self.file.sync());
        match written {
            Ok(()) => self.length += record.len() as u64,
            // If even that fails, the next attempt overwrites it, or it is dealt with when the file is next opened.
            Err(_) => drop(self.file.cut(self.length)),
        }
        written
    }
}

impl Shelf {
    /// Records that are not in a file.
    #[cfg(feature = "test-util")]
    pub fn nowhere() -> Self {
        Self { path: PathBuf::new(), header: 0, lanes: 1 }
    }

    /// The offset of the record of a step, counted from 1.
    fn place_of(&self, step: u64) -> u64 {
        self.header + (step - 1) * Record::length(self.lanes) as u64
    }

    /// The records of steps `from` to `to`, all of which are published.
    pub fn read(&self, from: u64, to: u64) -> Result<Vec<Record>> {
        let read = (|| {
            let mut file = File::open(&self.path)?;
            let length = Record::length(self.lanes);
            let count = usize::try_from((to + 1).saturating_sub(from)).unwrap_or(0);
            let mut bytes = vec![0; count * length];
            file.seek(SeekFrom::Start(self.place_of(from.max(1))))?;
            file.read_exact(&mut bytes)?;
            Ok(bytes.chunks_exact(length).map(Record::from_bytes).collect::<Option<Vec<_>>>())
        })();
        read.map_err(|error: io::Error| Error::storage("read", error))?
            .ok_or_else(|| Error::Damaged(self.path.display().to_string()))
    }
}

/// The first line, with its line break; `None` if it is incomplete.
fn read_header(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut reader = io::BufReader::new(file);
    let mut line = Vec::new();
    io::BufRead::read_until(&mut reader, b'\n', &mut line)?;
    Ok((line.last() == Some(&b'\n')).then_some(line))
}

/// The number of complete records, and the last; `None` if they are not those of steps 1, 2, 3 …
pub(super) fn complete(mut records: impl Read, lanes: usize) -> io::Result<Option<(u64, Option<Record>)>> {
    let length = Record::length(lanes);
    let mut bytes = vec![0; (STRETCH / length).max(1) * length];
    let (mut steps, mut last) = (0, None);
    loop {
        let read = fill(&mut records, &mut bytes)?;
        for chunk in bytes[..read].chunks_exact(length) {
            let Some(record) = Record::from_bytes(chunk) else { return Ok(Some((steps, last))) };
            if record.step != steps + 1 {
                return Ok(None);
            }
            steps += 1;
            last = Some(record);
        }
        if read < bytes.len() {
            return Ok(Some((steps, last)));
        }
    }
}

fn fill(file: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
