//! A plan as a chart.

use reticent::continual::{Comparison, CounterKind, Prediction};
use reticent_plot::{Chart, Hue, Scale, Series, Style};

/// The errors of all counters against the step.
pub fn errors(plan: &Comparison) -> Chart {
    let several = plan.guarantees.len() > 1;
    let steps: Vec<u64> = (0..64).map(|power| 1 << power).take_while(|step| *step < plan.steps).collect();
    let series = plan.predictions.iter().map(|prediction| {
        let error = |step: u64| (step as f64, prediction.strategy.average_variance(step).sqrt());
        let points = steps.iter().copied().chain([plan.steps]).map(error).collect();
        let first = prediction.guarantee == plan.guarantees[0];
        Series {
            name: name(prediction, several),
            points,
            // The second noise family of a counter that supports two.
            style: if first { Style::Line } else { Style::Dashed },
            hue: Hue::Nth(place(prediction.counter)),
        }
    });
    let guarantees: Vec<String> = plan.guarantees.iter().map(ToString::to_string).collect();
    let title = format!("Predicted errors of counters, {}", guarantees.join("; or "));
    let horizon = plan.stream.horizon();
    let description =
        format!("Root mean square errors of {} counters, averaged over the steps so far; {horizon}.", series.len());
    let series = series.collect();
    Chart { series, ..Chart::new(title).described(description) }
        .x("steps so far", Scale::Log)
        .y("root mean square error over the steps so far", Scale::Log)
}

/// A counter's place, the same in every chart.
fn place(counter: CounterKind) -> usize {
    CounterKind::ALL.iter().position(|kind| *kind == counter).unwrap_or(0)
}

fn name(prediction: &Prediction, several: bool) -> String {
    if several { format!("{}, {}", prediction.counter, prediction.guarantee) } else { prediction.counter.to_string() }
}
