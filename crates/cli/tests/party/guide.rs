//! The commands of docs/parties.md, as printed there.

use std::process::Command;

use super::hospitals::Hospitals;
use super::pages::{commands, search_path};

#[test]
fn every_command_of_the_guide_can_be_pasted() {
    let commands = commands("parties.md");
    assert!(commands.len() >= 10, "{commands:?}");
    // Its own folder, home and search path.
    let desk = Hospitals::at("guide", Vec::new());
    // Whatever is still running when something fails ends with the script.
    let script =
        format!("set -e -o pipefail\ntrap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n{}\n", commands.join("\n"));
    let mut shell = Command::new("bash");
    desk.at_home(&mut shell);
    let ended = shell.arg("-c").arg(&script).env("PATH", search_path()).output().expect("bash starts");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{script}\n{said}");
    let printed = String::from_utf8_lossy(&ended.stdout);
    for expected in ["north", "ward", "ε"] {
        assert!(printed.contains(expected) || said.contains(expected), "{expected}: {printed}\n{said}");
    }
}
