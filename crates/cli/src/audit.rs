//! `reticent audit`: tests a mechanism's claimed guarantee.

use std::process::ExitCode;

use anyhow::Result;
use comfy_table::Table;
use reticent::audit::catalogue::{self, Method, Report, Request};
use reticent::audit::{FALSE_ALARM, GoodnessOfFit};
use reticent::noise::Entropy;
use reticent::privacy::{Delta, Epsilon};
use serde_json::json;

use crate::exit;
use crate::output::{self, Format, csv_of, json_lines, number_table, progress_bar, text_table};

/// What a spreadsheet gets of a report.
const COLUMNS: &str = "mechanism,claimed_epsilon,claimed_delta,lower_bound,confidence,samples,verdict";
/// How many rows of frequencies are shown around the middle.
const MOST_ROWS: usize = 12;
/// How many outputs there are between two updates of the progress bar.
const PROGRESS_STEP: u64 = 1 << 14;

/// The arguments of `reticent audit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent audit discrete-laplace --epsilon 1 --samples 100000
  reticent audit --list

Where the output space allows, all probabilities are computed and the result is exact. Otherwise outputs are drawn: the \
event that best distinguishes the neighbours is chosen on one sample and bounded (Clopper-Pearson) on a second, so that the \
lower bound on epsilon holds with the printed confidence. Exit code 0: consistent with the claim; 1: refuted.")]
pub struct Arguments {
    /// The mechanism's name; --list shows all
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    mechanism: Option<String>,
    /// Lists the mechanisms that can be audited
    #[arg(long)]
    list: bool,
    /// The claim to be tested
    #[arg(long, default_value = "1", allow_hyphen_values = true)]
    epsilon: String,
    /// The delta of mechanisms that have one
    #[arg(long, default_value = "1e-6", allow_hyphen_values = true)]
    delta: String,
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
        output::print(&list(arguments.format))?;
        return Ok(ExitCode::SUCCESS);
    }
    let subject = catalogue::subject(arguments.mechanism.as_deref().unwrap_or_default())?;
    let request = Request {
        epsilon: arguments.epsilon.parse::<Epsilon>()?,
        delta: arguments.delta.parse::<Delta>()?,
        samples: arguments.samples,
    };
    let bar = progress_bar(subject.draws(&request), "outputs");
    let mut drawn = 0u64;
    let report = subject.audit(&request, Entropy::from_os()?, &mut || {
        drawn += 1;
        if drawn.is_multiple_of(PROGRESS_STEP) {
            bar.set_position(drawn);
        }
    })?;
    bar.finish_and_clear();
    output::print(&match arguments.format {
        Format::Table => for_people(&report),
        Format::Json => format!("{}\n", json!(report)),
        Format::Csv => csv_of(COLUMNS, [json!(report)]),
    })?;
    Ok(if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(exit::REFUTED) })
}

fn list(format: Format) -> String {
    let subjects = catalogue::subjects();
    let fields = subjects.iter().map(|subject| {
        let evidence = if subject.is_exact() { "exact" } else { "empirical" };
        [subject.name(), evidence, subject.summary()].map(String::from)
    });
    let objects = fields
        .clone()
        .map(|[name, evidence, summary]| json!({"mechanism": name, "evidence": evidence, "summary": summary}));
    match format {
        Format::Table => {
            format!("{}\n", text_table(&["mechanism", "evidence", "what it is"], fields.map(Vec::from)))
        }
        Format::Json => json_lines(objects),
        Format::Csv => csv_of("mechanism,evidence,summary", objects),
    }
}

fn for_people(report: &Report) -> String {
    let mut lines = vec![format!("{} claims {}", report.mechanism, report.claim)];
    match report.method {
        Method::Exact => {
            let (found, event) = (report.lower_bound, &report.event);
            lines.push(format!("  exact         ε = {found:.6} on the tested inputs, attained by {event}"));
        }
        Method::Empirical { confidence, samples } => {
            lines.push(format!("  lower bound   ε ≥ {:.4}, by the event \"{}\"", report.lower_bound, report.event));
            lines
                .push(format!("  confidence    {} %, {samples} outputs for each neighbour, twice", confidence * 100.0));
        }
    }
    if let Some(fit) = &report.fit {
        let (statistic, freedom) = (fit.statistic, fit.degrees_of_freedom);
        let p = fit.p_value;
        lines.push(format!("  frequencies   χ² = {statistic:.1} with {freedom} degrees of freedom, p = {p:.3}"));
    }
    lines.push(format!("  verdict       {}", report.finding()));
    if let Some(fit) = &report.fit {
        lines.push(frequencies(fit).to_string());
        if !fit.passes(FALSE_ALARM) {
            lines.push(format!(
                "The outputs do not follow the claimed distribution (significance level {FALSE_ALARM})."
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// The cells around the fullest one; the others are included in χ².
fn frequencies(fit: &GoodnessOfFit) -> Table {
    let cells = &fit.cells;
    let expected = |&place: &usize| cells[place].expected;
    let fullest = (0..cells.len()).max_by(|left, right| expected(left).total_cmp(&expected(right))).unwrap_or(0);
    let first = fullest.saturating_sub(MOST_ROWS / 2).min(cells.len().saturating_sub(MOST_ROWS));
    let rows = cells.iter().skip(first).take(MOST_ROWS).map(|cell| {
        let off = (cell.observed as f64 - cell.expected) / cell.expected.sqrt();
        vec![cell.label(), format!("{:.1}", cell.expected), cell.observed.to_string(), format!("{off:+.2}")]
    });
    number_table(&["output", "expected", "observed", "off by (σ)"], rows)
}
