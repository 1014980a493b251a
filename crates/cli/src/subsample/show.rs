//! Printing an outcome.

use std::process::ExitCode;

use anyhow::Result;
use reticent::privacy::Guarantee;
use reticent_subsample::kept::{ABOUT, OTHER_ROWS, percent, rounded};
use reticent_subsample::{DryRun, Error, Kept, Outcome};

use crate::exit;
use crate::output::{self, Format, number_table, text_table};

/// Prints an outcome and returns the exit code.
///
/// # Errors
/// If the table could not be read, or standard output cannot be written.
pub fn outcome(kept: &Kept, format: Format, guarantee: &Guarantee, is_mean: bool) -> Result<ExitCode> {
    if kept.outcome == Outcome::Failed {
        return Err(Error::Reading.into());
    }
    output::print(&match format {
        Format::Table => for_people(kept),
        Format::Json => format!("{}\n", kept.to_json(guarantee)),
        Format::Csv => kept.to_csv(is_mean),
    })?;
    Ok(if kept.is_refused() { ExitCode::from(exit::REFUSED) } else { ExitCode::SUCCESS })
}

/// Prints what is known without spending anything.
///
/// # Errors
/// If standard output cannot be written.
pub fn dry_run(known: &DryRun<'_>, format: Format) -> Result<()> {
    let facts = known.facts().into_iter().map(|(name, value)| vec![name, value]);
    output::print(&match format {
        Format::Table => format!("{}\n", text_table(&["dry run: nothing is spent", ""], facts)),
        Format::Json => format!("{}\n", known.to_json()),
        Format::Csv => output::csv("what,value", facts),
    })?;
    Ok(())
}

fn for_people(kept: &Kept) -> String {
    let outcome = match &kept.outcome {
        Outcome::Answer(answer) => format!("{answer}\n"),
        Outcome::Mean { value, half_width, level } => {
            let header = [ABOUT.into(), format!("± ({})", percent(*level))];
            let row = vec![rounded(*value, *half_width, f64::round), rounded(*half_width, *half_width, f64::ceil)];
            format!("{}\n", number_table(&header.each_ref().map(String::as_str), [row]))
        }
        Outcome::OtherRows => format!("refused: {OTHER_ROWS}\n"),
        Outcome::Refused | Outcome::Failed => "refused\n".into(),
    };
    outcome + &kept.unanswered.map(|unanswered| format!("{unanswered}\n")).unwrap_or_default()
}
