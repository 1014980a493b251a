//! What a page can ask for.

use reticent::Error;
use reticent::local::{Device, Domain, Memory, Randomiser, Report, Task};
use reticent::noise::{Entropy, EntropySource};
use serde::{Deserialize, Serialize};

/// What a page can ask for.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// What the task asks, and what a report would reveal.
    Describe {
        /// The task.
        task: Box<Task>,
    },
    /// Under which name the device remembers this task.
    Name {
        /// The task.
        task: Box<Task>,
        /// The device's key, 64 hexadecimal digits.
        key: Bytes,
    },
    /// The report to send, and what to remember before it is sent.
    Respond {
        /// The task.
        task: Box<Task>,
        /// The answer, as the person gives it.
        answer: String,
        /// Seconds since 1970.
        now: u64,
        /// The device's key, 64 hexadecimal digits.
        key: Bytes,
        /// Fresh from the browser's generator, 64 hexadecimal digits.
        seed: Bytes,
        /// What is remembered under the name.
        record: Option<String>,
    },
}

/// 32 bytes as 64 hexadecimal digits.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Bytes([u8; 32]);

impl TryFrom<String> for Bytes {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || "a key or a seed is 64 hexadecimal digits".to_owned();
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return Err(wrong());
        }
        for (byte, place) in bytes.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[place..place + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Self(bytes))
    }
}

/// What the page is told.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Answer {
    Description(Description),
    Name {
        name: String,
    },
    Response {
        report: Box<Report>,
        /// To be kept under the name before the report is sent.
        record: String,
    },
}

/// A task, for the person who is to answer.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    id: String,
    question: String,
    choices: Option<Vec<String>>,
    mechanism: String,
    epsilon: String,
    lifetime_epsilon: String,
    /// How probably a report supports the true answer, and any other: why it is deniable.
    supports_truth: Option<f64>,
    supports_other: Option<f64>,
}

/// Answers one request: JSON in, JSON out; `{"error": …}` if there is nothing to tell.
pub fn answer(input: &[u8]) -> String {
    #[derive(Serialize)]
    struct Failure {
        error: String,
    }
    let answered = serde_json::from_slice(input).map_err(|error| error.to_string()).and_then(|request: Request| {
        let answer = reply(request).map_err(|error| error.to_string())?;
        serde_json::to_string(&answer).map_err(|error| error.to_string())
    });
    answered.unwrap_or_else(|error| {
        serde_json::to_string(&Failure { error }).unwrap_or_else(|_| r#"{"error":"no text"}"#.into())
    })
}

fn reply(request: Request) -> Result<Answer, Error> {
    match request {
        Request::Describe { task } => describe(&task).map(Answer::Description),
        Request::Name { task, key } => {
            Ok(Answer::Name { name: Device::new(key.0, Slot::default()).record_name(&task) })
        }
        Request::Respond { task, answer, now, key, seed, record } => {
            let answer = task.domain().answer(&answer)?;
            let mut device = Device::new(key.0, Slot { text: record });
            let report = device.respond(&task, &answer, now, &mut Entropy::from_source(Page(Some(seed.0)))?)?;
            let record = device.memory().text.clone().unwrap_or_default();
            Ok(Answer::Response { report: Box::new(report), record })
        }
    }
}

fn describe(task: &Task) -> Result<Description, Error> {
    let estimator = match task.randomiser()? {
        Randomiser::Coins(coins) => Some(*coins.estimator()),
        Randomiser::Choices(oracle) => Some(*oracle.estimator()),
        Randomiser::Mean(_) | Randomiser::Texts(_) => None,
    };
    Ok(Description {
        id: task.id().to_string(),
        question: task.question().into(),
        choices: match task.domain() {
            Domain::Choices(choices) => Some(choices.clone()),
            _ => None,
        },
        mechanism: task.mechanism().into(),
        epsilon: task.epsilon().to_string(),
        lifetime_epsilon: task.lifetime_epsilon().to_string(),
        supports_truth: estimator.map(|estimator| estimator.p()),
        supports_other: estimator.map(|estimator| estimator.q()),
    })
}

/// The one record that the page handed over.
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

/// A seed from the page, good for one request.
struct Page(Option<[u8; 32]>);

impl EntropySource for Page {
    fn seed(&mut self) -> Result<[u8; 32], Error> {
        self.0.take().ok_or_else(|| Error::Entropy("the page's seed is used up".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn task() -> Value {
        json!({
            "question": "Tea?", "domain": { "choices": ["yes", "no"] }, "epsilon": "1",
            "minimum-batch": 10, "expires": "2030-01-01",
        })
    }

    fn ask(request: Value) -> Value {
        serde_json::from_str(&answer(request.to_string().as_bytes())).unwrap()
    }

    fn respond(answer: &str, seed: u8, record: &Value) -> Value {
        ask(json!({
            "do": "respond", "task": task(), "answer": answer, "now": 1_800_000_000, "key": "0a".repeat(32),
            "seed": format!("{seed:02x}").repeat(32), "record": record,
        }))
    }

    #[test]
    fn a_task_is_described() {
        let told = ask(json!({ "do": "describe", "task": task() }));
        assert_eq!((&told["question"], &told["mechanism"]), (&json!("Tea?"), &json!("k-ary")));
        assert!((told["supportsTruth"].as_f64().unwrap() - 0.731).abs() < 0.001);
        assert_eq!(told["id"].as_str().unwrap().len(), 64);
    }

    #[test]
    fn responses_are_those_of_the_seed_and_then_of_the_record() {
        let mut responses = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let first = respond("yes", seed, &Value::Null);
            responses.insert(first["report"]["response"].to_string());
            let again = respond("no", seed.wrapping_add(99), &first["record"]);
            assert_eq!(again["report"]["response"], first["report"]["response"], "memoised");
            assert_ne!(again["report"]["id"], first["report"]["id"]);
            let report: Report = serde_json::from_value(first["report"].clone()).unwrap();
            assert_eq!(
                report.task.to_string(),
                ask(json!({ "do": "describe", "task": task() }))["id"].as_str().unwrap()
            );
        }
        assert_eq!(responses.len(), 2, "both answers occur");
    }

    #[test]
    fn names_depend_on_the_key() {
        let name = |key: &str| ask(json!({ "do": "name", "task": task(), "key": key.repeat(32) }))["name"].clone();
        assert_ne!(name("00"), name("01"));
    }

    #[test]
    fn errors_are_told_and_never_repeat_the_answer() {
        let error = respond("secret", 1, &Value::Null)["error"].as_str().unwrap().to_owned();
        assert!(error.starts_with("answer is ") && !error.contains("secret"), "{error}");
        for wrong in [json!({}), json!({ "do": "name", "task": task(), "key": "0a" }), json!({ "do": "dance" })] {
            assert!(ask(wrong)["error"].is_string());
        }
        assert!(respond("yes", 1, &json!("nonsense"))["error"].as_str().unwrap().contains("memory"));
    }
}
