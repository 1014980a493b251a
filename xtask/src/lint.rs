//! `cargo xtask lint`: checks that run no code.

use crate::install;
use crate::process::Invocation;
use crate::step::{Step, take};

/// Format, clippy, documentation and its links, and the builds for browsers.
pub fn run() -> Result<(), String> {
    let step = |name, line| Step::new(name, Invocation::new(line));
    take(vec![
        step("format", "cargo fmt --all --check"),
        step("clippy", "cargo clippy --workspace --all-targets -- -D warnings"),
        // As users build it: without what tests turn on.
        step("clippy of the program", "cargo clippy -p reticent-cli -- -D warnings"),
        Step::new(
            "documentation",
            Invocation::new("cargo doc --workspace --no-deps").variable("RUSTDOCFLAGS", "-D warnings"),
        ),
        step("links", "cargo xtask book --check"),
        step("wasm32", &format!("cargo check -p reticent --no-default-features --target {}", install::WASM))
            .after(install::wasm_target),
        step("browser module", "cargo xtask wasm").after(install::wasm_target),
    ])
}
