//! `cargo xtask wasm`: the module that randomises answers in a browser, built, and small.

use crate::install::{WASM, wasm_target};
use crate::process::{Invocation, target};

/// The most that a page may be asked to load, before compression.
const MOST_BYTES: u64 = 120_000;

/// Builds it and looks at its size.
pub fn run() -> Result<(), String> {
    wasm_target()?;
    let build = "cargo build --config crates/wasm/profile.toml --profile wasm -p reticent-wasm --target";
    let build = Invocation::new(build).argument(WASM);
    if !build.succeeds() {
        return Err(format!("the module could not be built; run it again with: {build}"));
    }
    let path = target().join(WASM).join("wasm").join("reticent_wasm.wasm");
    let size = std::fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    println!("{}: {size} bytes", path.display());
    check(size)
}

fn check(size: u64) -> Result<(), String> {
    if size < MOST_BYTES {
        Ok(())
    } else {
        Err(format!("the module has {size} bytes, and must have less than {MOST_BYTES}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_refused() {
        assert!(check(MOST_BYTES - 1).is_ok());
        assert_eq!(check(MOST_BYTES), Err("the module has 120000 bytes, and must have less than 120000".into()));
    }
}
