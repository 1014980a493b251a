//! Printing an outcome.

use std::process::ExitCode;

use anyhow::Result;
use reticent::privacy::Guarantee;
use reticent_subsample::{DryRun, Error, Kept};

use crate::exit;
use crate::output::{self, Format, number_table, text_table};

/// The number of significant digits of a half-width.
const DIGITS: i32 = 2;

/// Prints an outcome and returns the exit code.
///
/// # Errors
/// If the table could not be read, or standard output cannot be written.
pub fn outcome(kept: &Kept, format: Format, guarantee: &Guarantee, is_mean: bool) -> Result<ExitCode> {
    if *kept == Kept::Failed {
        return Err(Error::Reading.into());
    }
    output::print(&match format {
        Format::Table => for_people(kept),
        Format::Json => format!("{}\n", kept.to_json(guarantee)),
        Format::Csv => kept.to_csv(is_mean),
    })?;
    Ok(if *kept == Kept::Refused { ExitCode::from(exit::REFUSED) } else { ExitCode::SUCCESS })
}

/// Prints what is known without spending anything.
///
/// # Errors
/// If standard output cannot be written.
pub fn dry_run(known: &DryRun<'_>, format: Format) -> Result<()> {
    let facts = known.facts().into_iter().map(|(name, value)| vec![name, value]);
    output::print(&match format {
        Format::Table => format!("{}\n", text_table(&["without spending anything", ""], facts)),
        Format::Json => format!("{}\n", known.to_json()),
        Format::Csv => output::csv("what,value", facts),
    })?;
    Ok(())
}

fn for_people(kept: &Kept) -> String {
    match kept {
        Kept::Answer(answer) => format!("{answer}\n"),
        Kept::Mean { value, half_width, level } => {
            let header = ["value".into(), format!("± ({} %)", (level * 1e6).round() / 1e4)];
            let row = vec![rounded(*value, *half_width, f64::round), rounded(*half_width, *half_width, f64::ceil)];
            format!("{}\n", number_table(&header.each_ref().map(String::as_str), [row]))
        }
        Kept::Refused | Kept::Failed => "refused\n".into(),
    }
}

/// A number with as many digits as its half-width makes meaningful.
fn rounded(value: f64, half_width: f64, round: fn(f64) -> f64) -> String {
    if !(half_width.is_finite() && half_width > 0.0) {
        return value.to_string();
    }
    let decimals = DIGITS - 1 - half_width.log10().floor() as i32;
    let unit = 10f64.powi(decimals.clamp(-300, 300));
    format!("{:.*}", decimals.clamp(0, 300) as usize, round(value * unit) / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_below_the_noise_are_not_shown() {
        for (value, half_width, expected) in [
            (45.123_456, 1.234, ("45.1", "1.3")),
            (45_123.456, 123.4, ("45120", "130")),
            (0.012_345_6, 0.000_123, ("0.01235", "0.00013")),
            (-3.0, 0.0, ("-3", "0")),
        ] {
            let shown = (rounded(value, half_width, f64::round), rounded(half_width, half_width, f64::ceil));
            assert_eq!((shown.0.as_str(), shown.1.as_str()), expected);
        }
    }
}
