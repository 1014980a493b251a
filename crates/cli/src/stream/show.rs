//! `reticent stream list` and `reticent stream show`.

use anyhow::Result;
use reticent::text::{csv_line, printable};
use serde_json::Value;

use super::Service;
use crate::output::{Format, number_table, print, say, text_table};

/// The arguments of `reticent stream list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reticent stream list --format json")]
pub struct ListArguments {
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    service: Service,
}

/// The arguments of `reticent stream show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  reticent stream show visits --last 20")]
pub struct Arguments {
    /// Which stream
    name: String,
    /// Number of releases to show
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    last: u64,
    /// How to print the releases
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    #[command(flatten)]
    service: Service,
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Lists all streams.
pub fn list(arguments: &ListArguments) -> Result<()> {
    let answer = arguments.service.client()?.get("/v1/streams")?;
    let streams = answer["streams"].as_array().map(Vec::as_slice).unwrap_or_default();
    let row = |stream: &Value| {
        let definition = &stream["definition"];
        [
            &definition["name"],
            &definition["step"],
            &stream["steps"],
            &stream["guarantee"],
            &stream["dataset"],
            &definition["mode"],
        ]
        .map(text)
        .to_vec()
    };
    let header = ["name", "step", "steps released", "guarantee", "charged to", "mode"];
    print(&match arguments.format {
        Format::Table => format!("{}\n", text_table(&header, streams.iter().map(row))),
        Format::Json => streams.iter().map(|stream| format!("{stream}\n")).collect(),
        Format::Csv => {
            let header = csv_line(&header.map(String::from));
            std::iter::once(header)
                .chain(streams.iter().map(|stream| csv_line(&row(stream))))
                .map(|line| line + "\n")
                .collect()
        }
    })?;
    Ok(())
}

/// Shows a stream and its latest releases.
pub fn run(arguments: &Arguments) -> Result<()> {
    let client = arguments.service.client()?;
    let path = format!("/v1/streams/{}", arguments.name);
    let stream = client.get(&path)?;
    let steps = stream["steps"].as_u64().unwrap_or_default();
    let first = steps.saturating_sub(arguments.last) + 1;
    let answer = client.get(&format!("{path}/releases?from={first}&limit={}", arguments.last))?;
    let releases = answer["releases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let keyed = releases.iter().any(|release| release["values"].is_array());
    let rows = releases.iter().flat_map(|release| {
        let [step, closed, half_width] = ["step", "closed", "half_width"].map(|name| text(&release[name]));
        match release["values"].as_array() {
            Some(values) => values
                .iter()
                .map(|one| {
                    vec![step.clone(), closed.clone(), text(&one["key"]), text(&one["value"]), half_width.clone()]
                })
                .collect(),
            None => vec![vec![step, closed, text(&release["value"]), half_width]],
        }
    });
    let header: &[&str] =
        if keyed { &["step", "closed", "key", "value", "±"] } else { &["step", "closed", "value", "±"] };
    let [guarantee, dataset, promise, bars] =
        ["guarantee", "dataset", "promise", "half_widths"].map(|name| text(&stream[name]));
    say!("{}: {guarantee}, charged to {dataset}; {promise}; ± is {bars}", arguments.name);
    match arguments.format {
        Format::Table => {
            let people = |mut row: Vec<String>| {
                let last = row.len() - 1;
                row[last] = row[last].parse::<f64>().map_or_else(|_| row[last].clone(), |width| format!("{width:.1}"));
                row.iter().map(|cell| printable(cell)).collect()
            };
            print(&format!("{}\n", number_table(header, rows.map(people))))?;
        }
        Format::Json => print(&releases.iter().map(|release| format!("{release}\n")).collect::<String>())?,
        Format::Csv => {
            let header: Vec<String> = header.iter().map(|name| (*name).to_owned()).collect();
            print(&std::iter::once(header).chain(rows).map(|row| csv_line(&row) + "\n").collect::<String>())?;
        }
    }
    Ok(())
}
