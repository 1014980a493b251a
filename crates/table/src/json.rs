//! The fields of one JSON object.
//!
//! Two passes: serde_json decides whether the text is JSON at all; then the fields are located in text known to be
//! valid. So whether a line is a row does not depend on which of its fields a query reads, and numbers keep their
//! original text.

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::IgnoredAny;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// A string, with its quotes and escapes.
    String(&'a str),
    /// A number, `true` or `false`, as written.
    Word(&'a str),
    /// An object or a list.
    Nested,
}

impl<'a> Value<'a> {
    /// The value as text; `None` for an unpaired surrogate, which JSON can express but UTF-8 cannot.
    pub fn text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Null | Self::Nested => None,
            Self::Word(word) => Some(Cow::Borrowed(word)),
            Self::String(string) => unescape(string),
        }
    }
}

fn unescape(string: &str) -> Option<Cow<'_, str>> {
    let inside = string.strip_prefix('"')?.strip_suffix('"')?;
    if memchr::memchr(b'\\', inside.as_bytes()).is_none() {
        return Some(Cow::Borrowed(inside));
    }
    serde_json::from_str(string).ok().map(Cow::Owned)
}

/// Calls `found` for each field in order. Returns false, without any call, if the text is not one JSON object.
pub fn fields<'a>(text: &'a str, mut found: impl FnMut(&str, Value<'a>)) -> bool {
    // JSON's own whitespace.
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if !text.starts_with('{') || serde_json::from_str::<IgnoredAny>(text).is_err() {
        return false;
    }
    let mut walk = Walk { text, at: 1 };
    // From here on, anything but a quote must be the closing brace.
    while walk.next_token() == Some(b'"') {
        let name = walk.value();
        walk.next_token();
        // The colon.
        walk.at += 1;
        walk.next_token();
        let value = walk.value();
        if walk.next_token() == Some(b',') {
            walk.at += 1;
        }
        if let Some(name) = name.text() {
            found(&name, value);
        }
    }
    true
}

/// A walk over text known to be JSON.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    fn bytes(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at.min(self.text.len())..]
    }

    /// Skips whitespace and returns the next byte.
    fn next_token(&mut self) -> Option<u8> {
        let space = self.bytes().iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += space;
        self.bytes().first().copied()
    }

    /// Returns the value that starts here, and continues after it.
    fn value(&mut self) -> Value<'a> {
        let start = self.at;
        match self.bytes().first() {
            Some(b'"') => {
                self.string();
                Value::String(&self.text[start..self.at])
            }
            Some(b'{' | b'[') => {
                self.nested();
                Value::Nested
            }
            _ => {
                let end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                self.at += self.bytes().iter().position(end).unwrap_or(self.bytes().len());
                match &self.text[start..self.at] {
                    "null" => Value::Null,
                    word => Value::Word(word),
                }
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(ahead) = memchr2(b'"', b'\\', self.bytes()) {
            let escape = self.bytes()[ahead] == b'\\';
            self.at += ahead + 1 + usize::from(escape);
            if !escape {
                return;
            }
        }
    }

    fn nested(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.bytes().first() {
            match byte {
                b'"' => self.string(),
                byte => {
                    self.at += 1;
                    match byte {
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth -= 1,
                        _ => {}
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value as Json};

    use super::*;

    fn json() -> impl Strategy<Value = Json> {
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            (-1e9..1e9).prop_map(Json::from),
            "[a-c\"\\\\{}\\[\\],: \n\u{e9}]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Json::from),
                object(inner).prop_map(Json::Object)
            ]
        })
    }

    fn object(value: impl Strategy<Value = Json>) -> impl Strategy<Value = Map<String, Json>> {
        proptest::collection::btree_map("[a-c\"\\\\,:{}\n]{0,3}", value, 0..4).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn finds_what_serde_json_finds(object in object(json()), pretty in any::<bool>()) {
            let text = if pretty { serde_json::to_string_pretty(&object) } else { serde_json::to_string(&object) }.unwrap();
            let mut found = Map::new();
            let is_object = fields(&text, |name, value| {
                let json = match &value {
                    Value::Nested => Json::from("nested"),
                    Value::Null => Json::Null,
                    Value::String(_) => Json::from(value.text().unwrap()),
                    // serde_json may miss the last bit of a float.
                    Value::Word(word) if word.contains('.') => Json::from(word.parse::<f64>().unwrap()),
                    Value::Word(word) => serde_json::from_str(word).unwrap(),
                };
                found.insert(name.to_owned(), json);
            });
            let nested = |json: Json| if json.is_object() || json.is_array() { Json::from("nested") } else { json };
            let expected: Map<_, _> = object.into_iter().map(|(name, json)| (name, nested(json))).collect();
            prop_assert!(is_object);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn any_text_can_be_looked_at(text in "[{}\\[\\]\":,\\\\ue0d8-9a \t]{0,24}") {
            let mut told = 0;
            let object = fields(&text, |_, value| { value.text(); told += 1; });
            prop_assert!(object || told == 0);
            prop_assert!(object || serde_json::from_str::<Map<String, Json>>(&text).is_err());
        }
    }
}
