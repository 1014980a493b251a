//! `cargo xtask bench`: speeds compared with other libraries, measured on the same machine at the same time.

mod comparison;
mod layout;
pub mod ledger;
mod measurement;
mod pair;
pub mod party;
mod peers;
mod program;
pub mod service;
pub mod sql;

use crate::process::Invocation;
use comparison::Comparison;
use measurement::Measurement;
use pair::Pair;
use program::built;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned, for people.
    Table,
    /// One object per line, for programs.
    Json,
}

impl Format {
    /// Shows what a benchmark has printed: one object per line, or the table of them.
    fn show(self, printed: &str, table: impl Fn(&str) -> Result<String, String>) -> Result<(), String> {
        print!("{}", if let Self::Json = self { printed.to_owned() } else { table(printed)? });
        Ok(())
    }
}

/// Our samplers, then NumPy's and OpenDP's, each alone on one core.
pub fn noise(format: Format) -> Result<(), String> {
    let comparisons = Comparison::of(&measure("noise", peers::NOISE)?);
    match format {
        Format::Table => print!("{}", comparison::table(&comparisons)),
        Format::Json => comparisons.iter().for_each(|comparison| println!("{}", comparison.json())),
    }
    Ok(())
}

/// Our releases, then OpenDP's, each alone on one core.
pub fn once(format: Format) -> Result<(), String> {
    pairs(format, "once", peers::ONCE)
}

/// Our counters, then jax-privacy's, each alone on one core.
pub fn continual(format: Format) -> Result<(), String> {
    pairs(format, "continual", peers::CONTINUAL)
}

/// Our devices and collector, then pure-LDP's, each alone on one core.
pub fn local(format: Format) -> Result<(), String> {
    pairs(format, "local", peers::LOCAL)
}

fn pairs(format: Format, bench: &str, script: &str) -> Result<(), String> {
    let pairs = Pair::of(&measure(bench, script)?);
    match format {
        Format::Table => print!("{}", pair::table(&pairs)),
        Format::Json => pairs.iter().for_each(|pair| println!("{}", pair.json())),
    }
    Ok(())
}

/// Runs a benchmark of dist-test and the peers' script, and parses the output of both.
fn measure(bench: &str, script: &str) -> Result<Vec<Measurement>, String> {
    let ours = built("dist-test", bench, "")?;
    let python = peers::python()?;
    eprintln!("measuring ours …");
    let mut printed = Invocation::program(ours).on_one_core().output()?;
    eprintln!("measuring the peers …");
    // Without -B, Python would leave a cache among the sources.
    printed += &Invocation::program(python).and("-B").argument(script).on_one_core().output()?;
    printed.lines().map(Measurement::read).collect()
}
