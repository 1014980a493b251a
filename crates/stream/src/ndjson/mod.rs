//! One event a line, in JSON.
//!
//! Total: whatever a line says it is one event, and changes nothing about the next. Nothing is copied and nothing is
//! allocated: what was read can be erased where it lies.
//!
//! | a line | is |
//! |---|---|
//! | `{"id": "a1", "key": "home", "value": 3}` | an event with an id, a key and a value; other fields are ignored |
//! | `{}` | an event of value 1: a value that is not given is 1 |
//! | `{"value": "3"}`, `{"value": 3.0}`, `{"value": true}` | 3, 3 and 1; whole numbers that do not fit are the nearest that does |
//! | `{"value": 1.5}`, `{"value": null}`, `{"value": "x"}` | 0: what is no whole number counts as 0 |
//! | `3` | an event of value 3 |
//! | anything else, also nothing | an event of value 0 without id and key |
//!
//! Ids and keys are strings or whole numbers; anything else is none. Of fields that are given twice the last one counts.
//! Objects and arrays may be nested 100 deep.

mod scanner;
#[cfg(test)]
mod tests;

use self::scanner::{Scanner, Token};
use crate::integer;

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'line> {
    pub id: Option<Text<'line>>,
    pub key: Option<Text<'line>>,
    pub value: i64,
}

/// Text as it stands on the line, with its escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text<'line> {
    raw: &'line [u8],
    escaped: bool,
}

/// A line that cannot be read.
const NOTHING: Line<'static> = Line { id: None, key: None, value: 0 };
/// Numbers in quotes are not longer than that.
const LONGEST_NUMBER: usize = 64;

/// The lines of a text; what follows the last line break is one if there is anything.
pub(crate) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = body.strip_suffix(b"\n").unwrap_or(body);
    let any = !body.is_empty();
    whole.split(|&byte| byte == b'\n').filter(move |_| any)
}

/// Reads one line.
pub(crate) fn read(line: &[u8]) -> Line<'_> {
    let Ok(text) = std::str::from_utf8(line) else { return NOTHING };
    parse(text.trim_matches([' ', '\t', '\r', '\n']).as_bytes()).unwrap_or(NOTHING)
}

/// Nothing if it is no JSON.
fn parse(line: &[u8]) -> Option<Line<'_>> {
    let mut scanner = Scanner::new(line);
    if line.first() != Some(&b'{') {
        let token = scanner.value()?;
        scanner.end()?;
        return Some(Line { value: number(token), ..NOTHING });
    }
    let mut found = Line { value: 1, ..NOTHING };
    scanner.object(|name, token| {
        if name.is("value") {
            found.value = number(token);
        } else if name.is("id") {
            found.id = text(token);
        } else if name.is("key") {
            found.key = text(token);
        }
    })?;
    scanner.end()?;
    Some(found)
}

/// The whole number that a value is; 0 if it is none.
fn number(token: Token<'_>) -> i64 {
    match token {
        Token::Number(digits) => match integer::parse(digits) {
            Some(number) => number,
            None => {
                let number: f64 = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
                // The conversion takes the nearest that fits.
                if number.is_infinite() || number.fract() == 0.0 { number as i64 } else { 0 }
            }
        },
        Token::True => 1,
        Token::Text(text) => {
            let mut plain = zeroize::Zeroizing::new([0; LONGEST_NUMBER]);
            text.copy_to(&mut *plain).and_then(integer::parse).unwrap_or(0)
        }
        Token::Other => 0,
    }
}

/// Text, or a whole number as text.
fn text(token: Token<'_>) -> Option<Text<'_>> {
    match token {
        Token::Text(text) => Some(text),
        Token::Number(raw) if integer::parse(raw).is_some() => Some(Text { raw, escaped: false }),
        _ => None,
    }
}

impl<'line> Text<'line> {
    /// Its bytes, escapes undone, in pieces.
    pub fn pieces(self, mut piece: impl FnMut(&[u8])) {
        if !self.escaped {
            return piece(self.raw);
        }
        let mut rest = self.raw;
        while !rest.is_empty() {
            let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
            piece(&rest[..plain]);
            rest = &rest[plain..];
            if let Some((letter, length)) = scanner::escape(rest) {
                piece(letter.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[length..];
            }
        }
    }

    /// Its bytes, escapes undone; nothing if there are more than fit.
    pub fn copy_to(self, space: &mut [u8]) -> Option<&[u8]> {
        let mut length = Some(0);
        self.pieces(|piece| {
            length = length.and_then(|length: usize| {
                space.get_mut(length..length + piece.len())?.copy_from_slice(piece);
                Some(length + piece.len())
            });
        });
        Some(&space[..length?])
    }

    fn is(self, name: &str) -> bool {
        if !self.escaped {
            return self.raw == name.as_bytes();
        }
        let mut plain = [0; 8];
        self.copy_to(&mut plain) == Some(name.as_bytes())
    }
}
