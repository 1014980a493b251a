//! Text from outside as a terminal may see it: no key, name or answer moves the cursor or reverses the reading direction.

use std::borrow::Cow;

use anyhow::Result;
use reticent_ledger::storage::location::may_hold_a_password;
use serde_json::Value;

use crate::exit::usage;

/// Checks a name before anything else is done.
///
/// # Errors
/// If it is empty, has control characters, or may contain a password: then it is not repeated.
pub fn usable(what: &str, name: &str) -> Result<()> {
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(usage(format!(
            "{what} is {name:?}, but it must be non-empty text without line breaks or control characters"
        )));
    }
    if may_hold_a_password(name) {
        return Err(usage(format!("{what} looks like an address with a password in it; choose one that may be shown")));
    }
    Ok(())
}

/// Escapes everything that could move the cursor, colour the screen or change the direction of writing.
pub fn printable(text: &str) -> String {
    escape(text, |character| format!("\\u{{{:x}}}", u32::from(character))).into_owned()
}

/// A line of JSON, with the same characters escaped as in JSON.
pub fn json_line(value: &Value) -> String {
    escape(&value.to_string(), |character| format!("\\u{:04x}", u32::from(character))).into_owned() + "\n"
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
    use super::*;

    #[test]
    fn nothing_moves_the_cursor() {
        assert_eq!(printable("a\u{1b}[2J\u{9b}1m\nb\u{202e}c é"), "a\\u{1b}[2J\\u{9b}1m\\u{a}b\\u{202e}c é");
        let value = Value::from("a\u{1b}\u{9b}\u{202e}\"");
        let line = json_line(&value);
        assert_eq!(line, "\"a\\u001b\\u009b\\u202e\\\"\"\n");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn names_are_words() {
        assert!(usable("the name", "visits of 2026/März").is_ok());
        for name in ["", "a\nb", "\u{1b}", "\0"] {
            assert!(usable("the name", name).is_err(), "{name:?}");
        }
    }
}
