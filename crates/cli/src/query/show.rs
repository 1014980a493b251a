//! Answers and dry runs, for people and programs.

use anyhow::Result;
use reticent::printable::printable;
use reticent_sql::Query;
use reticent_sql::answer::{Answer, Entry, FoundBounds, Share, Summary};
use serde_json::Value as Json;

use crate::output::{Format, csv_line, number_table, print, say, text_table};

/// Prints an answer.
pub fn answer(answer: &Answer, format: Format) -> Result<()> {
    match format {
        Format::Json => {
            print(&(answer.to_json_lines()?.join("\n") + "\n"))?;
        }
        Format::Csv => print(&csv(answer))?,
        Format::Table => {
            let header: Vec<&str> = answer.columns.iter().map(String::as_str).collect();
            let rows = answer.rows.iter().map(|row| row.iter().map(cell).collect());
            print(&format!("{}\n", number_table(&header, rows)))?;
        }
    }
    if format != Format::Json {
        let Summary { guarantee, unit, adjacency, half_widths, .. } = &answer.summary;
        say!("{guarantee}, unit {unit}, adjacency {adjacency}; ± is {half_widths}");
        answer.summary.bounds.iter().for_each(|found| say!("{}", bounds(found)));
    }
    Ok(())
}

/// The result of a search for bounds.
fn bounds(found: &FoundBounds) -> String {
    let FoundBounds { column, bounds } = found;
    match bounds {
        Some(bounds) => format!("bounds of {column}, found privately: {bounds}; values outside them were clamped"),
        None => format!(
            "no bounds of {column} were found: too few rows for this budget, so aggregates that need them are refused (and charged); \
             give them with --bounds {column}=LO..HI, or spend more"
        ),
    }
}

fn csv(answer: &Answer) -> String {
    // An aggregate has a column for its half-width, whatever its values. Answers of earlier versions do not say which
    // has one.
    let has_width = |column: usize| {
        let has_one = |row: &Vec<Entry>| matches!(row[column], Entry::Released { .. } | Entry::Ranked { .. });
        answer.bars.get(column).copied().unwrap_or_else(|| answer.rows.iter().any(has_one))
    };
    let wide: Vec<bool> = (0..answer.columns.len()).map(has_width).collect();
    let header = answer
        .columns
        .iter()
        .zip(&wide)
        .flat_map(|(name, wide)| std::iter::once(name.clone()).chain(wide.then(|| format!("{name} ±"))));
    let mut text = csv_line(&header.collect::<Vec<_>>()) + "\n";
    for row in &answer.rows {
        let fields = row.iter().zip(&wide).flat_map(|(entry, wide)| {
            let (value, width) = match entry {
                Entry::Plain(value) | Entry::Stable(value) => (plain(value), String::new()),
                Entry::Released { value, half_width } => {
                    (plain(value), plain(&reticent_sql::answer::number(*half_width)))
                }
                Entry::Ranked { value, half_width_in_ranks } => {
                    (plain(value), plain(&reticent_sql::answer::number(*half_width_in_ranks)))
                }
                Entry::Refused => ("refused".into(), String::new()),
            };
            std::iter::once(value).chain(wide.then_some(width))
        });
        text += &(csv_line(&fields.collect::<Vec<_>>()) + "\n");
    }
    text
}

fn cell(entry: &Entry) -> String {
    match entry {
        Entry::Plain(value) => people(value, None),
        Entry::Stable(value) => format!("{} (exact)", people(value, None)),
        Entry::Released { value, half_width } => {
            format!("{} ± {}", people(value, Some(*half_width)), rounded(*half_width, Some(*half_width)))
        }
        Entry::Ranked { value, half_width_in_ranks } => {
            format!("{} ± {:.0} ranks", people(value, None), half_width_in_ranks.ceil())
        }
        Entry::Refused => "refused".into(),
    }
}

/// A value without quotes.
fn plain(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value for people: no more digits than the noise justifies.
fn people(value: &Json, half_width: Option<f64>) -> String {
    match value {
        Json::Null => "NULL".into(),
        Json::String(text) => printable(text),
        Json::Number(number) if number.is_f64() => rounded(number.as_f64().unwrap_or(f64::NAN), half_width),
        Json::Array(list) => list.iter().map(|one| people(one, half_width)).collect::<Vec<_>>().join(" "),
        other => plain(other),
    }
}

/// To two digits of the half-width.
fn rounded(value: f64, half_width: Option<f64>) -> String {
    let scale = half_width.unwrap_or(value / 1000.0).abs();
    let whole = value.fract() == 0.0 && half_width.is_none_or(|half_width| half_width.fract() == 0.0);
    let digits = match whole || scale == 0.0 || !scale.is_finite() {
        true => 0,
        false => (1.0 - scale.log10().floor()).clamp(0.0, 12.0) as usize,
    };
    format!("{value:.digits$}")
}

/// Prints what a query would release.
pub fn dry_run(query: &Query, format: Format) -> Result<()> {
    let summary = query.summary()?;
    if format == Format::Json {
        print(&(serde_json::json!({ "dry_run": summary }).to_string() + "\n"))?;
        return Ok(());
    }
    let rows = summary.split.iter().map(|share| {
        let Share { what, cost, noise, half_width } = share;
        let half_width = half_width
            .map_or_else(|| "depends on the answer".into(), |width| format!("± {}", rounded(width, Some(width))));
        vec![what.clone(), cost.clone(), noise.clone(), half_width]
    });
    let table = text_table(&["released", "for", "by", "95 %, noise only"], rows);
    print(&format!("{table}\n"))?;
    print(&format!("{}\n", query.words()))?;
    say!("nothing was charged; it would cost {}", summary.guarantee);
    Ok(())
}
