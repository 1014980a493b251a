//! A task, from its published JSON.

use reticent::Error;
use reticent::local::LightTask;
use reticent::local::light::{Fields, LightDomain};

use crate::json::Value;

/// All fields of a task. A published task has every one of them, and no others.
const FIELDS: [&str; 9] = [
    "question",
    "domain",
    "mechanism",
    "epsilon",
    "memoisation",
    "lifetime-epsilon",
    "minimum-batch",
    "time-precision",
    "expires",
];

/// The one field that is published only if needed.
const CONFIRMED: &str = "allow-large-epsilon";

/// Reads a task.
///
/// # Errors
/// If a field is missing, invalid or unknown.
pub fn read(value: &Value) -> Result<LightTask, Error> {
    let wrong = |name: &'static str| {
        Error::Invalid {
        parameter: name,
        problem: "the task is not in its published form; use what the service or `reticent local task show --format json` gives"
            .into(),
    }
    };
    let Value::Object(fields) = value else { return Err(wrong("task")) };
    let required = fields.iter().filter(|(name, _)| name != CONFIRMED);
    if required.clone().count() != FIELDS.len() || !required.clone().all(|(name, _)| FIELDS.contains(&name.as_str())) {
        return Err(wrong("task"));
    }
    let allow_large_epsilon = match value.get(CONFIRMED) {
        None => false,
        Some(Value::Flag(is_confirmed)) => *is_confirmed,
        Some(_) => return Err(wrong(CONFIRMED)),
    };
    let text = |name: &'static str| value.get(name).and_then(Value::text).ok_or_else(|| wrong(name));
    LightTask::new(&Fields {
        question: text("question")?,
        domain: value.get("domain").and_then(domain).ok_or_else(|| wrong("domain"))?,
        mechanism: text("mechanism")?,
        epsilon: text("epsilon")?,
        memoisation: text("memoisation")?,
        lifetime_epsilon: text("lifetime-epsilon")?,
        allow_large_epsilon,
        minimum_batch: value.get("minimum-batch").and_then(Value::whole).ok_or_else(|| wrong("minimum-batch"))?,
        time_precision: text("time-precision")?,
        expires: text("expires")?,
    })
}

fn domain(value: &Value) -> Option<LightDomain> {
    let Value::Object(fields) = value else { return None };
    let [(kind, value)] = &fields[..] else { return None };
    match (kind.as_str(), value) {
        ("choices", Value::List(choices)) => {
            let choices = choices.iter().map(|choice| choice.text().map(String::from));
            choices.collect::<Option<_>>().map(LightDomain::Choices)
        }
        ("integers", _) => {
            Some(LightDomain::Integers { lower: value.get("lower")?.whole()?, upper: value.get("upper")?.whole()? })
        }
        ("numbers", Value::Text(bounds)) => Some(LightDomain::Numbers(bounds.clone())),
        ("texts", _) => {
            let alphabet = value.get("alphabet")?.text()?.into();
            Some(LightDomain::Texts { alphabet, longest: value.get("longest")?.whole()? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reticent::local::{Question, Task};
    use serde_json::json;

    /// A published task with one change.
    fn changed(change: impl Fn(&mut serde_json::Value)) -> serde_json::Value {
        let mut task = json!({
            "question": "Tea?", "domain": { "choices": ["yes", "no"] }, "mechanism": "k-ary", "epsilon": "1", "memoisation": "per-answer",
            "lifetime-epsilon": "2", "minimum-batch": 10, "time-precision": "none", "expires": "2030-01-01",
        });
        change(&mut task);
        task
    }

    fn both(task: &serde_json::Value) -> (Option<LightTask>, Option<Task>) {
        let value = Value::read(&task.to_string()).expect("JSON");
        (read(&value).ok(), serde_json::from_value(task.clone()).ok())
    }

    /// One set of tests for both readers of tasks: both refuse the same tasks, and read the others alike.
    #[test]
    fn the_browser_reads_tasks_as_the_library_does() {
        type Change = fn(&mut serde_json::Value);
        let coins: Change = |task| {
            task["mechanism"] = "fair-coin".into();
            task["epsilon"] = "1.0986122886681096914".into();
        };
        let taken: [Change; 6] = [
            |_| (),
            |task| task["memoisation"] = "never".into(),
            |task| (task["memoisation"], task["lifetime-epsilon"]) = ("first".into(), "1".into()),
            |task| (task["lifetime-epsilon"], task["allow-large-epsilon"]) = ("1000000".into(), true.into()),
            |task| task["domain"] = json!({ "choices": ["", " ", "yes", "Yes"] }),
            |task| {
                (task["domain"], task["mechanism"]) =
                    (json!({ "integers": { "lower": -1, "upper": 1 } }), "one-bit".into())
            },
        ];
        let refused: [Change; 19] = [
            |task| task["question"] = format!("Is reticent_{} yours?", "0123456789abcdef".repeat(4)).into(),
            |task| task["lifetime-epsilon"] = "10.1".into(),
            |task| (task["epsilon"], task["lifetime-epsilon"]) = ("1000".into(), "1000".into()),
            |task| (task["lifetime-epsilon"], task["allow-large-epsilon"]) = ("11".into(), false.into()),
            |task| (task["lifetime-epsilon"], task["allow-large-epsilon"]) = ("11".into(), "true".into()),
            |task| task["allow-large-epsilon"] = json!(null),
            |task| task["question"] = " ".into(),
            |task| task["question"] = "?".repeat(10_001).into(),
            |task| task["domain"] = json!({ "choices": ["yes"] }),
            |task| task["domain"] = json!({ "choices": ["yes", "no", "yes"] }),
            |task| task["minimum-batch"] = 0.into(),
            |task| task["memoisation"] = "first".into(),
            |task| task["memoisation"] = "second".into(),
            |task| task["lifetime-epsilon"] = "0.5".into(),
            |task| task["lifetime-epsilon"] = "1000000.5".into(),
            |task| task["epsilon"] = "0".into(),
            |task| task["expires"] = "2030-02-30".into(),
            |task| task["time-precision"] = "minute".into(),
            |task| {
                (task["domain"], task["mechanism"]) =
                    (json!({ "integers": { "lower": 1, "upper": 1 } }), "one-bit".into())
            },
        ];
        let lifetimes = [
            ("2.1972245773362193828", true),
            ("10", true),
            ("10.0000000000000000001", false),
            ("1", false),
            ("0", false),
            ("1098612.3", false),
        ];
        let of_coins = lifetimes.map(|(lifetime, taken)| {
            let task = changed(|task| {
                coins(task);
                task["lifetime-epsilon"] = lifetime.into();
            });
            (task, taken)
        });
        let taken = taken.map(|change| (changed(change), true));
        let refused = refused.map(|change| (changed(change), false));
        for (task, is_taken) in taken.into_iter().chain(refused).chain(of_coins) {
            let (light, reference) = both(&task);
            assert_eq!((light.is_some(), reference.is_some()), (is_taken, is_taken), "{task}");
            if let (Some(light), Some(reference)) = (light, reference) {
                assert_eq!(Question::id(&light), reference.id(), "{task}");
                assert_eq!(light.lifetime_answers(), reference.lifetime_answers(), "{task}");
            }
        }
    }
}
