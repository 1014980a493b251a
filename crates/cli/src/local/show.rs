//! Estimates, for people and programs.

use anyhow::Result;
use reticent::local::{Answers, FoundText, MeanEstimate, Row, Task};
use reticent::privacy::Guarantee;
use reticent_collect::Estimated;
use serde_json::json;

use crate::output::{Format, csv_line, number_table, print, say};

/// How long the longest bar is, in characters.
const LENGTH: f64 = 30.0;
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// Prints them; with what a shuffler adds, and for how many honest reports.
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
        Format::Csv => print(&csv(&estimated.answers))?,
        Format::Table => {
            print(&format!("{}\n", table(&estimated.answers)))?;
            let (reports, question) = (estimated.reports, clean(task.question()));
            say!("{question} {reports} reports, each {}; ± is 95 %", task.guarantee());
        }
    }
    if let Some((guarantee, honest)) = shuffled
        && format != Format::Json
    {
        say!("against whoever sees only the shuffled reports, if {honest} of them are honest: {guarantee}");
    }
    Ok(())
}

fn table(answers: &Answers) -> String {
    match answers {
        Answers::Choices(rows) => {
            let most = rows.iter().map(|row| row.consistent).fold(1.0, f64::max);
            let lines = rows.iter().map(|row| {
                let half_width = half_width(row);
                vec![
                    clean(&row.answer),
                    format!("{:.0}", row.count),
                    format!("± {half_width:.0}"),
                    bar(row.consistent / most),
                ]
            });
            let mut table = number_table(&["answer", "people", "95 %", ""], lines);
            if let Some(bars) = table.column_mut(3) {
                bars.set_cell_alignment(comfy_table::CellAlignment::Left);
            }
            table.to_string()
        }
        Answers::Mean(mean) => number_table(&["", "mean", "95 %"], [mean_row(mean)]).to_string(),
        Answers::Texts(texts) => {
            let lines = texts.iter().map(|found| {
                let (count, half_width) = text_numbers(found);
                vec![clean(&found.text), format!("{count:.4}"), format!("± {half_width:.4}")]
            });
            number_table(&["text", "share", "95 %"], lines).to_string()
        }
    }
}

fn csv(answers: &Answers) -> String {
    let lines: Vec<Vec<String>> = match answers {
        Answers::Choices(rows) => rows
            .iter()
            .map(|row| {
                let numbers = [row.count, row.standard_error, row.interval.0, row.interval.1, row.consistent];
                std::iter::once(row.answer.clone()).chain(numbers.map(|number| number.to_string())).collect()
            })
            .collect(),
        Answers::Mean(mean) => {
            let numbers = [mean.mean(), mean.standard_error(), mean.error().half_width()];
            vec![numbers.map(|number| number.to_string()).to_vec()]
        }
        Answers::Texts(texts) => texts
            .iter()
            .map(|found| {
                let numbers = [found.estimate.fraction(), found.interval.0, found.interval.1];
                std::iter::once(found.text.clone()).chain(numbers.map(|number| number.to_string())).collect()
            })
            .collect(),
    };
    let header = match answers {
        Answers::Choices(_) => "answer,people,standard_error,lower,upper,consistent",
        Answers::Mean(_) => "mean,standard_error,half_width",
        Answers::Texts(_) => "text,share,lower,upper",
    };
    lines.iter().fold(format!("{header}\n"), |text, line| text + &csv_line(line) + "\n")
}

/// The longer side of the interval.
fn half_width(row: &Row) -> f64 {
    (row.count - row.interval.0).max(row.interval.1 - row.count).ceil()
}

fn mean_row(mean: &MeanEstimate) -> Vec<String> {
    let half_width = mean.error().half_width();
    let digits = (1.0 - half_width.log10().floor()).clamp(0.0, 9.0) as usize;
    vec!["all".into(), format!("{:.digits$}", mean.mean()), format!("± {half_width:.digits$}")]
}

fn text_numbers(found: &FoundText) -> (f64, f64) {
    let share = found.estimate.fraction();
    (share, (share - found.interval.0).max(found.interval.1 - share))
}

/// A part of the longest bar.
fn bar(part: f64) -> String {
    let plain = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let length = part.clamp(0.0, 1.0) * LENGTH;
    if plain {
        return "#".repeat(length.round() as usize);
    }
    let eighths = (8.0 * length).round() as usize;
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// A text may hold what a terminal obeys.
fn clean(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '�' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_part() {
        assert_eq!(bar(1.0).chars().count(), LENGTH as usize);
        assert_eq!((bar(0.0), bar(-1.0)), (String::new(), String::new()));
        assert_eq!(bar(0.5).chars().count(), LENGTH as usize / 2);
    }
}
