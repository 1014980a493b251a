//! What is done to the files of a ledger beside what SQLite does to them: the seam at which tests crash and fail a disk.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::file_id::FileId;
use crate::replace::{self, private};

/// How much is written anew at a time.
const STRETCH: usize = 1 << 16;
/// How long a writer sleeps before it asks again whether it is its turn.
const SHORTEST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The files of a ledger.
pub trait Files: Send + fmt::Debug {
    /// SQLite's name for the virtual file system that they are in; `None` for the operating system's own.
    fn system(&self) -> Option<&str>;

    /// How many bytes a file has; `None` if there is none.
    ///
    /// # Errors
    /// If it cannot be told.
    fn length(&self, path: &Path) -> io::Result<Option<u64>>;

    /// By how many names a file is known in its file system; 0 if there is none.
    ///
    /// # Errors
    /// If it cannot be told.
    fn names(&self, path: &Path) -> io::Result<u64>;

    /// Which file a path leads to now; `None` if to none.
    fn identity(&self, path: &Path) -> Option<FileId>;

    /// Makes an empty file that only its owner can read, if there is none: what is asked about a dataset can itself be
    /// secret.
    ///
    /// # Errors
    /// If it cannot be made.
    fn make_private(&self, path: &Path) -> io::Result<()>;

    /// Makes the name of a file durable, which is so only when its directory is.
    ///
    /// # Errors
    /// If the disk fails.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Writes all bytes of a file where they are already, and makes them durable; nothing if there is no such file.
    ///
    /// # Errors
    /// If the disk fails.
    fn rewrite(&self, path: &Path) -> io::Result<()>;

    /// Waits until no other process has its turn; the turn lasts as long as what comes back.
    ///
    /// Who waits asks now and then. A queue would be fairer, but measured slower: handing over to a process that sleeps takes
    /// time. Nothing depends on it but speed: without a turn
    /// (`None`: it took too long, or there is no such file and none can be made) a writer tries all the same.
    fn turn(&self, path: &Path, patience: Duration) -> Option<File>;
}

/// The operating system's files.
#[derive(Debug, Clone, Copy)]
pub struct SystemFiles;

impl Files for SystemFiles {
    fn system(&self) -> Option<&str> {
        None
    }

    fn length(&self, path: &Path) -> io::Result<Option<u64>> {
        match fs::metadata(path) {
            Ok(metadata) => Ok(Some(metadata.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    #[cfg(unix)]
    fn names(&self, path: &Path) -> io::Result<u64> {
        use std::os::unix::fs::MetadataExt;
        match fs::metadata(path) {
            Ok(metadata) => Ok(metadata.nlink()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(error),
        }
    }

    #[cfg(not(unix))]
    fn names(&self, path: &Path) -> io::Result<u64> {
        Ok(u64::from(path.exists()))
    }

    fn identity(&self, path: &Path) -> Option<FileId> {
        FileId::of(path)
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        match private(OpenOptions::new().write(true).create_new(true)).open(path) {
            // A link that points to nothing is there, too: what it points to is made.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !path.exists() => {
                private(OpenOptions::new().write(true).create(true).truncate(false)).open(path).map(drop)
            }
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        replace::sync_directory(path)
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let (mut bytes, mut place) = (vec![0; STRETCH], 0);
        loop {
            let read = file.read(&mut bytes)?;
            if read == 0 {
                return file.sync_data();
            }
            file.seek(SeekFrom::Start(place))?;
            file.write_all(&bytes[..read])?;
            place += read as u64;
        }
    }

    fn turn(&self, path: &Path, patience: Duration) -> Option<File> {
        let file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(path).ok()?;
        let (since, mut pause) = (Instant::now(), SHORTEST_PAUSE);
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) if since.elapsed() < patience => thread::sleep(pause),
                Err(_) => return None,
            }
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_written_anew_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        SystemFiles.rewrite(&path).unwrap();
        assert_eq!(SystemFiles.length(&path).unwrap(), None, "it is not made");
        let bytes: Vec<u8> = (0..3 * STRETCH + 7).map(|place| (place % 251) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        SystemFiles.rewrite(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_turn_is_waited_for_but_not_for_ever() {
        const BRIEF: Duration = Duration::from_millis(20);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("turn");
        let first = SystemFiles.turn(&path, BRIEF).expect("nobody else has it");
        assert!(SystemFiles.turn(&path, BRIEF).is_none(), "it took too long");
        let waiting = std::thread::spawn({
            let path = path.clone();
            move || SystemFiles.turn(&path, Duration::from_secs(60)).is_some()
        });
        drop(first);
        assert!(waiting.join().unwrap());
        assert!(SystemFiles.turn(&folder.path().join("none/turn"), BRIEF).is_none());
    }
}
