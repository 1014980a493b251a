//! `cargo xtask bench`: speeds beside those of other libraries, measured on the same machine in the same minutes.

mod comparison;
mod peers;

use crate::process::Invocation;
use comparison::{Comparison, Measurement};

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Aligned, for people.
    Table,
    /// One object a line, for programs.
    Json,
}

/// Our samplers, then NumPy's and OpenDP's, each alone on one core.
pub fn noise(format: Format) -> Result<(), String> {
    eprintln!("building our samplers …");
    let build = Invocation::new("cargo build --release -p dist-test --example noise_bench");
    if !build.succeeds() {
        return Err(format!("could not build the benchmark; run it again with: {build}"));
    }
    let python = peers::python()?;
    eprintln!("measuring our samplers …");
    // Cargo would start it on any core, so the program itself is started.
    let ours = crate::process::target().join("release/examples/noise_bench");
    let mut printed = Invocation::program(ours).on_one_core().output()?;
    eprintln!("measuring NumPy and OpenDP …");
    printed += &Invocation::program(python).argument(peers::NOISE).on_one_core().output()?;

    let measurements: Vec<Measurement> = printed.lines().map(Measurement::read).collect::<Result<_, _>>()?;
    let comparisons = Comparison::of(&measurements);
    match format {
        Format::Table => print!("{}", comparison::table(&comparisons)),
        Format::Json => comparisons.iter().for_each(|comparison| println!("{}", comparison.json())),
    }
    Ok(())
}
