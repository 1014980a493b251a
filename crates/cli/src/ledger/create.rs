//! `reticent ledger create`: creates a ledger, or registers a dataset with its budget.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::text::json_line;
use reticent_ledger::registration::Asked;
use reticent_ledger::{Dataset, DurableLedger, Place, Registration};
use serde_json::json;

use super::{DatasetArgs, LedgerArgs};
use crate::output::{self, Format, csv_of, say};

/// The arguments of `reticent ledger create`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent ledger create people --epsilon 1 --unit row --ledger budgets.sqlite
  reticent ledger create visits --epsilon 1 --delta 1e-6 --unit event --ledger budgets.sqlite
  reticent ledger create clicks --rho 0.5 --unit '10 lines' --ledger budgets.sqlite
  reticent ledger create --file examples/visits.csv --epsilon 2 --unit event
  reticent ledger create --ledger shared.sqlite

A budget, its unit and its adjacency are fixed once they are set. A dataset that had no limit so far can be given one: \
earlier charges under the same unit and adjacency count against it. Without a dataset an empty ledger is created.

Exit codes: 0 registered, now or earlier with the same terms; 1 the ledger cannot be written; 2 usage, or different terms.")]
pub struct Arguments {
    #[command(flatten)]
    dataset: DatasetArgs,
    /// Total budget: epsilon
    #[arg(long, conflicts_with = "rho", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// Total budget: delta
    #[arg(long, requires = "epsilon", allow_hyphen_values = true)]
    delta: Option<String>,
    /// Total budget, as rho of zero-concentrated differential privacy
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<String>,
    /// Confirm an epsilon above 10 or a delta above 0.001, which protect next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    /// The privacy unit: row, or the name of a column, for a table; for `reticent count` line (one line per step), event (time
    /// steps), or the unit that it prints
    #[arg(long, allow_hyphen_values = true)]
    unit: Option<String>,
    /// Which datasets are neighbours: add-remove or replace [default: replace if the unit is line, else add-remove]
    #[arg(long, allow_hyphen_values = true)]
    adjacency: Option<String>,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// Also record the ledger's newest hash in this file
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Creates the ledger and registers the dataset.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let dataset = arguments.asked().dataset()?;
    let place = arguments.ledger.place()?;
    let (ledger, created) = place.open_or_create()?;
    if created {
        say!("created the ledger {}", place.location);
    }
    let new_anchor = arguments.anchor.as_ref().is_some_and(|file| !file.exists());
    let ledger = ledger.anchored_if(arguments.anchor.as_deref());
    ledger.advance_anchor()?;
    let registered = dataset.map(|dataset| register(arguments, &ledger, dataset)).transpose()?;
    if let (Some(file), true) = (&arguments.anchor, new_anchor) {
        say!("the anchor {} is new: it says nothing about the ledger's past", file.display());
    }
    output::print(&shown(arguments.format, &place, registered))?;
    Ok(ExitCode::SUCCESS)
}

impl Arguments {
    fn asked(&self) -> Asked {
        Asked {
            name: self.dataset.name.clone(),
            file: self.dataset.file.clone(),
            epsilon: self.epsilon.clone(),
            delta: self.delta.clone(),
            rho: self.rho.clone(),
            allow_large_epsilon: self.allow_large_epsilon,
            unit: self.unit.clone(),
            adjacency: self.adjacency.clone(),
        }
    }
}

fn register(arguments: &Arguments, ledger: &DurableLedger, dataset: Dataset) -> Result<(Dataset, Registration)> {
    let said = arguments.adjacency.is_some();
    let registration = ledger.register_as_said(&dataset, said)?;
    if let (Some(terms), false) = (&dataset.terms, said || registration == Registration::Unchanged) {
        say!("by default: adjacency {}", terms.adjacency);
    }
    Ok((dataset, registration))
}

fn shown(format: Format, place: &Place, registered: Option<(Dataset, Registration)>) -> String {
    let location = place.location.to_string();
    let (header, mut object, sentence) = match registered {
        None => {
            let sentence = format!("the ledger {location} is ready; no dataset was named");
            ("ledger,outcome", json!({ "outcome": "ready" }), sentence)
        }
        Some((dataset, registration)) => {
            let sentence = format!("{} (ledger {location})", registration.sentence(&dataset));
            ("ledger,outcome,dataset,budget,unit,adjacency", registration.to_json(&dataset), sentence)
        }
    };
    object["ledger"] = location.into();
    match format {
        Format::Table => sentence + "\n",
        Format::Json => json_line(&object),
        Format::Csv => csv_of(header, [object]),
    }
}
