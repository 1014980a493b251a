//! Small files that are replaced as a whole, durably.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces a file, which keeps its permissions, or makes it, for its owner's eyes only: after a crash there is the old
/// content or the new one, and when this returns `Ok` it is the new one.
///
/// The content is written beside it first, to a file that is always made here: in a folder that others write to, what they
/// left under its name (a link to another file, or a file of theirs) is removed and never written to.
///
/// # Errors
/// If the disk does not take it, or what lies beside it cannot be removed.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    let written = (|| {
        let make = || private(OpenOptions::new().create_new(true).write(true)).open(&new);
        let mut file = match make() {
            // Mostly ours, from before a crash.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&new).and_then(|()| make())?
            }
            made => made?,
        };
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&new, path)?;
        sync_directory(path)
    })();
    if written.is_err() {
        // The next attempt overwrites it, if it cannot be removed now.
        let _ = fs::remove_file(&new);
    }
    written
}

/// Makes the name of a file durable, which is so only when its directory is.
///
/// # Errors
/// If the disk fails.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Directories cannot be opened everywhere; there, renaming is all that can be done.
        Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// A file whose name begins as this one's.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// New files are for their owner only.
pub fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        replace(&path, b"a long first content").unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(replace(&folder.path().join("no such folder/file"), b"third").is_err());
        // What cannot be written leaves the old content, and nothing beside it.
        fs::create_dir(beside(&path, ".new")).unwrap();
        assert!(replace(&path, b"third").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }

    /// In a folder that others write to.
    #[cfg(unix)]
    #[test]
    fn what_others_left_beside_it_is_not_written_to() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        fs::write(&other, "somebody's").unwrap();
        symlink(&other, beside(&path, ".new")).unwrap();
        replace(&path, b"first").unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&other).unwrap()), (b"first".into(), b"somebody's".into()));
        assert!(!path.is_symlink());
        // Whoever made the file could still have it open, or read it by another name.
        fs::write(beside(&path, ".new"), "theirs").unwrap();
        fs::hard_link(beside(&path, ".new"), folder.path().join("kept")).unwrap();
        fs::remove_file(&path).unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(folder.path().join("kept")).unwrap(), b"theirs");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
