//! Small files that are replaced atomically and durably.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Replaces a file, keeping its permissions, or creates it, readable only by its owner. After a crash the file has
/// either the old content or the new; once this returns `Ok`, it has the new.
///
/// The content is first written to a newly created file next to it. In a folder that others can write to, anything they
/// left under that name (a link, or a file of their own) is removed and never written to.
///
/// # Errors
/// If the disk fails, or a leftover file next to it cannot be removed.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = beside(path, ".new");
    let written = (|| {
        let make = || private(OpenOptions::new().create_new(true).write(true)).open(&new);
        let mut file = match make() {
            // Usually ours, from before a crash.
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
        // If it cannot be removed now, the next attempt will remove it.
        let _ = fs::remove_file(&new);
    }
    written
}

/// Makes a file's name durable by syncing its directory.
///
/// # Errors
/// If the disk fails.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // Not every system can open directories; there, renaming is the best that can be done.
        Err(error) if cfg!(windows) && error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        other => other,
    }
}

/// The path with `ending` appended.
pub fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Makes new files accessible only to their owner.
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
        // A failed write leaves the old content.
        fs::create_dir(beside(&path, ".new")).unwrap();
        assert!(replace(&path, b"third").is_err());
        assert_eq!(fs::read(&path).unwrap(), b"second");
    }

    /// In a folder that others can write to.
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
        // Its creator could still have the file open, or read it through another name.
        fs::write(beside(&path, ".new"), "theirs").unwrap();
        fs::hard_link(beside(&path, ".new"), folder.path().join("kept")).unwrap();
        fs::remove_file(&path).unwrap();
        replace(&path, b"second").unwrap();
        assert_eq!(fs::read(folder.path().join("kept")).unwrap(), b"theirs");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
