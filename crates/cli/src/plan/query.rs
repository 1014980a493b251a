//! `reticent plan query`: the errors to expect of a query, against its budget.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::secrets::Quiet;
use reticent_plot::plans::query_errors;
use reticent_sql::advice::{Expected, Ladder, Rung};
use reticent_sql::{Query, Settings, dialect};
use serde_json::json;

use crate::output::{self, Format, aligned_table, csv, json_lines, wrapped};
use crate::query::{Question, settings};

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
    let (Settings { sql, inputs, options, .. }, _copy) = settings(&question, arguments.ledger.as_deref(), None)?;
    let query = Query::prepare(&sql, inputs, options)?;
    let ladder = query.ladder(question.expect_rows)?;
    let place = place(&query, &ladder);
    if let Some(path) = &arguments.plot {
        let title = format!("Error to expect at 95 %, {place}");
        output::write_over(path, query_errors(&title, ladder.symbol, ladder.lines()).to_svg(760, 480))?;
    }
    output::print(&match arguments.format {
        Format::Table => table(&ladder, &place),
        Format::Json => json_lines(
            ladder.rungs.iter().map(|rung| json!({ "guarantee": rung.budget.to_string(), "forecast": rung.forecast })),
        ),
        Format::Csv => in_csv(&ladder),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Where the errors are to be expected.
fn place(query: &Query, ladder: &Ladder) -> String {
    let rows = ladder.rungs.first().map_or(0, |rung| rung.forecast.rows);
    let group = if query.is_grouped() { "in a group of " } else { "over " };
    format!("{group}{rows} row{}", if rows == 1 { "" } else { "s" })
}

fn table(ladder: &Ladder, place: &str) -> String {
    let Some(first) = ladder.rungs.first() else {
        return "no budget from 0.01 to 10 is enough for this query\n".into();
    };
    let withheld = ladder.rungs.iter().any(|rung| rung.forecast.withheld_below.is_some());
    let columns = first.forecast.columns.iter().map(|column| column.column.as_str());
    let header: Vec<&str> =
        [ladder.symbol].into_iter().chain(columns).chain(withheld.then_some("withheld below")).collect();
    let row = |rung: &Rung| {
        let mark = if rung.is_own { "► " } else { "" };
        let errors = rung.forecast.columns.iter().map(Expected::error_words);
        let below = rung.forecast.withheld_below.map_or_else(|| "–".into(), |below| below.to_string());
        [format!("{mark}{}", rung.size)].into_iter().chain(errors).chain(withheld.then_some(below)).collect()
    };
    let table = aligned_table(&header, ladder.rungs.iter().map(row), |_| true);
    let words = format!(
        "Error to expect at 95 %, {place} (--expect-rows) with values spread evenly over their bounds; noise only. No row is read and \
         nothing is spent."
    );
    format!("{}\n{table}\n", wrapped(&words))
}

/// One line for each budget and column.
fn in_csv(ladder: &Ladder) -> String {
    let row = |rung: &Rung, column: &Expected| {
        let width = column.half_width.map_or_else(String::new, |width| width.to_string());
        let (rows, times) = (rung.forecast.rows.to_string(), column.times.clone().unwrap_or_default());
        vec![rung.budget.to_string(), rows, column.column.clone(), width, times]
    };
    let rows = ladder.rungs.iter().flat_map(|rung| rung.forecast.columns.iter().map(|column| row(rung, column)));
    csv("guarantee,rows,column,half_width_95,times", rows)
}
