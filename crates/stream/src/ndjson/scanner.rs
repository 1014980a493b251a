//! Scans JSON without storing any of it.

use super::Text;

/// A value, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'line> {
    pub kind: Kind,
    /// A number's digits, or text between its quotes.
    pub raw: &'line [u8],
}

/// As wide as a pointer: tokens are then copied in whole words, which is a third faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Kind {
    Number,
    /// Without escapes.
    Plain,
    /// With escapes.
    Escaped,
    True,
    Null,
    /// `false`, an array or an object.
    Other,
    /// The first byte of an array or an object; only within the scanner.
    Opening,
}

/// The maximum nesting depth of arrays and objects: one bit for each level.
const DEEPEST: u32 = 100;

pub(super) struct Scanner<'line> {
    rest: &'line [u8],
}

impl<'line> Scanner<'line> {
    pub fn new(line: &'line [u8]) -> Self {
        Self { rest: line }
    }

    /// Expects the end of the input.
    pub fn end(&mut self) -> Option<()> {
        self.skip_space();
        self.rest.is_empty().then_some(())
    }

    /// Reads an object, field by field.
    pub fn object(&mut self, mut field: impl FnMut(Text<'line>, Token<'line>)) -> Option<()> {
        self.expect(b'{')?;
        if self.take(b'}') {
            return Some(());
        }
        loop {
            let name = self.name()?;
            let value = self.value()?;
            field(name, value);
            if self.take(b'}') {
                return Some(());
            }
            self.expect(b',')?;
        }
    }

    /// Reads any value.
    #[inline]
    pub fn value(&mut self) -> Option<Token<'line>> {
        let token = self.scalar()?;
        if token.kind == Kind::Opening { self.walk(token.raw == b"{") } else { Some(token) }
    }

    /// Walks over an array or an object that has begun. Which of the two each level is stands in the bits of a number, so that
    /// no text, however deep, takes memory.
    fn walk(&mut self, object: bool) -> Option<Token<'line>> {
        let mut objects = u128::from(object);
        let mut depth = 1;
        let mut fresh = true;
        while depth > 0 {
            let in_object = objects & 1 == 1;
            if self.take(if in_object { b'}' } else { b']' }) {
                objects >>= 1;
                depth -= 1;
                fresh = false;
                continue;
            }
            if !fresh {
                self.expect(b',')?;
            }
            if in_object {
                self.name()?;
            }
            fresh = false;
            let token = self.scalar()?;
            if token.kind == Kind::Opening {
                depth += 1;
                if depth > DEEPEST {
                    return None;
                }
                objects = objects << 1 | u128::from(token.raw == b"{");
                fresh = true;
            }
        }
        Some(Token { kind: Kind::Other, raw: b"" })
    }

    #[inline]
    fn name(&mut self) -> Option<Text<'line>> {
        self.skip_space();
        let name = self.string()?;
        self.expect(b':')?;
        Some(name)
    }

    /// Reads a scalar, or the beginning of an array or object.
    #[inline]
    fn scalar(&mut self) -> Option<Token<'line>> {
        self.skip_space();
        let (kind, raw) = match *self.rest.first()? {
            b'"' => {
                let Text { raw, kind } = self.string()?;
                (kind, raw)
            }
            b'-' | b'0'..=b'9' => (Kind::Number, self.number()?),
            b't' => (Kind::True, self.word(b"true")?),
            b'f' => (Kind::Other, self.word(b"false")?),
            b'n' => (Kind::Null, self.word(b"null")?),
            b'{' | b'[' => {
                let (opening, rest) = self.rest.split_at(1);
                self.rest = rest;
                (Kind::Opening, opening)
            }
            _ => return None,
        };
        Some(Token { kind, raw })
    }

    #[inline]
    fn string(&mut self) -> Option<Text<'line>> {
        let body = self.rest.strip_prefix(b"\"")?;
        let (mut place, mut kind) = (0, Kind::Plain);
        loop {
            place += plain_length(&body[place..]);
            match *body.get(place)? {
                b'"' => break,
                b'\\' => {
                    place += escape(&body[place..])?.1;
                    kind = Kind::Escaped;
                }
                _ => return None,
            }
        }
        self.rest = &body[place + 1..];
        Some(Text { raw: &body[..place], kind })
    }

    /// `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`
    fn number(&mut self) -> Option<&'line [u8]> {
        let text = self.rest;
        let mut place = usize::from(text.first() == Some(&b'-'));
        let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let whole = digits(place);
        if whole == 0 || whole > 1 && text[place] == b'0' {
            return None;
        }
        place += whole;
        if text.get(place) == Some(&b'.') {
            let fraction = digits(place + 1);
            place += 1 + fraction;
            if fraction == 0 {
                return None;
            }
        }
        if let Some(b'e' | b'E') = text.get(place) {
            place += 1 + usize::from(matches!(text.get(place + 1), Some(b'+' | b'-')));
            let exponent = digits(place.min(text.len()));
            place += exponent;
            if exponent == 0 {
                return None;
            }
        }
        let (number, rest) = text.split_at(place);
        self.rest = rest;
        Some(number)
    }

    fn word(&mut self, word: &[u8]) -> Option<&'line [u8]> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(b"")
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Option<()> {
        self.take(byte).then_some(())
    }

    #[inline]
    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let there = self.rest.first() == Some(&byte);
        if there {
            self.rest = &self.rest[1..];
        }
        there
    }

    #[inline]
    fn skip_space(&mut self) {
        while let [b' ' | b'\t' | b'\r' | b'\n', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }
}

/// How many bytes there are before the first quote, backslash or control character: eight at a time.
#[inline]
fn plain_length(text: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 0xff;
    const HIGH: u64 = ONES << 7;
    let mut length = 0;
    while let Some(eight) = text[length..].first_chunk::<8>() {
        let bytes = u64::from_le_bytes(*eight);
        // The lowest byte whose highest bit is set is the first that is less than `limit`.
        let less = |bytes: u64, limit: u64| bytes.wrapping_sub(ONES * limit) & !bytes & HIGH;
        let equal = |byte: u8| less(bytes ^ (ONES * u64::from(byte)), 1);
        let special = less(bytes, 0x20) | equal(b'"') | equal(b'\\');
        if special != 0 {
            return length + special.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    length + text[length..].iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}

/// Decodes the escape at the beginning of a text into a character and the escape's length; `None` if it is invalid.
pub(super) fn escape(text: &[u8]) -> Option<(char, usize)> {
    let letter = match text.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let first = four_digits(text.get(2..6)?)?;
            if let Some(letter) = char::from_u32(first) {
                return Some((letter, 6));
            }
            // A surrogate pair.
            let second = text.get(6..12)?.strip_prefix(b"\\u").and_then(four_digits)?;
            let sound = (0xd800..0xdc00).contains(&first) && (0xdc00..0xe000).contains(&second);
            let joined = sound.then(|| 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?;
            return Some((char::from_u32(joined)?, 12));
        }
        _ => return None,
    };
    Some((letter, 2))
}

fn four_digits(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |value, &byte| Some(value << 4 | char::from(byte).to_digit(16)?))
}
