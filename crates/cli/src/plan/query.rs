//! `reticent plan query`: the errors to expect of a query, against its budget.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::privacy::{Delta, Guarantee};
use reticent::secrets::Quiet;
use reticent_plot::plans::query_errors;
use reticent_sql::advice::{Expected, Forecast};
use reticent_sql::dialect;
use reticent_sql::{Query, Settings};
use serde_json::json;

use crate::output::{self, Format, aligned_table, csv, json_lines, wrapped};
use crate::query::{Question, settings};

/// The budgets that are compared, beside the one that is asked for.
const LADDER: [&str; 10] = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"];
/// The budget where none is given.
const DEFAULT: &str = "1";

/// The arguments of `reticent plan query`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent plan query \"SELECT department, COUNT(*) AS people FROM staff GROUP BY department\" \\
    --table staff=examples/staff.csv --delta 1e-8
  reticent plan query \"SELECT COUNT(*) AS people, AVG(age) AS age FROM staff\" \\
    --table staff=examples/staff.csv --bounds age=18..70 --expect-rows 5000 --plot errors.svg

Errors are half-widths at 95 % in a group of --expect-rows rows, for budgets from 0.01 to 10; they cover noise only. `reticent query … \
--dry-run` says what an error comes from and what would make it smaller. No row is read and nothing is spent.")]
pub struct Arguments {
    #[command(flatten)]
    question: Question,
    /// The ledger that knows which files are protected and cannot be --keys or public tables [default: $RETICENT_LEDGER, or else your
    /// own]
    #[arg(long, value_name = "PLACE")]
    ledger: Option<String>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    format: Format,
    /// Also plot the errors, as SVG
    #[arg(long, value_name = "FILE.svg", help_heading = "Output")]
    plot: Option<PathBuf>,
}

/// Prints the errors.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let _quiet = Quiet::new();
    let mut question = arguments.question.clone();
    if question.epsilon.is_none() && question.rho.is_none() && dialect::split(&question.sql)?.1.epsilon.is_none() {
        question.epsilon = Some(DEFAULT.into());
    }
    let Settings { sql, inputs, options, .. } = settings(&question, arguments.ledger.as_deref())?;
    let asked = options.guarantee.clone();
    let budgets = budgets(&asked)?;
    let query = Query::prepare(&sql, inputs, options)?;
    let forecasts = query.forecasts(question.expect_rows, &budgets)?;
    let known: Vec<(f64, Guarantee, Forecast)> =
        budgets.into_iter().zip(forecasts).filter_map(|(budget, one)| Some((size(&budget), budget, one?))).collect();
    if let Some(path) = &arguments.plot {
        output::write_over(path, chart(&query, &known).to_svg(760, 480))?;
    }
    output::print(&match arguments.format {
        Format::Table => table(&query, &asked, &known),
        Format::Json => json_lines(
            known.iter().map(|(_, budget, forecast)| json!({ "guarantee": budget.to_string(), "forecast": forecast })),
        ),
        Format::Csv => in_csv(&known),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The budgets, ascending, with the δ that is asked for.
fn budgets(asked: &Guarantee) -> Result<Vec<Guarantee>> {
    let of = |text: &str, delta: Option<&Delta>| -> Result<Guarantee> {
        Ok(match (asked, delta) {
            (Guarantee::Zcdp(_), _) => Guarantee::Zcdp(text.parse()?),
            (_, None) => Guarantee::Pure(text.parse()?),
            (_, Some(delta)) => Guarantee::Approx(text.parse()?, delta.clone()),
        })
    };
    let ladder = LADDER.iter().map(|text| of(text, asked.delta()));
    let mut budgets = ladder.chain([Ok(asked.clone())]).collect::<Result<Vec<_>>>()?;
    budgets.sort_by(|one, other| size(one).total_cmp(&size(other)));
    budgets.dedup();
    Ok(budgets)
}

/// ε, or ρ.
fn size(budget: &Guarantee) -> f64 {
    match budget {
        Guarantee::Pure(epsilon) | Guarantee::Approx(epsilon, _) => epsilon.to_f64(),
        Guarantee::Zcdp(rho) => rho.value().to_f64(),
    }
}

fn letter(budget: &Guarantee) -> &'static str {
    if matches!(budget, Guarantee::Zcdp(_)) { "ρ" } else { "ε" }
}

fn table(query: &Query, asked: &Guarantee, known: &[(f64, Guarantee, Forecast)]) -> String {
    let Some((.., first)) = known.first() else { return "no budget from 0.01 to 10 is enough for this query\n".into() };
    let withheld = known.iter().any(|(.., forecast)| forecast.withheld_below.is_some());
    let header = [letter(asked)].into_iter().chain(first.columns.iter().map(|column| column.column.as_str()));
    let header: Vec<&str> = header.chain(withheld.then_some("withheld below")).collect();
    let row = |(size, budget, forecast): &(f64, Guarantee, Forecast)| {
        let mark = if budget == asked { "► " } else { "" };
        let errors = forecast.columns.iter().map(Expected::error_words);
        let below = forecast.withheld_below.map_or_else(|| "–".into(), |below| below.to_string());
        let below = withheld.then_some(below);
        [format!("{mark}{size}")].into_iter().chain(errors).chain(below).collect()
    };
    let table = aligned_table(&header, known.iter().map(row), |_| true);
    let rows = first.rows;
    let place = if query.is_grouped() { "in a group of" } else { "over" };
    let words = format!(
        "Error to expect at 95 %, {place} {rows} row{} (--expect-rows) with values spread evenly over their bounds; noise only. No row \
         is read and nothing is spent.",
        if rows == 1 { "" } else { "s" }
    );
    format!("{}\n{table}\n", wrapped(&words))
}

fn in_csv(known: &[(f64, Guarantee, Forecast)]) -> String {
    let rows = known.iter().flat_map(|(_, budget, forecast)| {
        forecast.columns.iter().map(move |column| {
            let number = |number: Option<f64>| number.map_or_else(String::new, |number| number.to_string());
            let times = column.times.clone().unwrap_or_default();
            let rows = forecast.rows.to_string();
            vec![budget.to_string(), rows, column.column.clone(), number(column.half_width), times]
        })
    });
    csv("guarantee,rows,column,half_width_95,times", rows)
}

fn chart(query: &Query, known: &[(f64, Guarantee, Forecast)]) -> reticent_plot::Chart {
    let names = known.first().map(|(.., forecast)| forecast.columns.as_slice()).unwrap_or_default();
    let error = |place: usize| {
        // A logarithmic axis has no place for 0.
        let width = |forecast: &Forecast| forecast.columns[place].half_width.filter(|width| *width > 0.0);
        let point = |(size, _, forecast): &(f64, Guarantee, Forecast)| Some((*size, width(forecast)?));
        known.iter().filter_map(point).collect()
    };
    let name = |column: &Expected| match &column.times {
        Some(times) => format!("{} (× {times})", column.column),
        None => column.column.clone(),
    };
    let series = names.iter().enumerate().map(|(place, column)| (name(column), error(place))).collect();
    let budget = known.first().map_or("ε", |(_, budget, _)| letter(budget));
    let rows = known.first().map_or(0, |(.., forecast)| forecast.rows);
    let place = if query.is_grouped() { format!("a group of {rows} rows") } else { format!("{rows} rows") };
    query_errors(&format!("Error to expect at 95 %, {place}"), budget, series)
}
