//! `reticent ledger create`: creates a ledger, or registers a dataset with its budget.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Anchor, Budget, Dataset, DurableLedger, Error, Registration, Terms};
use serde_json::json;

use super::{Which, Whose, is_file};
use crate::exit::usage;
use crate::output::{self, Format, csv_line, say};
use crate::place::Place;
use crate::text;

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
    let ledger = make(&place)?;
    let new_anchor = arguments.anchor.as_ref().is_some_and(|file| !file.exists());
    let ledger = match &arguments.anchor {
        Some(file) => ledger.anchored(Anchor::new(file)),
        None => ledger,
    };
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
    if let Some(name) = arguments.whose.name.as_deref().filter(|name| is_file(name)) {
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
    text::usable("the unit", &unit)?;
    check_unit(&unit)?;
    let adjacency = match arguments.adjacency.as_deref() {
        Some(adjacency) => adjacency.parse()?,
        // As in `reticent count`.
        None if unit == "line" || unit.ends_with(" lines") => Adjacency::Replace,
        None => Adjacency::AddRemove,
    };
    Ok(Some(Dataset { name, budget: Budget::Limit(limit), terms: Some(Terms { unit, adjacency }) }))
}

/// A budget that nothing can ever be charged to is useless, and cannot be changed.
fn check_unit(unit: &str) -> Result<()> {
    let known = ["row", "line", "event", "part of a line"];
    let meant = known.into_iter().find(|known| unit != *known && unit.trim().eq_ignore_ascii_case(known));
    if let Some(meant) = meant {
        return Err(usage(format!("--unit is {unit:?}, which no release uses; write {meant:?}")));
    }
    if unit.trim() != unit || unit == "step" || unit.starts_with("steps") {
        return Err(usage(format!(
            "--unit is {unit:?}, which no release uses; for `reticent count` write line (one line per step), event (time \
             steps), '3 lines', '3 events' (--unit steps:3), or 'step of 1h' (--unit step --step 1h)"
        )));
    }
    Ok(())
}

fn limit(arguments: &Arguments) -> Result<Option<Guarantee>> {
    let Arguments { epsilon, delta, rho, .. } = arguments;
    let limit = match (epsilon, delta, rho) {
        (Some(epsilon), Some(delta), _) => Guarantee::Approx(epsilon.parse()?, delta.parse()?),
        (Some(epsilon), None, _) => Guarantee::Pure(epsilon.parse()?),
        (None, _, Some(rho)) => Guarantee::Zcdp(rho.parse()?),
        (None, _, None) => return Ok(None),
    };
    Ok(Some(limit.confirmed(arguments.allow_large_epsilon)?))
}

/// Opens the ledger, or creates it.
fn make(place: &Place) -> Result<DurableLedger> {
    match DurableLedger::open(&place.location) {
        Err(Error::Missing(_)) => {}
        other => return Ok(other?),
    }
    place.make_folder()?;
    let ledger = DurableLedger::create(&place.location)?;
    say!("created the ledger {}", place.location);
    Ok(ledger)
}

fn register(arguments: &Arguments, ledger: &DurableLedger, dataset: &Dataset) -> Result<Registration> {
    let Some(terms) = &dataset.terms else { unreachable!("a limit has terms") };
    let said = arguments.adjacency.is_some();
    if !said {
        same_as_before(ledger, dataset, terms)?;
    }
    let registration = ledger.register(dataset).map_err(|error| match error {
        Error::DatasetExists(_) => fixed(ledger, &dataset.name).unwrap_or_else(|| error.into()),
        other => other.into(),
    })?;
    if registration != Registration::Unchanged && !said {
        say!("by default: adjacency {}", terms.adjacency);
    }
    Ok(registration)
}

/// A default must not ignore earlier charges.
fn same_as_before(ledger: &DurableLedger, dataset: &Dataset, terms: &Terms) -> Result<()> {
    let Some(account) = ledger.account(&dataset.name)? else { return Ok(()) };
    let charged = account.spent.iter().any(|(charged, _)| charged == terms);
    match account.spent.first() {
        Some((Terms { unit, adjacency }, spent)) if account.dataset.budget == Budget::Unlimited && !charged => {
            Err(usage(format!(
                "{} has spent {spent} under unit {unit}, adjacency {adjacency}; choose which of these the budget protects \
                 with --unit and --adjacency",
                dataset.name
            )))
        }
        _ => Ok(()),
    }
}

/// The error if there is a different budget already.
fn fixed(ledger: &DurableLedger, name: &str) -> Option<anyhow::Error> {
    let dataset = ledger.account(name).ok().flatten()?.dataset;
    let Terms { unit, adjacency } = dataset.terms?;
    let budget = dataset.budget;
    Some(usage(format!(
        "{name} is already registered: {budget}, unit {unit}, adjacency {adjacency}. This cannot be changed; for another budget, \
         choose another name"
    )))
}

fn print(format: Format, place: &Place, outcome: &Outcome<'_>) -> String {
    let location = &place.location;
    let Outcome::Dataset(dataset, registration) = outcome else {
        return match format {
            Format::Table => format!("the ledger {location} is ready; no dataset was named\n"),
            Format::Json => text::json_line(&json!({ "ledger": location.to_string(), "outcome": "ready" })),
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
        Format::Json => text::json_line(&json!({
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
