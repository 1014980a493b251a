//! One JSON record per line.
//!
//! Every line is one record, whatever it contains, and does not affect the next. Nothing is copied or allocated, so the
//! input can be erased in place.
//!
//! The fields of a stream's event are `id`, `key` and `value`; [`count`](crate::count) sets its own names, and one for
//! the time.
//!
//! | a line | is |
//! |---|---|
//! | `{"id": "a1", "key": "home", "value": 3}` | an event with an id, a key and a value; other fields are ignored |
//! | `{}` | an event of value 1; where `count` names a column, 0, like an empty CSV cell |
//! | `{"value": "3"}`, `{"value": 3.0}`, `{"value": true}` | 3, 3 and 1; integers are clamped to 64 bits |
//! | `{"value": 1.5}`, `{"value": null}`, `{"value": "x"}` | 0: anything but an integer counts as 0 |
//! | `3` | an event of value 3 |
//! | anything else, including an empty line | an event of value 0 without id, key or time |
//!
//! Ids and keys are strings or integers, times are strings or numbers as [`times::parse`] reads them; anything else is
//! ignored. If a field appears twice, the last one counts. Objects and arrays may be nested 100 deep.

mod scanner;
#[cfg(test)]
mod tests;

use self::scanner::{Kind, Scanner, Token};
use crate::{integer, times};

/// The names of the fields to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'name> {
    pub id: Option<&'name str>,
    pub key: Option<&'name str>,
    pub time: Option<&'name str>,
    pub value: Option<&'name str>,
}

/// The fields of a stream's event.
pub(crate) const EVENT: Names<'static> = Names { id: Some("id"), key: Some("key"), time: None, value: Some("value") };

/// The content of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'line> {
    pub id: Option<Text<'line>>,
    pub key: Option<Text<'line>>,
    time: Option<Token<'line>>,
    pub value: Value<'line>,
}

/// The value field of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Value<'line> {
    /// The line is not JSON.
    Unreadable,
    /// An object without that field.
    Absent,
    Given(Token<'line>),
}

/// Text exactly as on the line, with its escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text<'line> {
    raw: &'line [u8],
    /// [`Kind::Plain`] or [`Kind::Escaped`].
    kind: Kind,
}

/// An unreadable line.
const NOTHING: Line<'static> = Line { id: None, key: None, time: None, value: Value::Unreadable };
/// The maximum length of a text that is read as a number or a time, in bytes.
const LONGEST_SCALAR: usize = 64;

/// The lines of a text; a nonempty rest after the last line break is a line too.
pub(crate) fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = body.strip_suffix(b"\n").unwrap_or(body);
    let any = !body.is_empty();
    whole.split(|&byte| byte == b'\n').filter(move |_| any)
}

/// Reads one line.
pub(crate) fn read<'line>(line: &'line [u8], names: &Names<'_>) -> Line<'line> {
    if std::str::from_utf8(line).is_err() {
        return NOTHING;
    }
    parse(trimmed(line), names).unwrap_or(NOTHING)
}

/// Without the white space around it.
fn trimmed(mut line: &[u8]) -> &[u8] {
    while let [rest @ .., b' ' | b'\t' | b'\r' | b'\n'] = line {
        line = rest;
    }
    while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = line {
        line = rest;
    }
    line
}

/// Parses one line; `None` if it is not JSON.
fn parse<'line>(line: &'line [u8], names: &Names<'_>) -> Option<Line<'line>> {
    let mut scanner = Scanner::new(line);
    if line.first() != Some(&b'{') {
        let token = scanner.value()?;
        scanner.end()?;
        return Some(Line { value: Value::Given(token), ..NOTHING });
    }
    let mut found = Line { value: Value::Absent, ..NOTHING };
    scanner.object(|name, token| {
        let is = |wanted: Option<&str>| wanted.is_some_and(|wanted| name.is(wanted));
        if is(names.value) {
            found.value = Value::Given(token);
        }
        if is(names.key) {
            found.key = text(token);
        }
        if is(names.time) {
            found.time = Some(token);
        }
        if is(names.id) {
            found.id = text(token);
        }
    })?;
    scanner.end()?;
    Some(found)
}

impl Line<'_> {
    /// The time, in milliseconds since 1970; `None` if it is missing or unreadable.
    pub fn time(&self) -> Option<i64> {
        let token = self.time?;
        match token.kind {
            Kind::Number if token.raw.iter().any(|digit| matches!(digit, b'e' | b'E')) => {
                let seconds: f64 = std::str::from_utf8(token.raw).ok()?.parse().ok()?;
                let time = (seconds * 1000.0).floor();
                (time.abs() < i64::MAX as f64).then_some(time as i64)
            }
            Kind::Number => times::parse(token.raw),
            _ => token.text()?.copy_to(&mut [0; LONGEST_SCALAR]).and_then(times::parse),
        }
    }
}

impl Value<'_> {
    /// The value as a number; `absent` is used for an object without the field.
    pub fn number(self, absent: i64) -> i64 {
        match self {
            Self::Unreadable => 0,
            Self::Absent => absent,
            Self::Given(token) => number(token),
        }
    }

    /// Whether the value is neither `null` nor blank text.
    pub fn is_something(self) -> bool {
        match self {
            Self::Unreadable | Self::Absent => false,
            Self::Given(token) => token.kind != Kind::Null && !token.text().is_some_and(Text::is_blank),
        }
    }
}

/// The value as an integer; 0 if it is not one.
fn number(token: Token<'_>) -> i64 {
    match token.kind {
        Kind::Number => match integer::parse(token.raw) {
            Some(number) => number,
            None => {
                let number: f64 = std::str::from_utf8(token.raw).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
                // The conversion saturates.
                if number.is_infinite() || number.fract() == 0.0 { number as i64 } else { 0 }
            }
        },
        Kind::True => 1,
        _ => {
            let mut plain = zeroize::Zeroizing::new([0; LONGEST_SCALAR]);
            token.text().and_then(|text| text.copy_to(&mut *plain)).and_then(integer::parse).unwrap_or(0)
        }
    }
}

/// A string, or an integer as text.
fn text(token: Token<'_>) -> Option<Text<'_>> {
    match token.kind {
        Kind::Number if integer::parse(token.raw).is_some() => Some(Text { raw: token.raw, kind: Kind::Plain }),
        _ => token.text(),
    }
}

impl<'line> Token<'line> {
    fn text(self) -> Option<Text<'line>> {
        matches!(self.kind, Kind::Plain | Kind::Escaped).then_some(Text { raw: self.raw, kind: self.kind })
    }
}

impl<'line> Text<'line> {
    /// Passes its unescaped bytes to `piece`, piece by piece.
    pub fn pieces(self, mut piece: impl FnMut(&[u8])) {
        if self.kind == Kind::Plain {
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

    /// An unescaped copy; `None` if it is empty.
    pub fn to_key(self) -> Option<Box<str>> {
        let mut plain = Vec::with_capacity(self.raw.len());
        self.pieces(|piece| plain.extend_from_slice(piece));
        String::from_utf8(plain).ok().filter(|key| !key.is_empty()).map(Into::into)
    }

    /// Copies its unescaped bytes to `space`; `None` if they do not fit.
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
        if self.kind == Kind::Plain {
            return self.raw == name.as_bytes();
        }
        let mut rest = Some(name.as_bytes());
        self.pieces(|piece| rest = rest.and_then(|rest| rest.strip_prefix(piece)));
        rest == Some(b"")
    }

    fn is_blank(self) -> bool {
        let mut blank = true;
        self.pieces(|piece| blank &= piece.trim_ascii().is_empty());
        blank
    }
}
