//! A page's requests.
//!
//! | `do` | takes | returns |
//! |---|---|---|
//! | `describe` | `task` | its hash, `id`, and how many `answers` its lifetime ε pays for |
//! | `name` | `task`, `key` | the `name` under which the device remembers it |
//! | `answered` | `task`, `key`, `record` | whether the device has `answered` as often as the task allows |
//! | `respond` | `task`, `key`, `seed`, `now`, `record`, and `answer` or, for real numbers, `bits` | the `report` to send, and the `record` to store under the name before sending |
//!
//! Keys and seeds are 64 hexadecimal digits, `now` is in seconds since 1970, `bits` are the 64 of a number as 16 hexadecimal digits.

use reticent::local::{Device, LightTask, Memory, Payload, Question, Report};
use reticent::noise::{Entropy, EntropySource};
use reticent::{Error, hexadecimal};

use crate::json::{Value, quoted};
use crate::task;

/// Answers one request: JSON in, JSON out; `{"error": …}` if it fails.
pub fn answer(input: &[u8]) -> String {
    reply(input).unwrap_or_else(|error| ["{\"error\":", &quoted(&error), "}"].concat())
}

fn reply(input: &[u8]) -> Result<String, String> {
    let unread = || "the request cannot be read".to_owned();
    let request = std::str::from_utf8(input).ok().and_then(Value::read).ok_or_else(unread)?;
    let task = task::read(request.get("task").ok_or_else(unread)?).map_err(told)?;
    let text = |name: &str| request.get(name).and_then(Value::text);
    let bytes =
        |name: &str| text(name).and_then(digits).ok_or_else(|| "a key or a seed is 64 hexadecimal digits".to_owned());
    let record = || match request.get("record") {
        Some(Value::Text(record)) => Ok(Slot { text: Some(record.clone()) }),
        Some(Value::Null) => Ok(Slot::default()),
        _ => Err(unread()),
    };
    match text("do") {
        Some("describe") => {
            let answers = task.lifetime_answers().to_string();
            Ok(object(&[("id", quoted(&String::from(task.id()))), ("answers", answers)]))
        }
        Some("name") => {
            let name = Device::new(bytes("key")?, Slot::default()).record_name(&task);
            Ok(object(&[("name", quoted(&name))]))
        }
        Some("answered") => {
            let answered = Device::new(bytes("key")?, record()?).has_answered(&task).map_err(told)?;
            Ok(object(&[("answered", truth(answered))]))
        }
        Some("respond") => {
            let now = request.get("now").and_then(Value::whole).ok_or_else(unread)?;
            let given = match (text("answer"), text("bits")) {
                (Some(answer), None) => task.answer(answer).map_err(told)?,
                (None, Some(bits)) => number(&task, bits)?,
                _ => return Err(unread()),
            };
            let mut device = Device::new(bytes("key")?, record()?);
            let mut entropy = Entropy::from_source(Page(Some(bytes("seed")?))).map_err(told)?;
            let report = device.respond(&task, &given, now, &mut entropy).map_err(told)?;
            let record = device.memory().text.as_deref().unwrap_or_default();
            Ok(object(&[("report", written(&report)), ("record", quoted(record))]))
        }
        _ => Err(unread()),
    }
}

fn told(error: Error) -> String {
    // Those that a page can encounter; texts for all others would make the module larger.
    match error {
        Error::Parameter { parameter, value, allowed } => {
            [parameter, " is ", &value, ", but it must be ", allowed].concat()
        }
        Error::Unconfirmed { parameter, value, allowed, why } => [
            parameter,
            " is ",
            &value,
            ", but it must be ",
            allowed,
            ", or confirmed with `allow-large-epsilon`: ",
            why,
        ]
        .concat(),
        Error::Invalid { problem, .. } => problem.into_owned(),
        Error::Answer { allowed } => ["the answer must be ", allowed].concat(),
        Error::Memory(reason) => ["the device's memory failed: ", &reason, "; nothing was sent"].concat(),
        Error::AlreadyAnswered { answers: 1 } => "this device has already answered; the task allows one answer".into(),
        Error::AlreadyAnswered { answers } => {
            let answers = answers.to_string();
            ["this device has already answered ", &answers, " times; the task allows ", &answers, " answers"].concat()
        }
        _ => "the report could not be made; nothing was sent".into(),
    }
}

fn number(task: &LightTask, bits: &str) -> Result<reticent::local::Answer, String> {
    let bits = u64::from_str_radix(bits, 16).map_err(|_| "a number is given by its bits".to_owned())?;
    task.number(f64::from_bits(bits)).map_err(told)
}

/// 64 hexadecimal digits as 32 bytes.
fn digits(text: &str) -> Option<[u8; 32]> {
    hexadecimal::read(text)?.try_into().ok()
}

/// As the collector reads it.
fn written(report: &Report) -> String {
    let response = match &report.response {
        Payload::Value(value) => object(&[("value", value.to_string())]),
        Payload::Set(set) => object(&[("set", quoted(&hexadecimal::write(set)))]),
        Payload::Bit(bit) => object(&[("bit", truth(*bit))]),
        Payload::Prefix(prefix) => {
            let point = quoted(&prefix.point.to_string());
            object(&[("prefix", object(&[("level", prefix.level.to_string()), ("point", point)]))])
        }
    };
    let [task, id] = [String::from(report.task), String::from(report.id)].map(|text| quoted(&text));
    let mut fields = vec![("task", task), ("id", id)];
    fields.extend(report.period.map(|period| ("period", period.to_string())));
    fields.push(("response", response));
    object(&fields)
}

fn truth(is_true: bool) -> String {
    if is_true { "true" } else { "false" }.into()
}

fn object(fields: &[(&str, String)]) -> String {
    let mut object = String::new();
    for (name, value) in fields {
        object.push(if object.is_empty() { '{' } else { ',' });
        object.push_str(&quoted(name));
        object.push(':');
        object.push_str(value);
    }
    object.push('}');
    object
}

/// The one record that the page passed in.
#[derive(Default)]
struct Slot {
    text: Option<String>,
}

impl Memory for Slot {
    fn read(&self, _name: &str) -> Result<Option<String>, Error> {
        Ok(self.text.clone())
    }

    fn write(&mut self, _name: &str, text: &str) -> Result<(), Error> {
        self.text = Some(text.into());
        Ok(())
    }
}

/// A seed from the page, for one request.
struct Page(Option<[u8; 32]>);

impl EntropySource for Page {
    fn seed(&mut self) -> Result<[u8; 32], Error> {
        self.0.take().ok_or_else(|| Error::Entropy("the page's seed is used up".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::local::{Admission, Task};
    use serde_json::{Value, json};

    const NOW: u64 = 1_800_000_000;

    fn published(domain: Value, more: Value) -> Value {
        let mut task = json!({
            "question": "Tea \"or\" coffee?", "domain": domain, "epsilon": "1", "minimum-batch": 10, "expires": "2030-01-01",
        });
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        // Through the library, as a publisher does it: no field is left out.
        serde_json::to_value(serde_json::from_value::<Task>(task).unwrap()).unwrap()
    }

    fn tea() -> Value {
        published(json!({ "choices": ["yes", "no"] }), json!({}))
    }

    fn ask(request: Value) -> Value {
        serde_json::from_str(&answer(request.to_string().as_bytes())).unwrap()
    }

    fn respond(task: &Value, given: Value, seed: u8, record: &Value) -> Value {
        let mut request = json!({
            "do": "respond", "task": task, "now": NOW, "key": "0a".repeat(32), "seed": format!("{seed:02x}").repeat(32),
            "record": record,
        });
        request.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        ask(request)
    }

    fn yes(seed: u8, record: &Value) -> Value {
        respond(&tea(), json!({ "answer": "yes" }), seed, record)
    }

    /// For every mechanism, with hashes and shapes that the library's own collector accepts.
    #[test]
    fn every_report_is_one_that_the_collector_takes() {
        let four = json!({ "choices": ["a", "b", "c", "ü"] });
        let texts = json!({ "texts": { "alphabet": "abc\"\\", "longest": 9 } });
        let answer = |text: &str| json!({ "answer": text });
        for (task, given) in [
            (tea(), answer("no")),
            (published(four.clone(), json!({ "mechanism": "unary", "time-precision": "day" })), answer("ü")),
            (
                published(four, json!({ "mechanism": "projective", "memoisation": "never", "lifetime-epsilon": "4" })),
                answer("b"),
            ),
            (published(json!({ "integers": { "lower": -3, "upper": 10 } }), json!({})), answer("-2")),
            (
                published(json!({ "numbers": "-0.5..120" }), json!({})),
                json!({ "bits": format!("{:016x}", 36.6f64.to_bits()) }),
            ),
            (published(texts, json!({})), answer("cab")),
        ] {
            let admission = Admission::new(serde_json::from_value(task.clone()).unwrap());
            for seed in 0..10 {
                let told = respond(&task, given.clone(), seed, &Value::Null);
                let report: Report =
                    serde_json::from_value(told["report"].clone()).unwrap_or_else(|_| panic!("{told}"));
                assert_eq!(admission.check(&report, NOW), Ok(()), "{told}");
            }
            assert_eq!(ask(json!({ "do": "describe", "task": task }))["id"], json!(admission.id().to_string()));
        }
    }

    #[test]
    fn responses_are_those_of_the_seed_and_then_of_the_record() {
        let mut responses = std::collections::BTreeSet::new();
        let task = published(json!({ "choices": ["yes", "no"] }), json!({ "memoisation": "first" }));
        for seed in 0..40 {
            let first = respond(&task, json!({ "answer": "yes" }), seed, &Value::Null);
            responses.insert(first["report"]["response"].to_string());
            let again = respond(&task, json!({ "answer": "no" }), seed.wrapping_add(99), &first["record"]);
            assert_eq!(again["report"]["response"], first["report"]["response"], "memoised");
            assert_ne!(again["report"]["id"], first["report"]["id"]);
        }
        assert_eq!(responses.len(), 2, "both answers occur");
    }

    /// With the library's own text, and the page can check in advance.
    #[test]
    fn a_device_that_has_answered_says_so_and_nothing_else() {
        let answered = |task: &Value, record: &Value| {
            ask(json!({ "do": "answered", "task": task, "key": "0a".repeat(32), "record": record }))["answered"].clone()
        };
        for (memoisation, lifetime, allowed) in [("never", "1", 1), ("never", "3", 3)] {
            let more = json!({ "memoisation": memoisation, "lifetime-epsilon": lifetime });
            let task = published(json!({ "choices": ["yes", "no"] }), more);
            assert_eq!(ask(json!({ "do": "describe", "task": task }))["answers"], json!(allowed));
            let mut record = Value::Null;
            for seed in 0..allowed {
                assert_eq!(answered(&task, &record), json!(false));
                record = respond(&task, json!({ "answer": "yes" }), seed, &record)["record"].clone();
            }
            assert_eq!(answered(&task, &record), json!(true));
            let refused = respond(&task, json!({ "answer": "no" }), 9, &record);
            let expected = Error::AlreadyAnswered { answers: allowed.into() }.to_string();
            assert_eq!(refused, json!({ "error": expected }));
        }
        let task = published(json!({ "choices": ["yes", "no"] }), json!({ "memoisation": "first" }));
        let record = respond(&task, json!({ "answer": "yes" }), 1, &Value::Null)["record"].clone();
        assert_eq!(answered(&task, &record), json!(false), "it may be asked again");
        assert_eq!(answered(&task, &json!("nonsense")), Value::Null, "an error");
    }

    #[test]
    fn names_depend_on_the_key() {
        let name = |key: &str| ask(json!({ "do": "name", "task": tea(), "key": key.repeat(32) }))["name"].clone();
        assert_ne!(name("00"), name("01"));
    }

    #[test]
    fn errors_are_told_and_never_repeat_the_answer() {
        let error =
            respond(&tea(), json!({ "answer": "secret" }), 1, &Value::Null)["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with("the answer must be ") && !error.contains("secret"), "{error}");
        let mut changed = tea();
        changed["extra"] = json!(1);
        for wrong in [
            json!({}),
            json!({ "do": "name", "task": tea(), "key": "0a" }),
            json!({ "do": "name", "task": changed, "key": "0a".repeat(32) }),
            json!({ "do": "dance", "task": tea() }),
        ] {
            assert!(ask(wrong)["error"].is_string());
        }
        assert!(yes(1, &json!("nonsense"))["error"].as_str().unwrap().contains("memory"));
        let mut left_out = tea();
        left_out.as_object_mut().unwrap().remove("mechanism");
        assert!(ask(json!({ "do": "describe", "task": left_out }))["error"].is_string());
    }
}
