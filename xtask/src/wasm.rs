//! `cargo xtask wasm`: builds the module that randomises answers in a browser, and checks its size and the service's
//! copy.
//!
//! The service includes the module even if it is built without a target for browsers: a copy is stored next to its
//! sources. It is built so that the same sources give the same bytes everywhere, and compared.

use std::path::Path;
use std::{env, fs};

use crate::install::{WASM, wasm_target};
use crate::process::{Invocation, root, target};

/// The most that a page should have to load, before compression.
const MOST_BYTES: usize = 128_000;
/// The copy that the service includes.
const COPY: &str = "crates/wasm/reticent.wasm";

/// Builds it, checks its size, and compares it with the copy, or writes the copy.
pub fn run(write: bool) -> Result<(), String> {
    wasm_target()?;
    let build = "cargo build --config crates/wasm/profile.toml --profile wasm -p reticent-wasm --target";
    let build = Invocation::new(build).argument(WASM).argument("--config").argument(without_paths());
    if !build.succeeds() {
        return Err(format!("the module could not be built; run it again with: {build}"));
    }
    let path = target().join(WASM).join("wasm").join("reticent_wasm.wasm");
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let (module, copy) = (read(&path)?, root().join(COPY));
    println!("{}: {} bytes", path.display(), module.len());
    check_size(module.len())?;
    if write {
        return fs::write(&copy, &module).map_err(|error| format!("{}: {error}", copy.display()));
    }
    check_copy(&module, &read(&copy)?)
}

/// Keeps the location of sources on this machine out of the result.
fn without_paths() -> String {
    let home = env::var("CARGO_HOME").or_else(|_| env::var("HOME").map(|home| format!("{home}/.cargo")));
    let moved = [(home.unwrap_or_default(), "/cargo"), (root().to_string_lossy().into_owned(), "/reticent")];
    let flags = moved.iter().filter(|(from, _)| !from.is_empty());
    let flags: Vec<String> = flags.map(|(from, to)| format!("\"--remap-path-prefix={from}={to}\"")).collect();
    format!("target.{WASM}.rustflags=[{}]", flags.join(","))
}

fn check_size(size: usize) -> Result<(), String> {
    if size < MOST_BYTES {
        Ok(())
    } else {
        Err(format!("the module has {size} bytes, but must have less than {MOST_BYTES}"))
    }
}

fn check_copy(module: &[u8], copy: &[u8]) -> Result<(), String> {
    if module == copy {
        Ok(())
    } else {
        Err(format!("{COPY} does not match its sources; update it with `cargo xtask wasm --write`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_or_outdated_is_refused() {
        assert!(check_size(MOST_BYTES - 1).is_ok());
        assert_eq!(check_size(MOST_BYTES), Err("the module has 128000 bytes, but must have less than 128000".into()));
        assert!(check_copy(b"new", b"new").is_ok());
        assert!(check_copy(b"new", b"old").unwrap_err().contains("cargo xtask wasm --write"));
    }
}
