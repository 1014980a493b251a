//! `reticent ledger show`: budgets, spent and left.

use std::process::ExitCode;

use anyhow::Result;
use reticent::text::{json_line, printable};
use reticent_ledger::{Account, Budget, Component, Place, Spend, Terms};
use reticent_plot::terminal::{framed_bar, plain_bar};

use super::{DatasetArgs, LedgerArgs};
use crate::output::{self, Format, aligned_table, csv, no_blocks};

/// The length of a bar, in characters.
const BAR: u32 = 20;

/// The arguments of `reticent ledger show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent ledger show --ledger budgets.sqlite
  reticent ledger show visits --ledger budgets.sqlite --format json
  reticent ledger show --file examples/visits.csv

Numbers that are too long to read are rounded, what was spent up and what is left down; JSON and CSV have them exactly.

Exit codes: 0 shown, 1 the ledger is damaged or cannot be read, 2 no such ledger or dataset.")]
pub struct Arguments {
    #[command(flatten)]
    dataset: DatasetArgs,
    #[command(flatten)]
    ledger: LedgerArgs,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Shows one dataset, or all.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let dataset = arguments.dataset.dataset()?;
    let (place, ledger) = arguments.ledger.open_to_read()?;
    let accounts = match dataset {
        None => ledger.accounts()?,
        Some(name) => match ledger.account(&name)? {
            Some(account) => vec![account],
            None => return Err(ledger.unknown(&place.location, &name)?.into()),
        },
    };
    output::print(&match arguments.format {
        Format::Table => table(&place, &accounts),
        Format::Json => accounts.iter().map(|account| json_line(&account.to_json())).collect(),
        Format::Csv => csv(&Account::COLUMNS.join(","), accounts.iter().flat_map(Account::rows)),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table(place: &Place, accounts: &[Account]) -> String {
    let location = &place.location;
    if accounts.is_empty() {
        return format!("The ledger {location} has no datasets yet; `reticent ledger create` registers one.\n");
    }
    let header = ["dataset", "unit", "adjacency", "budget", "spent", "left", "used", "charges"];
    let table = aligned_table(&header, accounts.iter().flat_map(rows), |place| place + 1 == header.len());
    let suspended = accounts.iter().filter_map(|account| {
        let (name, suspension) = (printable(&account.dataset.name), account.suspended?);
        Some(format!("{name} is suspended: {suspension}; `reticent ledger reopen` lifts the suspension\n"))
    });
    let interrupted = accounts.iter().filter(|account| account.interrupted > 0).map(|account| {
        let (name, number) = (printable(&account.dataset.name), account.interrupted);
        format!("{name}: users interrupted {number} run{}\n", if number == 1 { "" } else { "s" })
    });
    format!("Ledger {location}\n{table}\n{}", interrupted.chain(suspended).collect::<String>())
}

/// One row per unit and adjacency; the first also has the name and the number of charges.
fn rows(account: &Account) -> Vec<Vec<String>> {
    let name = printable(&account.dataset.name);
    let charges = account.charges.to_string();
    if account.spent.is_empty() {
        let cells = [&name, "any", "any", "no limit", "nothing", "–", "", &charges];
        return vec![cells.map(String::from).to_vec()];
    }
    let row = |(place, (terms, spent)): (usize, &(Terms, Spend))| {
        let (budget, left, used) = match account.limit(terms) {
            Some(limit) => {
                let left = account.dataset.budget.left(spent).unwrap_or(Spend::NOTHING).rounded_down();
                (limit.to_string(), left, bars(&Component::all(Some(limit), spent)))
            }
            None if account.dataset.budget == Budget::Unlimited => ("no limit".into(), "–".into(), String::new()),
            None => ("closed".into(), "–".into(), String::new()),
        };
        let first = |text: &str| if place == 0 { text.to_owned() } else { String::new() };
        let (unit, adjacency) = (printable(&terms.unit), terms.adjacency.to_string());
        vec![first(&name), unit, adjacency, budget, spent.to_string(), left, used, first(&charges)]
    };
    account.spent.iter().enumerate().map(row).collect()
}

/// What was spent as bars, one per component, each on its own line: `ε ████████████░░░░░░░░ 62 %`.
fn bars(components: &[Component]) -> String {
    let line = |component: &Component| {
        let bar = match no_blocks() {
            true => plain_bar(component.filled(BAR)?, BAR),
            false => framed_bar(component.filled(8 * BAR)?, BAR),
        };
        Some(format!("{} {bar} {} %", component.symbol, component.filled(100)?))
    };
    components.iter().filter_map(line).collect::<Vec<_>>().join("\n")
}
