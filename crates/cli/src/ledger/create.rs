//! `reticent ledger create`: creates a ledger, or registers a dataset with its budget.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use reticent::privacy::Guarantee;
use reticent::text::{csv_line, json_line};
use reticent_ledger::{Dataset, DurableLedger, Place, Registration, Terms};
use serde_json::json;

use super::{Which, Whose};
use crate::exit::usage;
use crate::output::{self, Format, say};

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
    whose: Whose,
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
    /// steps), or what it prints as protected
    #[arg(long, allow_hyphen_values = true)]
    unit: Option<String>,
    /// Which datasets are neighbours: add-remove or replace [default: replace if the unit is line, else add-remove]
    #[arg(long, allow_hyphen_values = true)]
    adjacency: Option<String>,
    #[command(flatten)]
    which: Which,
    /// Also keep the ledger's newest hash in this file
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Creates the ledger and registers the dataset.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let dataset = dataset(arguments)?;
    let place = arguments.which.place()?;
    let (ledger, created) = place.open_or_create()?;
    if created {
        say!("created the ledger {}", place.location);
    }
    let new_anchor = arguments.anchor.as_ref().is_some_and(|file| !file.exists());
    let ledger = ledger.anchored_if(arguments.anchor.as_deref());
    ledger.advance_anchor()?;
    let outcome = match &dataset {
        Some(dataset) => Outcome::Dataset(dataset, register(arguments, &ledger, dataset)?),
        None => Outcome::Ledger,
    };
    if let (Some(file), true) = (&arguments.anchor, new_anchor) {
        say!("the anchor {} is new: it says nothing about the ledger's past", file.display());
    }
    output::print(&print(arguments.format, &place, &outcome))?;
    Ok(ExitCode::SUCCESS)
}

enum Outcome<'dataset> {
    Ledger,
    Dataset(&'dataset Dataset, Registration),
}

/// The dataset to register, checked before a ledger is created.
fn dataset(arguments: &Arguments) -> Result<Option<Dataset>> {
    let limit = limit(arguments)?;
    let name = arguments.whose.dataset()?;
    let (name, limit) = match (name, limit) {
        (Some(name), Some(limit)) => (name, limit),
        (Some(name), None) => {
            return Err(usage(format!("say what {name} may spend: --epsilon E, --epsilon E --delta D, or --rho R")));
        }
        (None, Some(limit)) => {
            return Err(usage(format!("say which dataset may spend {limit}: a name, or --file FILE")));
        }
        (None, None) if arguments.unit.is_some() || arguments.adjacency.is_some() => {
            return Err(usage("--unit and --adjacency belong to a dataset; give its name and budget"));
        }
        (None, None) => return Ok(None),
    };
    // Under the bare name the budget would not apply to `reticent count FILE`.
    if let Some(name) = arguments.whose.name.as_deref().filter(|name| Path::new(name).is_file()) {
        return Err(usage(format!(
            "{name} is a file here; write --file {name} to set the budget of that file, or choose another name"
        )));
    }
    // No default: it cannot be changed later, and a budget for a different unit than the releases' is useless.
    let unit = arguments.unit.clone().ok_or_else(|| {
        usage(format!(
            "say whose privacy the budget of {name} protects: --unit row or the name of a column for a table; for `reticent \
             count`, --unit line (one line per step) or event (time steps)"
        ))
    })?;
    let adjacency = arguments.adjacency.as_deref().map(str::parse).transpose()?;
    Ok(Some(Dataset::limited(name, limit, unit, adjacency, arguments.allow_large_epsilon)?))
}

fn limit(arguments: &Arguments) -> Result<Option<Guarantee>> {
    let Arguments { epsilon, delta, rho, .. } = arguments;
    Ok(Some(match (epsilon, delta, rho) {
        (Some(epsilon), Some(delta), _) => Guarantee::Approx(epsilon.parse()?, delta.parse()?),
        (Some(epsilon), None, _) => Guarantee::Pure(epsilon.parse()?),
        (None, _, Some(rho)) => Guarantee::Zcdp(rho.parse()?),
        (None, _, None) => return Ok(None),
    }))
}

fn register(arguments: &Arguments, ledger: &DurableLedger, dataset: &Dataset) -> Result<Registration> {
    let said = arguments.adjacency.is_some();
    let registration = ledger.register_as_said(dataset, said)?;
    if let (Some(terms), false) = (&dataset.terms, said || registration == Registration::Unchanged) {
        say!("by default: adjacency {}", terms.adjacency);
    }
    Ok(registration)
}

fn print(format: Format, place: &Place, outcome: &Outcome<'_>) -> String {
    let location = &place.location;
    let Outcome::Dataset(dataset, registration) = outcome else {
        return match format {
            Format::Table => format!("the ledger {location} is ready; no dataset was named\n"),
            Format::Json => json_line(&json!({ "ledger": location.to_string(), "outcome": "ready" })),
            Format::Csv => format!("ledger,outcome\n{}\n", csv_line(&[location.to_string(), "ready".into()])),
        };
    };
    let Dataset { name, budget, terms } = dataset;
    let (unit, adjacency) = terms.as_ref().map_or_else(Default::default, |terms| {
        let Terms { unit, adjacency } = terms;
        (unit.clone(), adjacency.to_string())
    });
    let (outcome, sentence, spent) = match registration {
        Registration::New => ("registered", format!("registered {name}"), None),
        Registration::Unchanged => ("unchanged", format!("nothing changed: {name} is already registered"), None),
        Registration::Limited { spent } => {
            let sentence = format!("{name} had no limit and has one now, of which it has spent {spent}");
            ("limited", sentence, Some(spent))
        }
    };
    match format {
        Format::Table => {
            format!("{sentence}: {budget}, unit {unit}, adjacency {adjacency} (ledger {location})\n")
        }
        Format::Json => json_line(&json!({
            "ledger": location.to_string(),
            "outcome": outcome,
            "dataset": name,
            "budget": budget.to_string(),
            "unit": unit,
            "adjacency": adjacency,
            "spent": spent,
        })),
        Format::Csv => {
            let fields = [&location.to_string(), outcome, name, &budget.to_string(), &unit, &adjacency];
            format!("ledger,outcome,dataset,budget,unit,adjacency\n{}\n", csv_line(&fields.map(String::from)))
        }
    }
}
