//! Text patterns.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use reticent_table::MOST_TEXT;
use serde::{Deserialize, Serialize};

use crate::algebra::Type;
use crate::algebra::column::{Booleans, Column, Texts, map};
use crate::algebra::stop::is_stopped;

/// The longest pattern accepted, in bytes.
pub const MOST_PATTERN: usize = 1000;
/// The longest text in which every match is replaced, in bytes.
pub const MOST_REPLACED: usize = 4096;
/// The most memory that a compiled pattern may take, in bytes.
const MOST_COMPILED: usize = 1 << 20;
/// A pattern that takes no more memory than this is matched against texts of any length.
const FEW_COMPILED: usize = MOST_COMPILED / 16;
/// The longest text that a larger pattern is matched against, in bytes.
///
/// In the worst case a search takes time proportional to the length of the text times the size of the pattern. This is
/// the longest text for which the largest pattern does not take longer than the largest small one does for the longest
/// text: about half a second.
pub const MOST_SEARCHED: usize = MOST_TEXT * FEW_COMPILED / MOST_COMPILED;
/// The most memory that each thread may use to match it, in bytes; a pattern that needs more is matched more slowly.
const MOST_CACHED: usize = 1 << 17;

/// A constant pattern, compiled before any row is read.
///
/// # Total
/// Every text matches or does not, but a text of more than [`MOST_SEARCHED`] bytes gives NULL for a pattern that takes
/// more than 64 KiB of memory. One search takes time linear in the text, whatever the pattern. Replacing every match
/// searches again after each one, and each search may scan the whole text: that is quadratic, so a text of more than
/// [`MOST_REPLACED`] bytes gives NULL.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Pattern {
    written: Written,
    compiled: Arc<Regex>,
    /// The longest text that it is matched against.
    longest: usize,
}

/// The serialised form of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Written {
    expression: String,
    ignore_case: bool,
    /// The replacement for matches, if any.
    replacement: Option<String>,
    /// Whether all matches are replaced, or only the first.
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
        let compiled = |most: usize| {
            RegexBuilder::new(&written.expression)
                .case_insensitive(written.ignore_case)
                .dot_matches_new_line(true)
                .size_limit(most)
                .dfa_size_limit(MOST_CACHED)
                .build()
        };
        let (compiled, longest) = match compiled(FEW_COMPILED) {
            Err(regex::Error::CompiledTooBig(_)) => (compiled(MOST_COMPILED), MOST_SEARCHED),
            other => (other, MOST_TEXT),
        };
        let compiled = compiled.map_err(|error| format!("invalid regular expression: {error}"))?;
        Ok(Self { written, compiled: Arc::new(compiled), longest })
    }
}

impl From<Pattern> for Written {
    fn from(pattern: Pattern) -> Self {
        pattern.written
    }
}

impl Pattern {
    /// A LIKE pattern: `%` matches any text, `_` any character, and the character after the escape character is
    /// literal.
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
                    // A trailing escape character is literal.
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

    /// A regular expression that matches anywhere in the text.
    ///
    /// # Errors
    /// If it is invalid, too long, or too large when compiled.
    pub fn regular(expression: &str, ignore_case: bool) -> Result<Self, String> {
        if expression.len() > MOST_PATTERN {
            return Err(format!("the pattern has more than {MOST_PATTERN} bytes"));
        }
        Written { expression: expression.into(), ignore_case, replacement: None, all: false }.try_into()
    }

    /// The same pattern with a replacement for its first match or every match: a plain text, in which `$` is literal.
    #[must_use]
    pub fn replacing(self, replacement: &str, all: bool) -> Self {
        Self { written: Written { replacement: Some(replacement.into()), all, ..self.written }, ..self }
    }

    /// Whether the result can be longer than the text.
    pub fn grows(&self) -> bool {
        self.written.replacement.is_some()
    }

    /// Returns the type of the result: a condition, or a text if matches are replaced.
    pub fn output(&self, inputs: &[Type]) -> Option<Type> {
        let output = if self.written.replacement.is_some() { Type::Text } else { Type::Boolean };
        (inputs == [Type::Text]).then_some(output)
    }

    /// Computes the value for each row.
    pub fn apply(&self, columns: &[Column], rows: usize) -> Column {
        let Some(replacement) = &self.written.replacement else {
            return map::<Texts, Booleans>(columns, rows, |text| {
                self.searches(text).then(|| self.compiled.is_match(text))
            });
        };
        map::<Texts, Texts>(columns, rows, |text| self.replaced(text, replacement))
    }

    /// Whether a text is searched at all: not once [the run was stopped](crate::algebra::stop).
    fn searches(&self, text: &str) -> bool {
        text.len() <= self.longest && !is_stopped()
    }

    fn replaced(&self, text: &str, replacement: &str) -> Option<String> {
        if !self.searches(text) || self.written.all && text.len() > MOST_REPLACED {
            return None;
        }
        let most = if self.written.all { usize::MAX } else { 1 };
        let (mut result, mut end) = (String::new(), 0);
        for found in self.compiled.find_iter(text).take(most) {
            result += &text[end..found.start()];
            result += replacement;
            end = found.end();
            if result.len() > MOST_TEXT || is_stopped() {
                return None;
            }
        }
        result += &text[end..];
        super::text::short(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &str, all: bool, text: &str) -> Option<String> {
        Pattern::regular(pattern, false).unwrap().replacing("<$0>", all).replaced(text, "<$0>")
    }

    #[test]
    fn matches_are_replaced_by_plain_text() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(replaced("b+", false, "abba bab"), text("a<$0>a bab"));
        assert_eq!(replaced("b+", true, "abba bab"), text("a<$0>a <$0>a<$0>"));
        assert_eq!(replaced("", true, "é1"), text("<$0>é<$0>1<$0>"));
        assert_eq!(replaced("x", true, "é"), text("é"));
    }

    /// Each search for the first alternative scans the whole text: two billion steps for 64 KiB, for each row.
    #[test]
    fn not_every_match_in_a_long_text_is_replaced() {
        let quadratic = ".*[^A-Z]|[A-Z]";
        assert_eq!(replaced(quadratic, true, &"A".repeat(MOST_TEXT)), None);
        assert_eq!(replaced(quadratic, true, &"A".repeat(MOST_REPLACED + 1)), None);
        assert_eq!(replaced(quadratic, true, &"A".repeat(MOST_REPLACED)), Some("<$0>".repeat(MOST_REPLACED)));
        let first = replaced(quadratic, false, &"A".repeat(MOST_TEXT - 3)).unwrap();
        assert_eq!(first.len(), MOST_TEXT);
    }

    /// Matched against 64 KiB of letters, the larger pattern would take many seconds.
    #[test]
    fn large_patterns_are_not_matched_against_long_texts() {
        let matches = |pattern: &str, length: usize| {
            let text = Column::Constant(crate::algebra::Value::Text("a".repeat(length).into()));
            Pattern::regular(pattern, false).unwrap().apply(&[text], 1).into_array(Type::Boolean, 1)
        };
        let value = |pattern, length| crate::algebra::column::cell(&matches(pattern, length), 0);
        let (small, large) = ("[a-q][^u-z]{3}x", "(\\w{4}b)?a");
        assert_eq!(value(small, MOST_TEXT), crate::algebra::Value::Boolean(false));
        assert_eq!(value(large, MOST_SEARCHED), crate::algebra::Value::Boolean(true));
        assert_eq!(value(large, MOST_SEARCHED + 1), crate::algebra::Value::Null);
    }

    /// Whatever is left gives up at once: these thousand searches would take minutes.
    #[test]
    fn nothing_long_is_searched_once_stopped() {
        let interrupt = reticent_bounding::Interrupt::new();
        interrupt.stop();
        let pattern = Pattern::regular("(a?){60}a{60}z", false).unwrap();
        let texts = crate::algebra::stop::until(&interrupt, || {
            let long = "a".repeat(MOST_TEXT);
            (0..1000).filter(|_| pattern.searches(&long)).count()
        });
        assert_eq!(texts, 0);
        assert!(pattern.searches(&"a".repeat(MOST_TEXT)));
    }

    #[test]
    fn what_grows_too_long_is_null() {
        assert_eq!(replaced("", true, &"A".repeat(MOST_REPLACED)).map(|text| text.len()), Some(MOST_REPLACED * 5 + 4));
        assert_eq!(replaced("A", false, &"A".repeat(MOST_TEXT - 2)), None);
        let much = Pattern::regular("A", false).unwrap().replacing(&"x".repeat(1000), true);
        assert_eq!(much.replaced(&"A".repeat(66), &"x".repeat(1000)), None);
        assert_eq!(much.replaced(&"A".repeat(65), &"x".repeat(1000)), Some("x".repeat(65_000)));
    }
}
