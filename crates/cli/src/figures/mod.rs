//! `reticent figures`: every chart of the documents, drawn anew from real runs.

mod by_horizon;
mod by_step;
mod contender;
mod measure;
mod one_run;
mod trust;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use reticent_plot::Chart;

use crate::output;

/// The arguments of `reticent figures`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent figures --out docs/figures

Every counter is run with fresh noise on made-up data, its errors are measured and drawn beside those predicted. Each chart \
is an SVG file, with its numbers as CSV beside it. Takes about two minutes; with --quick, seconds, from shorter and fewer runs.")]
pub struct Arguments {
    /// Output folder; created if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Fewer and shorter runs
    #[arg(long)]
    quick: bool,
}

/// A chart and its numbers.
struct Figure {
    /// Of its files.
    name: &'static str,
    chart: Chart,
    height: u32,
    /// With a header line.
    csv: String,
}

/// How much is run.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// For each counter at one horizon, over all runs.
    steps: u64,
    /// After this many seconds no further run is begun, whatever the steps.
    seconds: f64,
    /// Never more runs than this.
    most_runs: u64,
    /// The horizon of the chart of errors against the step, as a power of two.
    power: u32,
    /// The longest horizon, as a power of two.
    longest_power: u32,
}

const FULL: Effort = Effort { steps: 12_000_000, seconds: 5.0, most_runs: 2000, power: 12, longest_power: 20 };
const QUICK: Effort = Effort { steps: 5000, seconds: 5.0, most_runs: 50, power: 7, longest_power: 8 };

/// Draws all of them.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let effort = if arguments.quick { QUICK } else { FULL };
    let out = &arguments.out;
    std::fs::create_dir_all(out).with_context(|| format!("{} cannot be made", out.display()))?;
    let bar = progress_bar();
    let mut figures = vec![one_run::figure()?, by_step::figure(effort, &bar)?];
    figures.extend(by_horizon::figures(effort, &bar)?);
    figures.push(trust::figure(effort, &bar)?);
    bar.finish_and_clear();
    let mut listed = String::new();
    for figure in figures {
        write(&out.join(format!("{}.csv", figure.name)), &figure.csv)?;
        let path = out.join(format!("{}.svg", figure.name));
        write(&path, &figure.chart.to_svg(760, figure.height))?;
        listed += &format!("{}  {}\n", path.display(), figure.chart.title);
    }
    output::print(&listed)?;
    Ok(ExitCode::SUCCESS)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}

/// On standard error, and only for people.
fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} measurements, {eta} left");
    ProgressBar::new(0).with_style(style.expect("the template is well formed"))
}
