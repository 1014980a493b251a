//! A plan for people: a table with a chart in it, and a sentence.

use comfy_table::Table;
use reticent::continual::usefulness::Basis;
use reticent::continual::{Comparison, Prediction};
use reticent_plot::terminal::{bars_between, bytes, short};

use crate::output::aligned_table;

/// The whole text.
pub fn table(plan: &Comparison) -> String {
    let mut lines = vec![heading(plan), rows(plan).to_string()];
    lines.extend(sentence(plan));
    for bound in &plan.lower_bounds {
        lines.push(format!("Lower bound: {}.", bound.words.replace("{}", &short(bound.value))));
    }
    if !plan.left_out.is_empty() {
        let reasons = plan.left_out.iter().map(|(reason, names)| format!("{} ({reason})", names.join(", ")));
        lines.push(format!("Left out: {}.", reasons.collect::<Vec<_>>().join("; ")));
    }
    lines.join("\n") + "\n"
}

fn heading(plan: &Comparison) -> String {
    let (low, high) = plan.stream.range();
    let (unit, adjacency) = (plan.stream.unit(), plan.stream.adjacency());
    let steps = match plan.stream.steps() {
        Some(steps) => count(steps, "step"),
        None => format!("a stream without end (errors over the first {} steps)", plan.steps),
    };
    let guarantees: Vec<String> = plan.guarantees.iter().map(ToString::to_string).collect();
    let promise = guarantees.join("; or ");
    format!("Counters for {steps} at {promise}. Values {low}..{high}, unit {unit}, {adjacency}. Nothing is spent.")
}

fn count(number: u64, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

fn rows(plan: &Comparison) -> Table {
    let several = plan.guarantees.len() > 1;
    let averages = plan.predictions.iter().map(|prediction| prediction.average);
    let (least, most) = averages.fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
    let (bars, bar) = bars_between(least, most);
    let mut header = vec!["counter", "average error", bars, "worst step", "last step", "all steps, 95 %", "state"];
    if several {
        header.insert(1, "guarantee");
    }
    let row = |(place, prediction): (usize, &Prediction)| {
        let best = if place == 0 { " ◄ least" } else { "" };
        let about = match prediction.largest.is {
            Basis::Bound => "≤ ",
            Basis::Simulated { .. } => "≈ ",
            Basis::Exact => "",
        };
        let mut cells = vec![
            format!("{}{best}", prediction.counter),
            short(prediction.average),
            bar(prediction.average),
            short(prediction.worst),
            short(prediction.last),
            format!("{about}{}", short(prediction.largest.value)),
            bytes(prediction.state_bytes),
        ];
        if several {
            cells.insert(1, prediction.guarantee.to_string());
        }
        cells
    };
    let is_number = |place: usize| !["counter", "guarantee", bars].contains(&header[place]);
    aligned_table(&header, plan.predictions.iter().enumerate().map(row), is_number)
}

/// The best counter in plain words.
fn sentence(plan: &Comparison) -> Option<String> {
    let best = plan.predictions.first()?;
    let certainty = match best.largest.is {
        Basis::Bound => "at least 95 %",
        Basis::Simulated { .. } => "about 95 %",
        Basis::Exact => "95 %",
    };
    Some(format!(
        "{}: typically within ±{} of the truth (root mean square), ±{} at the worst step; with probability {certainty} within \
         ±{} at every one of {}.",
        best.counter,
        short(best.average),
        short(best.worst),
        short(best.largest.value),
        count(plan.steps, "step"),
    ))
}
