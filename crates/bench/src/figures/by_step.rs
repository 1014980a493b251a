//! Errors against the step, at one horizon.

use std::ops::Range;

use anyhow::Result;
use indicatif::ProgressBar;
use reticent_plot::{Chart, Scale, Series, Style};

use crate::contender::Contender;
use crate::measure::measure;
use crate::parallel::in_parallel;
use crate::{Effort, Figure};

/// Errors are averaged over windows of steps that grow by this factor, since errors of single steps fluctuate with the
/// binary digits of the step.
const WINDOW_GROWTH: f64 = std::f64::consts::SQRT_2;

/// Every counter's error over the course of a stream.
pub fn figure(effort: Effort, bar: &ProgressBar) -> Result<Figure> {
    let horizon = 1u64 << effort.power;
    let windows = windows(horizon);
    let plan = |contender: Contender| contender.plan(horizon).map(|strategy| (contender, strategy));
    let plans: Vec<_> = Contender::all()?.into_iter().filter_map(plan).collect();
    let lines = in_parallel(&plans, bar, |(_, strategy)| {
        let measured = measure(strategy, &windows, effort)?;
        let mut before = 0.0;
        let predicted = windows.iter().map(|window| {
            let until = strategy.average_variance(window.end) * window.end as f64;
            let here = until - std::mem::replace(&mut before, until);
            (here / (window.end - window.start) as f64).max(0.0).sqrt()
        });
        Ok((measured.runs, predicted.collect::<Vec<_>>(), measured.windows))
    })?;
    let mut chart = Chart::new(format!("Error over the course of {horizon} steps, ε = 1"))
        .described("Dots: measured root mean square errors of every counter. Broken lines: predicted ones.")
        .x("step", Scale::Log)
        .y("root mean square error; dots measured, broken lines predicted", Scale::Log);
    let mut csv = String::from("counter,guarantee,from_step,to_step,runs,measured_rmse,predicted_rmse\n");
    for ((contender, _), (runs, predicted, measured)) in plans.iter().zip(lines) {
        let middle = |window: &Range<u64>| (((window.start + 1) * window.end) as f64).sqrt();
        let dots = windows.iter().zip(&measured).map(|(window, square)| (middle(window), square.sqrt()));
        let dashes = windows.iter().zip(&predicted).map(|(window, error)| (middle(window), *error));
        chart = chart
            .with(Series::dashed("", dashes).coloured(contender.hue()))
            .with(Series::new(contender.name(), dots, Style::Dots).coloured(contender.hue()));
        for ((window, square), predicted) in windows.iter().zip(&measured).zip(&predicted) {
            let (counter, guarantee) = (contender.kind, contender.guarantee_in_csv());
            let (first, last, measured) = (window.start + 1, window.end, square.sqrt());
            csv += &format!("{counter},{guarantee},{first},{last},{runs},{measured},{predicted}\n");
        }
    }
    Ok(Figure { name: "error-by-step", chart, height: 560, csv })
}

fn windows(horizon: u64) -> Vec<Range<u64>> {
    let mut windows = Vec::new();
    let (mut from, mut end) = (0, 1.0f64);
    while from < horizon {
        let to = (end.round() as u64).max(from + 1).min(horizon);
        windows.push(from..to);
        from = to;
        end *= WINDOW_GROWTH;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_tile_the_steps() {
        for horizon in [1, 2, 7, 128, 4096, 5000] {
            let windows = windows(horizon);
            assert_eq!(windows.last().map(|window| window.end), Some(horizon));
            let mut next = 0;
            for window in windows {
                assert!(window.start == next && window.end > next);
                next = window.end;
            }
        }
    }
}
