//! Text files that are compressed: by name, and read as a stream.
//!
//! A compressed file cannot be read from its middle, so one part reads all of it. It is decoded while it is read: never
//! more than a window of it is in memory (32 KiB of gzip, at most 128 MiB of Zstandard, as its header says).

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use crate::locate::short;
use crate::text::foreign_format;

/// How much is read from a compressed file at a time.
const CHUNK: usize = 64 << 10;
/// The start of a frame of Zstandard.
const ZSTANDARD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The longest signature of a kind of file.
const LONGEST_MARK: u64 = 16;

/// The bytes of a text file, decoded if it is compressed.
pub type Input = Box<dyn Read + Send>;

/// How a text file is compressed, as its name says.
///
/// # Example
/// ```
/// use reticent_table::Packing;
///
/// assert_eq!(Packing::of("visits.csv.gz"), (Packing::Gzip, "visits.csv"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Packing {
    /// Not at all.
    Plain,
    /// With gzip.
    Gzip,
    /// With Zstandard.
    Zstandard,
}

impl Packing {
    /// The compression of a file according to its name, and the name without the ending that says so.
    pub fn of(name: &str) -> (Self, &str) {
        let packed = [Self::Gzip, Self::Zstandard].into_iter();
        let mut found = packed.filter_map(|packing| Some((packing, name.strip_suffix(packing.ending())?)));
        found.next().unwrap_or((Self::Plain, name))
    }

    /// The compression of a file that starts with these bytes.
    pub fn of_start(start: &[u8]) -> Self {
        [Self::Gzip, Self::Zstandard].into_iter().find(|packing| packing.is_mark(start)).unwrap_or(Self::Plain)
    }

    /// The ending of names, without the format's.
    fn ending(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Gzip => ".gz",
            Self::Zstandard => ".zst",
        }
    }

    /// Whether a file that starts like this is compressed in this way. One of Zstandard may start with a frame to skip.
    fn is_mark(self, start: &[u8]) -> bool {
        match self {
            Self::Plain => !Self::Gzip.is_mark(start) && !start.starts_with(ZSTANDARD),
            Self::Gzip => start.starts_with(b"\x1f\x8b"),
            Self::Zstandard => start.starts_with(ZSTANDARD) || matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]),
        }
    }

    /// Opens a file at a position, counted in decoded bytes.
    ///
    /// # Errors
    /// If it cannot be opened, or decoded up to there.
    pub fn open(self, path: &Path, position: u64) -> io::Result<Input> {
        let mut file = File::open(path)?;
        let mut input: Input = match self {
            Self::Plain => {
                file.seek(SeekFrom::Start(position))?;
                return Ok(Box::new(file));
            }
            // Members or frames that follow one another are one text.
            Self::Gzip => Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, file))),
            Self::Zstandard => Box::new(zstd::Decoder::with_buffer(BufReader::with_capacity(CHUNK, file))?),
        };
        io::copy(&mut input.by_ref().take(position), &mut io::sink())?;
        Ok(input)
    }

    /// Checks that a file is compressed as its name says, and starts like text once it is decoded. The error names the
    /// file; `ending` is the ending of its format.
    ///
    /// # Errors
    /// If it is not.
    ///
    /// # Privacy
    /// In a file of lines, the first bytes belong to a row. They are only checked for signatures that no text starts
    /// with, so that a file of another format is reported before anything is charged. That a file starts with a
    /// signature, or cannot be decoded from its start, is public.
    pub fn check(self, path: &Path, ending: &str) -> Result<(), String> {
        let Some(kind) = foreign_format(&self.start(path, ending)?) else { return Ok(()) };
        let name = short(path);
        match self {
            Self::Plain => Err(format!("{name} {kind}")),
            _ => Err(format!("{name}, decompressed, {}; decompress it first", kind.what)),
        }
    }

    /// Reads the first decoded bytes of a file that is compressed as its name says, enough for every signature.
    pub(crate) fn start(self, path: &Path, ending: &str) -> Result<Vec<u8>, String> {
        let name = short(path);
        let start =
            File::open(path).and_then(first_bytes).map_err(|error| format!("{name} cannot be opened: {error}"))?;
        if !self.is_mark(&start) {
            let instead = Self::of_start(&start);
            let what = match instead {
                Self::Plain => "is not compressed".to_owned(),
                packing => format!("is compressed with {packing}"),
            };
            return Err(format!("{name} {what}; rename it to end in .{ending}{}", instead.ending()));
        }
        match self {
            Self::Plain => Ok(start),
            _ => {
                self.open(path, 0).and_then(first_bytes).map_err(|error| format!("{name} {}", self.unreadable(&error)))
            }
        }
    }

    /// Why the start of a file cannot be read. A decoder's own words may depend on rows.
    pub fn unreadable(self, error: &io::Error) -> String {
        match self {
            Self::Plain => format!("cannot be read: {error}"),
            Self::Gzip => "cannot be decompressed: it is damaged or was cut off".to_owned(),
            Self::Zstandard => {
                "cannot be decompressed: it is damaged, was cut off, or was written with --long=28 or more".to_owned()
            }
        }
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Plain => "nothing",
            Self::Gzip => "gzip",
            Self::Zstandard => "Zstandard",
        })
    }
}

/// The first bytes, enough for every signature. What follows the first that can be read is not an error: it may belong to
/// rows.
fn first_bytes(input: impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    match input.take(LONGEST_MARK).read_to_end(&mut start) {
        Err(error) if start.is_empty() => Err(error),
        _ => Ok(start),
    }
}
