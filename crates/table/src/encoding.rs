//! Encodings of text files other than UTF-8, by request.
//!
//! A file in one of them is converted to UTF-8 while it is read, from its start to its end by one part. Every sequence of
//! bytes is some text, and no row decides how another is read.

use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::locate::short;
use crate::packing::{Input, Packing};
use crate::text::{BYTE_ORDER_MARK, foreign_format, windows_1252};

/// How much is converted at a time.
const CHUNK: usize = 32 << 10;
/// The byte-order mark of UTF-16, which says how its bytes are ordered: little-endian or big-endian.
const MARKS: [[u8; 2]; 2] = [[0xff, 0xfe], [0xfe, 0xff]];
/// The mark of little-endian UTF-32, which starts like that of UTF-16.
const UTF_32: &[u8] = b"\xff\xfe\0\0";

/// How the text of a file is encoded.
///
/// Without one, text is UTF-8; a cell (in NDJSON and JSON, a line or object) that is not valid UTF-8 is read as
/// Windows-1252. So no encoding needs to be chosen for text in ASCII or UTF-8, nor usually for text in Windows-1252: only
/// for a file in which letters side by side happen to be UTF-8 as well, such as `Ã¼`.
///
/// # Example
/// ```
/// use reticent_table::Encoding;
///
/// assert_eq!("utf-16".parse(), Ok(Encoding::Utf16));
/// assert!("utf-7".parse::<Encoding>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// ISO 8859-1: each byte is the character of that number.
    Latin1,
    /// Windows-1252: as Latin-1, with other characters from 0x80 to 0x9F.
    Windows1252,
    /// UTF-16. The file must start with a byte-order mark. An unpaired surrogate, or a single byte at the end, is read as
    /// U+FFFD.
    Utf16,
}

impl Encoding {
    const ALL: [(&str, Self); 3] =
        [("latin1", Self::Latin1), ("windows-1252", Self::Windows1252), ("utf-16", Self::Utf16)];
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        found
            .map(|(_, encoding)| encoding)
            .ok_or_else(|| "an encoding is one of latin1, windows-1252 and utf-16".to_owned())
    }
}

/// Its name, such as `utf-16`.
impl fmt::Display for Encoding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Latin1 => "latin1",
            Self::Windows1252 => "windows-1252",
            Self::Utf16 => "utf-16",
        })
    }
}

/// Whether text begins as UTF-16 does.
pub fn is_utf_16(start: &[u8]) -> bool {
    MARKS.iter().any(|mark| start.starts_with(mark)) && !start.starts_with(UTF_32)
}

/// How the bytes of a text file become text: compression, and the encoding if one was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coding {
    pub packing: Packing,
    pub encoding: Option<Encoding>,
}

impl Coding {
    /// Whether the file can be read from its middle.
    pub fn can_be_cut(self) -> bool {
        self.packing == Packing::Plain && self.encoding.is_none()
    }

    /// Opens a file at a position, counted in bytes of its text in UTF-8.
    pub fn open(self, path: &Path, position: u64) -> io::Result<Input> {
        let Some(encoding) = self.encoding else { return self.packing.open(path, position) };
        let mut input: Input = Box::new(Converter::new(self.packing.open(path, 0)?, encoding));
        io::copy(&mut input.by_ref().take(position), &mut io::sink())?;
        Ok(input)
    }

    /// Checks that a file is compressed as its name says, and starts like text in its encoding. The error names the file;
    /// `ending` is the ending of its format.
    ///
    /// # Privacy
    /// As [`Packing::check`]: that a file starts with a byte-order mark, or does not, is public.
    pub fn check(self, path: &Path, ending: &str) -> Result<(), String> {
        let Some(encoding) = self.encoding else { return self.packing.check(path, ending) };
        let start = self.packing.start(path, ending)?;
        let name = short(path);
        if start.starts_with(UTF_32) {
            return Err(format!("{name} is text in UTF-32; save it in UTF-8"));
        }
        match encoding {
            Encoding::Utf16 if is_utf_16(&start) => Ok(()),
            Encoding::Utf16 => Err(format!(
                "{name} does not start with the byte-order mark of UTF-16; leave the encoding out if it is not in UTF-16, or \
                 save it in UTF-8"
            )),
            _ if start.starts_with(BYTE_ORDER_MARK) => Err(format!(
                "{name} starts with the byte-order mark of UTF-8, and is not in {encoding}; leave the encoding out"
            )),
            _ => foreign_format(&start)
                .map_or(Ok(()), |kind| Err(format!("{name} {}, not text in {encoding}", kind.what))),
        }
    }

    /// Why a header cannot be read.
    pub fn unreadable(self, error: &io::Error) -> String {
        self.packing.unreadable(error)
    }
}

/// Converts text to UTF-8.
struct Converter<R> {
    input: R,
    encoding: Encoding,
    /// What was read; the first `unread` bytes are half of a code unit.
    bytes: Vec<u8>,
    unread: usize,
    /// Of UTF-16: the order of the bytes, once the mark was read, and the first half of a pair.
    is_big_endian: Option<bool>,
    high: Option<u16>,
    /// The converted text, and how much of it was passed on.
    text: String,
    passed: usize,
}

impl<R: Read> Converter<R> {
    fn new(input: R, encoding: Encoding) -> Self {
        let (bytes, text) = (vec![0; CHUNK], String::new());
        Self { input, encoding, bytes, unread: 0, is_big_endian: None, high: None, text, passed: 0 }
    }

    /// Converts the next bytes; an empty result means the end of the text.
    fn advance(&mut self) -> io::Result<()> {
        self.text.clear();
        self.passed = 0;
        while self.text.is_empty() {
            let read = match self.input.read(&mut self.bytes[self.unread..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                // A file of UTF-16 that ends in the middle of a unit or pair.
                if std::mem::take(&mut self.unread) > 0 || self.high.is_some() {
                    self.high = None;
                    self.text.push(char::REPLACEMENT_CHARACTER);
                }
                return Ok(());
            }
            let filled = self.unread + read;
            self.unread = 0;
            match self.encoding {
                Encoding::Latin1 => self.text.extend(self.bytes[..filled].iter().map(|byte| char::from(*byte))),
                Encoding::Windows1252 => self.text.extend(self.bytes[..filled].iter().map(|byte| windows_1252(*byte))),
                Encoding::Utf16 => self.convert_units(filled)?,
            }
        }
        Ok(())
    }

    /// Converts the whole code units in the first `filled` bytes, and keeps half a unit, and the first half of a pair, for
    /// the next time.
    fn convert_units(&mut self, filled: usize) -> io::Result<()> {
        let mut units = self.bytes[..filled].chunks_exact(2);
        for unit in units.by_ref() {
            let unit = [unit[0], unit[1]];
            let is_big_endian = match self.is_big_endian {
                Some(known) => known,
                None => *self.is_big_endian.insert(match MARKS.iter().position(|mark| *mark == unit) {
                    Some(place) => place == 1,
                    // The file was replaced since it was checked.
                    None => return Err(ErrorKind::InvalidData.into()),
                }),
            };
            let unit = if is_big_endian { u16::from_be_bytes(unit) } else { u16::from_le_bytes(unit) };
            let high = self.high.take();
            match (high, unit) {
                (Some(high), 0xdc00..=0xdfff) => {
                    let pair =
                        char::decode_utf16([high, unit]).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER));
                    self.text.extend(pair);
                    continue;
                }
                (Some(_), _) => self.text.push(char::REPLACEMENT_CHARACTER),
                (None, _) => {}
            }
            match unit {
                0xd800..=0xdbff => self.high = Some(unit),
                unit => self.text.push(char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER)),
            }
        }
        let rest = units.remainder().len();
        self.bytes.copy_within(filled - rest..filled, 0);
        self.unread = rest;
        Ok(())
    }
}

impl<R: Read> Read for Converter<R> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        if self.passed == self.text.len() {
            self.advance()?;
        }
        let rest = &self.text.as_bytes()[self.passed..];
        let length = rest.len().min(space.len());
        space[..length].copy_from_slice(&rest[..length]);
        self.passed += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Passes on a few bytes at a time.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
            let length = self.1.min(space.len()).min(self.0.len());
            space[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }

    fn converted(bytes: &[u8], encoding: Encoding) -> String {
        let of = |pieces: usize| {
            let mut text = String::new();
            Converter::new(Trickle(bytes, pieces), encoding).read_to_string(&mut text).unwrap();
            text
        };
        let text = of(CHUNK);
        (1..5).for_each(|pieces| assert_eq!(of(pieces), text, "in pieces of {pieces}"));
        text
    }

    fn utf_16(text: &str, is_big_endian: bool) -> Vec<u8> {
        let order = |unit: u16| if is_big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() };
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(order).collect()
    }

    #[test]
    fn names_are_those_that_are_shown() {
        for (name, encoding) in Encoding::ALL {
            assert_eq!((name.parse(), encoding.to_string()), (Ok(encoding), name.to_owned()));
        }
        assert!("utf-8".parse::<Encoding>().unwrap_err().contains("one of latin1, windows-1252 and utf-16"));
    }

    #[test]
    fn every_byte_is_a_character() {
        let bytes: Vec<u8> = (0..=255).collect();
        let latin: Vec<char> = converted(&bytes, Encoding::Latin1).chars().collect();
        assert_eq!(latin, (0..=255).map(char::from).collect::<Vec<_>>());
        let windows = converted(&bytes, Encoding::Windows1252);
        assert!(windows.chars().count() == 256 && windows.contains("€\u{81}‚ƒ"));
        // Which would otherwise be read as UTF-8.
        assert_eq!(converted("ü".as_bytes(), Encoding::Windows1252), "Ã¼");
    }

    #[test]
    fn half_a_pair_or_half_a_unit_is_a_replacement() {
        let units = |units: &[u16]| -> Vec<u8> { units.iter().flat_map(|unit| unit.to_le_bytes()).collect() };
        let of = |text: &[u16]| converted(&units(&[&[0xfeff], text].concat()), Encoding::Utf16);
        assert_eq!(of(&[0xd83d, 0xde00]), "\u{feff}😀");
        assert_eq!(of(&[0xd83d, 0x0a, 0x61]), "\u{feff}\u{fffd}\na", "it takes no line end with it");
        assert_eq!(of(&[0xde00, 0xd83d, 0xd83d, 0xde00]), "\u{feff}\u{fffd}\u{fffd}😀");
        assert_eq!(of(&[0x61, 0xd83d]), "\u{feff}a\u{fffd}");
        let odd = [units(&[0xfeff, 0x61]), vec![0x62]].concat();
        assert_eq!(converted(&odd, Encoding::Utf16), "\u{feff}a\u{fffd}");
        let mut text = String::new();
        let unmarked = units(&[0x61, 0x62]);
        assert!(Converter::new(unmarked.as_slice(), Encoding::Utf16).read_to_string(&mut text).is_err());
    }

    proptest! {
        #[test]
        fn text_survives(text in "[a-c,\n\u{e9}\u{20ac}\u{1f600}\u{a0a}]{0,40}", is_big_endian in any::<bool>()) {
            prop_assert_eq!(converted(&utf_16(&text, is_big_endian), Encoding::Utf16), format!("\u{feff}{text}"));
        }

        /// Whatever a line contains, the lines after it are the same.
        #[test]
        fn a_line_changes_no_other(units in proptest::collection::vec(any::<u16>(), 0..20)) {
            let line: Vec<u16> = units.into_iter().filter(|unit| *unit != 0x0a).collect();
            let all = [&[0xfeff][..], &line, &[0x0a, 0x62, 0x0a]].concat();
            let bytes: Vec<u8> = all.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            let text = converted(&bytes, Encoding::Utf16);
            prop_assert!(text.ends_with("\nb\n") && text.matches('\n').count() == 2);
        }
    }
}
