//! A plan for people: a table with a chart in it, and a sentence.

use comfy_table::{CellAlignment, Table};
use reticent::continual::usefulness::Basis;
use reticent::continual::{Comparison, Prediction};

use crate::output::{bar_of, text_table};

/// The length of the longest bar, in characters.
const BAR: f64 = 20.0;
/// If errors differ by more than this factor, bars are logarithmic: linear ones would show only the largest.
const LINEAR_UP_TO: f64 = 20.0;

/// The whole text.
pub fn table(plan: &Comparison) -> String {
    let mut lines = vec![heading(plan), rows(plan).to_string()];
    lines.extend(sentence(plan));
    for bound in &plan.lower_bounds {
        lines.push(format!("Lower bound: {} {}.", short(bound.value), bound.on));
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
    let (bars, bar) = part_of_bars(least, most);
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
    let mut table = text_table(&header, plan.predictions.iter().enumerate().map(row));
    for (place, name) in header.iter().enumerate() {
        let numbers = !["counter", "guarantee", bars].contains(name);
        if let Some(column) = table.column_mut(place).filter(|_| numbers) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
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

/// The heading of a column of bars for errors from `least` to `most`, and the bars.
pub fn part_of_bars(least: f64, most: f64) -> (&'static str, impl Fn(f64) -> String) {
    let logarithmic = most > least * LINEAR_UP_TO;
    let part = move |error: f64| match logarithmic {
        true => (2.0 * error / least).ln() / (2.0 * most / least).ln(),
        false => error / most,
    };
    (if logarithmic { "(log scale)" } else { "" }, move |error| bar(part(error)))
}

fn bar(part: f64) -> String {
    bar_of((part.clamp(0.0, 1.0) * BAR * 8.0).round() as usize)
}

/// Three digits are enough to compare.
pub fn short(value: f64) -> String {
    match value {
        _ if !value.is_finite() => "–".into(),
        _ if value >= 1e7 => format!("{value:.2e}"),
        _ if value >= 100.0 => grouped(value.round() as u64),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 0.01 || value == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn bytes(number: usize) -> String {
    match number {
        0..10_000 => format!("{number} B"),
        10_000..10_000_000 => format!("{} KiB", number / 1024),
        _ => format!("{} MiB", number >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bars_are_short() {
        let values = [0.0, 0.001, 0.5, 9.876, 28.19, 123.6, 1_482_910.4, 1.5e18, f64::INFINITY].map(short);
        assert_eq!(
            values,
            ["0.00", "1.0e-3", "0.50", "9.88", "28.2", "124", "1 482 910", "1.50e18", "–"].map(String::from)
        );
        assert_eq!([bar(0.0), bar(0.5), bar(1.0 / 160.0)], ["".into(), "█".repeat(10), "▏".into()]);
        assert_eq!(bar(7.0), "█".repeat(20));
        assert_eq!([bytes(96), bytes(20_480), bytes(33 << 20)], ["96 B", "20 KiB", "33 MiB"].map(String::from));
    }
}
