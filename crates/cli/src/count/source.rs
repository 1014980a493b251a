//! Where lines come from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent_stream::count::{Definition, Error, Input, Lines, Reader};

use super::arguments::Arguments;
use crate::exit::usage;
use crate::marks::{refuse_extension, refuse_foreign};

/// An input to read lines from.
pub struct Source {
    /// The file, open for reading.
    pub file: File,
    /// Its name in messages.
    pub name: String,
    /// Whether it is not a regular file: more may arrive at any time.
    pub stream: bool,
    /// The path of a regular file, even if it is standard input; `None` for pipes.
    pub path: Option<PathBuf>,
}

impl Source {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: io::Error| usage(format!("cannot read {}: {error}", path.display()));
        if path == Path::new("-") {
            let file = standard_input().map_err(unreadable)?;
            // If standard input is a file, it has an end and its own budget too.
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
        // A pipe's path is only temporary.
        Ok(Self { file, name, stream, path: (!stream).then(|| path.into()) })
    }

    /// A name that does not depend on the working directory.
    pub fn full_name(&self) -> String {
        let full = self.path.as_deref().and_then(|path| path.canonicalize().ok());
        full.map_or_else(|| "standard input".into(), |path| format!("{:?}", path.as_os_str()))
    }
}

/// The reader for an input's lines; for CSV, this reads the header.
pub fn reader(definition: &Definition, name: &str, lines: &mut Lines) -> Result<Reader> {
    let mut header = None;
    if definition.fields.input == Input::Csv {
        header = lines.one().map_err(|_| Error::Reading)?;
        refuse_foreign(name, header.as_deref().unwrap_or_default())?;
    }
    Ok(Reader::new(&definition.fields, name, header.as_deref())?)
}

/// The input format that the file's name suggests.
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

/// The file behind standard input, if it is a regular file with a name.
pub fn standard_file() -> Option<PathBuf> {
    Path::new("/dev/stdin").canonicalize().ok().filter(|path| path.is_file())
}

/// Reads straight from the descriptor: the standard library's own reader would keep a copy of the input.
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
