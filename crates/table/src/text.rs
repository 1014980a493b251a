//! Text in files: encoding and length.

use std::borrow::Cow;
use std::fmt;

use arrow_array::{Array, StringViewArray};
use arrow_buffer::NullBuffer;

/// The longest text, in bytes. A longer cell is NULL, in every format and as any type.
pub const MOST_TEXT: usize = 65_536;

/// Written by some programs at the start of a text file.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A kind of file that is not text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Foreign {
    /// What it is.
    pub what: &'static str,
    /// What to do with it.
    pub remedy: &'static str,
    /// Whether it holds a table, which can be read under the right name.
    pub is_table: bool,
}

impl fmt::Display for Foreign {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}; {}", self.what, self.remedy)
    }
}

const fn other(what: &'static str, remedy: &'static str) -> Foreign {
    Foreign { what, remedy, is_table: false }
}

const fn table(what: &'static str, remedy: &'static str) -> Foreign {
    Foreign { what, remedy, is_table: true }
}

/// Signatures of other kinds of files.
const FOREIGN: [(&[u8], Foreign); 10] = [
    (b"\x1f\x8b", other("is compressed with gzip", "unpack it first, with gunzip")),
    (b"\x28\xb5\x2f\xfd", other("is compressed with Zstandard", "unpack it first, with unzstd")),
    (b"BZh91AY&SY", other("is compressed with bzip2", "unpack it first, with bunzip2")),
    (b"\xfd7zXZ\0", other("is compressed with xz", "unpack it first, with unxz")),
    (b"PK\x03\x04", other("is an archive or a spreadsheet", "unpack it, or save it as CSV")),
    (b"PAR1\x15", table("is a Parquet file", "rename it to end in .parquet")),
    (b"ARROW1\0", table("is an Arrow file", "rename it to end in .arrow")),
    (b"SQLite format 3\0", other("is a database", "write its table to a CSV file")),
    (b"\xff\xfe", other("is text in UTF-16", "save it in UTF-8")),
    (b"\xfe\xff", other("is text in UTF-16", "save it in UTF-8")),
];

/// What kind of file starts like this, if it is not text.
pub fn foreign_format(start: &[u8]) -> Option<Foreign> {
    FOREIGN.iter().find(|(mark, _)| start.starts_with(mark)).map(|(_, kind)| *kind)
}

/// A character of Windows-1252, a superset of Latin-1 that spreadsheets still write. Every byte is one.
pub fn windows_1252(byte: u8) -> char {
    /// From 0x80 on, where the two differ; all others are the same as in Latin-1.
    const SPECIAL: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', //
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => SPECIAL[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

/// Decodes text in a file for which no encoding was chosen: UTF-8, or else Windows-1252. All bytes are text, whose meaning
/// depends on nothing else in the file.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.iter().map(|byte| windows_1252(*byte)).collect::<String>().into(),
    }
}

/// Whether text of this length is NULL.
pub fn is_too_long(bytes: usize) -> bool {
    bytes > MOST_TEXT
}

/// Replaces texts that are too long by NULL.
pub fn limited(array: &StringViewArray) -> StringViewArray {
    // The low half of a view's first word is the length.
    let too_long = |view: &u128| is_too_long(*view as u32 as usize);
    if !array.views().iter().any(too_long) {
        return array.clone();
    }
    let short: NullBuffer = array.views().iter().map(|view| !too_long(view)).collect();
    let nulls = NullBuffer::union(array.nulls(), Some(&short));
    // Copied, so that the buffers of long texts can be freed.
    (0..array.len())
        .map(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)).then(|| array.value(row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_utf_8_is_windows_1252() {
        assert_eq!(decoded("Zürich – 5 €".as_bytes()), "Zürich – 5 €");
        assert_eq!(decoded(b"Z\xfcrich \x96 5 \x80"), "Zürich – 5 €");
        // Every byte is a character, and all are distinct.
        let letters: std::collections::BTreeSet<String> =
            (0..=255u8).map(|byte| decoded(&[byte]).into_owned()).collect();
        assert_eq!(letters.len(), 256);
    }

    #[test]
    fn text_of_the_greatest_length_stays() {
        let (most, more) = ("x".repeat(MOST_TEXT), "y".repeat(MOST_TEXT + 1));
        let array = StringViewArray::from(vec![Some("a"), None, Some(&most), Some(&more)]);
        let expected = StringViewArray::from(vec![Some("a"), None, Some(&most), None]);
        assert_eq!(limited(&array), expected);
        assert_eq!(limited(&array.slice(2, 2)), expected.slice(2, 2));
        assert_eq!(limited(&array.slice(0, 3)), expected.slice(0, 3));
    }
}
