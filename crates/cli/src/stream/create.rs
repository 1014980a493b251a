//! `reticent stream create`.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::Service;
use crate::exit::usage;
use crate::output::say;

/// The arguments of `reticent stream create`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A stream does not change once it is created, and what it costs is charged at once, for all steps to come. \
`reticent plan count` shows beforehand how exact it will be.

Examples:
  reticent stream create visits --step 1s --epsilon 1
  reticent stream create doors --step 1m --epsilon 1 --keys north,south --horizon 525600
  reticent stream create words --step 1h --epsilon 1 --delta 1e-8 --keys selected --horizon 8760
  reticent stream create clinic --step 1h --epsilon 1 --horizon 8760 --mode pan-private"
)]
pub struct Arguments {
    /// Its name: a-z, digits, - and _
    name: String,
    /// How long a step lasts: 1s to 1d, event, or 'N events'
    #[arg(long)]
    step: String,
    /// What all releases together promise: epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// With --epsilon: delta
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<String>,
    /// What all releases together promise: rho
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<String>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which promise next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    /// How many steps [default: without end]
    #[arg(long)]
    horizon: Option<u64>,
    /// What a value may be; values outside are clamped [default: 0..1]
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    range: Option<String>,
    /// Keys, each of which has a total of its own: a,b,c; a file with one a line; or selected (those that enough events share)
    #[arg(long)]
    keys: Option<String>,
    /// curator, or pan-private: nothing that memory or disk hold betrays anyone [default: curator]
    #[arg(long)]
    mode: Option<String>,
    /// Whose privacy is protected: event, step or steps:N [default: event]
    #[arg(long)]
    unit: Option<String>,
    /// Which streams are neighbours: add-remove or replace
    #[arg(long)]
    adjacency: Option<String>,
    /// How the noise is made [default: auto]
    #[arg(long)]
    counter: Option<String>,
    /// Whose budget is charged, a dataset that is registered [default: stream/NAME]
    #[arg(long)]
    dataset: Option<String>,
    /// For how many steps an id is remembered, so that its event is not counted twice
    #[arg(long, value_name = "STEPS")]
    dedup: Option<u64>,
    /// How many steps of releases are kept [default: all]
    #[arg(long, value_name = "STEPS")]
    history: Option<u64>,
    #[command(flatten)]
    service: Service,
}

/// Creates it.
pub fn run(arguments: &Arguments) -> Result<()> {
    let client = arguments.service.client()?;
    let keys = arguments.keys.as_deref().map(keys).transpose()?;
    let mut draft = json!({
        "name": arguments.name,
        "step": arguments.step,
        "epsilon": arguments.epsilon,
        "delta": arguments.delta,
        "rho": arguments.rho,
        "allow_large_epsilon": arguments.allow_large_epsilon.then_some(true),
        "horizon": arguments.horizon,
        "range": arguments.range,
        "keys": keys,
        "mode": arguments.mode,
        "unit": arguments.unit,
        "adjacency": arguments.adjacency,
        "counter": arguments.counter,
        "dataset": arguments.dataset,
        "dedup": arguments.dedup,
        "history": arguments.history,
    });
    if let Value::Object(fields) = &mut draft {
        fields.retain(|_, value| !value.is_null());
    }
    let created = client.post("/v1/streams", &draft)?;
    let text = |name: &str| created[name].as_str().unwrap_or_default().to_owned();
    say!("created {}: {}, charged to {}; {}", arguments.name, text("guarantee"), text("dataset"), text("promise"));
    Ok(())
}

fn keys(text: &str) -> Result<Value> {
    if matches!(text, "none" | "selected") {
        return Ok(text.into());
    }
    let path = PathBuf::from(text);
    let list: Vec<String> = match path.is_file() {
        true => {
            let text =
                std::fs::read_to_string(&path).map_err(|error| usage(format!("--keys {}: {error}", path.display())))?;
            text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
        }
        false => text.split(',').map(|key| key.trim().to_owned()).collect(),
    };
    Ok(json!(list))
}
