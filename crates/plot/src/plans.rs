//! What is planned, before anything is spent: predicted errors.

use reticent::continual::{Comparison, CounterKind, Prediction};
use reticent::multiparty::trust::{Cost, Trust};
use reticent::privacy::Epsilon;

use crate::chart::{Chart, Hue, Scale, Series, Style};

/// The predicted errors of all counters against the step.
pub fn counters(plan: &Comparison) -> Chart {
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
            hue: hue(prediction.counter),
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

/// The error of one count of `rows` rows in every trust model against the number of colluders, with horizontal lines for
/// the models that have none.
pub fn trust_models(rows: u64, parties: u32, epsilon: &Epsilon, costs: &[Cost]) -> Chart {
    let most = f64::from(parties.saturating_sub(1).max(1));
    let masked = costs.iter().filter_map(|cost| match cost.trust {
        Trust::Masked { colluders } => Some((f64::from(colluders), cost.standard_deviation)),
        _ => None,
    });
    let masked: Vec<(f64, f64)> = masked.collect();
    let across = |cost: &Cost| {
        let style = if cost.trust == Trust::Curator { Style::Line } else { Style::Dashed };
        Series::new(cost.name(), [(0.0, cost.standard_deviation), (most, cost.standard_deviation)], style)
    };
    let title = format!("One count of {rows} rows at ε = {epsilon}, {parties} parties");
    let description =
        "Standard deviation of the same count in every trust model, against the number of parties that may collude.";
    let mut chart = Chart::new(title)
        .described(description)
        .x("parties that may collude", Scale::Linear)
        .y("standard deviation of the count", Scale::Log)
        .with(Series::line("masked", masked));
    for cost in costs.iter().filter(|cost| !matches!(cost.trust, Trust::Masked { .. })) {
        chart = chart.with(across(cost));
    }
    chart
}

/// The errors to expect of a query's columns, against its `budget`, ε or ρ.
pub fn query_errors(title: &str, budget: &str, columns: Vec<(String, Vec<(f64, f64)>)>) -> Chart {
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let description = format!("Half-widths at 95 % of {}, against {budget}; noise only.", names.join(", "));
    let series = columns.into_iter().map(|(name, points)| Series::line(name, points)).collect();
    Chart { series, ..Chart::new(title).described(description) }
        .x(budget, Scale::Log)
        .y("half-width at 95 %, noise only", Scale::Log)
}

/// A counter's colour, the same in every chart.
pub fn hue(counter: CounterKind) -> Hue {
    Hue::Nth(CounterKind::ALL.iter().position(|kind| *kind == counter).unwrap_or(0))
}

fn name(prediction: &Prediction, several: bool) -> String {
    if several { format!("{}, {}", prediction.counter, prediction.guarantee) } else { prediction.counter.to_string() }
}
