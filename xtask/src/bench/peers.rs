//! The Python environment in which the peers are installed, as people install them.

use std::path::PathBuf;

use crate::process::{Invocation, exists, target};

/// Measures the peers' noise; prints the same lines as the `noise` benchmark.
pub const NOISE: &str = "xtask/src/bench/noise_peers.py";
/// Measures the peers' releases; prints the same lines as the `once` benchmark.
pub const ONCE: &str = "xtask/src/bench/once_peers.py";

/// Measures the peer's counters; prints the same lines as the `continual` benchmark.
pub const CONTINUAL: &str = "xtask/src/bench/continual_peers.py";

/// Measures the peer's local model; prints the same lines as the `local` benchmark.
pub const LOCAL: &str = "xtask/src/bench/local_peers.py";

/// Measures DataFusion, DuckDB and OpenDP on a Parquet file; prints the same lines as the `sql` benchmark.
pub const SQL: &str = "xtask/src/bench/sql_peers.py";

/// The peers, by name and version.
// pure-LDP imports statsmodels without declaring it.
const PACKAGES: [&str; 7] = [
    "numpy",
    "opendp[polars]==0.16.*",
    "jax-privacy==2.0.*",
    "pure-ldp==1.2.*",
    "statsmodels",
    "datafusion==55.*",
    "duckdb==2.*",
];
/// Succeeds if [`PACKAGES`] are installed.
const IS_READY: &str = "import datafusion, duckdb, numpy, polars, statsmodels, importlib.metadata as m; \
                        assert m.version('opendp').startswith('0.16.') and \
                        m.version('jax-privacy').startswith('2.0.') and m.version('pure-ldp').startswith('1.2.')";

/// The interpreter of a private environment with the peers in it, created if it is missing.
pub fn python() -> Result<PathBuf, String> {
    let folder = target().join("bench-venv");
    let python = folder.join("bin/python");
    if python.is_file() && Invocation::program(&python).argument("-c").argument(IS_READY).silently().succeeds() {
        return Ok(python);
    }
    eprintln!("installing {} into {} …", PACKAGES.join(", "), folder.display());
    let create = Invocation::new("python3 -m venv --clear").argument(folder.to_string_lossy());
    // On Debian the module is a separate package.
    let made = create.succeeds() || (installed_from_debian("python3-venv") && create.succeeds());
    if !made {
        return Err(format!("no Python environment could be created: {create}"));
    }
    let install = Invocation::program(&python).and("-m pip install --quiet --disable-pip-version-check");
    let install = PACKAGES.iter().fold(install, |install, &package| install.argument(package));
    if install.succeeds() { Ok(python) } else { Err(format!("the peers could not be installed: {install}")) }
}

/// Installs a Debian package, on systems that use them.
fn installed_from_debian(package: &str) -> bool {
    let steps = [Invocation::new("apt-get update"), Invocation::new("apt-get install --yes").argument(package)];
    exists("apt-get") && steps.iter().all(Invocation::succeeds)
}
