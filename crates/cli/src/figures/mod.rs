//! f
use std::process::ExitCode;
use anyhow::Result;
#[derive(Debug, clap::Args)]
pub struct Arguments {}
pub fn run(_: &Arguments) -> Result<ExitCode> { Ok(ExitCode::SUCCESS) }
