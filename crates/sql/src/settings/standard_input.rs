//! Standard input as a table.
//!
//! A query may read its rows more than once, and reads files by their paths. So what comes from a pipe is copied first, as
//! a whole, into a temporary file that no other user can read. On Linux it has no name from the start, and disappears with
//! the process however that ends; elsewhere it is removed at the end. If standard input is a file, that file is the table.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use reticent::message;
use reticent_table::{Format, Packing, Table, TextOptions, foreign_format};

use crate::error::{Error, Result};

/// How much is copied at a time.
const CHUNK: usize = 1 << 20;
/// Enough to recognise other formats.
const START: u64 = 16;

/// What standard input is.
#[derive(Debug)]
pub struct StandardInput {
    /// Where its rows can be read, again and again.
    path: PathBuf,
    /// Keeps a copy of a pipe; `None` if standard input is a file.
    copy: Option<Kept>,
}

#[cfg(target_os = "linux")]
type Kept = File;
#[cfg(not(target_os = "linux"))]
type Kept = tempfile::NamedTempFile;

impl StandardInput {
    /// Finds the file that standard input is, or reads it to its end and keeps a copy in `folder`, by default the system's
    /// folder for temporary files.
    ///
    /// # Errors
    /// If it cannot be read, or there is no room for the copy.
    pub fn read(folder: Option<&Path>) -> Result<Self> {
        // A path that is not Unicode cannot be that of a table.
        let file = Path::new("/dev/stdin").canonicalize().ok().filter(|path| path.is_file() && path.to_str().is_some());
        match file {
            Some(path) => Ok(Self { path, copy: None }),
            None => Self::copy(io::stdin().lock(), &folder.map_or_else(std::env::temp_dir, Path::to_owned)),
        }
    }

    fn copy(mut input: impl Read, folder: &Path) -> Result<Self> {
        let full = |error: io::Error| {
            let folder = folder.display();
            Error::option(message!(
                "standard input cannot be copied to {folder}: {error}; choose another folder with ",
                ["temp-dir"]
            ))
        };
        let mut kept = kept(folder).map_err(full)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let length = match input.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read.map_err(unreadable)?,
            };
            if length == 0 {
                break;
            }
            kept.write_all(&chunk[..length]).map_err(full)?;
        }
        Ok(Self { path: path(&kept), copy: Some(kept) })
    }

    /// Whether it was a pipe, of which there is a copy now.
    pub fn is_copy(&self) -> bool {
        self.copy.is_some()
    }

    /// Where it is read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens it as a table. Whether its text is compressed, its first bytes say.
    ///
    /// # Errors
    /// If it is not in this format.
    pub fn table(&self, name: &str, format: Option<Format>, options: TextOptions) -> Result<Table> {
        let location = self.path.to_str().filter(|_| !self.is_copy()).unwrap_or("-");
        if format.is_none() && !self.is_copy() && Format::of_name(&self.path).is_some() {
            return Ok(Table::open_with(name, location, options)?);
        }
        let mut start = Vec::new();
        let read = File::open(&self.path).and_then(|file| file.take(START).read_to_end(&mut start));
        read.map_err(unreadable)?;
        let format = format.unwrap_or(Format::CSV).packed(Packing::of_start(&start));
        if let Some(kind) = foreign_format(&start).filter(|kind| kind.is_table && format.is_text()) {
            let format = if start.starts_with(b"PAR1") { "parquet" } else { "arrow" };
            let what = kind.what;
            return Err(Error::option(message!("standard input {what}; add ", ["input"], " {format}")));
        }
        Ok(Table::open_file(name, location, &self.path, format, options)?)
    }
}

fn unreadable(error: io::Error) -> Error {
    Error::option(message!("standard input cannot be read: {error}"))
}

#[cfg(target_os = "linux")]
fn kept(folder: &Path) -> io::Result<Kept> {
    tempfile::tempfile_in(folder)
}

#[cfg(not(target_os = "linux"))]
fn kept(folder: &Path) -> io::Result<Kept> {
    tempfile::NamedTempFile::new_in(folder)
}

/// Each time that this path is opened, the file is read from its start.
#[cfg(target_os = "linux")]
fn path(kept: &Kept) -> PathBuf {
    use std::os::fd::AsRawFd;
    PathBuf::from(format!("/proc/self/fd/{}", kept.as_raw_fd()))
}

#[cfg(not(target_os = "linux"))]
fn path(kept: &Kept) -> PathBuf {
    kept.path().to_owned()
}
