//! The dashboard's script in Node: how it shows released values, and which input it marks.

use std::path::Path;
use std::process::Command;

#[test]
fn values_are_shown_as_they_were_released() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dashboard.mjs");
    let Ok(output) = Command::new("node").arg(&script).output() else {
        println!("SKIPPED: there is no node");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
