//! Estimates, for people and programs.

use anyhow::Result;
use comfy_table::Table;
use reticent::local::{Answers, Task};
use reticent::privacy::Guarantee;
use reticent::text::printable;
use reticent_collector::Estimated;
use reticent_plot::terminal::bar_of;
use serde_json::json;

use crate::output::{Format, aligned_table, no_blocks, number_table, print, say};

/// The length of the longest bar, in characters.
const LENGTH: f64 = 30.0;

/// Prints the estimates, with the guarantee after shuffling and its number of honest reports.
pub fn estimates(
    task: &Task,
    estimated: &Estimated,
    shuffled: Option<&(Guarantee, u64)>,
    format: Format,
) -> Result<()> {
    match format {
        Format::Json => {
            let mut value = estimated.to_json(task);
            if let Some((guarantee, honest)) = shuffled {
                value["shuffled"] = json!({ "guarantee": guarantee.to_string(), "honest": honest });
            }
            print(&format!("{value}\n"))?;
        }
        Format::Csv => print(&estimated.to_csv(task))?,
        Format::Table => {
            print(&format!("{}\n", table(estimated, task)))?;
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

fn table(estimated: &Estimated, task: &Task) -> Table {
    let (mut headings, mut rows) = estimated.table(task);
    let Answers::Choices(choices) = &estimated.answers else { return number_table(&headings, rows) };
    let most = choices.iter().map(|row| row.consistent).fold(1.0, f64::max);
    rows.iter_mut().zip(choices).for_each(|(row, choice)| row.push(bar(choice.consistent / most)));
    headings.push("");
    aligned_table(&headings, rows, |place| place > 0 && place + 1 < headings.len())
}

/// A fraction of the longest bar.
fn bar(part: f64) -> String {
    let length = part.clamp(0.0, 1.0) * LENGTH;
    match no_blocks() {
        true => "#".repeat(length.round() as usize),
        false => bar_of((8.0 * length).round() as usize),
    }
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
