//! What the description of the interface promises, tried out by schemathesis: thousands of requests, odd ones among them.

use std::path::PathBuf;
use std::process::Command;

use crate::service::Place;

/// For each route.
const EXAMPLES: &str = "20";
/// The same requests each time.
const SEED: &str = "1";
/// No request may end in a 5xx, and answers are as they are described.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

#[test]
#[ignore = "needs schemathesis from PyPI; cargo xtask test runs it"]
fn no_request_that_anyone_can_think_of_is_a_fault_of_the_server() {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let schemathesis = target.parent().expect("the target directory").join("schemathesis-venv/bin/schemathesis");
    let place = Place::with_visits("schema");
    let service = place.start();
    service.create_exact("visits", 3);
    service.send("visits", "1\n1\n1\n");
    let status = Command::new(schemathesis)
        .args(["run", &format!("http://{}/openapi.json", service.address)])
        // An answer that never ends.
        .args(["--exclude-path", "/v1/streams/{name}/releases/stream"])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", SEED, "--phases", "examples,coverage,fuzzing"])
        .args(["--continue-on-failure", "--warnings", "off", "--no-color", "--suppress-health-check", "all"])
        .current_dir(&place.0)
        .status()
        .expect("schemathesis is installed in target/schemathesis-venv");
    assert!(status.success());
}
