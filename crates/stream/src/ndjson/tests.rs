use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn plain(text: Option<Text<'_>>) -> Option<String> {
    text.map(|text| {
        let mut bytes = Vec::new();
        text.pieces(|piece| bytes.extend_from_slice(piece));
        String::from_utf8(bytes).unwrap()
    })
}

fn all(line: &str) -> (Option<String>, Option<String>, i64) {
    let Line { id, key, value, .. } = read(line.as_bytes(), &EVENT);
    (plain(id), plain(key), value.number(1))
}

#[test]
fn every_line_is_one_event() {
    let text = |text: &str| Some(text.to_owned());
    for (line, expected) in [
        (r#"{"id":"a","key":"home","value":3}"#, (text("a"), text("home"), 3)),
        (
            " {\t\"value\" : -7 , \"x\": {\"value\": [9, {\"key\": \"no\"}, []]} , \"key\": 12 }\r",
            (None, text("12"), -7),
        ),
        ("{}", (None, None, 1)),
        (r#"{"value":"12"}"#, (None, None, 12)),
        (r#"{"value":"\u0031\u0032"}"#, (None, None, 12)),
        (r#"{"value":1e3,"id":"\ud83d\ude00\n\"","key":"k\u0065y"}"#, (text("😀\n\""), text("key"), 1000)),
        (r#"{"value":true}"#, (None, None, 1)),
        (r#"{"value":false}"#, (None, None, 0)),
        (r#"{"value":null}"#, (None, None, 0)),
        (r#"{"value":1.5}"#, (None, None, 0)),
        (r#"{"value":[1]}"#, (None, None, 0)),
        (r#"{"value":99999999999999999999}"#, (None, None, i64::MAX)),
        (r#"{"value":-1e999}"#, (None, None, i64::MIN)),
        (r#"{"value":1,"value":2}"#, (None, None, 2)),
        (r#"{"\u0076alue":4}"#, (None, None, 4)),
        (r#"{"id":7,"key":1.5}"#, (text("7"), None, 1)),
        (r#"{"id":null,"key":["a"]}"#, (None, None, 1)),
        ("3", (None, None, 3)),
        (" -3.0\r", (None, None, -3)),
        ("\"5\"", (None, None, 5)),
        ("[3]", (None, None, 0)),
        ("", (None, None, 0)),
        (r#"{"key":"a","value":3"#, (None, None, 0)),
        (r#"{"key":"a"} {"key":"b"}"#, (None, None, 0)),
        (r#"{"key":"\ud800"}"#, (None, None, 0)),
        (r#"{"key":"a",}"#, (None, None, 0)),
        ("{\"key\":\"a\tb\"}", (None, None, 0)),
        ("01", (None, None, 0)),
        ("1.", (None, None, 0)),
        ("1e", (None, None, 0)),
        ("-", (None, None, 0)),
        ("nul", (None, None, 0)),
    ] {
        assert_eq!(all(line), expected, "{line}");
    }
    assert_eq!(read(b"{\"key\":\"\xff\"}", &EVENT), NOTHING);
    for deep in ["[", "{\"a\":", "[{\"a\":"] {
        assert_eq!(all(&format!("{{\"value\":7,\"x\":{}", deep.repeat(100_000))).2, 0);
    }
    let nested = |depth| format!("{{\"value\":7,\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!((all(&nested(100)).2, all(&nested(101)).2), (7, 0));
}

#[test]
fn a_text_ends_with_a_line_break_or_without() {
    let split =
        |text: &str| lines(text.as_bytes()).map(|line| String::from_utf8(line.to_vec()).unwrap()).collect::<Vec<_>>();
    assert_eq!(split("1\n2\n"), ["1", "2"]);
    assert_eq!(split("1\n2"), ["1", "2"]);
    assert_eq!(split("1\n\n"), ["1", ""], "an empty line is a line");
    assert_eq!(split("\n"), [""]);
    assert_eq!(split(""), [""; 0]);
}

#[test]
fn too_long_for_the_space_is_nothing() {
    let Line { key, .. } = read(br#"{"key":"abc\n"}"#, &EVENT);
    assert_eq!(key.unwrap().copy_to(&mut [0; 4]), Some(&b"abc\n"[..]));
    assert_eq!(key.unwrap().copy_to(&mut [0; 3]), None);
}

/// The result of an independent parser.
fn expected(line: &str) -> (Option<String>, Option<String>, i64) {
    let number = |value: &Value| match value {
        Value::Bool(value) => i64::from(*value),
        Value::String(text) => integer::parse(text.as_bytes()).unwrap_or(0),
        Value::Number(number) => number.as_i64().unwrap_or_else(|| match number.as_f64().unwrap() {
            float if float.fract() == 0.0 => float as i64,
            _ => 0,
        }),
        _ => 0,
    };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some(number.to_string()),
        _ => None,
    };
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(fields)) => {
            (fields.get("id").and_then(text), fields.get("key").and_then(text), fields.get("value").map_or(1, number))
        }
        Ok(value) => (None, None, number(&value)),
        Err(_) => (None, None, 0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Fragments of JSON in any order, valid or not.
    #[test]
    fn agrees_with_another_parser(pieces in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", ",", ":", "\"value\"", "\"key\"", "\"id\"", "\"value\":", "\"key\":", "\"id\":", "1", "-2", "0",
        "3.0", "1.5", "2e2 ", "\"a\"", "\"\\n\\u00e9\"", "\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"12\"", "true", "false", "null",
        " ", "\t", "\"é\"", "x", "\"", "\\", "01", "-",
    ]), 0..14)) {
        let line = pieces.concat();
        prop_assert_eq!(all(&line), expected(&line), "{}", line);
    }

    #[test]
    fn agrees_on_sound_objects(
        id in prop::option::of(".{0,12}"), key in prop::option::of(".{0,12}"), value in prop::option::of(any::<i64>()),
        other in ".{0,8}",
    ) {
        let mut object = serde_json::Map::new();
        object.insert(format!("x{other}"), serde_json::json!({ "value": [other, 1.25e-3, {}], "key": null }));
        for (name, field) in [("id", id.map(Value::from)), ("key", key.map(Value::from)), ("value", value.map(Value::from))] {
            if let Some(field) = field {
                object.insert(name.into(), field);
            }
        }
        let line = Value::Object(object).to_string();
        prop_assert_eq!(all(&line), expected(&line), "{}", line);
    }

    #[test]
    fn no_bytes_make_it_fail(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        lines(&bytes).for_each(|line| { read(line, &EVENT); });
    }
}
