//! Answers and dry runs, for people and programs.

use anyhow::Result;
use reticent::message::Spelling;
use reticent_sql::Query;
use reticent_sql::answer::{Answer, Entry, Summary};

use crate::output::{Format, number_table, print, say, text_table};

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
        answer.summary.bounds.iter().for_each(|found| say!("{}", found.message().spelled(Spelling::Flag)));
    }
    Ok(())
}

/// Prints what a query would release.
pub fn dry_run(query: &Query, format: Format) -> Result<()> {
    let summary = query.summary();
    if format == Format::Json {
        print(&(serde_json::json!({ "dry_run": summary }).to_string() + "\n"))?;
        return Ok(());
    }
    let rows = summary
        .split
        .iter()
        .map(|share| vec![share.what.clone(), share.cost.clone(), share.noise.clone(), share.width()]);
    let table = text_table(&["released", "for", "by", "95 %, noise only"], rows);
    print(&format!("{table}\n"))?;
    print(&format!("{}\n", query.words()))?;
    say!("nothing was charged; it would cost {}", summary.guarantee);
    Ok(())
}
