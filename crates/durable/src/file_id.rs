//! The identity of the file at a path, whatever its name.

use std::collections::BTreeSet;
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

    /// The ids of everything in a folder and in the folders inside it, following links, each once; nothing for a file.
    pub fn within(folder: &Path) -> impl Iterator<Item = Self> + use<> {
        let (mut waiting, mut seen) = (vec![folder.to_path_buf()], BTreeSet::new());
        let mut found = Vec::new();
        std::iter::from_fn(move || {
            loop {
                if let Some(id) = found.pop() {
                    return Some(id);
                }
                let folder = waiting.pop()?;
                for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                    let path = entry.path();
                    let Some(id) = Self::of(&path).filter(|id| seen.insert(id.clone())) else { continue };
                    if path.is_dir() {
                        waiting.push(path);
                    }
                    found.push(id);
                }
            }
        })
    }

    /// The ids of a file and of every folder that contains it.
    pub fn of_path(file: &Path) -> Vec<Self> {
        let full = file.canonicalize().unwrap_or_else(|_| file.into());
        full.ancestors().filter_map(Self::of).collect()
    }
}
