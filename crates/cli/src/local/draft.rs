//! A task from arguments, as TOML.

use anyhow::Result;
use reticent::local::Task;
use serde_json::{Map, Value, json};

use crate::exit::usage;

/// The fields of a task.
#[derive(Debug, clap::Args)]
pub struct Draft {
    /// The question
    #[arg(long)]
    question: String,
    /// Multiple choice: the answers, separated by commas
    #[arg(long, value_name = "A,B,…", required_unless_present_any = ["integers", "numbers", "alphabet"],
        conflicts_with_all = ["integers", "numbers", "alphabet"])]
    choices: Option<String>,
    /// Mean of integers, clamped to these bounds
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, conflicts_with_all = ["numbers", "alphabet"])]
    integers: Option<String>,
    /// Mean of numbers, clamped to these bounds
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, conflicts_with = "alphabet")]
    numbers: Option<String>,
    /// Frequent texts over this alphabet; other letters are dropped
    #[arg(long, value_name = "LETTERS", requires = "longest")]
    alphabet: Option<String>,
    /// With --alphabet: maximum length of a text; longer texts are truncated
    #[arg(long, value_name = "LETTERS")]
    longest: Option<u32>,
    /// Privacy guarantee of one randomised answer
    #[arg(long, allow_hyphen_values = true)]
    epsilon: String,
    /// How answers are randomised: auto, k-ary, unary, projective, fair-coin, one-bit or prefix [default: auto]
    #[arg(long)]
    mechanism: Option<String>,
    /// What a device does when it is asked again: never (it randomises afresh, and says nothing once --lifetime-epsilon is
    /// spent), first (it repeats its first response) or per-answer (it repeats its response to the same answer) [default: never]
    #[arg(long)]
    memoisation: Option<String>,
    /// Privacy guarantee of everything a device ever sends [default: --epsilon, so that with never it answers once]
    #[arg(long, allow_hyphen_values = true)]
    lifetime_epsilon: Option<String>,
    /// Confirm an epsilon above 10, which protects next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    /// Minimum number of reports for an estimate
    #[arg(long, default_value_t = 100)]
    minimum_batch: u64,
    /// Precision of the time in a report: none, hour, day or week [default: none]
    #[arg(long)]
    time_precision: Option<String>,
    /// The first day on which nothing is reported or collected any more (UTC), such as 2030-01-31
    #[arg(long, value_name = "DAY")]
    expires: String,
}

impl Draft {
    /// The task, validated.
    pub fn task(&self) -> Result<Task> {
        let mut task = json!({
            "question": self.question,
            "domain": self.domain()?,
            "epsilon": self.epsilon,
            "mechanism": self.mechanism,
            "memoisation": self.memoisation,
            "lifetime-epsilon": self.lifetime_epsilon,
            "allow-large-epsilon": self.allow_large_epsilon.then_some(true),
            "minimum-batch": self.minimum_batch,
            "time-precision": self.time_precision,
            "expires": self.expires,
        });
        if let Value::Object(fields) = &mut task {
            fields.retain(|_, value| !value.is_null());
        }
        // It is shown to everyone who is asked.
        if reticent::secrets::holds_a_key(&task.to_string()) {
            return Err(usage(
                "the task contains a private key or a token, but anyone may read it; leave the secret out",
            ));
        }
        serde_json::from_value(task).map_err(|error| usage(named(&error.to_string())))
    }

    fn domain(&self) -> Result<Value> {
        if let Some(choices) = &self.choices {
            let choices: Vec<&str> = choices.split(',').map(str::trim).collect();
            return Ok(json!({ "choices": choices }));
        }
        if let Some(integers) = &self.integers {
            let (lower, upper) =
                crate::numbers::range(integers).map_err(|error| usage(format!("--integers {integers}: {error}")))?;
            return Ok(json!({ "integers": { "lower": lower, "upper": upper } }));
        }
        if let Some(numbers) = &self.numbers {
            return Ok(json!({ "numbers": numbers }));
        }
        Ok(json!({ "texts": { "alphabet": self.alphabet, "longest": self.longest } }))
    }
}

/// Replaces the parameter at the beginning of a message by its flag.
fn named(message: &str) -> String {
    const FIELDS: [&str; 7] =
        ["epsilon", "mechanism", "memoisation", "lifetime-epsilon", "minimum-batch", "question", "choices"];
    let flag = |name: &str| message.strip_prefix(name).filter(|rest| rest.starts_with(' '));
    if let Some((name, rest)) = FIELDS.iter().find_map(|name| Some((name, flag(name)?))) {
        return format!("--{name}{rest}");
    }
    match flag("day") {
        Some(rest) => format!("--expires{rest}"),
        None => message.to_owned(),
    }
}

/// The order of fields in a task file.
const ORDER: [&str; 9] = [
    "question",
    "mechanism",
    "epsilon",
    "memoisation",
    "lifetime-epsilon",
    "allow-large-epsilon",
    "minimum-batch",
    "time-precision",
    "expires",
];

/// A task as TOML: all fields, tables last. A JSON string is also a TOML string.
pub fn to_toml(task: &Task) -> Result<String> {
    let Value::Object(fields) = serde_json::to_value(task)? else { unreachable!("a task has fields") };
    let (tables, plain): (Map<String, Value>, Map<String, Value>) =
        fields.into_iter().partition(|(_, value)| value.is_object());
    let mut text = String::new();
    let mut plain: Vec<(String, Value)> = plain.into_iter().collect();
    // The most interesting fields come first; fields not listed come last.
    plain.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    for (name, value) in plain {
        text += &format!("{name} = {value}\n");
    }
    for (name, table) in tables {
        text += &format!("\n[{name}]\n");
        for (name, value) in table.as_object().into_iter().flatten() {
            text += &format!("{name} = {}\n", inline(value));
        }
    }
    Ok(text)
}

fn inline(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(name, value)| format!("{name} = {}", inline(value))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn toml_and_json_are_the_same_task() {
        for domain in [
            json!({ "choices": ["on \"foot\"", "by\ttrain", "by bicycle ☂"] }),
            json!({ "integers": { "lower": -3, "upper": 10 } }),
            json!({ "numbers": "-0.5..120" }),
            json!({ "texts": { "alphabet": "abc\\\"", "longest": 4 } }),
        ] {
            let json = json!({ "question": "How\n?", "domain": domain, "epsilon": "0.5", "minimum-batch": 7,
                "expires": "2030-01-31", "time-precision": "week" });
            let task: Task = serde_json::from_value(json).unwrap();
            let toml = to_toml(&task).unwrap();
            let read: Task = toml::from_str(&toml).unwrap_or_else(|error| panic!("{error}: {toml}"));
            assert_eq!((read.id(), &read), (task.id(), &task));
        }
    }

    #[test]
    fn mistakes_are_told_of_the_argument() {
        assert_eq!(named("epsilon is 0, but it must be greater"), "--epsilon is 0, but it must be greater");
        assert_eq!(named("day is tomorrow, but"), "--expires is tomorrow, but");
        assert_eq!(named("number of values is 3"), "number of values is 3");
    }
}
