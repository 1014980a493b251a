//! The measuring programs: benchmarks of our own crates.

use std::path::PathBuf;

use serde_json::Value;

use crate::process::Invocation;

/// Builds a benchmark with the release profile, and what `also` says; returns where the program is. Cargo would start it
/// with arguments of its own, and on any core.
pub fn built(package: &str, bench: &str, also: &str) -> Result<PathBuf, String> {
    eprintln!("building the benchmark {bench} of {package} …");
    let build = Invocation::new("cargo build --release --message-format=json-render-diagnostics -p")
        .argument(package)
        .and("--bench")
        .argument(bench)
        .and(also);
    let printed = build.output().map_err(|error| format!("could not build the benchmark: {error}"))?;
    let messages = printed.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs =
        messages.filter(|message| message["target"]["name"] == bench && message["target"]["kind"][0] == "bench");
    let program = programs.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    program.ok_or_else(|| format!("cargo built no program; look at the output of: {build}"))
}
