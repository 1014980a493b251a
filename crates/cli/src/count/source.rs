//! Where lines come from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent_stream::count::{Definition, Error, Input, Lines, Reader};

use super::arguments::Arguments;
use crate::exit::usage;
use crate::marks::{refuse_extension, refuse_foreign};

/// Where lines come from.
pub struct Source {
    /// Open for reading.
    pub file: File,
    /// As it is called in messages.
    pub name: String,
    /// Not a regular file: more may come at any time.
    pub stream: bool,
    /// Of a regular file, also if it is standard input; `None` for pipes.
    pub path: Option<PathBuf>,
}

impl Source {
    /// A file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: io::Error| usage(format!("cannot read {}: {error}", path.display()));
        if path == Path::new("-") {
            let file = standard_input().map_err(unreadable)?;
            // Standard input that is a file has an end, too, and its own budget.
            let stream = !file.metadata().is_ok_and(|metadata| metadata.is_file());
            return Ok(Self { file, name: "standard input".into(), stream, path: standard_file() });
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(usage(format!("{} is a directory; name a file", path.display())));
        }
        if let Some(extension) = extension(path) {
            refuse_extension(path, &extension)?;
        }
        let (name, stream) = (path.display().to_string(), !metadata.is_file());
        // A pipe has a path for a moment only.
        Ok(Self { file, name, stream, path: (!stream).then(|| path.into()) })
    }

    /// The same wherever the command is run.
    pub fn full_name(&self) -> String {
        let full = self.path.as_deref().and_then(|path| path.canonicalize().ok());
        full.map_or_else(|| "standard input".into(), |path| format!("{:?}", path.as_os_str()))
    }
}

/// What reads the lines of an input; of CSV, the header is read here.
pub fn reader(definition: &Definition, name: &str, lines: &mut Lines) -> Result<Reader> {
    let mut header = None;
    if definition.fields.input == Input::Csv {
        header = lines.one().map_err(|_| Error::Reading)?;
        refuse_foreign(name, header.as_deref().unwrap_or_default())?;
    }
    Ok(Reader::new(&definition.fields, name, header.as_deref())?)
}

/// How lines are written, by the name of the file.
pub fn input_by_name(arguments: &Arguments) -> Result<Option<Input>> {
    match extension(&arguments.file).as_deref() {
        Some("json") if arguments.input.is_none() => {
            let name = arguments.file.display();
            Err(usage(format!(
                "{name} is a JSON array by its name; write one object per line, as in jq -c '.[]' {name} > lines.ndjson, or say \
                 --input ndjson if it is so"
            )))
        }
        extension => Ok(extension.and_then(Input::of_extension)),
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase)
}

/// The file that standard input is read from, if it is a file with a name.
pub fn standard_file() -> Option<PathBuf> {
    Path::new("/dev/stdin").canonicalize().ok().filter(|path| path.is_file())
}

/// Straight from the descriptor: the standard library's own reader would keep a copy of what it read.
#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}
