//! Answers and dry runs, for people and programs.

use anyhow::Result;
use reticent::message::Spelling;
use reticent_sql::Query;
use reticent_sql::advice::{DryRun, Expected, Forecast};
use reticent_sql::answer::{Answer, Entry, Summary};

use crate::output::{Format, fitted_table, number_table, print, say, wrapped};

/// Prints an answer.
pub fn answer(answer: &Answer, format: Format) -> Result<()> {
    match format {
        Format::Json => {
            print(&(answer.to_json_lines().join("\n") + "\n"))?;
        }
        Format::Csv => print(&answer.to_csv())?,
        Format::Table => {
            let header: Vec<&str> = answer.columns.iter().map(String::as_str).collect();
            let rows = answer.rows.iter().map(|row| row.iter().map(Entry::to_text).collect());
            print(&format!("{}\n", number_table(&header, rows)))?;
        }
    }
    if format != Format::Json {
        let Summary { guarantee, unit, adjacency, half_widths, .. } = &answer.summary;
        say!("{guarantee}, unit {unit}, adjacency {adjacency}; ± is {half_widths}");
        answer.summary.limits.iter().for_each(|limit| say!("{limit}"));
        answer.summary.bounds.iter().for_each(|found| say!("{}", found.message().spelled(Spelling::Flag)));
    }
    Ok(())
}

/// Prints what a query would release, the errors to expect in groups of this many rows, and advice.
pub fn dry_run(query: &Query, expect_rows: Option<u64>, format: Format) -> Result<()> {
    let dry_run = query.dry_run(expect_rows)?;
    if format == Format::Json {
        print(&(serde_json::json!({ "dry_run": dry_run }).to_string() + "\n"))?;
        return Ok(());
    }
    let DryRun { summary, forecast, advice } = &dry_run;
    let Summary { guarantee, unit, adjacency, .. } = summary;
    let mut lines = vec![
        wrapped(&format!("Protected with {guarantee} (unit {unit}, {adjacency}). {}", query.words())),
        String::new(),
        wrapped(&assumption(query, forecast)),
        expected(forecast),
    ];
    if !advice.is_empty() {
        lines.push("What would help, each change by itself:".into());
        let rows = advice.iter().map(|advice| vec![advice.flags(), advice.words()]);
        lines.push(fitted_table(&["with", "errors"], rows, 1).to_string());
    }
    lines.push("What the budget pays for:".into());
    let rows = summary.split.iter().map(|share| vec![share.what.clone(), share.cost.clone(), share.noise.clone()]);
    lines.push(fitted_table(&["released", "for", "by"], rows, 2).to_string());
    print(&(lines.join("\n") + "\n"))?;
    say!("nothing was charged; it would cost {guarantee}");
    Ok(())
}

/// What the errors to expect are about.
fn assumption(query: &Query, forecast: &Forecast) -> String {
    let Forecast { rows, withheld_below, .. } = forecast;
    let rows = format!("{rows} row{}", if *rows == 1 { "" } else { "s" });
    let place = if query.is_grouped() { format!("in a group of {rows}") } else { format!("if it covers {rows}") };
    let withheld =
        withheld_below.map(|below| format!(" Groups below {below} units may be withheld.")).unwrap_or_default();
    format!(
        "Error to expect at 95 %, {place} (--expect-rows) with values spread evenly over their bounds; noise only, not bias \
         from clamping or contribution limits.{withheld}"
    )
}

/// The errors to expect.
fn expected(forecast: &Forecast) -> String {
    let row = |column: &Expected| {
        vec![column.column.clone(), column.error_words(), column.relative_words(), column.causes_words()]
    };
    fitted_table(&["column", "error", "relative", "because of"], forecast.columns.iter().map(row), 3).to_string()
}
