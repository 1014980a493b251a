//! One line of newline-delimited JSON.

use std::fmt;

use reticent_stream::integer;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::record::{Fields, Record};
use super::timeline;

/// What an object on a line says; a line that is no object says nothing.
pub fn record(fields: &Fields, line: &[u8]) -> Record {
    let mut found = Found { fields, object: false, value: 0, present: false, time: None, key: None };
    let mut reader = serde_json::Deserializer::from_slice(line.trim_ascii());
    let read = (&mut found).deserialize(&mut reader).is_ok() && reader.end().is_ok();
    if !read || !found.object {
        // An object that breaks off says nothing, not half of it; for events, any line counts that says anything.
        let whole_line = fields.events && fields.column.is_none() && !line.trim_ascii().is_empty();
        return Record { value: i64::from(whole_line), time: None, key: None };
    }
    let value = match (&fields.column, fields.events) {
        (Some(_), true) => i64::from(found.present),
        (Some(_), false) => found.value,
        (None, _) => 1,
    };
    Record { value, time: found.time, key: found.key }
}

struct Found<'fields> {
    fields: &'fields Fields,
    object: bool,
    value: i64,
    present: bool,
    time: Option<i64>,
    key: Option<Box<str>>,
}

impl<'json> DeserializeSeed<'json> for &mut Found<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'json>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'json> Visitor<'json> for &mut Found<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'json>>(self, mut map: A) -> Result<(), A::Error> {
        self.object = true;
        while let Some(name) = map.next_key_seed(Name)? {
            let is = |wanted: &Option<String>| wanted.as_deref() == Some(&*name);
            let (is_value, is_time) = (is(&self.fields.column), is(&self.fields.time));
            let is_key = is(&self.fields.key);
            if !is_value && !is_time && !is_key {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let scalar = map.next_value_seed(AnyScalar)?;
            if is_value {
                self.present = !matches!(scalar, Scalar::Nothing);
                self.value = scalar.number().unwrap_or(0);
            }
            if is_time {
                self.time = scalar.time();
            }
            if is_key {
                self.key = scalar.key();
            }
        }
        Ok(())
    }
}

/// A field's name; without a copy unless it is written with escapes.
struct Name;

impl<'json> DeserializeSeed<'json> for Name {
    type Value = std::borrow::Cow<'json, str>;

    fn deserialize<D: Deserializer<'json>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'json> Visitor<'json> for Name {
    type Value = std::borrow::Cow<'json, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E>(self, name: &'json str) -> Result<Self::Value, E> {
        Ok(name.into())
    }

    fn visit_str<E>(self, name: &str) -> Result<Self::Value, E> {
        Ok(name.to_owned().into())
    }
}

/// A field's content as far as it can be a number, a time or a key.
enum Scalar {
    Nothing,
    Number(i64),
    Fraction(f64),
    Text(String),
    Other,
}

impl Scalar {
    /// A whole number, the nearest that fits; numbers in quotes count.
    fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            // Whole numbers beyond 64 bits come as floats; the conversion takes the nearest that fits.
            Self::Fraction(number) if number.fract() == 0.0 => Some(*number as i64),
            Self::Text(text) => integer::parse(text.as_bytes()),
            _ => None,
        }
    }

    /// Text, or a whole number as text.
    fn key(&self) -> Option<Box<str>> {
        match self {
            Self::Text(text) => Some(text.as_str().into()),
            Self::Number(number) => Some(number.to_string().into()),
            _ => None,
        }
    }

    fn time(&self) -> Option<i64> {
        match self {
            Self::Number(seconds) => seconds.checked_mul(1000),
            // The conversion takes the nearest that fits, and 0 for what is no number.
            Self::Fraction(seconds) => Some((seconds * 1000.0).floor() as i64),
            Self::Text(text) => timeline::parse(text.as_bytes()),
            _ => None,
        }
    }
}

struct AnyScalar;

impl<'json> DeserializeSeed<'json> for AnyScalar {
    type Value = Scalar;

    fn deserialize<D: Deserializer<'json>>(self, deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'json> Visitor<'json> for AnyScalar {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value.try_into().unwrap_or(i64::MAX)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Fraction(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(if value.trim().is_empty() { Scalar::Nothing } else { Scalar::Text(value.to_owned()) })
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Nothing)
    }

    fn visit_seq<A: SeqAccess<'json>>(self, mut sequence: A) -> Result<Scalar, A::Error> {
        while sequence.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }

    fn visit_map<A: MapAccess<'json>>(self, mut map: A) -> Result<Scalar, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Input;
    use super::*;

    fn read(events: bool, column: Option<&str>, line: &[u8]) -> (i64, Option<i64>) {
        let fields =
            Fields { input: Input::Ndjson, events, column: column.map(Into::into), time: Some("at".into()), key: None };
        let Record { value, time, .. } = record(&fields, line);
        (value, time)
    }

    #[test]
    fn a_field_is_a_number_or_nothing() {
        for (line, value) in [
            (r#"{"n": 3, "at": 7}"#, (3, Some(7000))),
            (r#" {"at": "1970-01-01T00:00:07Z", "n": -3, "other": {"n": [1, {"n": 9}]}} "#, (-3, Some(7000))),
            ("{\"n\": \"12\", \"at\": 1.5}\r", (12, Some(1500))),
            (r#"{"n": true}"#, (1, None)),
            (r#"{"n": 1e3, "at": null}"#, (1000, None)),
            (r#"{"n": 99999999999999999999999}"#, (i64::MAX, None)),
            (r#"{"n": 18446744073709551615}"#, (i64::MAX, None)),
            (r#"{"n": 1.5}"#, (0, None)),
            (r#"{"n": [1]}"#, (0, None)),
            (r#"{"\u006e": 4}"#, (4, None)),
            (r#"{"n": 3"#, (0, None)),
            (r#"{"n": 3} {"n": 4}"#, (0, None)),
            ("3", (0, None)),
            ("[3]", (0, None)),
            ("", (0, None)),
            ("{}", (0, None)),
        ] {
            assert_eq!(read(false, Some("n"), line.as_bytes()), value, "{line}");
        }
        assert_eq!(read(false, Some("n"), b"\xff\xfe{"), (0, None));
        let deep = "[".repeat(100_000);
        assert_eq!(read(false, Some("n"), format!("{{\"x\": {deep}").as_bytes()), (0, None));
    }

    #[test]
    fn an_event_counts_one() {
        assert_eq!(read(true, None, br#"{"at": 1}"#), (1, Some(1000)));
        assert_eq!(read(true, None, b"something"), (1, None));
        assert_eq!(read(true, None, b"  "), (0, None));
        assert_eq!(read(true, Some("n"), br#"{"n": "x"}"#), (1, None));
        assert_eq!(read(true, Some("n"), br#"{"n": null}"#), (0, None));
        assert_eq!(read(true, Some("n"), br#"{"n": ""}"#), (0, None));
    }
}
