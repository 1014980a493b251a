//! `reticent plan trust`: the error of the same count in every trust model.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::multiparty::trust::{self, Cost, Trust};
use reticent::privacy::Epsilon;
use reticent_plot::plans::trust_models;
use reticent_plot::terminal::{bars_between, short};
use serde_json::json;

use crate::output::{self, Format, aligned_table, csv_of, json_lines};

/// Up to this many parties, programs get every number of colluders; people, and larger numbers, some of them.
const EVERY_NUMBER: u32 = 256;
/// What a spreadsheet gets of a model.
const COLUMNS: &str = "name,parties,standard_deviation,half_width,against_all_others";

/// The arguments of `reticent plan trust`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent plan trust --rows 100000 --parties 10 --epsilon 1
  reticent plan trust --rows 100000 --parties 4 --epsilon 0.5 --plot trust.svg
  reticent plan trust --rows 2^20 --parties 50 --epsilon 1 --format json

One count of all rows, with the same ε for each person, under different trust assumptions: one server; one server whose memory may be \
seized; parties that add up under masks, of which t may collude; parties that each publish their own count; or \
nobody, when every person's answer is randomised. Nothing is read and nothing is spent.")]
pub struct Arguments {
    /// Number of rows in all; may be written as a power, 2^20
    #[arg(long, value_parser = crate::numbers::steps, allow_hyphen_values = true)]
    rows: u64,
    /// Number of parties that hold them
    #[arg(long, allow_hyphen_values = true)]
    parties: u32,
    /// Privacy guarantee: epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: String,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Also plot the errors, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Prints the comparison.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let epsilon: Epsilon = arguments.epsilon.parse()?;
    let costs = match arguments.format {
        Format::Json | Format::Csv if arguments.parties <= EVERY_NUMBER => {
            let all: Vec<u32> = (0..arguments.parties).collect();
            trust::of_one_count_against(arguments.rows, arguments.parties, &epsilon, &all)?
        }
        _ => trust::of_one_count(arguments.rows, arguments.parties, &epsilon)?,
    };
    if let Some(path) = &arguments.plot {
        let svg = trust_models(arguments.rows, arguments.parties, &epsilon, &costs).to_svg(760, 480);
        output::write_over(path, svg)?;
    }
    output::print(&match arguments.format {
        Format::Table => table(arguments, &epsilon, &costs),
        Format::Json => json_lines(costs.iter().map(|cost| json!(cost))),
        Format::Csv => csv_of(COLUMNS, costs.iter().map(|cost| json!(cost))),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table(arguments: &Arguments, epsilon: &Epsilon, costs: &[Cost]) -> String {
    let errors = costs.iter().map(|cost| cost.standard_deviation);
    let (least, most) = errors.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
    let (bars, bar) = bars_between(least, most);
    let header = ["who is trusted", "error", bars, "95 %", "of the rows", "ε if all others collude"];
    let row = |cost: &Cost| {
        let share = 100.0 * cost.standard_deviation / arguments.rows as f64;
        let against = cost.against_all_others.as_ref().map_or_else(|| "–".into(), |epsilon| short(epsilon.to_f64()));
        vec![
            cost.name(),
            short(cost.standard_deviation),
            bar(cost.standard_deviation),
            format!("± {}", short(cost.half_width).trim_end_matches(".00")),
            percent(share),
            against,
        ]
    };
    let table = aligned_table(&header, costs.iter().map(row), |place| ![0, 2].contains(&place));
    let (rows, parties) = (arguments.rows, arguments.parties);
    let mut lines = vec![
        format!(
            "One count of {rows} rows at ε = {epsilon}; {parties} parties. Errors are due to noise alone. Nothing is spent."
        ),
        table.to_string(),
    ];
    lines.extend(sentences(costs));
    lines.join("\n") + "\n"
}

/// With two digits, however small.
fn percent(share: f64) -> String {
    let digits = (1.0 - share.log10().floor()).clamp(0.0, 12.0) as usize;
    format!("{share:.digits$} %")
}

/// The models without colluders, and the two ends of those with, in plain words.
fn sentences(costs: &[Cost]) -> Vec<String> {
    let masked = |cost: &&Cost| matches!(cost.trust, Trust::Masked { .. });
    let numbered: Vec<&Cost> = costs.iter().filter(masked).collect();
    let middle = numbered.get(numbered.len() / 2).copied();
    let told = |cost: &&Cost| match cost.trust {
        Trust::Masked { colluders } => colluders == 0 || middle == Some(*cost),
        _ => true,
    };
    let sentence = |cost: &Cost| {
        format!("{}: {} Typically within ±{}.", cost.name(), cost.sentence(), short(cost.standard_deviation))
    };
    costs.iter().filter(told).map(sentence).collect()
}
