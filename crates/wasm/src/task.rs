//! A task, from the JSON in which it is published.

use reticent::Error;
use reticent::local::LightTask;
use reticent::local::light::{Fields, LightDomain};

use crate::json::Value;

/// All fields of a task. What is published names every one of them, and no other.
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

/// Reads a task.
///
/// # Errors
/// If a field is missing, means nothing, or is not one of a task.
pub fn read(value: &Value) -> Result<LightTask, Error> {
    let wrong = |name: &'static str| Error::Parameter {
        parameter: name,
        value: "missing or not of its kind".into(),
        allowed: "as the task is published, by `reticent local task show --format json` or by the service",
    };
    let Value::Object(fields) = value else { return Err(wrong("task")) };
    // Whoever published the task has confirmed its ε.
    let required = fields.iter().filter(|(name, _)| name != "allow-large-epsilon");
    if required.clone().count() != FIELDS.len() || !required.clone().all(|(name, _)| FIELDS.contains(&name.as_str())) {
        return Err(wrong("task"));
    }
    let text = |name: &'static str| value.get(name).and_then(Value::text).ok_or_else(|| wrong(name));
    LightTask::new(&Fields {
        question: text("question")?,
        domain: value.get("domain").and_then(domain).ok_or_else(|| wrong("domain"))?,
        mechanism: text("mechanism")?,
        epsilon: text("epsilon")?,
        memoisation: text("memoisation")?,
        lifetime_epsilon: text("lifetime-epsilon")?,
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
