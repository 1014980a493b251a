//! `reticent party keygen`: creates a party's key.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use reticent_party::PrivateKey;

use crate::output::{print, say};

/// The arguments of `reticent party keygen`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party keygen north.key

The public key is printed: it goes into the task file, and anyone may know it. The file holds the private key, which signs for \
the party; only you can read it, and you never need to send it to anyone.")]
pub struct Arguments {
    /// File for the private key; it must not exist yet
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Creates a key.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let key = PrivateKey::create(&arguments.file)?;
    say!("private key written to {}; public key for the task:", arguments.file.display());
    print(&format!("{key}\n"))?;
    Ok(ExitCode::SUCCESS)
}
