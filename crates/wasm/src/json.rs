//! A JSON parser, in a few kilobytes.

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Flag(bool),
    /// A number, as written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// Names and values, in order.
    Object(Vec<(String, Value)>),
}

/// How deeply lists and objects may be nested.
const DEEPEST: u32 = 16;

impl Value {
    /// Parses a whole text; `None` if it is not JSON.
    pub fn read(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text };
        let value = reader.value(DEEPEST)?;
        reader.skip();
        reader.rest.is_empty().then_some(value)
    }

    /// A field of an object, if it occurs exactly once.
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(fields) = self else { return None };
        let mut found = fields.iter().filter(|(known, _)| known == name);
        let first = found.next()?;
        found.next().is_none().then_some(&first.1)
    }

    /// The text.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number, as written.
    pub fn whole<T: std::str::FromStr>(&self) -> Option<T> {
        match self {
            Self::Number(text) => text.parse().ok(),
            _ => None,
        }
    }
}

struct Reader<'text> {
    rest: &'text str,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Skips a character, if it comes next.
    fn takes(&mut self, letter: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(letter) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, deepest: u32) -> Option<Value> {
        let deepest = deepest.checked_sub(1)?;
        if self.takes('"') {
            return self.text().map(Value::Text);
        }
        if self.takes('[') {
            return self.list(deepest).map(Value::List);
        }
        if self.takes('{') {
            return self.object(deepest).map(Value::Object);
        }
        let end = self.rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        match word {
            "null" => Some(Value::Null),
            "true" => Some(Value::Flag(true)),
            "false" => Some(Value::Flag(false)),
            _ => is_number(word).then(|| Value::Number(word.into())),
        }
    }

    fn list(&mut self, deepest: u32) -> Option<Vec<Value>> {
        let mut values = Vec::new();
        if self.takes(']') {
            return Some(values);
        }
        loop {
            values.push(self.value(deepest)?);
            if self.takes(']') {
                return Some(values);
            }
            self.takes(',').then_some(())?;
        }
    }

    fn object(&mut self, deepest: u32) -> Option<Vec<(String, Value)>> {
        let mut fields = Vec::new();
        if self.takes('}') {
            return Some(fields);
        }
        loop {
            self.takes('"').then_some(())?;
            let name = self.text()?;
            self.takes(':').then_some(())?;
            fields.push((name, self.value(deepest)?));
            if self.takes('}') {
                return Some(fields);
            }
            self.takes(',').then_some(())?;
        }
    }

    /// The rest of a string after its opening quote.
    fn text(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let mut letters = self.rest.chars();
            let letter = letters.next()?;
            self.rest = letters.as_str();
            match letter {
                '"' => return Some(text),
                '\\' => text.push(self.escaped()?),
                '\0'..='\u{1f}' => return None,
                letter => text.push(letter),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next()?;
        self.rest = letters.as_str();
        Some(match letter {
            '"' | '\\' | '/' => letter,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let first = self.unit()?;
                match first {
                    0xd800..0xdc00 => {
                        self.rest = self.rest.strip_prefix("\\u")?;
                        let second = self.unit().filter(|second| (0xdc00..0xe000).contains(second))?;
                        char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?
                    }
                    _ => char::from_u32(first)?,
                }
            }
            _ => return None,
        })
    }

    /// Four hexadecimal digits.
    fn unit(&mut self) -> Option<u32> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        digits.chars().try_fold(0, |number, digit| Some(16 * number + digit.to_digit(16)?))
    }
}

/// Whether this is a JSON number.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let word = word.strip_prefix('-').unwrap_or(word);
    let (word, power) = match word.split_once(['e', 'E']) {
        Some((word, power)) => (word, Some(power.strip_prefix(['+', '-']).unwrap_or(power))),
        None => (word, None),
    };
    let (whole, part) = match word.split_once('.') {
        Some((whole, part)) => (whole, Some(part)),
        None => (word, None),
    };
    digits(whole) && (whole == "0" || !whole.starts_with('0')) && part.is_none_or(digits) && power.is_none_or(digits)
}

/// A text as a JSON string.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\0'..='\u{1f}' => quoted.push(' '),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether `serde_json` has the same value.
    fn same(ours: &Value, theirs: &serde_json::Value) -> bool {
        use serde_json::Value as Theirs;
        match (ours, theirs) {
            (Value::Null, Theirs::Null) => true,
            (Value::Flag(one), Theirs::Bool(other)) => one == other,
            (Value::Number(one), Theirs::Number(other)) => one.parse::<f64>().ok() == other.as_f64(),
            (Value::Text(one), Theirs::String(other)) => one == other,
            (Value::List(one), Theirs::Array(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
            }
            (Value::Object(one), Theirs::Object(other)) => {
                // They keep the last of two fields of the same name.
                one.len() != other.len()
                    || one.iter().all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
            }
            _ => false,
        }
    }

    fn agree(text: &str) -> bool {
        match (Value::read(text), serde_json::from_str::<serde_json::Value>(text)) {
            (Some(ours), Ok(theirs)) => same(&ours, &theirs),
            (None, Err(_)) => true,
            // A number may be too large for them, a text nested too deeply for us.
            (Some(_), Err(error)) => error.to_string().contains("number out of range"),
            (None, Ok(_)) => text.matches(['[', '{']).count() >= DEEPEST as usize,
        }
    }

    #[test]
    fn odd_texts_are_read_as_others_read_them() {
        for text in [
            "",
            " ",
            "null",
            "nul",
            "truefalse",
            "[]",
            "[1,]",
            "[1 2]",
            "{}",
            "{\"a\":1,}",
            "{\"a\" : [true,\tnull]}",
            "\"\\u00e9\"",
            "\"\\ud83d\\ude00\"",
            "\"\\ud83d\"",
            "\"\\ude00\"",
            "\"\\ud83d\\u0041\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"a",
            "\"\n\"",
            "01",
            "-0",
            "1.",
            ".5",
            "1e5",
            "1e",
            "-",
            "+1",
            "1.5e-3",
            "{1:2}",
            "[[[]]]",
            "\"☂\"",
            "[\"a\",{\"b\":\"c\"}] x",
            "\u{feff}1",
            "\"\\/\"",
        ] {
            assert!(agree(text), "{text:?}: {:?}", Value::read(text));
        }
        assert_eq!(Value::read(&"[".repeat(1000)), None);
        assert_eq!(Value::read("{\"a\":1,\"a\":2}").unwrap().get("a"), None, "twice is once too often");
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_others_read_it(text in r#"[\[\]{}:,"\\ue0-9.\-+ tfn☂]{0,30}"#) {
            prop_assert!(agree(&text), "{}", text);
        }

        #[test]
        fn what_is_quoted_is_read_again(text in "[^\u{0}-\u{9}\u{b}-\u{1f}]{0,40}") {
            prop_assert_eq!(Value::read(&quoted(&text)), Some(Value::Text(text)));
        }
    }
}
