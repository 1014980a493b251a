//! Installs what tests need beyond crates, where the machine allows it; otherwise returns the reason, and what to run
//! by hand.

use std::path::PathBuf;
use std::{env, fs};

use crate::process::{Invocation, exists, target};

/// The target for browsers.
pub const WASM: &str = "wasm32-unknown-unknown";
/// Renders the documents. Only its search is needed: no server, no watching of files.
const MDBOOK: &str =
    "cargo install --locked --quiet mdbook --version ^0.5 --no-default-features --features search --root";
/// Tools that test and check the HTTP API's description, and generate a client from it: programs and packages.
const SCHEMA_TOOLS: [(&str, &str); 3] = [
    ("schemathesis", "schemathesis==4.*"),
    ("openapi-spec-validator", "openapi-spec-validator==0.9.*"),
    ("openapi-python-client", "openapi-python-client==0.*"),
];

/// Makes sure that the standard library for wasm32 is installed.
pub fn wasm_target() -> Result<(), String> {
    let folder = Invocation::new("rustc --print target-libdir --target").argument(WASM).output()?;
    if std::path::Path::new(folder.trim()).is_dir() {
        return Ok(());
    }
    let install = Invocation::new("rustup target add").argument(WASM);
    if exists("rustup") && install.succeeds() {
        Ok(())
    } else {
        Err(format!("the target is not installed and could not be fetched; run by hand: {install}"))
    }
}

/// Makes sure that there is an mdBook, in the build folder; where it is.
pub fn mdbook() -> Result<PathBuf, String> {
    let folder = target().join("tools");
    let program = folder.join("bin").join("mdbook");
    let install = Invocation::new(MDBOOK).argument(folder.to_string_lossy());
    if program.is_file() {
        return Ok(program);
    }
    println!("installing mdbook into {}, once: a few minutes", folder.display());
    if install.succeeds() { Ok(program) } else { Err(format!("mdbook could not be installed: {install}")) }
}

/// Makes sure that a PostgreSQL server can be started; the tests start their own.
pub fn postgres_server() -> Result<(), String> {
    let search = env::var_os("PATH").unwrap_or_default();
    let packages = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let packages = packages.map(|version| version.path().join("bin"));
    let complete = |folder: PathBuf| ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file());
    if env::split_paths(&search).chain(packages).any(complete) {
        return Ok(());
    }
    from_debian("postgresql openssl", "there is no server")
}

/// Makes sure that there is a browser that can be automated.
pub fn browser() -> Result<(), String> {
    if exists("chromium") && exists("chromedriver") {
        return Ok(());
    }
    from_debian("chromium chromium-driver", "there is no browser")
}

/// Makes sure that a NATS server can be started; the test starts its own.
pub fn nats_server() -> Result<(), String> {
    if exists("nats-server") { Ok(()) } else { from_debian("nats-server", "there is no server") }
}

/// Makes sure that we can create networks, in which one party is cut off or slowed down.
pub fn network_namespaces() -> Result<(), String> {
    if !(exists("ip") && exists("tc")) {
        from_debian("iproute2", "there is no ip or no tc")?;
    }
    // Everything created in it disappears with it. Only trying shows whether the kernel supports it all.
    let make = "ip link add name sw0 type bridge && ip link add name a type veth peer name b && \
                tc qdisc add dev a root tbf rate 64kbit burst 4kb latency 800ms && \
                n=reticent-$$ && ip netns add $n && ip netns del $n";
    let allowed = Invocation::new("unshare --net sh -c").argument(make);
    if allowed.succeeds() {
        Ok(())
    } else {
        Err("this machine does not let us create networks (this needs root)".into())
    }
}

/// Makes sure that the tools for the HTTP API's description are installed, in their own environment.
pub fn schema_tools() -> Result<(), String> {
    let folder = target().join("schemathesis-venv");
    if SCHEMA_TOOLS.iter().all(|(program, _)| folder.join("bin").join(program).exists()) {
        return Ok(());
    }
    let create = Invocation::new("python3 -m venv --clear").argument(folder.to_string_lossy());
    // On Debian the module is a separate package.
    let made = create.succeeds() || (from_debian("python3-venv", "there is no venv").is_ok() && create.succeeds());
    if !made {
        return Err(format!("no Python environment could be created: {create}"));
    }
    let install = Invocation::program(folder.join("bin/python"))
        .and("-m pip install --quiet --disable-pip-version-check")
        .and(&SCHEMA_TOOLS.map(|(_, package)| package).join(" "));
    if install.succeeds() { Ok(()) } else { Err(format!("schemathesis could not be installed: {install}")) }
}

/// Installs Debian packages, on systems that use them.
fn from_debian(packages: &str, missing: &str) -> Result<(), String> {
    let install = Invocation::new("apt-get install --yes --no-install-recommends")
        .and(packages)
        .variable("DEBIAN_FRONTEND", "noninteractive");
    let is_root = Invocation::new("id -u").output().is_ok_and(|id| id.trim() == "0");
    // The package lists may be missing or out of date.
    let update = Invocation::new("apt-get update");
    if is_root && exists("apt-get") && (install.succeeds() || (update.succeeds() && install.succeeds())) {
        Ok(())
    } else {
        Err(format!("{missing} and none could be installed; run by hand as root: {install}"))
    }
}
