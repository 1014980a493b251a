//! Estimates, for people and programs.

use anyhow::Result;
use reticent::local::{Answers, MeanAnswer, Row, Task, TextAnswer};
use reticent::printable::printable;
use reticent::privacy::Guarantee;
use reticent_collector::Estimated;
use serde_json::json;

use crate::output::{Format, csv_line, number_table, print, say};

/// The length of the longest bar, in characters.
const LENGTH: f64 = 30.0;
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Prints the estimates, with the guarantee after shuffling and its number of honest reports.
pub fn estimates(
    task: &Task,
    estimated: &Estimated,
    shuffled: Option<&(Guarantee, u64)>,
    format: Format,
) -> Result<()> {
    match format {
        Format::Json => {
            let mut value = serde_json::to_value(estimated)?;
            value["task"] = json!(task.id());
            value["question"] = json!(task.question());
            value["epsilon"] = json!(task.epsilon());
            value["lifetime-epsilon"] = json!(task.lifetime_epsilon());
            if let Some((guarantee, honest)) = shuffled {
                value["shuffled"] = json!({ "guarantee": guarantee.to_string(), "honest": honest });
            }
            print(&format!("{value}\n"))?;
        }
        Format::Csv => print(&csv(&estimated.answers, task.one_report_each()))?,
        Format::Table => {
            print(&format!("{}\n", table(&estimated.answers, task.one_report_each())))?;
            let (reports, question) = (estimated.reports, printable(task.question()));
            let bars = if estimated.no_interval.is_none() { "; ± is 95 %" } else { "" };
            say!("{question} {reports} reports, each {}{bars}", task.guarantee());
        }
    }
    if let Some(reason) = &estimated.no_interval
        && format != Format::Json
    {
        say!("no 95 % interval: {reason}");
    }
    if let Some((guarantee, honest)) = shuffled
        && format != Format::Json
    {
        say!("against an observer of the shuffled reports, if {honest} of them are honest: {guarantee}");
    }
    Ok(())
}

/// The unit of the numbers: people if every device reports once, otherwise reports.
fn counted(once: bool) -> &'static str {
    if once { "people" } else { "reports" }
}

/// The headings of a table, with one more if there are error bars.
fn with_bars(headings: &[&'static str], once: bool) -> Vec<&'static str> {
    headings.iter().copied().chain(once.then_some("95 %")).collect()
}

fn table(answers: &Answers, once: bool) -> String {
    match answers {
        Answers::Choices(rows) => {
            let most = rows.iter().map(|row| row.consistent).fold(1.0, f64::max);
            let lines = rows.iter().map(|row| {
                let half_width = half_width(row).map(|half_width| format!("± {half_width:.0}"));
                let cells = [printable(&row.answer), format!("{:.0}", row.count)].into_iter().chain(half_width);
                cells.chain([bar(row.consistent / most)]).collect()
            });
            let mut headings = with_bars(&["answer", counted(once)], once);
            headings.push("");
            let mut table = number_table(&headings, lines);
            if let Some(bars) = table.column_mut(headings.len() - 1) {
                bars.set_cell_alignment(comfy_table::CellAlignment::Left);
            }
            table.to_string()
        }
        Answers::Mean(mean) => number_table(&with_bars(&["", "mean"], once), [mean_row(mean)]).to_string(),
        Answers::Texts(texts) => {
            let lines = texts.iter().map(|found| {
                let half_width = text_half_width(found).map(|half_width| format!("± {half_width:.4}"));
                [printable(&found.text), format!("{:.4}", found.share)].into_iter().chain(half_width).collect()
            });
            let share = if once { "share" } else { "share of reports" };
            number_table(&with_bars(&["text", share], once), lines).to_string()
        }
    }
}

/// Columns without known numbers are left out: all of them, or none.
fn csv(answers: &Answers, once: bool) -> String {
    let line = |name: Option<&String>, numbers: &[Option<f64>]| -> Vec<String> {
        name.cloned().into_iter().chain(numbers.iter().flatten().map(f64::to_string)).collect()
    };
    let lines: Vec<Vec<String>> = match answers {
        Answers::Choices(rows) => rows
            .iter()
            .map(|row| {
                let (lower, upper) = row.interval.unzip();
                line(Some(&row.answer), &[Some(row.count), row.standard_error, lower, upper, Some(row.consistent)])
            })
            .collect(),
        Answers::Mean(mean) => {
            vec![line(None, &[Some(mean.mean), mean.standard_error, mean.error.map(|error| error.half_width())])]
        }
        Answers::Texts(texts) => texts
            .iter()
            .map(|found| {
                let (lower, upper) = found.interval.unzip();
                line(Some(&found.text), &[Some(found.share), lower, upper])
            })
            .collect(),
    };
    let header = match (answers, once) {
        (Answers::Choices(_), true) => "answer,people,standard_error,lower,upper,consistent",
        (Answers::Choices(_), false) => "answer,reports,consistent",
        (Answers::Mean(_), true) => "mean,standard_error,half_width",
        (Answers::Mean(_), false) => "mean",
        (Answers::Texts(_), true) => "text,share,lower,upper",
        (Answers::Texts(_), false) => "text,share_of_reports",
    };
    lines.iter().fold(format!("{header}\n"), |text, line| text + &csv_line(line) + "\n")
}

/// The longer side of an interval around an estimate.
fn longer_side(estimate: f64, (lower, upper): (f64, f64)) -> f64 {
    (estimate - lower).max(upper - estimate)
}

fn half_width(row: &Row) -> Option<f64> {
    row.interval.map(|interval| longer_side(row.count, interval).ceil())
}

fn mean_row(mean: &MeanAnswer) -> Vec<String> {
    let Some(error) = mean.error else { return vec!["all".into(), format!("{:.4}", mean.mean)] };
    let half_width = error.half_width();
    let digits = (1.0 - half_width.log10().floor()).clamp(0.0, 9.0) as usize;
    vec!["all".into(), format!("{:.digits$}", mean.mean), format!("± {half_width:.digits$}")]
}

fn text_half_width(found: &TextAnswer) -> Option<f64> {
    found.interval.map(|interval| longer_side(found.share, interval))
}

/// A fraction of the longest bar.
fn bar(part: f64) -> String {
    let plain = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let length = part.clamp(0.0, 1.0) * LENGTH;
    if plain {
        return "#".repeat(length.round() as usize);
    }
    let eighths = (8.0 * length).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line has as many cells as the heading, with and without error bars.
    #[test]
    fn what_is_not_known_has_no_column() {
        for once in [true, false] {
            let interval = once.then_some((1.5, 9.0));
            let standard_error = once.then_some(0.5);
            let error = once.then(|| reticent::ErrorBar::new(0.5, 0.95).unwrap());
            let answers = [
                Answers::Choices(vec![Row {
                    answer: "a".into(),
                    count: 3.0,
                    standard_error,
                    interval,
                    consistent: 2.0,
                }]),
                Answers::Mean(MeanAnswer { mean: 3.0, standard_error, error }),
                Answers::Texts(vec![TextAnswer { text: "a".into(), share: 3.0, reports: 9, standard_error, interval }]),
            ];
            for answers in &answers {
                let csv = csv(answers, once);
                let cells: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
                assert!(cells.len() == 2 && cells[0] == cells[1], "{csv}");
                let table = table(answers, once);
                assert_eq!((table.contains('±'), table.contains("95 %")), (once, once), "{table}");
                assert!(once || !table.contains("people") && !csv.contains("people"), "{table} {csv}");
            }
        }
    }

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!(bar(1.0).chars().count(), LENGTH as usize);
        assert_eq!((bar(0.0), bar(-1.0)), (String::new(), String::new()));
        assert_eq!(bar(0.5).chars().count(), LENGTH as usize / 2);
    }
}
