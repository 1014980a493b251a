//! Task files.

use std::fmt::Display;
use std::path::Path;

use reticent::local::Task;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// Reads a task from a file: TOML, or JSON if its name ends in `.json`.
///
/// # Errors
/// [`Error::TaskFile`] if it cannot be read or is not a task.
pub fn read(path: &Path) -> Result<Task> {
    // Parsers' messages end with a line break.
    let failed = |error: &dyn Display| Error::TaskFile {
        path: path.display().to_string(),
        reason: error.to_string().trim_end().to_owned(),
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    match path.extension().is_some_and(|ending| ending == "json") {
        true => serde_json::from_str(&text).map_err(|error| failed(&error)),
        false => toml::from_str(&text).map_err(|error| failed(&error)),
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
pub fn to_toml(task: &Task) -> String {
    let Ok(Value::Object(fields)) = serde_json::to_value(task) else { unreachable!("a task has fields") };
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
    text
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
    use serde_json::json;

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
            let toml = to_toml(&task);
            let read: Task = toml::from_str(&toml).unwrap_or_else(|error| panic!("{error}: {toml}"));
            assert_eq!((read.id(), &read), (task.id(), &task));
        }
    }
}
