//! `reticent stream list` and `reticent stream show`.

use anyhow::Result;
use reticent::text::printable;
use reticent_client::streams::{Shown, cells, text};
use serde_json::Value;

use super::Service;
use crate::output::{Format, csv, json_lines, number_table, print, say, text_table};

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

/// Lists all streams.
pub fn list(arguments: &ListArguments) -> Result<()> {
    let streams = arguments.service.client()?.streams()?;
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
        Format::Json => json_lines(streams.iter().cloned()),
        Format::Csv => csv(&header.join(","), streams.iter().map(row)),
    })?;
    Ok(())
}

/// Shows a stream and its latest releases.
pub fn run(arguments: &Arguments) -> Result<()> {
    let Shown { stream, releases } = arguments.service.client()?.newest(&arguments.name, arguments.last)?;
    let keyed = releases.iter().any(|release| release["values"].is_array());
    let rows = releases.iter().flat_map(cells);
    let header: &[&str] =
        if keyed { &["step", "closed", "key", "value", "±"] } else { &["step", "closed", "value", "±"] };
    let [guarantee, dataset, promise, bars] =
        ["guarantee", "dataset", "guarantee_in_words", "half_widths"].map(|name| text(&stream[name]));
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
        Format::Json => print(&json_lines(releases.iter().cloned()))?,
        Format::Csv => print(&csv(&header.join(","), rows))?,
    }
    Ok(())
}
