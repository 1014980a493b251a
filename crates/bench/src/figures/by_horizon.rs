//! How errors grow with the horizon.

use anyhow::Result;
use indicatif::ProgressBar;
use reticent::continual::CounterKind;
use reticent::continual::bounds::{lower_bound, lower_bound_pure};
use reticent::privacy::Rho;
use reticent_plot::{Chart, Hue, Scale, Series, Style};

use crate::contender::{self, Contender};
use crate::measure::measure;
use crate::parallel::in_parallel;
use crate::{Effort, Figure};

/// The shortest horizon, and the factor between horizons, as powers of two.
const SHORTEST_POWER: u32 = 4;
const POWER_STEP: usize = 2;

/// One counter at one horizon.
struct Point {
    contender: Contender,
    steps: u64,
    runs: u64,
    measured: f64,
    predicted: f64,
    median_largest: f64,
}

/// Average errors, largest errors, and the cost of surviving a seizure.
pub fn figures(effort: Effort, bar: &ProgressBar) -> Result<Vec<Figure>> {
    let horizons: Vec<u64> =
        (SHORTEST_POWER..=effort.longest_power).step_by(POWER_STEP).map(|power| 1 << power).collect();
    let contenders = Contender::all()?;
    // Longest first, so that no core is left with a long job at the end.
    let jobs: Vec<_> =
        horizons.iter().rev().flat_map(|steps| contenders.iter().map(move |contender| (contender, *steps))).collect();
    let measured = in_parallel(&jobs, bar, |(contender, steps)| point(contender, *steps, effort))?;
    let mut points: Vec<Point> = measured.into_iter().flatten().collect();
    points.reverse();
    let rho = contender::rho()?;
    Ok(vec![
        average(&contenders, &points, &horizons, &rho),
        largest(&contenders, &points, &horizons),
        pan_private(&contenders, &points),
    ])
}

/// One measurement; `None` if the counter does not support this horizon.
fn point(contender: &Contender, steps: u64, effort: Effort) -> Result<Option<Point>> {
    let Some(strategy) = contender.plan(steps) else { return Ok(None) };
    let whole = 0..steps;
    let measured = measure(&strategy, std::slice::from_ref(&whole), effort)?;
    Ok(Some(Point {
        contender: contender.clone(),
        steps,
        runs: measured.runs,
        measured: measured.windows[0].sqrt(),
        predicted: strategy.average_variance(steps).sqrt(),
        median_largest: measured.median_largest,
    }))
}

fn average(contenders: &[Contender], points: &[Point], horizons: &[u64], rho: &Rho) -> Figure {
    let chart = Chart::new("How the error grows with the number of steps, ε = 1")
        .described(
            "Root mean square errors of every counter against the horizon: they grow as T, as the root of T, as its \
             fourth root, and as powers of its logarithm.",
        )
        .x("steps T", Scale::Log)
        .y("root mean square error; dots measured, broken lines predicted", Scale::Log);
    let named = |contender: &Contender| match growth(contender.kind) {
        Some(growth) => format!("{} ∝ {growth}", contender.name()),
        None => contender.name(),
    };
    // For the counters that need a δ: those with Gaussian noise.
    let bound = horizons.iter().map(|steps| (*steps as f64, lower_bound(*steps, rho)));
    let bound = Series::dashed("no factorisation, δ = 1e-6", bound).coloured(Hue::Muted);
    let chart = with_averages(chart, contenders, points, named).with(bound);
    Figure { name: "error-by-horizon", chart, height: 600, csv: csv(points) }
}

fn largest(contenders: &[Contender], points: &[Point], horizons: &[u64]) -> Figure {
    let mut chart = Chart::new("The largest error of a whole run, ε = 1")
        .described(
            "The median over many runs of the largest error at any step, for every counter, against the horizon.",
        )
        .x("steps T", Scale::Log)
        .y("largest error at any step, in half of the runs", Scale::Log);
    for contender in contenders {
        let line = of(points, contender).map(|point| (point.steps as f64, point.median_largest));
        chart = chart.with(Series::line(contender.name(), line).coloured(contender.hue()));
    }
    // Below e⁴ steps the bound says nothing; below ½ it would only stretch the axis.
    let bound = |steps: &u64| (*steps as f64, lower_bound_pure(*steps));
    let bound = horizons.iter().map(bound).filter(|(_, error)| *error > 0.5);
    chart = chart.with(Series::dashed("no counter: ln T/4 − 1", bound).coloured(Hue::Muted));
    Figure { name: "largest-error-by-horizon", chart, height: 600, csv: csv(points) }
}

fn pan_private(contenders: &[Contender], points: &[Point]) -> Figure {
    let shown = |contender: &&Contender| contender.kind == CounterKind::Binary || contender.kind.is_pan_private();
    let contenders: Vec<Contender> = contenders.iter().filter(shown).cloned().collect();
    let chart = Chart::new("What it costs that memory may be seized, ε = 1")
        .described("Root mean square errors of the binary counter and of the pan-private ones against the horizon.")
        .x("steps T", Scale::Log)
        .y("root mean square error; dots measured, broken lines predicted", Scale::Linear);
    let chart = with_averages(chart, &contenders, points, |contender| match contender.kind {
        CounterKind::Binary => "binary: a trusted curator".into(),
        _ => contender.name(),
    });
    let lines = contenders.iter().flat_map(|contender| of(points, contender));
    Figure { name: "pan-private", chart, height: 460, csv: csv(lines) }
}

/// The growth of the error, as stated in the literature.
fn growth(kind: CounterKind) -> Option<&'static str> {
    match kind {
        CounterKind::OutputNoise => Some("T"),
        CounterKind::InputNoise => Some("√T"),
        CounterKind::TwoLevel => Some("T^¼"),
        CounterKind::Binary => Some("log^1.5 T"),
        _ => None,
    }
}

fn with_averages(
    mut chart: Chart,
    contenders: &[Contender],
    points: &[Point],
    name: impl Fn(&Contender) -> String,
) -> Chart {
    for contender in contenders {
        let predicted = of(points, contender).map(|point| (point.steps as f64, point.predicted));
        let measured = of(points, contender).map(|point| (point.steps as f64, point.measured));
        chart = chart
            .with(Series::dashed("", predicted).coloured(contender.hue()))
            .with(Series::new(name(contender), measured, Style::Dots).coloured(contender.hue()));
    }
    chart
}

fn of<'points>(points: &'points [Point], contender: &Contender) -> impl Iterator<Item = &'points Point> {
    let kind = contender.kind;
    points.iter().filter(move |point| point.contender.kind == kind)
}

fn csv<'points>(points: impl IntoIterator<Item = &'points Point>) -> String {
    let mut text = String::from("counter,guarantee,steps,runs,measured_rmse,predicted_rmse,median_largest_error\n");
    for point in points {
        let Point { contender, steps, runs, measured, predicted, median_largest } = point;
        let (counter, guarantee) = (contender.kind, contender.guarantee_in_csv());
        text += &format!("{counter},{guarantee},{steps},{runs},{measured},{predicted},{median_largest}\n");
    }
    text
}
