//! The identity of the file at a path, whatever its name.

use std::path::Path;

/// The identity of a file or folder, independent of its path: links and hard links to it have the same id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(Id);

#[cfg(unix)]
type Id = (u64, u64);
#[cfg(not(unix))]
type Id = std::path::PathBuf;

impl FileId {
    /// The id of the file currently at `path`, following links; `None` if it does not exist.
    pub fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        return {
            use std::os::unix::fs::MetadataExt;
            path.metadata().ok().map(|found| Self((found.dev(), found.ino())))
        };
        #[cfg(not(unix))]
        path.canonicalize().ok().map(Self)
    }

    /// The ids of a file and of every folder that contains it.
    pub fn of_path(file: &Path) -> Vec<Self> {
        let full = file.canonicalize().unwrap_or_else(|_| file.into());
        full.ancestors().filter_map(Self::of).collect()
    }
}
