//! `reticent audit`: is it really private?

use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use reticent::audit::catalogue::{self, Report, Request};
use reticent::audit::{FALSE_ALARM, Verdict};
use reticent::noise::Entropy;
use reticent::privacy::Epsilon;
use serde_json::json;

use crate::exit;
use crate::output::{Format, csv_line, table};

/// The rows of frequencies that are shown around the middle.
const MOST_ROWS: usize = 12;
/// The progress bar is told once per so many outputs.
const PROGRESS_STEP: u64 = 1 << 14;

/// The arguments of `reticent audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent audit discrete-laplace --epsilon 1 --samples 100000

The event that tells the neighbours apart best is chosen on one sample and bounded (Clopper-Pearson) on a second, \
so the lower bound on epsilon holds with the confidence that is printed. Exit code 0: consistent with the claim; \
1: the claim is refuted.")]
pub struct Arguments {
    /// The mechanism's name; --list shows all
    #[arg(required_unless_present = "list")]
    mechanism: Option<String>,
    /// Lists the mechanisms that can be audited
    #[arg(long)]
    list: bool,
    /// The claim to be tested
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    epsilon: String,
    /// Outputs to draw for each of two neighbouring inputs, twice
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1000..=1_000_000_000))]
    samples: u64,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Runs the audit.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if arguments.list {
        list(arguments.format);
        return Ok(ExitCode::SUCCESS);
    }
    let subject = catalogue::subject(arguments.mechanism.as_deref().unwrap_or_default())?;
    let request = Request { epsilon: arguments.epsilon.parse::<Epsilon>()?, samples: arguments.samples };
    let bar = progress_bar(subject.draws(&request));
    let mut drawn = 0u64;
    let report = subject.audit(&request, &mut Entropy::from_os()?, &mut || {
        drawn += 1;
        if drawn.is_multiple_of(PROGRESS_STEP) {
            bar.set_position(drawn);
        }
    })?;
    bar.finish_and_clear();
    match arguments.format {
        Format::Table => print_table(&report),
        Format::Json => println!("{}", json(&report)),
        Format::Csv => print_csv(&report),
    }
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(exit::REFUTED) })
}

fn list(format: Format) {
    let subjects = catalogue::subjects();
    match format {
        Format::Table => {
            println!(
                "{}",
                table(
                    &["mechanism", "what it is"],
                    subjects.iter().map(|subject| vec![subject.name().into(), subject.summary().into()])
                )
            );
        }
        Format::Json => subjects.iter().for_each(|subject| {
            println!("{}", json!({"mechanism": subject.name(), "summary": subject.summary()}));
        }),
        Format::Csv => {
            println!("mechanism,summary");
            subjects
                .iter()
                .for_each(|subject| println!("{}", csv_line(&[subject.name().into(), subject.summary().into()])));
        }
    }
}

/// On standard error, and only for people.
fn progress_bar(draws: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} outputs, {eta} left");
    ProgressBar::new(draws).with_style(style.expect("the template is well formed"))
}

fn verdict(report: &Report) -> &'static str {
    match report.verdict {
        Verdict::Violation => "violation",
        Verdict::Consistent if report.is_clean() => "consistent",
        Verdict::Consistent => "wrong law",
    }
}

fn json(report: &Report) -> serde_json::Value {
    json!({
        "mechanism": report.mechanism,
        "claimed_epsilon": report.claim.epsilon().map(Epsilon::to_f64),
        "claimed_delta": report.claim.delta().map_or(0.0, |delta| delta.to_f64()),
        "lower_bound": report.found.lower_bound,
        "confidence": report.found.confidence,
        "samples": report.found.samples,
        "event": report.found.event,
        "chi_squared_p_value": report.fit.p_value,
        "verdict": verdict(report),
    })
}

fn print_csv(report: &Report) {
    println!("mechanism,claimed_epsilon,lower_bound,confidence,samples,chi_squared_p_value,verdict");
    let epsilon = report.claim.epsilon().map_or(0.0, Epsilon::to_f64);
    println!(
        "{}",
        csv_line(&[
            report.mechanism.into(),
            epsilon.to_string(),
            report.found.lower_bound.to_string(),
            report.found.confidence.to_string(),
            report.found.samples.to_string(),
            report.fit.p_value.to_string(),
            verdict(report).into(),
        ])
    );
}

fn print_table(report: &Report) {
    println!("{} claims {}", report.mechanism, report.claim);
    println!("  lower bound   ε ≥ {:.4}, by the event \"{}\"", report.found.lower_bound, report.found.event);
    println!(
        "  confidence    {} %, {} outputs for each neighbour, twice",
        report.found.confidence * 100.0,
        report.found.samples
    );
    println!(
        "  frequencies   χ² = {:.1} with {} degrees of freedom, p = {:.3}",
        report.fit.statistic, report.fit.degrees_of_freedom, report.fit.p_value
    );
    println!("  verdict       {}", verdict(report));
    // The cells around the fullest one; the others are in the χ² figure.
    let cells = &report.fit.cells;
    let fullest =
        (0..cells.len()).max_by(|&left, &right| cells[left].expected.total_cmp(&cells[right].expected)).unwrap_or(0);
    let first = fullest.saturating_sub(MOST_ROWS / 2).min(cells.len().saturating_sub(MOST_ROWS));
    let rows = cells.iter().skip(first).take(MOST_ROWS).map(|cell| {
        let off = (cell.observed as f64 - cell.expected) / cell.expected.sqrt();
        vec![cell.label(), format!("{:.1}", cell.expected), cell.observed.to_string(), format!("{off:+.2}")]
    });
    println!("{}", table(&["output", "expected", "observed", "off by (σ)"], rows));
    if report.verdict == Verdict::Consistent && !report.is_clean() {
        println!(
            "The outputs do not follow the mechanism's law (level {FALSE_ALARM}): something is wrong with the noise."
        );
    }
}
