//! The file of a pan-private stream: its definition, and what was published. Nothing else is ever written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use reticent_ledger::storage::files::{Files, SystemFiles};
use reticent_ledger::storage::replace::{private, replace, sync_directory};
use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::definition::Definition;
use crate::error::{Error, Result};

const VERSION: u32 = 1;
/// Records are read so many bytes at a time.
const STRETCH: usize = 1 << 20;

/// The first line of the file.
#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    definition: Definition,
}

/// Where releases are published: the seam at which tests fail and crash.
pub(crate) trait Log: Send {
    /// The record is durable when this returns; after an error it is not there.
    fn append(&mut self, record: &[u8]) -> io::Result<()>;
}

/// The file itself.
#[derive(Debug)]
pub(crate) struct LogFile {
    file: File,
    /// Up to where it holds complete records.
    length: u64,
}

/// Where the records of a stream are, for whoever reads.
#[derive(Debug, Clone)]
pub(crate) struct Shelf {
    path: PathBuf,
    header: u64,
    lanes: usize,
}

impl LogFile {
    /// Opens the file, or makes it. A record that was not written in full is cut off; all others count as published, and
    /// are made durable, for they may be read already. The last one comes back.
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
        let (records, last) = shelf.check(&file).map_err(unusable)?.ok_or_else(damaged)?;
        let length = shelf.place_of(records + 1);
        file.set_len(length).map_err(unusable)?;
        SystemFiles.rewrite(&path).map_err(unusable)?;
        Ok((Self { file, length }, shelf, last))
    }
}

#[cfg(test)]
impl LogFile {
    /// As a disk does it that loses power, or is full.
    pub fn append_torn(&mut self, part: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.length))?;
        self.file.write_all(part)
    }
}

impl Log for LogFile {
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let written = (|| {
            self.file.seek(SeekFrom::Start(self.length))?;
            self.file.write_all(record)?;
            self.file.sync_data()
        })();
        match written {
            Ok(()) => self.length += record.len() as u64,
            // If not even that works, the next attempt overwrites it, or whoever opens the file finds it.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }
}

impl Shelf {
    /// Where the record of a step, counted from 1, begins.
    fn place_of(&self, step: u64) -> u64 {
        self.header + (step - 1) * Record::length(self.lanes) as u64
    }

    /// How many complete records there are, and the last; `None` if they are not those of steps 1, 2, 3 …
    fn check(&self, mut file: &File) -> io::Result<Option<(u64, Option<Record>)>> {
        file.seek(SeekFrom::Start(self.header))?;
        let length = Record::length(self.lanes);
        let mut bytes = vec![0; (STRETCH / length).max(1) * length];
        let (mut steps, mut last) = (0, None);
        loop {
            let read = fill(file, &mut bytes)?;
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

    /// Records from a step on, up to one that is published.
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

/// The first line, with its end; `None` if there is none.
fn read_header(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut reader = io::BufReader::new(file);
    let mut line = Vec::new();
    io::BufRead::read_until(&mut reader, b'\n', &mut line)?;
    Ok((line.last() == Some(&b'\n')).then_some(line))
}

fn fill(mut file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}
