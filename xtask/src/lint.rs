//! `cargo xtask lint`: what a reader sees without running anything.

use crate::install;
use crate::process::Invocation;
use crate::step::{Step, take};

/// Format, clippy, documentation, and the builds for browsers.
pub fn run() -> Result<(), String> {
    let step = |name, line| Step::new(name, Invocation::new(line));
    take(vec![
        step("format", "cargo fmt --all --check"),
        step("clippy", "cargo clippy --workspace --all-targets -- -D warnings"),
        step("documentation", "cargo doc --workspace --no-deps").map(|doc| doc.variable("RUSTDOCFLAGS", "-D warnings")),
        step("wasm32", "cargo check -p reticent --no-default-features --target")
            .map(|check| check.argument(install::WASM))
            .after(install::wasm_target),
        step("browser module", "cargo xtask wasm").after(install::wasm_target),
    ])
}
