//! The ES module in Node: mistakes a page can make, and two tabs at once.

use std::path::Path;
use std::process::Command;

#[test]
fn answers_are_numbers_and_tabs_take_turns() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page.mjs");
    let Ok(output) = Command::new("node").arg(&script).output() else {
        println!("SKIPPED: there is no node");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
