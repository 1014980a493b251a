//! Patterns that texts match.

use std::sync::Arc;

use regex::{NoExpand, Regex, RegexBuilder};
use reticent_table::MOST_TEXT;
use serde::{Deserialize, Serialize};

use crate::algebra::Type;
use crate::algebra::column::{Booleans, Column, Texts, map};

/// The longest pattern, in bytes.
pub const MOST_PATTERN: usize = 1000;
/// The most memory that a compiled pattern may take, in bytes.
const MOST_COMPILED: usize = 1 << 20;
/// The most memory that each thread may take to match it, in bytes; a pattern that needs more is matched more slowly.
const MOST_CACHED: usize = 1 << 17;

/// A constant pattern, compiled before any row is read.
///
/// # Total
/// Every text matches or does not. The engine takes time linear in the text, whatever the pattern is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Pattern {
    written: Written,
    compiled: Arc<Regex>,
}

/// A pattern as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    expression: String,
    ignore_case: bool,
    /// What every match is replaced by, if it is.
    replacement: Option<String>,
    /// All of them, or the first alone?
    all: bool,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl TryFrom<Written> for Pattern {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        if written.expression.len() > 8 * MOST_PATTERN {
            return Err(format!("the pattern has more than {MOST_PATTERN} bytes"));
        }
        let compiled = RegexBuilder::new(&written.expression)
            .case_insensitive(written.ignore_case)
            .dot_matches_new_line(true)
            .size_limit(MOST_COMPILED)
            .dfa_size_limit(MOST_CACHED)
            .build()
            .map_err(|error| format!("the pattern is not a regular expression: {error}"))?;
        Ok(Self { written, compiled: Arc::new(compiled) })
    }
}

impl From<Pattern> for Written {
    fn from(pattern: Pattern) -> Self {
        pattern.written
    }
}

impl Pattern {
    /// Of LIKE: `%` is any text, `_` any character, and what follows the escape character is itself.
    ///
    /// # Errors
    /// If it is too long.
    pub fn like(pattern: &str, escape: Option<char>, ignore_case: bool) -> Result<Self, String> {
        if pattern.len() > MOST_PATTERN {
            return Err(format!("the pattern has more than {MOST_PATTERN} bytes"));
        }
        let mut expression = String::from("^");
        let mut letters = pattern.chars();
        while let Some(letter) = letters.next() {
            match letter {
                letter if Some(letter) == escape => {
                    // An escape character at the end stands for itself.
                    let letter = letters.next().unwrap_or(letter);
                    expression += &regex::escape(letter.encode_utf8(&mut [0; 4]));
                }
                '%' => expression += ".*",
                '_' => expression += ".",
                letter => expression += &regex::escape(letter.encode_utf8(&mut [0; 4])),
            }
        }
        expression.push('$');
        Written { expression, ignore_case, replacement: None, all: false }.try_into()
    }

    /// A regular expression that a part of the text matches.
    ///
    /// # Errors
    /// If it is none, too long, or too large when compiled.
    pub fn regular(expression: &str, ignore_case: bool) -> Result<Self, String> {
        if expression.len() > MOST_PATTERN {
            return Err(format!("the pattern has more than {MOST_PATTERN} bytes"));
        }
        Written { expression: expression.into(), ignore_case, replacement: None, all: false }.try_into()
    }

    /// The same, with what its matches are replaced by: a plain text, in which `$` is itself.
    ///
    /// # Errors
    /// None in practice.
    pub fn replacing(self, replacement: &str, all: bool) -> Result<Self, String> {
        Written { replacement: Some(replacement.into()), all, ..self.written }.try_into()
    }

    /// Can its result be longer than the text?
    pub fn grows(&self) -> bool {
        self.written.replacement.is_some()
    }

    /// The type of its result: does the text match, or what becomes of it?
    pub fn output(&self, inputs: &[Type]) -> Option<Type> {
        let output = if self.written.replacement.is_some() { Type::Text } else { Type::Boolean };
        (inputs == [Type::Text]).then_some(output)
    }

    /// Its value for each row.
    pub fn apply(&self, columns: &[Column], rows: usize) -> Column {
        let Some(replacement) = &self.written.replacement else {
            return map::<Texts, Booleans>(columns, rows, |text| Some(self.compiled.is_match(text)));
        };
        map::<Texts, Texts>(columns, rows, |text| {
            let matches = if self.written.all { self.compiled.find_iter(text).count() } else { 1 };
            let longest = matches.checked_mul(replacement.len())?.checked_add(text.len())?;
            // What is replaced may be longer than what replaces it: only then is the length known afterwards alone.
            if longest > 2 * MOST_TEXT {
                return None;
            }
            let limit = usize::from(!self.written.all);
            super::text::short(self.compiled.replacen(text, limit, NoExpand(replacement)).into_owned())
        })
    }
}
