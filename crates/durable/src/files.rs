//! File operations other than SQLite's own: the seam at which tests inject crashes and disk failures.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::file_id::FileId;
use crate::replace::{self, private};

/// The number of bytes rewritten at a time.
const STRETCH: usize = 1 << 16;
/// How long a writer sleeps before it retries for its turn.
const SHORTEST_PAUSE: Duration = Duration::from_micros(500);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// The file operations that a ledger needs.
pub trait Files: Send + fmt::Debug {
    /// SQLite's name for the virtual file system that holds the files; `None` for the operating system's own.
    fn system(&self) -> Option<&str>;

    /// The length of a file in bytes; `None` if it does not exist.
    ///
    /// # Errors
    /// If the file system reports an error.
    fn length(&self, path: &Path) -> io::Result<Option<u64>>;

    /// The number of hard links to a file; 0 if it does not exist.
    ///
    /// # Errors
    /// If the file system reports an error.
    fn names(&self, path: &Path) -> io::Result<u64>;

    /// The identity of the file currently at `path`; `None` if it does not exist.
    fn identity(&self, path: &Path) -> Option<FileId>;

    /// Creates an empty file that only its owner can read, unless it already exists: queries about a dataset can
    /// themselves be secret.
    ///
    /// # Errors
    /// If it cannot be created.
    fn make_private(&self, path: &Path) -> io::Result<()>;

    /// Makes a file's name durable by syncing its directory.
    ///
    /// # Errors
    /// If the disk fails.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;

    /// Rewrites all bytes of a file in place and makes them durable; does nothing if the file does not exist.
    ///
    /// # Errors
    /// If the disk fails.
    fn rewrite(&self, path: &Path) -> io::Result<()>;

    /// Waits until no other process has its turn; the turn ends when the returned file is dropped.
    ///
    /// Waiting processes poll. A queue would be fairer, but measured slower, because waking a sleeping process takes
    /// time. This affects speed only: without a turn (`None`, if the wait took too long or the file cannot be created)
    /// a writer proceeds anyway.
    fn turn(&self, path: &Path, patience: Duration) -> Option<File>;

    /// Creates a file with the permissions of `like` and locks it, until the returned value is dropped or this process
    /// ends, in whatever way.
    ///
    /// # Errors
    /// If there is such a file already, or it cannot be created or locked.
    fn hold(&self, path: &Path, like: &Path) -> io::Result<Held>;

    /// Whether a process holds this file. If not, it is removed, unless it is a read-only disk: it is never held again.
    ///
    /// # Errors
    /// If that cannot be seen.
    fn is_held(&self, path: &Path) -> io::Result<bool>;
}

/// A file that is locked as long as this exists.
///
/// The lock belongs to the open file: programs that this process starts do not have it, but a fork does. So the file is
/// removed by the process that made it only, and the lock is never released explicitly: a fork that drops its copy must
/// not end the lock of its parent.
#[derive(Debug, Default)]
pub struct Held {
    /// `None` where no other process can look.
    file: Option<(File, PathBuf)>,
    process: u32,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some((file, path)) = self.file.take() {
            if self.process == std::process::id() {
                // If it stays, the next process to look at it removes it.
                let _ = fs::remove_file(path);
            }
            drop(file);
        }
    }
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
            // A dangling link counts as existing, so create its target.
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

    fn hold(&self, path: &Path, like: &Path) -> io::Result<Held> {
        let file = private(OpenOptions::new().read(true).write(true).create_new(true)).open(path)?;
        // Before anything can fail, so that no file is left behind.
        let held = Held { file: Some((file, path.into())), process: std::process::id() };
        if let Some((file, _)) = &held.file {
            file.try_lock()?;
            // Others who share the ledger must be able to look.
            file.set_permissions(fs::metadata(like)?.permissions())?;
        }
        Ok(held)
    }

    fn is_held(&self, path: &Path) -> io::Result<bool> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened?,
        };
        match file.try_lock_shared() {
            Ok(()) => {
                let _ = fs::remove_file(path);
                Ok(false)
            }
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_held_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let (path, like) = (folder.path().join("run"), folder.path().join("ledger"));
        fs::write(&like, "").unwrap();
        assert!(!SystemFiles.is_held(&path).unwrap());
        let held = SystemFiles.hold(&path, &like).unwrap();
        assert!(SystemFiles.hold(&path, &like).is_err(), "it is held");
        assert!(SystemFiles.is_held(&path).unwrap() && SystemFiles.is_held(&path).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode(&path), mode(&like));
        }
        drop(held);
        assert!(!path.exists() && !SystemFiles.is_held(&path).unwrap());
        // As a process leaves it that was killed.
        fs::write(&path, "").unwrap();
        assert!(!SystemFiles.is_held(&path).unwrap());
        assert!(!path.exists(), "it is removed");
        assert!(SystemFiles.hold(&path, &folder.path().join("none")).is_err());
        assert!(!path.exists(), "nothing is left behind");
    }

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
    fn a_turn_is_waited_for_but_not_forever() {
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
