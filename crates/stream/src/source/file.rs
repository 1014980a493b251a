//! Events from a file or a pipe.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::lines::Lines;
use crate::definition::Mode;
use crate::error::{Error, Result};
use crate::stream::Stream;

/// How long to sleep at the end of a file that is followed.
const NAP: Duration = Duration::from_millis(50);

/// Events from a file or a pipe, one per line.
///
/// In curator mode the position in a file is stored with the events: reading it again, even after a crash, continues
/// from there. A pipe has no position: what had been read from it but was not yet durable is lost with the process, and
/// what is sent again is deduplicated only if it has ids.
///
/// In pan-private mode a file is followed from its end, so that nothing is counted twice.
///
/// # Example
/// ```no_run
/// # fn example(stream: &reticent_stream::Stream) -> reticent_stream::Result<()> {
/// use std::sync::atomic::AtomicBool;
/// use reticent_stream::source::FileSource;
///
/// let stop = AtomicBool::new(false);
/// FileSource::new("/var/log/visits.ndjson").following().run(stream, &stop)
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSource {
    path: PathBuf,
    follow: bool,
}

/// How far a file was read, and which file it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    file: Identity,
    offset: u64,
}

/// Distinguishes files of the same name: device, inode number, and creation time (inode numbers are reused).
type Identity = (u64, u64, u64);

impl FileSource {
    /// Reads the file to its end.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), follow: false }
    }

    /// Waits for more at the end, as `tail -F` does.
    #[must_use]
    pub fn following(mut self) -> Self {
        self.follow = true;
        self
    }

    /// The name under which its position is stored.
    pub fn name(&self) -> String {
        format!("file:{}", self.path.display())
    }

    /// Reads and counts until the end of the file, the end of the stream, or until stopped.
    ///
    /// # Errors
    /// If the file cannot be read, and those of [`Stream::ingest`], except for the end of the stream.
    pub fn run(&self, stream: &Stream, stop: &AtomicBool) -> Result<()> {
        loop {
            let file = File::open(&self.path).map_err(|error| self.failed(&error))?;
            let metadata = file.metadata().map_err(|error| self.failed(&error))?;
            match self.read(stream, file, &metadata, stop) {
                Err(Error::Ended(_)) => return Ok(()),
                Err(error) => return Err(error),
                Ok(End::Over) => return Ok(()),
                Ok(End::Replaced) => {}
            }
        }
    }

    fn read(&self, stream: &Stream, mut file: File, metadata: &Metadata, stop: &AtomicBool) -> Result<End> {
        let failed = |error: io::Error| self.failed(&error);
        let regular = metadata.is_file();
        let private = stream.definition().mode() == Mode::PanPrivate;
        if private && regular && !self.follow {
            let allowed = "a pipe, or followed, in pan-private mode: a file that is read again would be counted again";
            return Err(Error::parameter("file", self.path.display(), allowed));
        }
        let mut offset = 0;
        if regular {
            offset = if private { metadata.len() } else { self.place(stream, metadata)? };
            file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        }
        let identity = identity(metadata);
        let mut lines = Lines::new();
        let hand_over = |bytes: &mut [u8], offset: u64| -> Result<()> {
            if private || !regular {
                return stream.ingest_ndjson(bytes);
            }
            let place = postcard::to_allocvec(&Place { file: identity, offset })
                .map_err(|error| Error::storage("written", error))?;
            stream.ingest_from(stream.events_from_ndjson(bytes), &self.name(), &place)
        };
        loop {
            if stop.load(Ordering::Relaxed) {
                return Ok(End::Over);
            }
            let read = match file.read(lines.space()) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => other.map_err(failed)?,
            };
            offset += read as u64;
            if read > 0 {
                if let Some((whole, begun)) = lines.take(read) {
                    // The stored position is that of the first byte not counted.
                    hand_over(whole, offset - begun as u64)?;
                    lines.forget(begun);
                }
                continue;
            }
            if self.follow && regular {
                if self.replaced(identity, offset) {
                    return Ok(End::Replaced);
                }
                thread::sleep(NAP);
                continue;
            }
            let rest = lines.rest();
            if !rest.is_empty() {
                hand_over(rest, offset)?;
                lines.erase();
            }
            if self.follow {
                // Another process may open the named pipe for writing later.
                return Ok(if stop.load(Ordering::Relaxed) { End::Over } else { End::Replaced });
            }
            return Ok(End::Over);
        }
    }

    /// The offset to continue from.
    fn place(&self, stream: &Stream, metadata: &Metadata) -> Result<u64> {
        let kept = stream.position(&self.name())?;
        let place: Option<Place> = kept.and_then(|bytes| postcard::from_bytes(&bytes).ok());
        let same = place.filter(|place| place.file == identity(metadata) && place.offset <= metadata.len());
        Ok(same.map_or(0, |place| place.offset))
    }

    /// Whether the path now leads to another file, or the file was truncated.
    fn replaced(&self, file: Identity, offset: u64) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| identity(&now) != file || now.len() < offset)
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::Source { source_name: self.path.display().to_string(), reason: error.to_string() }
    }
}

enum End {
    Over,
    /// The path must be opened again.
    Replaced,
}

fn identity(metadata: &Metadata) -> Identity {
    #[cfg(unix)]
    let (device, number) = {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    };
    #[cfg(not(unix))]
    let (device, number) = (0, 0);
    let made = metadata.created().ok().and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    (device, number, made.map_or(0, |made| made.as_nanos() as u64))
}
