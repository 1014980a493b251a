//! `reticent ledger verify`: is the ledger intact?

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use reticent::text::{json_line, printable};
use reticent_ledger::{Anchor, Finding, Head, Inspection, Verdict};

use super::LedgerArgs;
use crate::exit;
use crate::output::{self, Format, say};

/// The arguments of `reticent ledger verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent ledger verify --ledger budgets.sqlite
  reticent ledger verify --ledger budgets.sqlite --anchor budgets.anchor
  reticent ledger verify --ledger budgets.sqlite --format json

Every hash and every sum is recomputed. The anchor is a file with the newest hash. It is created if it is missing, and \
updated if the ledger is intact. Keep it out of reach of those who can write the ledger: it alone reveals that an older copy \
was restored, the end was cut off, or the whole chain was rewritten.

Exit codes: 0 intact, 1 altered, damaged or unreadable, 2 usage, or no ledger.")]
pub struct Arguments {
    #[command(flatten)]
    ledger: LedgerArgs,
    /// Compare with the hash in this file, and update it
    #[arg(long, value_name = "FILE")]
    anchor: Option<PathBuf>,
    /// How to print the result
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Verifies the ledger and prints the result.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let place = arguments.ledger.place()?;
    let anchor = arguments.anchor.as_ref().map(Anchor::new);
    let Inspection { verdict, held, advanced } = Inspection::of(&place.location, anchor.as_ref())?;
    let sound = verdict.is_sound();
    output::print(&match arguments.format {
        Format::Table => table(&verdict),
        Format::Json => json_line(&verdict.to_json()),
        Format::Csv => csv(&verdict),
    })?;
    if let Err(error) = &advanced {
        // The user may not be allowed to write the anchor; the comparison still holds.
        if held.is_none() {
            return Err(error.clone().into());
        }
        say!("the anchor was compared, but not updated: {error}");
    }
    match &arguments.anchor {
        Some(_) if advanced.is_err() => {}
        None if sound => say!("without --anchor, an older copy of the ledger would not be noticed"),
        Some(file) if sound => say!("{}", moved(file, held.as_ref(), &verdict)),
        Some(file) => say!("the anchor {} was not updated", file.display()),
        None => {}
    }
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(exit::REFUTED) })
}

/// What happened to the anchor of an intact ledger.
fn moved(file: &Path, held: Option<&Head>, verdict: &Verdict) -> String {
    let (file, newest) = (file.display(), verdict.head.as_ref().map_or(0, |head| head.number));
    match held {
        None => format!("the anchor {file} is new: it says nothing about the ledger's past"),
        Some(held) if held.number == newest => format!("the anchor {file} is up to date, at entry {newest}"),
        Some(held) => format!("the anchor {file} was updated from entry {} to entry {newest}", held.number),
    }
}

fn table(verdict: &Verdict) -> String {
    let entries = match verdict.entries {
        1 => "1 entry".into(),
        entries => format!("{entries} entries"),
    };
    if let (Some(head), true) = (&verdict.head, verdict.is_sound()) {
        return format!("{entries}, all intact; head {}\n", head.hash);
    }
    let findings = verdict.findings.iter().map(|finding| printable(&finding.to_string()) + "\n");
    let read = if verdict.entries == 0 { String::new() } else { format!("{entries} read; ") };
    findings.chain([format!("{read}the ledger is NOT intact\n")]).collect()
}

/// One line per finding.
fn csv(verdict: &Verdict) -> String {
    let row = |finding: &Finding| {
        let entry = finding.entry.map(|entry| entry.to_string()).unwrap_or_default();
        vec![entry, printable(&finding.to_string())]
    };
    output::csv("entry,finding", verdict.findings.iter().map(row))
}
