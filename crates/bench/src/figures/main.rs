//! Draws the figures of the documentation from fresh runs: `cargo xtask figures`.
//!
//! | module | holds |
//! |---|---|
//! | `one_run` | one run with its error band |
//! | `by_step`, `by_horizon` | errors of all counters against the step and the horizon |
//! | `trust` | errors of a count with and without a trusted curator |
//! | `contender` | the counters that are compared |
//! | `measure` | errors over many runs |
//! | `parallel` | parallel work on all cores |

mod by_horizon;
mod by_step;
mod contender;
mod measure;
mod one_run;
mod parallel;
mod trust;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use reticent_plot::Chart;

const USAGE: &str = "usage: figures [--quick] DIR

Runs every counter with fresh noise on made-up data, measures its errors and draws them beside those predicted. Each figure is an SVG \
file in DIR, with its numbers as CSV beside it. It takes about two minutes; with --quick, seconds, from fewer and shorter runs.

Example: figures docs/figures";

/// A chart and its numbers.
struct Figure {
    /// The base name of its files.
    name: &'static str,
    chart: Chart,
    height: u32,
    /// Its numbers, with a header line.
    csv: String,
}

/// How much to run.
#[derive(Debug, Clone, Copy)]
struct Effort {
    /// Steps per counter and horizon, over all runs.
    steps: u64,
    /// No run starts after this many seconds.
    seconds: f64,
    /// The maximum number of runs.
    most_runs: u64,
    /// The horizon of the chart of errors against the step, as a power of two.
    power: u32,
    /// The longest horizon, as a power of two.
    longest_power: u32,
}

const FULL: Effort = Effort { steps: 12_000_000, seconds: 5.0, most_runs: 2000, power: 12, longest_power: 20 };
const QUICK: Effort = Effort { steps: 5000, seconds: 5.0, most_runs: 50, power: 7, longest_power: 8 };

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (effort, folder) = match &arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--quick", folder] => (QUICK, PathBuf::from(folder)),
        [folder] if !folder.starts_with('-') => (FULL, PathBuf::from(folder)),
        _ => bail!("{USAGE}"),
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let bar = progress_bar();
    let mut figures = vec![one_run::figure()?, by_step::figure(effort, &bar)?];
    figures.extend(by_horizon::figures(effort, &bar)?);
    figures.push(trust::figure(effort, &bar)?);
    bar.finish_and_clear();
    for figure in figures {
        write(&folder.join(format!("{}.csv", figure.name)), &figure.csv)?;
        let path = folder.join(format!("{}.svg", figure.name));
        write(&path, &figure.chart.to_svg(760, figure.height))?;
        println!("{}  {}", path.display(), figure.chart.title);
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("{} could not be written", path.display()))
}

/// A progress bar on standard error, shown only on a terminal.
fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} measurements, {eta} left");
    ProgressBar::new(0).with_style(style.expect("the template is well formed"))
}
