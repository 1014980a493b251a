//! `reticent plan count`: every counter's predicted error, side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent::continual::{Horizon, Stream, Unit, compare};
use reticent::privacy::{Adjacency, Delta, Epsilon, Guarantee, Rho};
use serde_json::json;

use super::people;
use crate::output::{self, Format, csv_of, json_lines};

/// What a spreadsheet gets of a prediction.
const COLUMNS: &str =
    "counter,guarantee,steps,rmse_last,rmse_average,rmse_worst,max_error_95,max_error_95_is,state_bytes";

/// The arguments of `reticent plan count`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent plan count --horizon 1048576 --epsilon 1
  reticent plan count --horizon 2^20 --epsilon 1 --delta 1e-6 --format json
  reticent plan count --unbounded --epsilon 0.5 --range -1..1
  reticent plan count --horizon 1440 --epsilon 1 --rho 0.05 --unit events:3 --plot plan.svg

Errors are due to noise alone and do not depend on the data: the root mean square at the last step, on average over \
all steps, and at the worst step; and the 95 % quantile of the largest error of a whole run, which is exact, \
simulated or a proved bound, as stated. Nothing is read and nothing is spent.")]
pub struct Arguments {
    /// Number of steps, from 1 to 2^40; may be written as a power, 2^20
    #[arg(long, value_parser = crate::numbers::steps, required_unless_present = "unbounded", allow_hyphen_values = true)]
    horizon: Option<u64>,
    /// The number of steps is not known
    #[arg(long, conflicts_with = "horizon")]
    unbounded: bool,
    /// Epsilon, for counters with Laplace noise; with --delta also for those with Gaussian noise
    #[arg(long, required_unless_present = "rho", allow_hyphen_values = true)]
    epsilon: Option<String>,
    /// Delta
    #[arg(long, requires = "epsilon", allow_hyphen_values = true)]
    delta: Option<String>,
    /// Rho, in zero-concentrated differential privacy; may be given beside epsilon
    #[arg(long, allow_hyphen_values = true)]
    rho: Option<String>,
    /// Clamping bounds of an event (of a step, if that is the unit)
    #[arg(long, default_value = "0..1", value_parser = crate::numbers::range, allow_hyphen_values = true)]
    range: (i64, i64),
    /// The privacy unit: event, step, or events:N for a person with at most N events
    #[arg(long, default_value = "event", allow_hyphen_values = true)]
    unit: String,
    /// Which streams are neighbours: add-remove or replace
    #[arg(long, default_value = "add-remove", allow_hyphen_values = true)]
    adjacency: String,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Also plot the error against the step, as SVG
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,
}

/// Prints the predictions.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let plan = compare(&stream(arguments)?, &guarantees(arguments)?)?;
    if let Some(path) = &arguments.plot {
        let svg = reticent_plot::plans::counters(&plan).to_svg(760, 480);
        output::write_over(path, svg)?;
    }
    output::print(&match arguments.format {
        Format::Table => people::table(&plan),
        Format::Json => json_lines(plan.predictions.iter().map(|prediction| json!(prediction))),
        Format::Csv => csv_of(COLUMNS, plan.predictions.iter().map(|prediction| json!(prediction))),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn stream(arguments: &Arguments) -> Result<Stream> {
    let (low, high) = arguments.range;
    let horizon = arguments.horizon.map_or(Horizon::Unbounded, Horizon::Steps);
    Ok(Stream::new(low..=high)?
        .with_unit(arguments.unit.parse::<Unit>()?)?
        .with_adjacency(arguments.adjacency.parse::<Adjacency>()?)?
        .with_horizon(horizon)?)
}

/// Pure ε implies (ε, δ), so if a δ is given both families are compared.
fn guarantees(arguments: &Arguments) -> Result<Vec<Guarantee>> {
    let epsilon = arguments.epsilon.as_deref().map(str::parse::<Epsilon>).transpose()?;
    let delta = arguments.delta.as_deref().map(str::parse::<Delta>).transpose()?;
    let rho = arguments.rho.as_deref().map(str::parse::<Rho>).transpose()?;
    let approximate = epsilon.clone().zip(delta).map(|(epsilon, delta)| Guarantee::Approx(epsilon, delta));
    Ok(epsilon.map(Guarantee::Pure).into_iter().chain(approximate).chain(rho.map(Guarantee::Zcdp)).collect())
}
