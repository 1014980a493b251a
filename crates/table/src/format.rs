//! The format of a table where no file name says it, and what else text files do not say of themselves.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::locate::{FileFormat, TextFormat};
use crate::packing::Packing;
use crate::{Delimiter, Encoding};

/// The format of a table whose file has no name, or one that does not say it.
///
/// # Example
/// ```
/// use reticent_table::Format;
///
/// assert_eq!("ndjson".parse::<Format>()?.to_string(), "ndjson");
/// assert!("xlsx".parse::<Format>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format(pub(crate) FileFormat);

impl Format {
    /// Values separated by commas, or by what the header suggests.
    pub const CSV: Self = Self(FileFormat::Text(TextFormat::Csv, Packing::Plain));
    /// Their names, which are the usual endings of file names.
    pub const NAMES: [&str; 6] = ["csv", "tsv", "ndjson", "json", "parquet", "arrow"];

    /// The format that a file's name says; `None` if it says none that is known.
    pub fn of_name(path: &Path) -> Option<Self> {
        FileFormat::of(path).ok().map(Self)
    }

    /// Whether it has no types.
    pub fn is_text(self) -> bool {
        matches!(self.0, FileFormat::Text(..))
    }

    /// The same format, compressed. Typed formats are compressed inside.
    pub fn packed(self, packing: Packing) -> Self {
        match self.0 {
            FileFormat::Text(text, _) => Self(FileFormat::Text(text, packing)),
            typed => Self(typed),
        }
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::NAMES.contains(&text).then(|| Self::of_name(Path::new(&format!("table.{text}")))).flatten();
        known.ok_or_else(|| format!("a format is one of {}", Self::NAMES.join(", ")))
    }
}

/// Its name, without that of a compression.
impl fmt::Display for Format {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.0 {
            FileFormat::Text(text, _) => text.ending(),
            FileFormat::Parquet => "parquet",
            FileFormat::Arrow => "arrow",
        })
    }
}

/// What is chosen for the text files of a table. Other formats ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// What separates the values of CSV files, if it is not to be found in their header.
    pub delimiter: Option<Delimiter>,
    /// The encoding, if it is not UTF-8.
    pub encoding: Option<Encoding>,
}

impl TextOptions {
    /// Those that apply to a format.
    pub(crate) fn of(self, format: FileFormat) -> Self {
        let FileFormat::Text(text, _) = format else { return Self::default() };
        Self { delimiter: self.delimiter.filter(|_| text == TextFormat::Csv), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_format() {
        for name in Format::NAMES {
            assert_eq!(name.parse::<Format>().map(|format| format.to_string()), Ok(name.to_owned()));
        }
        let packed = Format::CSV.packed(Packing::Gzip);
        assert_eq!(Format::of_name(Path::new("a.csv.gz")), Some(packed));
        let arrow: Format = "arrow".parse().unwrap();
        assert_eq!(arrow.packed(Packing::Gzip), arrow);
        for none in ["CSV", "csv.gz", "xlsx", ""] {
            assert!(none.parse::<Format>().is_err(), "{none}");
        }
    }

    #[test]
    fn options_are_for_text_alone() {
        let chosen = TextOptions { delimiter: Some(Delimiter::Tab), encoding: Some(Encoding::Utf16) };
        let of = |name: &str| chosen.of(name.parse::<Format>().unwrap().0);
        assert_eq!(of("csv"), chosen);
        for text in ["tsv", "ndjson", "json"] {
            assert_eq!(of(text), TextOptions { delimiter: None, ..chosen }, "{text}");
        }
        assert_eq!(of("parquet"), TextOptions::default());
    }
}
