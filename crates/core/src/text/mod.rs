//! Text from outside on a terminal, in JSON and in CSV: no key, name or answer moves the cursor, reverses the reading
//! direction or ends a field.

mod csv;

use std::borrow::Cow;
use std::fmt::Display;

pub use self::csv::CsvLine;

/// Lets serde write a type as text, and read it through its parser, which checks it.
macro_rules! serde_as_text {
    ($name:ty) => {
        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::error::Error;

            fn try_from(text: String) -> $crate::error::Result<Self> {
                text.parse()
            }
        }
    };
}
pub(crate) use serde_as_text;

/// Escapes everything that could move the cursor, colour the screen or change the direction of writing.
pub fn printable(text: &str) -> String {
    escape(text, |character| format!("\\u{{{:x}}}", u32::from(character))).into_owned()
}

/// A line of JSON, with the same characters escaped as in JSON.
pub fn json_line(value: &impl Display) -> String {
    escape(&value.to_string(), |character| format!("\\u{:04x}", u32::from(character))).into_owned() + "\n"
}

/// A field of CSV: quoted if it has a comma, a quote or a line break.
pub fn csv_field(field: &str) -> Cow<'_, str> {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")).into(),
        false => field.into(),
    }
}

/// A line of CSV, without its end.
pub fn csv_line(fields: &[impl AsRef<str>]) -> String {
    fields.iter().map(|field| csv_field(field.as_ref())).collect::<Vec<_>>().join(",")
}

fn escape(text: &str, escaped: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return text.into();
    }
    text.chars()
        .map(|character| if is_unsafe(character) { escaped(character) } else { character.to_string() })
        .collect::<String>()
        .into()
}

fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn csv_fields_are_quoted_where_they_must_be() {
        let fields = ["plain", "a,b", "say \"yes\"", "two\nlines"];
        assert_eq!(csv_line(&fields), "plain,\"a,b\",\"say \"\"yes\"\"\",\"two\nlines\"");
    }

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}1m\nb\u{202e}c é"), "a\\u{1b}[2J\\u{9b}1m\\u{a}b\\u{202e}c é");
        let value = Value::from("a\u{1b}\u{9b}\u{202e}\"");
        let line = json_line(&value);
        assert_eq!(line, "\"a\\u001b\\u009b\\u202e\\\"\"\n");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }
}
