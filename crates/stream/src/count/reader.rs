//! Parsing one line.

use reticent::text::CsvLine;

use super::definition::{Fields, Input};
use super::error::{Error, Result};
use super::lines::LONGEST_LINE;
use crate::ndjson::{self, Names};
use crate::{integer, times};

/// A line with more cells than this counts as empty.
const MOST_CELLS: usize = 1 << 12;
/// The byte-order mark that some programs write at the start of a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The content of a line: an unreadable value counts 0, an unreadable time or key is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    /// How much it counts.
    pub value: i64,
    /// When it happened, in milliseconds since 1970.
    pub time: Option<i64>,
    /// The key, if there are keys.
    pub key: Option<Box<str>>,
}

/// Parses lines, each on its own.
///
/// # Privacy
/// Every line is one record, whatever it contains, and does not affect the next. This bounds what one line can change:
/// if a line could make others disappear (say, by an open quote in CSV), it would shift all later steps.
#[derive(Debug)]
pub struct Reader(Kind);

#[derive(Debug)]
enum Kind {
    Text { events: bool },
    Csv { line: CsvLine, events: bool, column: Option<usize>, time: Option<usize>, key: Option<usize> },
    Ndjson(Fields),
}

impl Reader {
    /// Reads lines with these fields. `header` is the first line of CSV; `name` is the input's name in errors.
    ///
    /// # Errors
    /// If CSV has no header, or the header lacks a column or has it more than once. The error does not show the names
    /// in the header: in a file without one, they would be a row.
    pub fn new(fields: &Fields, name: &str, header: Option<&[u8]>) -> Result<Self> {
        Ok(Self(match fields.input {
            Input::Text => Kind::Text { events: fields.events },
            Input::Ndjson => Kind::Ndjson(fields.clone()),
            // As `Source::lines` makes them.
            Input::Parquet | Input::Arrow => {
                let field = |column: &Option<String>, name: &str| column.as_ref().map(|_| name.to_owned());
                Kind::Ndjson(Fields {
                    column: field(&fields.column, "value"),
                    time: field(&fields.time, "time"),
                    key: field(&fields.key, "key"),
                    ..fields.clone()
                })
            }
            Input::Csv => {
                let header = header.ok_or_else(|| Error::NoHeader { input: name.into() })?;
                let mut line = CsvLine::within(LONGEST_LINE, MOST_CELLS);
                line.read(header.strip_prefix(BYTE_ORDER_MARK).unwrap_or(header));
                let place =
                    |column: &Option<String>| column.as_ref().map(|column| place(&line, column, name)).transpose();
                let (column, time, key) = (place(&fields.column)?, place(&fields.time)?, place(&fields.key)?);
                line.erase();
                Kind::Csv { line, events: fields.events, column, time, key }
            }
        }))
    }

    /// Parses a line.
    pub(crate) fn record(&mut self, bytes: &[u8]) -> Record {
        match &mut self.0 {
            Kind::Text { events } => Record { value: value_of(bytes, *events), time: None, key: None },
            Kind::Csv { line, events, column, time, key } => {
                line.read(bytes);
                let value = csv_value(line, *column, *events);
                let time = time.and_then(|place| line.cell(place)).and_then(times::parse);
                let key = key.and_then(|place| line.cell(place)).and_then(|cell| std::str::from_utf8(cell).ok());
                Record { value, time, key: key.filter(|key| !key.is_empty()).map(Into::into) }
            }
            Kind::Ndjson(fields) => {
                let names = Names {
                    id: None,
                    key: fields.key.as_deref(),
                    time: fields.time.as_deref(),
                    value: fields.column.as_deref(),
                };
                let line = ndjson::read(bytes, &names);
                let value = ndjson_value(fields, bytes, line.value);
                Record { value, time: line.time(), key: line.key.and_then(ndjson::Text::to_key) }
            }
        }
    }

    /// Parses a line's value only.
    #[inline]
    pub(crate) fn value(&mut self, bytes: &[u8]) -> i64 {
        match &mut self.0 {
            Kind::Text { events } => value_of(bytes, *events),
            Kind::Csv { line, events, column, .. } => {
                line.read(bytes);
                csv_value(line, *column, *events)
            }
            Kind::Ndjson(fields) => {
                let names = Names { id: None, key: None, time: None, value: fields.column.as_deref() };
                ndjson_value(fields, bytes, ndjson::read(bytes, &names).value)
            }
        }
    }

    /// Overwrites the copy of the last line, if there is one.
    pub(crate) fn erase(&mut self) {
        if let Kind::Csv { line, .. } = &mut self.0 {
            line.erase();
        }
    }
}

/// The value of a text: its number, or 0; with `events`, 1 unless it is blank.
#[inline]
fn value_of(text: &[u8], events: bool) -> i64 {
    if events { i64::from(!text.trim_ascii().is_empty()) } else { integer::parse(text).unwrap_or(0) }
}

fn csv_value(line: &CsvLine, column: Option<usize>, events: bool) -> i64 {
    match column {
        Some(place) => line.cell(place).map_or(0, |cell| value_of(cell, events)),
        None => i64::from(line.cells() > 0),
    }
}

fn ndjson_value(fields: &Fields, bytes: &[u8], value: ndjson::Value<'_>) -> i64 {
    match (&fields.column, fields.events) {
        (Some(_), false) => value.number(0),
        (Some(_), true) => i64::from(value.is_something()),
        (None, _) => value_of(bytes, true),
    }
}

/// The index of a column.
fn place(line: &CsvLine, column: &str, name: &str) -> Result<usize> {
    let mut places = (0..line.cells()).filter(|&place| line.cell(place) == Some(column.as_bytes()));
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (first, _) => Err(Error::Column { input: name.into(), column: column.into(), several: first.is_some() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn fields(input: Input, events: bool, column: Option<&str>) -> Fields {
        Fields { input, events, column: column.map(Into::into), time: Some("at".into()), key: Some("k".into()) }
    }

    fn ndjson(events: bool, column: Option<&str>, line: &[u8]) -> Record {
        let mut reader = Reader::new(&fields(Input::Ndjson, events, column), "lines", None).unwrap();
        let record = reader.record(line);
        assert_eq!(reader.value(line), record.value);
        record
    }

    fn record(value: i64, time: Option<i64>, key: Option<&str>) -> Record {
        Record { value, time, key: key.map(Into::into) }
    }

    #[test]
    fn a_field_of_ndjson_is_a_number_a_time_or_a_key() {
        for (line, expected) in [
            (r#"{"n": 3, "at": 7, "k": "a"}"#, record(3, Some(7000), Some("a"))),
            (
                r#" {"at": "1970-01-01T00:00:07Z", "n": -3, "other": {"n": [1, {"n": 9}]}} "#,
                record(-3, Some(7000), None),
            ),
            ("{\"n\": \"12\", \"at\": 1.5, \"k\": 7}\r", record(12, Some(1500), Some("7"))),
            (r#"{"n": true, "at": true, "k": true}"#, record(1, None, None)),
            (r#"{"n": 1e3, "at": null, "k": ""}"#, record(1000, None, None)),
            (r#"{"at": 1.5e2, "k": "\u0061\n"}"#, record(0, Some(150_000), Some("a\n"))),
            (r#"{"at": "\u0037", "k": 99999999999999999999}"#, record(0, Some(7000), Some("99999999999999999999"))),
            (r#"{"at": 99999999999999999999}"#, record(0, None, None)),
            (r#"{"at": -1e300}"#, record(0, None, None)),
            (r#"{"n": 99999999999999999999999}"#, record(i64::MAX, None, None)),
            (r#"{"n": 18446744073709551615}"#, record(i64::MAX, None, None)),
            (r#"{"n": 1.5}"#, record(0, None, None)),
            (r#"{"n": [1]}"#, record(0, None, None)),
            (r#"{"\u006e": 4}"#, record(4, None, None)),
            (r#"{"n": 3, "k": "a", "at": 1"#, record(0, None, None)),
            (r#"{"n": 3} {"n": 4}"#, record(0, None, None)),
            ("3", record(3, None, None)),
            ("\"3\"", record(3, None, None)),
            ("[3]", record(0, None, None)),
            ("", record(0, None, None)),
            ("{}", record(0, None, None)),
        ] {
            assert_eq!(ndjson(false, Some("n"), line.as_bytes()), expected, "{line}");
        }
        assert_eq!(ndjson(false, Some("n"), b"\xff\xfe{").value, 0);
        let deep = "[".repeat(100_000);
        assert_eq!(ndjson(false, Some("n"), format!("{{\"n\": 1, \"x\": {deep}").as_bytes()).value, 0);
        let same = Fields { time: Some("n".into()), key: Some("n".into()), ..fields(Input::Ndjson, false, Some("n")) };
        let both = Reader::new(&same, "lines", None).unwrap().record(br#"{"n": 7}"#);
        assert_eq!(both, record(7, Some(7000), Some("7")), "one field can be all three");
    }

    #[test]
    fn an_event_of_ndjson_counts_one() {
        let value = |column, line: &[u8]| ndjson(true, column, line).value;
        for (line, whole, field) in [
            (&br#"{"at": 1}"#[..], 1, 0),
            (b"something", 1, 0),
            (b"3", 1, 1),
            (b"  ", 0, 0),
            (br#"{"n": "x"}"#, 1, 1),
            (br#"{"n": 0}"#, 1, 1),
            (br#"{"n": false}"#, 1, 1),
            (br#"{"n": null}"#, 1, 0),
            (br#"{"n": " \t"}"#, 1, 0),
            (br#"{"n": ""}"#, 1, 0),
        ] {
            assert_eq!((value(None, line), value(Some("n"), line)), (whole, field), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn an_empty_cell_is_no_key() {
        let mut reader = Reader::new(&fields(Input::Csv, false, Some("n")), "rows", Some(b"n,at,k")).unwrap();
        assert_eq!(reader.record(b"3,7,a"), record(3, Some(7000), Some("a")));
        assert_eq!(reader.record(b"3,noon,"), record(3, None, None));
        assert_eq!(reader.record(b""), record(0, None, None));
    }

    #[test]
    fn errors_about_a_header_do_not_show_it() {
        let fields = fields(Input::Csv, false, Some("n"));
        let said = |header| Reader::new(&fields, "rows", header).unwrap_err().to_string();
        assert_eq!(said(None), "rows has no header line; CSV needs one");
        assert_eq!(said(Some(b"alice,1")), "rows has no column n; its first line must name the columns");
        assert_eq!(said(Some(b"n,at,n,k")), "rows has several columns n; their names must differ");
    }

    /// The result of an independent parser.
    fn expected(line: &str) -> Record {
        let number = |value: &Value| match value {
            Value::Bool(value) => i64::from(*value),
            Value::String(text) => integer::parse(text.as_bytes()).unwrap_or(0),
            Value::Number(number) => number.as_i64().unwrap_or_else(|| match number.as_f64().unwrap() {
                float if float.fract() == 0.0 => float as i64,
                _ => 0,
            }),
            _ => 0,
        };
        let key = |value: &Value| match value {
            Value::String(text) => (!text.is_empty()).then(|| text.as_str().into()),
            Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string().into()),
            _ => None,
        };
        let time = |value: &Value| match value {
            Value::String(text) => times::parse(text.as_bytes()),
            Value::Number(number) => {
                let exact = number.as_f64().unwrap() * 1000.0;
                // 3.01 · 1000 is a little less than 3010.
                let near = (exact.round() - exact).abs() < 1e-6;
                Some(if near { exact.round() } else { exact.floor() } as i64)
            }
            _ => None,
        };
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(fields)) => Record {
                value: fields.get("n").map_or(0, number),
                time: fields.get("at").and_then(time),
                key: fields.get("k").and_then(key),
            },
            Ok(value) => record(number(&value), None, None),
            Err(_) => record(0, None, None),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Fragments of JSON in any order, valid or not.
        #[test]
        fn agrees_with_another_parser(pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"n\":", "\"k\":", "\"at\":", "\"\\u006e\":", "1", "-2", "0", "3.0", "1.5", "2e2 ",
            "\"a\"", "\"\"", "\"\\n\\u00e9\"", "\"12\"", "\"1970-01-01\"", "true", "false", "null", " ", "\t", "x", "\"", "01",
        ]), 0..14)) {
            let line = pieces.concat();
            prop_assert_eq!(ndjson(false, Some("n"), line.as_bytes()), expected(&line), "{}", line);
        }

        #[test]
        fn agrees_on_sound_objects(
            key in prop::option::of(".{0,12}"), value in prop::option::of(any::<i64>()), at in prop::option::of(-99_999..99_999i64),
        ) {
            let mut object = serde_json::Map::new();
            for (name, field) in [("k", key.map(Value::from)), ("n", value.map(Value::from)), ("at", at.map(Value::from))] {
                if let Some(field) = field {
                    object.insert(name.into(), field);
                }
            }
            let line = Value::Object(object).to_string();
            prop_assert_eq!(ndjson(false, Some("n"), line.as_bytes()), expected(&line), "{}", line);
        }

        /// Whatever a line contains, the next one is parsed the same way.
        #[test]
        fn no_line_changes_the_next(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            for input in Input::ALL {
                let mut fields = fields(input, false, Some("n"));
                if input == Input::Text {
                    (fields.column, fields.time, fields.key) = (None, None, None);
                }
                let next: &[u8] = match input {
                    Input::Text => b"3",
                    Input::Csv => b"3,7,a",
                    Input::Ndjson => br#"{"n":3,"at":7,"k":"a"}"#,
                    Input::Parquet | Input::Arrow => br#"{"value":3,"time":7,"key":"a"}"#,
                };
                let mut reader = Reader::new(&fields, "lines", Some(b"n,at,k")).unwrap();
                let alone = reader.record(next);
                reader.record(&bytes);
                prop_assert_eq!(reader.record(next), alone);
            }
        }
    }
}
