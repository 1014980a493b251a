//! `reticent stream create`.

use anyhow::Result;
use reticent_ledger::public_keys;
use serde::Serialize;
use serde_json::Value;

use super::Service;
use crate::output::say;

/// The arguments of `reticent stream create`; their names are those of the service's fields.
#[derive(Debug, clap::Args, Serialize)]
#[command(
    after_help = "A stream does not change once it is created, and its cost is charged at once, for all steps to come. \
`reticent plan count` predicts its accuracy.

Examples:
  reticent stream create visits --step 1s --epsilon 1
  reticent stream create doors --step 1m --epsilon 1 --keys north,south --horizon 525600
  reticent stream create words --step 1h --epsilon 1 --delta 1e-8 --keys selected --horizon 8760
  reticent stream create clinic --step 1h --epsilon 1 --horizon 8760 --mode pan-private"
)]
pub struct Arguments {
    /// Name of the stream: a-z, digits, - and _
    name: String,
    /// Length of a step: 1s to 1d, event, or 'N events'
    #[arg(long)]
    step: String,
    /// Privacy guarantee of all releases together: epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// With --epsilon: delta
    #[arg(long, allow_hyphen_values = true)]
    delta: Option<String>,
    /// Privacy guarantee of all releases together: rho
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<String>,
    /// Confirm an epsilon above 10 or a delta above 0.001, which protect next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    /// Number of steps [default: unlimited]
    #[arg(long)]
    horizon: Option<u64>,
    /// Clamping bounds of a value [default: 0..1]
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true)]
    range: Option<String>,
    /// One total per key: a,b,c; a file with one key per line; or selected (keys with enough events)
    #[arg(long)]
    keys: Option<String>,
    /// curator, or pan-private: the contents of memory and disk are private, too [default: curator]
    #[arg(long)]
    mode: Option<String>,
    /// The privacy unit: event, step or events:N [default: event]
    #[arg(long)]
    unit: Option<String>,
    /// Which streams are neighbours: add-remove or replace
    #[arg(long)]
    adjacency: Option<String>,
    /// Which counter to use [default: auto]
    #[arg(long)]
    counter: Option<String>,
    /// The registered dataset whose budget is charged [default: stream/NAME]
    #[arg(long)]
    dataset: Option<String>,
    /// Number of steps for which event ids are remembered, so that no event counts twice
    #[arg(long, value_name = "STEPS")]
    dedup: Option<u64>,
    /// Number of steps of releases to keep [default: all]
    #[arg(long, value_name = "STEPS")]
    history: Option<u64>,
    #[serde(skip)]
    #[command(flatten)]
    service: Service,
}

/// Creates the stream.
pub fn run(arguments: &Arguments) -> Result<()> {
    let client = arguments.service.client()?;
    let mut draft = serde_json::to_value(arguments)?;
    draft["keys"] = match arguments.keys.as_deref() {
        Some(word @ ("none" | "selected")) => word.into(),
        Some(list) => public_keys(list, &[], None)?.into(),
        None => Value::Null,
    };
    if let Value::Object(fields) = &mut draft {
        fields.retain(|_, value| !value.is_null() && *value != Value::Bool(false));
    }
    let created = client.post("/v1/streams", &draft)?;
    let text = |name: &str| created[name].as_str().unwrap_or_default().to_owned();
    say!(
        "created {}: {}, charged to {}; {}",
        arguments.name,
        text("guarantee"),
        text("dataset"),
        text("guarantee_in_words")
    );
    Ok(())
}
