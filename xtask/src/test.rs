//! `cargo xtask test`: everything that must hold before a change is merged, in one command.

use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{env, fs};

use crate::process::{Invocation, exists, target};

pub const WASM: &str = "wasm32-unknown-unknown";
/// What tries out the description of the HTTP interface.
const SCHEMATHESIS: &str = "schemathesis==4.*";

/// Something that must hold.
struct Step {
    name: &'static str,
    invocation: Invocation,
    /// Installs what the step needs; otherwise says why the step cannot be taken here.
    prepare: fn() -> Result<(), String>,
}

/// What became of a step.
enum Outcome {
    Passed(Duration),
    Failed(Duration),
    Skipped(String),
}

/// Takes the steps in order and stops at the first that fails.
pub fn run(long: bool) -> Result<(), String> {
    let mut report: Vec<(&'static str, Outcome)> = Vec::new();
    let mut failure = None;
    for Step { name, invocation, prepare } in steps(long) {
        println!("\n── {name}: {invocation}");
        if let Err(reason) = prepare() {
            println!("SKIPPED: {name}: {reason}");
            report.push((name, Outcome::Skipped(reason)));
            continue;
        }
        let start = Instant::now();
        let passed = invocation.succeeds();
        let taken = start.elapsed();
        if passed {
            report.push((name, Outcome::Passed(taken)));
        } else {
            report.push((name, Outcome::Failed(taken)));
            failure = Some(format!("FAILED: {name}\nrun it again with: {invocation}"));
            break;
        }
    }
    print!("{}", summary(&report));
    failure.map_or(Ok(()), Err)
}

/// The fast ones first, so that a slip is seen early.
fn steps(long: bool) -> Vec<Step> {
    let ready = || Ok(());
    let step = |name, line| Step { name, invocation: Invocation::new(line), prepare: ready };
    let mut documentation = step("documentation", "cargo doc --workspace --no-deps");
    documentation.invocation = documentation.invocation.variable("RUSTDOCFLAGS", "-D warnings");
    let mut wasm = step("wasm32", "cargo check -p reticent --no-default-features --target");
    wasm.invocation = wasm.invocation.argument(WASM);
    wasm.prepare = wasm_target;
    let mut module = step("browser module", "cargo xtask wasm");
    module.prepare = wasm_target;
    let mut postgres = step("PostgreSQL", "cargo test -p reticent-ledger --test postgres -- --ignored");
    postgres.prepare = postgres_server;
    // The same packages as before, so that nothing is built anew.
    let mut dashboard =
        step("dashboard", "cargo test --workspace --exclude dist-test --test serve -- --ignored browser survey_page");
    dashboard.prepare = browser;
    let mut interface =
        step("HTTP interface", "cargo test --workspace --exclude dist-test --test serve -- --ignored schema");
    interface.prepare = schemathesis;
    let brokers = "cargo test --workspace --exclude dist-test --test serve --test streams -- --ignored nats";
    let mut nats = step("NATS", brokers);
    nats.prepare = nats_server;
    let mut networks = step(
        "networks",
        "cargo test --workspace --exclude dist-test --test party -- --ignored namespaces --test-threads=1",
    );
    networks.prepare = network_namespaces;
    let mut statistics = step("statistical tests", "cargo test --release -p dist-test");
    if long {
        // Fresh seeds must be seen even when all goes well.
        statistics = step("statistical tests, long", "cargo test --release -p dist-test -- --nocapture");
        statistics.invocation = statistics.invocation.variable("RETICENT_LONG", "1");
    }
    vec![
        step("format", "cargo fmt --all --check"),
        step("lints", "cargo clippy --workspace --all-targets -- -D warnings"),
        documentation,
        wasm,
        module,
        step("tests", "cargo test --workspace --exclude dist-test"),
        postgres,
        dashboard,
        interface,
        nats,
        networks,
        statistics,
    ]
}

/// Makes sure that the standard library for wasm32 is there.
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

/// Makes sure that there is a PostgreSQL server to start; the tests start one of their own.
fn postgres_server() -> Result<(), String> {
    let search = env::var_os("PATH").unwrap_or_default();
    let packages = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let packages = packages.map(|version| version.path().join("bin"));
    let complete = |folder: PathBuf| ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file());
    if env::split_paths(&search).chain(packages).any(complete) {
        return Ok(());
    }
    from_debian("postgresql openssl", "there is no server")
}

/// Makes sure that there is a browser that can be steered.
fn browser() -> Result<(), String> {
    if exists("chromium") && exists("chromedriver") {
        return Ok(());
    }
    from_debian("chromium chromium-driver", "there is no browser")
}

/// Makes sure that there is a NATS server to start; the test starts one of its own.
fn nats_server() -> Result<(), String> {
    if exists("nats-server") { Ok(()) } else { from_debian("nats-server", "there is no server") }
}

/// Makes sure that networks of our own can be made, in which one party is cut off or slowed down.
fn network_namespaces() -> Result<(), String> {
    if !(exists("ip") && exists("tc")) {
        from_debian("iproute2", "there is no ip or no tc")?;
    }
    // Whatever is made in it goes with it. Nothing else says whether the kernel has all that is needed.
    let make = "ip link add name sw0 type bridge && ip link add name a type veth peer name b && \
                tc qdisc add dev a root tbf rate 64kbit burst 4kb latency 800ms && \
                n=reticent-$$ && ip netns add $n && ip netns del $n";
    let allowed = Invocation::new("unshare --net sh -c").argument(make);
    if allowed.succeeds() { Ok(()) } else { Err("this machine allows no networks of our own (it takes root)".into()) }
}

/// Makes sure that schemathesis is there, in an environment of its own.
fn schemathesis() -> Result<(), String> {
    let folder = target().join("schemathesis-venv");
    if exists(&folder.join("bin/schemathesis").to_string_lossy()) {
        return Ok(());
    }
    let create = Invocation::new("python3 -m venv --clear").argument(folder.to_string_lossy());
    // Debian keeps the module in a package of its own.
    let made = create.succeeds() || (from_debian("python3-venv", "there is no venv").is_ok() && create.succeeds());
    if !made {
        return Err(format!("no Python environment could be made: {create}"));
    }
    let install = Invocation::program(folder.join("bin/python"))
        .and("-m pip install --quiet --disable-pip-version-check")
        .argument(SCHEMATHESIS);
    if install.succeeds() { Ok(()) } else { Err(format!("schemathesis could not be installed: {install}")) }
}

/// Installs some of Debian's packages, where that is how packages are installed.
fn from_debian(packages: &str, missing: &str) -> Result<(), String> {
    let install = Invocation::new("apt-get install --yes --no-install-recommends")
        .and(packages)
        .variable("DEBIAN_FRONTEND", "noninteractive");
    let is_root = Invocation::new("id -u").output().is_ok_and(|id| id.trim() == "0");
    // What packages there are may not be known yet, or have changed.
    let update = Invocation::new("apt-get update");
    if is_root && exists("apt-get") && (install.succeeds() || (update.succeeds() && install.succeeds())) {
        Ok(())
    } else {
        Err(format!("{missing} and none could be installed; run by hand as root: {install}"))
    }
}

/// One line a step, skipped ones with their reason, and the counts.
fn summary(report: &[(&str, Outcome)]) -> String {
    let width = report.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut text = String::from("\n");
    for (name, outcome) in report {
        let outcome = match outcome {
            Outcome::Passed(taken) => {
                passed += 1;
                format!("passed {:>8.1} s", taken.as_secs_f64())
            }
            Outcome::Failed(taken) => {
                failed += 1;
                format!("FAILED {:>8.1} s", taken.as_secs_f64())
            }
            Outcome::Skipped(reason) => {
                skipped += 1;
                format!("SKIPPED: {reason}")
            }
        };
        text += &format!("{name:<width$}  {outcome}\n");
    }
    text + &format!("steps: {passed} passed, {failed} failed, {skipped} skipped\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_hides_nothing() {
        let report = [
            ("format", Outcome::Passed(Duration::from_millis(1234))),
            ("wasm32", Outcome::Skipped("no target".into())),
            ("tests", Outcome::Failed(Duration::from_secs(12))),
        ];
        let expected = "
format  passed      1.2 s
wasm32  SKIPPED: no target
tests   FAILED     12.0 s
steps: 1 passed, 1 failed, 1 skipped
";
        assert_eq!(summary(&report), expected);
    }

    #[test]
    fn a_long_run_differs_in_the_statistical_tests_alone() {
        let lines = |long| steps(long).iter().map(|step| step.invocation.to_string()).collect::<Vec<_>>();
        let (short, long) = (lines(false), lines(true));
        assert_eq!(short[..short.len() - 1], long[..long.len() - 1]);
        assert_eq!(long.last().unwrap(), "RETICENT_LONG=1 cargo test --release -p dist-test -- --nocapture");
    }
}
