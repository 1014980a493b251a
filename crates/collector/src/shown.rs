//! Estimates for people, spreadsheets and programs.

use reticent::local::{Answers, MeanAnswer, Row, Task, TextAnswer};
use reticent::text::{csv_line, printable};
use serde_json::{Value, json};

use crate::estimated::Estimated;

impl Estimated {
    /// The estimates of a task for programs.
    pub fn to_json(&self, task: &Task) -> Value {
        let mut value = serde_json::to_value(self).expect("it is plain data");
        value["task"] = json!(task.id());
        value["question"] = json!(task.question());
        value["epsilon"] = json!(task.epsilon());
        value["lifetime-epsilon"] = json!(task.lifetime_epsilon());
        value
    }

    /// The estimates of a task as CSV.
    pub fn to_csv(&self, task: &Task) -> String {
        csv(&self.answers, task.one_report_each())
    }

    /// The headings and rows of a table for people.
    pub fn table(&self, task: &Task) -> (Vec<&'static str>, Vec<Vec<String>>) {
        table(&self.answers, task.one_report_each())
    }
}

fn table(answers: &Answers, once: bool) -> (Vec<&'static str>, Vec<Vec<String>>) {
    // The numbers are of people if every device reports once, otherwise of reports.
    let (headings, rows) = match answers {
        Answers::Choices(rows) => {
            let row = |row: &Row| {
                let half_width = half_width(row).map(|half_width| format!("± {half_width:.0}"));
                [printable(&row.answer), format!("{:.0}", row.count)].into_iter().chain(half_width).collect()
            };
            (["answer", if once { "people" } else { "reports" }], rows.iter().map(row).collect())
        }
        Answers::Mean(mean) => (["", "mean"], vec![mean_row(mean)]),
        Answers::Texts(texts) => {
            let row = |found: &TextAnswer| {
                let half_width = text_half_width(found).map(|half_width| format!("± {half_width:.4}"));
                [printable(&found.text), format!("{:.4}", found.share)].into_iter().chain(half_width).collect()
            };
            (["text", if once { "share" } else { "share of reports" }], texts.iter().map(row).collect())
        }
    };
    (headings.into_iter().chain(once.then_some("95 %")).collect(), rows)
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
                let (headings, rows) = table(answers, once);
                assert_eq!(headings.len(), rows[0].len());
                let table = format!("{headings:?} {rows:?}");
                assert_eq!((table.contains('±'), table.contains("95 %")), (once, once), "{table}");
                assert!(once || !table.contains("people") && !csv.contains("people"), "{table} {csv}");
            }
        }
    }
}
