//! Which file a path leads to, whatever it is called.

use std::path::Path;

/// A file or folder, whatever it is called: links and hard links to it have the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(Id);

#[cfg(unix)]
type Id = (u64, u64);
#[cfg(not(unix))]
type Id = std::path::PathBuf;

impl FileId {
    /// Of what is there now, links followed; `None` if nothing is.
    pub fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        return {
            use std::os::unix::fs::MetadataExt;
            path.metadata().ok().map(|found| Self((found.dev(), found.ino())))
        };
        #[cfg(not(unix))]
        path.canonicalize().ok().map(Self)
    }

    /// A file and all the folders that hold it.
    pub fn of_path(file: &Path) -> Vec<Self> {
        let full = file.canonicalize().unwrap_or_else(|_| file.into());
        full.ancestors().filter_map(Self::of).collect()
    }
}
