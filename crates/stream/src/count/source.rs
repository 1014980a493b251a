//! Where lines come from.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use reticent::continual::CounterKind;
use reticent::message;
use reticent_table::{Error as TableError, Format, Packing, Roles, TypedLines};

use super::definition::{Definition, Fields, Input};
use super::error::{Error, Result};
use super::lines::Lines;

/// An input to read lines from.
#[derive(Debug)]
pub struct Source {
    /// The file, open for reading.
    file: File,
    /// Its name in messages.
    pub name: String,
    /// Whether it is not a regular file: more may arrive at any time.
    pub stream: bool,
    /// The path of a regular file, even if it is standard input; `None` for pipes.
    pub path: Option<PathBuf>,
    /// How it is compressed.
    packing: Packing,
    /// The typed format that its name says.
    typed: Option<Input>,
}

impl Source {
    /// Opens a file, or standard input for `-`. Nothing is read.
    ///
    /// # Errors
    /// If it cannot be read, is a directory, or has no lines or rows by its name.
    pub fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unreadable = |error: io::Error| Error::Input(message!("cannot read {shown}: {error}"));
        if path == Path::new("-") {
            let file = standard_input().map_err(unreadable)?;
            // If standard input is a file, it has an end and its own budget too.
            let stream = !file.metadata().is_ok_and(|metadata| metadata.is_file());
            let (name, packing) = ("standard input".into(), Packing::Plain);
            return Ok(Self { file, name, stream, path: standard_file(), packing, typed: None });
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Error::Input(message!("{shown} is a directory; name a file")));
        }
        let (packing, extension) = endings(path);
        refuse_extension(path, &extension)?;
        let typed = Input::of_extension(&extension).filter(|input| input.is_typed());
        if typed.is_some() && packing != Packing::Plain {
            return Err(Error::Input(message!(
                "{shown} must be decompressed first: only text is read while it is decompressed"
            )));
        }
        let (name, stream) = (path.display().to_string(), !metadata.is_file());
        if stream && packing != Packing::Plain {
            return Err(Error::Input(message!(
                "{shown} is a pipe, and only files are decompressed; count what comes out of gunzip -c or unzstd -c"
            )));
        }
        // A pipe's path is only temporary.
        Ok(Self { file, name, stream, path: (!stream).then(|| path.into()), packing, typed })
    }

    /// Checks that a counter of this kind can read the input without leaving copies of its values in memory.
    ///
    /// # Errors
    /// If it cannot: decoders keep some.
    pub fn check_seizable(&self, kind: CounterKind, definition: &Definition) -> Result<()> {
        let name = &self.name;
        let (what, instead) = match (self.packing, definition.fields.input) {
            _ if !kind.is_pan_private() => return Ok(()),
            (_, input) if input.is_typed() => (input.name().to_owned(), "write its rows as CSV or NDJSON"),
            (Packing::Plain, _) => return Ok(()),
            (packing, _) => (packing.to_string(), "decompress it first"),
        };
        let advice = message!(
            "a {kind} counter reads plain text only: decoding {what} leaves copies of the values of {name} in memory; {instead}"
        );
        Err(Error::combination("counter", advice))
    }

    /// The lines of the input; of a typed file, one for each row, in the form that [`Reader`](super::Reader) expects.
    /// `erase` overwrites lines of plain text once they have been read.
    ///
    /// # Errors
    /// If the file is not what its name or the definition says. Rows are not looked at.
    pub fn lines(self, definition: &Definition, erase: bool) -> Result<Lines> {
        let Self { file, name, path, packing, typed, .. } = self;
        let Fields { input, events, column, time, key } = &definition.fields;
        match (typed, path) {
            (Some(typed), _) if typed != *input => {
                let (typed, input) = (typed.name(), input.name());
                Err(Error::Input(message!("{name} is in the format {typed} by its name, but is to be read as {input}")))
            }
            (_, Some(path)) if input.is_typed() => {
                let unusable = |reason: String| Error::Input(message!("{name}: {reason}"));
                let format = input.name().parse::<Format>().map_err(unusable)?;
                let (value, time, key) = (column.as_deref(), time.as_deref(), key.as_deref());
                let lines = TypedLines::open(&path, format, &Roles { value, events: *events, time, key });
                lines.map(Lines::decoded).map_err(|error| match error {
                    TableError::Table { reason, .. } => unusable(reason),
                    other => Error::Input(other.to_string().into()),
                })
            }
            (_, None) if input.is_typed() => {
                let input = input.name();
                Err(Error::Input(message!(
                    "{name} is a pipe, but a file in the format {input} is not read from its start; name the file"
                )))
            }
            (_, Some(path)) if packing != Packing::Plain => {
                let ending = if *input == Input::Text { "txt" } else { input.name() };
                packing.check(&path, ending).map_err(|reason| Error::Input(reason.into()))?;
                let unreadable =
                    |error: io::Error| Error::Input(format!("{name} {}", packing.unreadable(&error)).into());
                Ok(Lines::decoded(packing.open(&path, 0).map_err(unreadable)?))
            }
            _ => Ok(Lines::new(file, erase)),
        }
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
    match endings(file).1.as_str() {
        "json" if given.is_none() => {
            let name = file.display();
            Err(Error::Input(message!(
                "{name} is a JSON array by its name; write one object per line, as in jq -c '.[]' {name} > lines.ndjson, or say ",
                ["input"],
                " ndjson if it is so"
            )))
        }
        extension => Ok(Input::of_extension(extension)),
    }
}

/// Refuses a file whose extension, in lower case, stands for a format without lines or rows. Nothing is read: the first
/// line may hold data.
fn refuse_extension(path: &Path, extension: &str) -> Result<()> {
    let name = path.display();
    match extension {
        "xlsx" | "xls" | "ods" | "sqlite" => Err(Error::Input(message!(
            "{name} has no lines; `reticent count` reads CSV, NDJSON, Parquet, Arrow or one number per line"
        ))),
        "bz2" | "xz" | "zip" => Err(Error::Input(message!(
            "{name} is compressed; unpack it first, or count what comes out of a pipe, as in xz -dc … | reticent count -"
        ))),
        _ => Ok(()),
    }
}

/// How a file is compressed by its name, and the extension before that, in lower case.
fn endings(path: &Path) -> (Packing, String) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    let (packing, unpacked) = Packing::of(&name);
    let extension = Path::new(unpacked).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    (packing, extension.to_owned())
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
