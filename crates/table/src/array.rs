//! The elements of a JSON array: `[{…}, {…}]`, on one line or on many.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use serde::de::IgnoredAny;

use crate::text::BYTE_ORDER_MARK;

/// More whitespace than this before an array is not looked through.
const LONGEST_MARGIN: u64 = 1 << 20;

/// Whether the first character of a file named as an array opens one: then it is outside all rows.
pub fn begins(input: impl Read) -> io::Result<bool> {
    let mut input = BufReader::new(input.take(LONGEST_MARGIN));
    pass_mark(&mut input)?;
    for byte in input.bytes() {
        match byte? {
            b' ' | b'\t' | b'\r' | b'\n' => {}
            byte => return Ok(byte == b'['),
        }
    }
    Ok(false)
}

/// Whether the last character of a file closes an array: otherwise the file was cut off, and no run would succeed.
pub fn ends(path: &Path) -> io::Result<bool> {
    const BLOCK: u64 = 4096;
    let mut file = File::open(path)?;
    let mut end = file.seek(SeekFrom::End(0))?;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(start))?;
        let mut block = Vec::new();
        (&file).take(end - start).read_to_end(&mut block)?;
        if let Some(last) = block.trim_ascii_end().last() {
            return Ok(*last == b']');
        }
        end = start;
    }
    Ok(false)
}

fn pass_mark(input: &mut impl BufRead) -> io::Result<()> {
    if input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    Ok(())
}

/// The elements of an array, one after the other. Only brackets and quotes determine where one ends.
///
/// # Privacy
/// An element with a bracket or quote too many would decide how all that follow are read: it could swallow them, or end the
/// array before them, also if a later one makes up for it. So whatever is not an array of JSON values to its last byte,
/// or has an element that is too long to be looked at, is an error: the run fails, once, instead of releasing statistics
/// of which one row moved more than its share.
pub struct Elements<R> {
    input: BufReader<R>,
    element: Vec<u8>,
    /// The most bytes of an element.
    longest: usize,
    state: State,
    is_first: bool,
}

#[derive(PartialEq)]
enum State {
    /// Before the array.
    Before,
    /// Between the brackets.
    Within,
    /// After its last bracket, where only whitespace may follow.
    Closed,
    /// After the file.
    After,
}

impl<R: Read> Elements<R> {
    /// Reads an array that starts where `input` does.
    pub fn new(input: R, capacity: usize, longest: u64) -> Self {
        let longest = usize::try_from(longest).unwrap_or(usize::MAX);
        let (input, element) = (BufReader::with_capacity(capacity, input), Vec::new());
        Self { input, element, longest, state: State::Before, is_first: true }
    }

    /// Returns the next element, with the whitespace around it.
    pub fn advance(&mut self) -> io::Result<Option<&[u8]>> {
        if self.state == State::Before {
            self.input.skip_until(b'[')?;
            self.state = State::Within;
        }
        if self.state == State::Within {
            self.element.clear();
            self.scan()?;
            let is_first = std::mem::replace(&mut self.is_first, false);
            let has_none = is_first && self.state == State::Closed && self.element.trim_ascii().is_empty();
            if !has_none {
                if serde_json::from_slice::<IgnoredAny>(&self.element).is_err() {
                    self.state = State::After;
                    return Err(malformed());
                }
                return Ok(Some(&self.element));
            }
        }
        if self.state == State::Closed {
            self.state = State::After;
            self.end()?;
        }
        Ok(None)
    }

    fn end(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            if !buffer.iter().all(u8::is_ascii_whitespace) {
                return Err(malformed());
            }
            match buffer.len() {
                0 => return Ok(()),
                read => self.input.consume(read),
            }
        }
    }

    /// Reads to the end of an element.
    fn scan(&mut self) -> io::Result<()> {
        let (mut depth, mut in_text, mut escaped) = (0_u64, false, false);
        loop {
            let buffer = self.input.fill_buf()?;
            if buffer.is_empty() {
                self.state = State::After;
                return Err(malformed());
            }
            let mut end = None;
            for (place, byte) in buffer.iter().enumerate() {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' if in_text => escaped = true,
                    b'"' => in_text = !in_text,
                    _ if in_text => {}
                    b'{' | b'[' => depth += 1,
                    b',' | b']' if depth == 0 => {
                        end = Some(place);
                        break;
                    }
                    b'}' | b']' => depth = depth.checked_sub(1).ok_or_else(malformed)?,
                    _ => {}
                }
            }
            let read = end.unwrap_or(buffer.len());
            if self.element.len() + read > self.longest {
                self.state = State::After;
                return Err(malformed());
            }
            self.element.extend_from_slice(&buffer[..read]);
            if let Some(place) = end {
                if buffer[place] == b']' {
                    self.state = State::Closed;
                }
                self.input.consume(place + 1);
                return Ok(());
            }
            self.input.consume(read);
        }
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not one array")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the result does not depend on the size of the buffer.
    fn elements(text: &str) -> Vec<String> {
        let of = |capacity: usize| {
            let (mut elements, mut found) = (Elements::new(text.as_bytes(), capacity, 100), Vec::new());
            loop {
                match elements.advance() {
                    Ok(Some(element)) => found.push(String::from_utf8(element.to_vec()).unwrap().trim().to_owned()),
                    Ok(None) => break,
                    Err(error) => {
                        found.push(error.to_string());
                        break;
                    }
                }
            }
            found
        };
        let found = of(1);
        (2..9).for_each(|capacity| assert_eq!(of(capacity), found, "{text} in pieces of {capacity}"));
        found
    }

    #[test]
    fn brackets_and_quotes_tell_where_an_element_ends() {
        assert_eq!(elements(r#"[{"a":1},{"a":2}]"#), [r#"{"a":1}"#, r#"{"a":2}"#]);
        assert_eq!(elements(" [\n  {\n\"a\": [1, 2]},\r\n  7 ]\n"), ["{\n\"a\": [1, 2]}", "7"]);
        let texts = r#"[{"a":"],[{}\"","b":{"c":[{}]}},"\\",{"\\\"":"}"}]"#;
        assert_eq!(elements(texts), [r#"{"a":"],[{}\"","b":{"c":[{}]}}"#, r#""\\""#, r#"{"\\\"":"}"}"#]);
        assert_eq!(elements("[]"), [""; 0]);
        assert_eq!(elements(" [ \n] "), [""; 0]);
    }

    #[test]
    fn what_does_not_end_where_the_file_does_is_an_error() {
        const ERROR: &str = "not one array";
        assert_eq!(elements("[1,2"), ["1", ERROR]);
        assert_eq!(elements(r#"[{"a":1},{"a":"2"#), [r#"{"a":1}"#, ERROR]);
        assert_eq!(elements("{}"), [ERROR]);
        for text in ["[1,]", "[,]", "[1 2]", "[nothing]", "[{1}]"] {
            assert_eq!(elements(text).last().unwrap(), ERROR, "{text}");
        }
        // One row that would swallow those after it, or end the array before them; also if a later one makes up for it.
        for row in [r#"{"x":{1},{"x":4}}"#, "1}", r#"{"x":"1}"#, r#"{"x":{"y":1}"#, "{}]", "["] {
            let text = format!(r#"[{{"x":1}},{row},{{"x":2}},{{"x":3}}]"#);
            assert_eq!(elements(&text).last().unwrap(), ERROR, "{text}");
        }
    }

    #[test]
    fn a_file_that_was_cut_off_is_noticed_by_its_last_character() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let ends = |text: &str| {
            std::fs::write(&file, text).unwrap();
            super::ends(file.path()).unwrap()
        };
        assert!(ends("[1]") && ends("[1]\r\n") && ends(&format!("[{}]{}", "1,".repeat(9000), " ".repeat(9000))));
        assert!(!ends("") && !ends(" ") && !ends("[1,2") && !ends(&format!("[{}", "1,".repeat(9000))));
    }

    #[test]
    fn an_element_that_is_too_long_is_an_error() {
        assert_eq!(elements(&format!("[1,\"{}\",2]", "x".repeat(200))), ["1", "not one array"]);
    }

    #[test]
    fn texts_need_not_be_utf_8() {
        let mut elements = Elements::new(&b"[\"caf\xe9\"]"[..], 10, 100);
        assert_eq!(elements.advance().unwrap(), Some(&b"\"caf\xe9\""[..]));
        assert_eq!(elements.advance().unwrap(), None);
    }
}
