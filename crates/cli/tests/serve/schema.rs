//! The description of the API, tested by schemathesis: thousands of requests, odd ones among them.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::service::Place;

/// For each route.
const EXAMPLES: &str = "20";
/// The same requests each time.
const SEED: &str = "1";
/// No request may end in a 5xx, and answers match their description.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance";

/// A program in the Python environment that `cargo xtask test` creates.
fn program(name: &str) -> Command {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    Command::new(target.parent().expect("the target directory").join("schemathesis-venv/bin").join(name))
}

/// By the specification's own rules, and such that a client can be generated from it, every call included.
#[test]
#[ignore = "needs openapi-spec-validator and openapi-python-client from PyPI; cargo xtask test runs it"]
fn the_description_is_valid_and_a_client_can_be_made_of_it() {
    let place = Place::new("description");
    let description = place.start().get("/openapi.json").text().to_owned();
    place.write("openapi.json", &description);
    let succeeds = |name: &str, arguments: &str| {
        let output = program(name).args(arguments.split(' ')).current_dir(&place.0).output();
        let output = output.unwrap_or_else(|error| panic!("{name} is not in target/schemathesis-venv: {error}"));
        let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
        assert!(output.status.success(), "{name}: {said:?}");
    };
    succeeds("openapi-spec-validator", "openapi.json");
    succeeds("openapi-python-client", "generate --path openapi.json --output-path client --meta none");
    // A call that the generator cannot handle is left out, with a warning.
    let description: Value = serde_json::from_str(&description).expect("JSON");
    let paths = description["paths"].as_object().expect("paths").values();
    let operations: Vec<_> = paths.flat_map(|path| path.as_object().expect("methods").values()).collect();
    assert!(operations.len() > 20);
    for operation in operations {
        let [tag, id] = [&operation["tags"][0], &operation["operationId"]].map(|name| name.as_str().expect("a name"));
        assert!(place.0.join(format!("client/api/{tag}/{id}.py")).is_file(), "{tag} {id}");
    }
}

#[test]
#[ignore = "needs schemathesis from PyPI; cargo xtask test runs it"]
fn no_request_that_anyone_can_think_of_is_a_fault_of_the_server() {
    let place = Place::with_visits("schema");
    let service = place.start();
    service.create_exact("visits", 3);
    service.send("visits", "1\n1\n1\n");
    let status = program("schemathesis")
        .args(["run", &format!("http://{}/openapi.json", service.address)])
        .args(["--header", &format!("Authorization: {}", service.bearer())])
        // An answer that never ends.
        .args(["--exclude-path", "/v1/streams/{name}/releases/stream"])
        .args(["--checks", CHECKS, "--max-examples", EXAMPLES, "--seed", SEED, "--phases", "examples,coverage,fuzzing"])
        .args(["--continue-on-failure", "--warnings", "off", "--no-color", "--suppress-health-check", "all"])
        .current_dir(&place.0)
        .status()
        .expect("schemathesis is installed in target/schemathesis-venv");
    assert!(status.success());
}
