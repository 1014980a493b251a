//! Streams and their releases.

use serde_json::Value;

use crate::client::Client;
use crate::error::Result;

/// A stream and its newest releases, as the service describes them.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The stream.
    pub stream: Value,
    /// The releases, oldest first.
    pub releases: Vec<Value>,
}

impl Client {
    /// All streams.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub fn streams(&self) -> Result<Vec<Value>> {
        Ok(list(self.get("/v1/streams")?, "streams"))
    }

    /// A stream and its `last` releases.
    ///
    /// # Errors
    /// If the service does not answer, or refuses.
    pub fn newest(&self, name: &str, last: u64) -> Result<Shown> {
        let path = format!("/v1/streams/{name}");
        let stream = self.get(&path)?;
        let first = stream["steps"].as_u64().unwrap_or_default().saturating_sub(last) + 1;
        let (mut releases, mut next) = (Vec::new(), Some(first));
        // A page of many keys has few releases.
        while let Some(from) = next.filter(|_| (releases.len() as u64) < last) {
            let left = last - releases.len() as u64;
            let page = self.get(&format!("{path}/releases?from={from}&limit={left}"))?;
            next = page["next"].as_u64();
            releases.append(&mut list(page, "releases"));
        }
        Ok(Shown { stream, releases })
    }
}

fn list(mut answer: Value, name: &str) -> Vec<Value> {
    match answer[name].take() {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}

/// The rows of a release: step, time, key if there are keys, value and half-width.
pub fn cells(release: &Value) -> Vec<Vec<String>> {
    let [step, closed, half_width] = ["step", "closed", "half_width"].map(|name| text(&release[name]));
    let keyed =
        |one: &Value| vec![step.clone(), closed.clone(), text(&one["key"]), text(&one["value"]), half_width.clone()];
    match release["values"].as_array() {
        Some(values) => values.iter().map(keyed).collect(),
        None => vec![vec![step.clone(), closed.clone(), text(&release["value"]), half_width.clone()]],
    }
}

/// A value without quotes.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
