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

/// How long whoever follows a file sleeps at its end.
const NAP: Duration = Duration::from_millis(50);

/// Events from a file or a pipe, one a line.
///
/// In curator mode it is remembered, with the events, how far a file was read: whoever reads it again, also after a crash, goes
/// on from there. A pipe has no such place: what had been read from it and was not durable is lost with the process, and
/// what is sent again is counted once only if it has ids.
///
/// In pan-private mode a file is followed from its end on, so that nothing is counted twice.
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

/// How far which file was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    file: Identity,
    offset: u64,
}

/// Tells a file from another one of the same name: device, number, and when it was made (numbers are used again).
type Identity = (u64, u64, u64);

impl FileSource {
    /// Reads it to its end.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), follow: false }
    }

    /// Waits at the end for more, as `tail -F` does.
    #[must_use]
    pub fn following(mut self) -> Self {
        self.follow = true;
        self
    }

    /// The name under which its place is kept.
    pub fn name(&self) -> String {
        format!("file:{}", self.path.display())
    }

    /// Reads and counts, until the end, until the stream ends, or until it is stopped.
    ///
    /// # Errors
    /// If the file cannot be read; as [`Stream::ingest`]'s, but for the end of the stream.
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
                    // The place is that of the first byte that is not counted.
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
                // Whoever writes to a named pipe may come back.
                return Ok(if stop.load(Ordering::Relaxed) { End::Over } else { End::Replaced });
            }
            return Ok(End::Over);
        }
    }

    /// Where to go on.
    fn place(&self, stream: &Stream, metadata: &Metadata) -> Result<u64> {
        let kept = stream.position(&self.name())?;
        let place: Option<Place> = kept.and_then(|bytes| postcard::from_bytes(&bytes).ok());
        let same = place.filter(|place| place.file == identity(metadata) && place.offset <= metadata.len());
        Ok(same.map_or(0, |place| place.offset))
    }

    /// Is there another file of that name now, or was it cut off?
    fn replaced(&self, file: Identity, offset: u64) -> bool {
        fs::metadata(&self.path).is_ok_and(|now| identity(&now) != file || now.len() < offset)
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::Source { source_name: self.path.display().to_string(), reason: error.to_string() }
    }
}

enum End {
    Over,
    /// It must be opened again.
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
