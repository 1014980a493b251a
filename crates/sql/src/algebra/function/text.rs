//! Text functions.

use std::collections::HashSet;

use reticent_table::MOST_TEXT;
use serde::{Deserialize, Serialize};

use super::Growth;
use crate::algebra::Type;
use crate::algebra::column::{Booleans, Column, Integers, Reader, Texts, each, map, map2, map3};

/// A text function. Positions and lengths are in characters; positions start at 1.
///
/// # Total
/// There is a value for every text, except that a result longer than [`MOST_TEXT`] bytes is NULL.
///
/// # Bounded
/// Nothing longer is ever built: each function knows the length of its result in advance, or stops when it gets too
/// long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Text {
    /// `LENGTH(a)`
    Length,
    /// `OCTET_LENGTH(a)`
    Bytes,
    /// `LOWER(a)`
    Lower,
    /// `UPPER(a)`
    Upper,
    /// `TRIM(a [, characters])`, on both sides
    Trim,
    /// `LTRIM(a [, characters])`
    TrimStart,
    /// `RTRIM(a [, characters])`
    TrimEnd,
    /// `REVERSE(a)`
    Reverse,
    /// `a || b`: NULL if either is
    Concat,
    /// `CONCAT(a, b, …)`: ignores NULLs
    ConcatAll,
    /// `LEFT(a, n)`; all but the last −n characters for a negative n
    Left,
    /// `RIGHT(a, n)`; all but the first −n characters for a negative n
    Right,
    /// `SUBSTR(a, from [, length])`
    Substring,
    /// `STRPOS(a, b)`: where b starts in a; 0 if it does not occur
    Position,
    /// `STARTS_WITH(a, b)`
    StartsWith,
    /// `ENDS_WITH(a, b)`
    EndsWith,
    /// `CONTAINS(a, b)`
    Contains,
    /// `REPLACE(a, b, c)`: replaces every b by c
    Replace,
    /// `SPLIT_PART(a, b, n)`: the n-th part between separators b; counted from the end for a negative n
    SplitPart,
    /// `REPEAT(a, n)`
    Repeat,
    /// `LPAD(a, n [, fill])`
    PadStart,
    /// `RPAD(a, n [, fill])`
    PadEnd,
}

impl Text {
    /// Returns the type of the result; `None` if it does not accept these types.
    pub fn output(self, inputs: &[Type]) -> Option<Type> {
        use Type::{Boolean, Integer, Text};
        match (self, inputs) {
            (Self::Length | Self::Bytes, [Text]) | (Self::Position, [Text, Text]) => Some(Integer),
            (Self::StartsWith | Self::EndsWith | Self::Contains, [Text, Text]) => Some(Boolean),
            (Self::Lower | Self::Upper | Self::Reverse, [Text])
            | (Self::Trim | Self::TrimStart | Self::TrimEnd, [Text] | [Text, Text])
            | (Self::Concat, [Text, Text])
            | (Self::Left | Self::Right | Self::Repeat, [Text, Integer])
            | (Self::Substring, [Text, Integer] | [Text, Integer, Integer])
            | (Self::Replace, [Text, Text, Text])
            | (Self::SplitPart, [Text, Text, Integer])
            | (Self::PadStart | Self::PadEnd, [Text, Integer] | [Text, Integer, Text]) => Some(Text),
            (Self::ConcatAll, [_, ..]) if inputs.iter().all(|kind| *kind == Text) => Some(Text),
            _ => None,
        }
    }

    /// How long the result can become.
    pub fn growth(self) -> Growth {
        match self {
            Self::Concat | Self::ConcatAll => Growth::Sum,
            Self::Lower | Self::Upper => Growth::Case,
            Self::PadEnd | Self::PadStart | Self::Repeat | Self::Replace => Growth::Any,
            _ => Growth::None,
        }
    }

    /// Computes the value for each row.
    pub fn apply(self, columns: &[Column], rows: usize) -> Column {
        let texts = |of_row: fn(&str) -> Option<String>| map::<Texts, Texts>(columns, rows, of_row);
        let numbered = |of_row: fn(&str, i64) -> Option<String>| map2::<Texts, Integers, Texts>(columns, rows, of_row);
        match self {
            Self::Length => map::<Texts, Integers>(columns, rows, |a| Some(a.chars().count() as i64)),
            Self::Bytes => map::<Texts, Integers>(columns, rows, |a| Some(a.len() as i64)),
            Self::Lower => texts(|a| short(a.to_lowercase())),
            Self::Upper => texts(|a| short(a.to_uppercase())),
            Self::Reverse => texts(|a| Some(a.chars().rev().collect())),
            Self::Trim | Self::TrimStart | Self::TrimEnd => self.trimmed(columns, rows),
            Self::Concat => map2::<Texts, Texts, Texts>(columns, rows, |a, b| {
                (a.len() + b.len() <= MOST_TEXT).then(|| [a, b].concat())
            }),
            Self::ConcatAll => all_together(columns, rows),
            Self::Left => numbered(|a, n| Some(before(a, from_either_end(a, n)).to_owned())),
            Self::Right => numbered(|a, n| Some(last(a, n).to_owned())),
            Self::Substring => substring(columns, rows),
            Self::Position => map2::<Texts, Texts, Integers>(columns, rows, |a, b| {
                Some(a.find(b).map_or(0, |place| a[..place].chars().count() as i64 + 1))
            }),
            Self::StartsWith => map2::<Texts, Texts, Booleans>(columns, rows, |a, b| Some(a.starts_with(b))),
            Self::EndsWith => map2::<Texts, Texts, Booleans>(columns, rows, |a, b| Some(a.ends_with(b))),
            Self::Contains => map2::<Texts, Texts, Booleans>(columns, rows, |a, b| Some(a.contains(b))),
            Self::Replace => map3::<Texts, Texts, Texts, Texts>(columns, rows, replaced),
            Self::SplitPart => map3::<Texts, Texts, Integers, Texts>(columns, rows, part),
            Self::Repeat => numbered(|a, n| {
                let times = usize::try_from(n).unwrap_or(0);
                a.len().checked_mul(times).filter(|&bytes| bytes <= MOST_TEXT).map(|_| a.repeat(times))
            }),
            Self::PadStart | Self::PadEnd => self.padded(columns, rows),
        }
    }

    fn trimmed(self, columns: &[Column], rows: usize) -> Column {
        let trim = |a: &str, drops: &dyn Fn(char) -> bool| {
            let a = if self == Self::TrimEnd { a } else { a.trim_start_matches(drops) };
            let a = if self == Self::TrimStart { a } else { a.trim_end_matches(drops) };
            Some(a.to_owned())
        };
        match columns.len() {
            1 => map::<Texts, Texts>(columns, rows, |a| trim(a, &|letter| letter == ' ')),
            _ => map2::<Texts, Texts, Texts>(columns, rows, |a, letters| {
                // Both texts may be long: scanning all letters for each character would take minutes.
                let letters: HashSet<char> = letters.chars().collect();
                trim(a, &|letter| letters.contains(&letter))
            }),
        }
    }

    fn padded(self, columns: &[Column], rows: usize) -> Column {
        let pad = |a: &str, n: i64, fill: &str| {
            let (wanted, has) = (usize::try_from(n).unwrap_or(0), a.chars().count());
            if wanted <= has || fill.is_empty() {
                return Some(before(a, wanted).to_owned());
            }
            let missing = wanted - has;
            // A character takes at least one byte.
            if missing > MOST_TEXT {
                return None;
            }
            let filled: String = fill.chars().cycle().take(missing).collect();
            short(if self == Self::PadStart { filled + a } else { a.to_owned() + &filled })
        };
        match columns.len() {
            2 => map2::<Texts, Integers, Texts>(columns, rows, |a, n| pad(a, n, " ")),
            _ => map3::<Texts, Integers, Texts, Texts>(columns, rows, pad),
        }
    }
}

/// The text if it is not too long.
pub fn short(text: String) -> Option<String> {
    (text.len() <= MOST_TEXT).then_some(text)
}

/// The first `characters` characters.
fn before(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

/// All but the first `characters` characters.
fn after(text: &str, characters: usize) -> &str {
    &text[before(text, characters).len()..]
}

/// The last n characters; all but the first −n for a negative n.
fn last(text: &str, n: i64) -> &str {
    let places = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    after(text, if n >= 0 { text.chars().count().saturating_sub(places) } else { places })
}

/// A position counted from the start, or from the end for a negative n.
fn from_either_end(text: &str, n: i64) -> usize {
    let places = usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX);
    if n >= 0 { places } else { text.chars().count().saturating_sub(places) }
}

/// As in the SQL standard: characters from position `from` to before `from + length`; positions below 1 are empty.
fn substring(columns: &[Column], rows: usize) -> Column {
    let cut = |a: &str, from: i64, length: Option<i64>| {
        let end = match length {
            Some(length) if length < 0 => return None,
            Some(length) => from.saturating_add(length),
            None => i64::MAX,
        };
        let from = from.max(1);
        let (skip, take) = (from - 1, end.saturating_sub(from).max(0));
        let places = |number: i64| usize::try_from(number).unwrap_or(usize::MAX);
        Some(before(after(a, places(skip)), places(take)).to_owned())
    };
    match columns.len() {
        2 => map2::<Texts, Integers, Texts>(columns, rows, |a, from| cut(a, from, None)),
        _ => map3::<Texts, Integers, Integers, Texts>(columns, rows, |a, from, length| cut(a, from, Some(length))),
    }
}

fn replaced(a: &str, b: &str, c: &str) -> Option<String> {
    if b.is_empty() {
        return Some(a.to_owned());
    }
    let (mut result, mut rest) = (String::new(), a);
    while let Some(place) = rest.find(b) {
        if result.len() + place + c.len() > MOST_TEXT {
            return None;
        }
        result.push_str(&rest[..place]);
        result.push_str(c);
        rest = &rest[place + b.len()..];
    }
    result.push_str(rest);
    short(result)
}

fn part(a: &str, b: &str, n: i64) -> Option<String> {
    let place = usize::try_from(n.unsigned_abs().checked_sub(1)?).unwrap_or(usize::MAX);
    let found = match (b.is_empty(), n > 0) {
        (true, _) => (place == 0).then_some(a),
        (false, true) => a.split(b).nth(place),
        (false, false) => a.rsplit(b).nth(place),
    };
    Some(found.unwrap_or_default().to_owned())
}

fn all_together(columns: &[Column], rows: usize) -> Column {
    let readers: Vec<Reader<'_, Texts>> = columns.iter().map(Reader::of).collect();
    each::<Texts>(columns, rows, |row| {
        let mut result = String::new();
        for text in readers.iter().filter_map(|reader| reader.get(row)) {
            if result.len() + text.len() > MOST_TEXT {
                return None;
            }
            result.push_str(text);
        }
        Some(result)
    })
}
