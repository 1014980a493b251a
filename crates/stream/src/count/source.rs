//! Where lines come from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use reticent::message;

use super::definition::Input;
use super::error::{Error, Result};

/// An input to read lines from.
#[derive(Debug)]
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
    /// Opens a file, or standard input for `-`. Nothing is read.
    ///
    /// # Errors
    /// If it cannot be read, is a directory, or has no lines by its name.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |error: io::Error| Error::Input(message!("cannot read {shown}: {error}"));
        if path == Path::new("-") {
            let file = standard_input().map_err(unreadable)?;
            // If standard input is a file, it has an end and its own budget too.
            let stream = !file.metadata().is_ok_and(|metadata| metadata.is_file());
            return Ok(Self { file, name: "standard input".into(), stream, path: standard_file() });
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Error::Input(message!("{shown} is a directory; name a file")));
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

/// The input format that the file's name suggests.
///
/// # Errors
/// If it is that of a JSON array, and no format is `given`.
pub fn input_by_name(file: &Path, given: Option<Input>) -> Result<Option<Input>> {
    match extension(file).as_deref() {
        Some("json") if given.is_none() => {
            let name = file.display();
            Err(Error::Input(message!(
                "{name} is a JSON array by its name; write one object per line, as in jq -c '.[]' {name} > lines.ndjson, or say ",
                ["input"],
                " ndjson if it is so"
            )))
        }
        extension => Ok(extension.and_then(Input::of_extension)),
    }
}

/// Refuses a file whose extension, in lower case, stands for a format without lines. Nothing is read: the first line
/// may hold data.
fn refuse_extension(path: &Path, extension: &str) -> Result<()> {
    let name = path.display();
    match extension {
        "parquet" | "arrow" | "feather" | "ipc" | "xlsx" | "xls" | "ods" | "sqlite" => Err(Error::Input(message!(
            "{name} has no lines; `reticent count` reads CSV, NDJSON or one number per line"
        ))),
        "gz" | "zst" | "bz2" | "xz" | "zip" => Err(Error::Input(message!(
            "{name} is compressed; unpack it first, or count what comes out of a pipe, as in gunzip -c … | reticent count -"
        ))),
        _ => Ok(()),
    }
}

fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase)
}

/// The file behind standard input, if it is a regular file with a name.
fn standard_file() -> Option<PathBuf> {
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
