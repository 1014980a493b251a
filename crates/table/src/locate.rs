//! From a location to files of one format.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use glob::MatchOptions;

use crate::packing::Packing;

/// Names less similar than this are not suggested.
const ALIKE: f64 = 0.6;
/// The supported file extensions.
const KNOWN: &str =
    ".csv, .tsv, .ndjson, .jsonl and .json, each also with .gz or .zst, .parquet, .arrow, .feather and .ipc";

/// The format of a file, according to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileFormat {
    Text(TextFormat, Packing),
    Parquet,
    Arrow,
}

/// A format without types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextFormat {
    Csv,
    Tsv,
    /// A JSON object per line.
    Ndjson,
    /// An array of JSON objects.
    Json,
}

impl TextFormat {
    /// The usual ending of names.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Ndjson => "ndjson",
            Self::Json => "json",
        }
    }
}

impl FileFormat {
    /// The format according to the ending, or why there is none.
    pub fn of(path: &Path) -> Result<Self, String> {
        let name = short(path);
        let lower = name.to_ascii_lowercase();
        let (packing, unpacked) = Packing::of(&lower);
        let text = match unpacked.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "csv" => TextFormat::Csv,
            "tsv" => TextFormat::Tsv,
            "ndjson" | "jsonl" => TextFormat::Ndjson,
            "json" => TextFormat::Json,
            "parquet" if packing == Packing::Plain => return Ok(Self::Parquet),
            "arrow" | "feather" | "ipc" if packing == Packing::Plain => return Ok(Self::Arrow),
            "parquet" | "arrow" | "feather" | "ipc" => {
                return Err(format!("{name} must be decompressed first: only text is read while it is decompressed"));
            }
            _ => return Err(format!("{name} has an unknown format; supported file endings are {KNOWN}")),
        };
        Ok(Self::Text(text, packing))
    }
}

/// A file's name without its directory, for messages.
pub fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The files at a location, canonical and sorted, and their format; the error says what is wrong.
pub fn locate(location: &str) -> Result<(FileFormat, Vec<PathBuf>), String> {
    let path = Path::new(location);
    let found = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => folder(path)?,
        Ok(metadata) if metadata.is_file() => vec![path.to_owned()],
        Ok(_) => return Err("is neither a file nor a folder".to_owned()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if location == "-" {
                return Err("standard input cannot be read here; write its rows to a file".to_owned());
            }
            if !location.contains(['*', '?', '[']) {
                return Err(format!("there is no such file{}", nearest(path)));
            }
            matches(location)?
        }
        Err(error) => return Err(format!("cannot be opened: {error}")),
    };
    let mut files = Vec::with_capacity(found.len());
    for path in found {
        let format = FileFormat::of(&path)?;
        let canonical =
            fs::canonicalize(&path).map_err(|error| format!("{} cannot be opened: {error}", short(&path)))?;
        files.push((canonical, format, path));
    }
    // A file with several names, by symbolic or hard links, is one file: its rows count once.
    files.sort();
    let mut seen = HashSet::new();
    files.retain(|(canonical, ..)| seen.insert(identity(canonical)));
    let Some((_, format, first)) = files.first() else { return Err("there are no files".to_owned()) };
    if let Some((_, _, other)) = files.iter().find(|(_, other, _)| other != format) {
        return Err(format!(
            "all files of a table must have the same format, but there are {} and {}",
            short(first),
            short(other)
        ));
    }
    Ok((*format, files.iter().map(|(canonical, ..)| canonical.clone()).collect()))
}

/// The identity of a file, whatever its name: by device and inode where available, otherwise by its path.
pub fn identity(path: &Path) -> (u64, u64, PathBuf) {
    #[cfg(unix)]
    if let Ok(found) = fs::metadata(path) {
        use std::os::unix::fs::MetadataExt;
        return (found.dev(), found.ino(), PathBuf::new());
    }
    (0, 0, path.to_owned())
}

/// The files of a directory that have a known format; subdirectories are ignored. Names that start with a dot or an
/// underscore belong to the program that wrote the directory.
fn folder(path: &Path) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("cannot be opened: {error}");
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if !short(&file).starts_with(['.', '_']) && FileFormat::of(&file).is_ok() && file.is_file() {
            files.push(file);
        }
    }
    if files.is_empty() {
        return Err(format!("there are no tables in this folder; supported file endings are {KNOWN}"));
    }
    Ok(files)
}

/// The files that match a pattern.
fn matches(pattern: &str) -> Result<Vec<PathBuf>, String> {
    let options =
        MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };
    let found =
        glob::glob_with(pattern, options).map_err(|error| format!("is not a valid file name pattern: {error}"))?;
    let mut files = Vec::new();
    for path in found {
        let path = path.map_err(|error| format!("cannot be opened: {}", error.error()))?;
        if path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err("no file matches this pattern".to_owned());
    }
    Ok(files)
}

/// The file or directory in the same place with the most similar name.
fn nearest(path: &Path) -> String {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let Ok(entries) = fs::read_dir(folder.unwrap_or(Path::new("."))) else { return String::new() };
    let asked = short(path).to_lowercase();
    let alike = |name: &str| strsim::normalized_damerau_levenshtein(&asked, &name.to_lowercase());
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let near = names.map(|name| (alike(&name), name)).filter(|(alike, _)| *alike >= ALIKE);
    // Of equals the first by name, whatever the order of the directory.
    let best = near.max_by(|one, other| one.0.total_cmp(&other.0).then_with(|| other.1.cmp(&one.1)));
    best.map_or(String::new(), |(_, name)| {
        let near = folder.map_or(PathBuf::from(&name), |folder| folder.join(&name));
        format!("; nearest: {}", near.display())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn names(folder: &tempfile::TempDir, location: &str) -> Result<Vec<String>, String> {
        let location = folder.path().join(location);
        let (_, files) = locate(location.to_str().unwrap())?;
        Ok(files.iter().map(|file| short(file)).collect())
    }

    #[test]
    fn files_folders_and_patterns() {
        let folder =
            folder_with(&["b.csv", "a.CSV", "notes.md", ".hidden.csv", "_log.json", "sub/c.csv", "d.parquet/x.arrow"]);
        assert_eq!(names(&folder, "b.csv").unwrap(), ["b.csv"]);
        assert_eq!(names(&folder, "").unwrap(), ["a.CSV", "b.csv"]);
        assert_eq!(names(&folder, "*.csv").unwrap(), ["b.csv"]);
        assert_eq!(names(&folder, "[ab].*").unwrap(), ["a.CSV", "b.csv"]);
        assert_eq!(names(&folder, "**/c.csv").unwrap(), ["c.csv"]);
        assert_eq!(names(&folder, "d.parquet").unwrap(), ["x.arrow"]);
        assert!(names(&folder, "z*.csv").unwrap_err().contains("no file matches"));
        assert!(names(&folder, "*").unwrap_err().contains("notes.md has an unknown format"));
        assert!(names(&folder, "***").unwrap_err().contains("not a valid file name pattern"));
    }

    #[test]
    fn a_name_with_pattern_characters_is_itself_first() {
        let folder = folder_with(&["a[1].csv", "a1.csv"]);
        assert_eq!(names(&folder, "a[1].csv").unwrap(), ["a[1].csv"]);
    }

    #[test]
    fn what_is_missing_has_a_neighbour() {
        let folder = folder_with(&["people.csv", "sub/readme.txt", "mixed/a.csv", "mixed/b.ndjson"]);
        let error = names(&folder, "peple.csv").unwrap_err();
        let near = folder.path().join("people.csv");
        assert_eq!(error, format!("there is no such file; nearest: {}", near.display()));
        assert_eq!(names(&folder, "zzz").unwrap_err(), "there is no such file");
        assert_eq!(names(&folder, "none/people.csv").unwrap_err(), "there is no such file");
        assert!(names(&folder, "sub").unwrap_err().contains("no tables in this folder"));
        assert!(names(&folder, "sub/readme.txt").unwrap_err().contains("readme.txt has an unknown format"));
        assert!(names(&folder, "mixed").unwrap_err().ends_with("there are a.csv and b.ndjson"));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_under_two_names_counts_once() {
        let folder = folder_with(&["a.csv"]);
        std::os::unix::fs::symlink(folder.path().join("a.csv"), folder.path().join("b.csv")).unwrap();
        assert_eq!(names(&folder, "").unwrap(), ["a.csv"]);
    }
}
