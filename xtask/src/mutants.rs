//! `cargo xtask mutants`: private SQL, broken on purpose in one place at a time, must fail its tests.
//!
//! A test that has never failed shows nothing. Each mutant is a copy of the sources in which a rule of `crates/sql/src/algebra` does
//! not hold; what must notice it is neighbour replay, which knows nothing of the rule.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Invocation, root, target};

/// Queries that are enough to notice every mutant, and to pass without one.
const QUERIES: &str = "5000";

/// A rule that is broken, and where.
struct Mutant {
    /// What no longer holds.
    broken: &'static str,
    file: &'static str,
    /// Each text stands in the file once, and is replaced.
    edits: &'static [(&'static str, &'static str)],
}

const MUTANTS: [Mutant; 8] = [
    Mutant {
        broken: "a projection keeps the unit of its row (taken from the last column of its type instead)",
        file: "crates/sql/src/engine/push.rs",
        edits: &[(
            "sink(chunk.with_columns(columns))\n        }),",
            "let columns: Vec<ArrayRef> = columns;
            let like = |unit: &ArrayRef| columns.iter().rfind(|one| one.data_type() == unit.data_type()).cloned();
            let unit = chunk.unit().and_then(like);
            if chunk.unit().is_some() && unit.is_none() { sink(chunk.with_columns(columns)) }
            else { sink(Chunk::new(unit, columns, rows)) }
        }),",
        )],
    },
    Mutant {
        broken: "a join pairs rows of one unit only",
        file: "crates/sql/src/engine/push.rs",
        edits: &[("Grouping::of(std::slice::from_ref(&both), both.len())", "Grouping::of(&[], both.len())")],
    },
    Mutant {
        broken: "rows of different units are never in one group within units",
        file: "crates/sql/src/engine/push.rs",
        edits: &[
            (
                "aggregated(&data, std::slice::from_ref(&unit), keys, aggregates)",
                "aggregated(&data, &[], keys, aggregates)",
            ),
            ("std::iter::once(&unit).chain(keyed.columns()).cloned().collect()", "keyed.columns().to_vec()"),
        ],
    },
    Mutant {
        broken: "a table in both sides of UNION ALL has its copies added up",
        file: "crates/sql/src/algebra/rows.rs",
        edits: &[("*total = total.saturating_add(copies)", "*total = (*total).max(copies)")],
    },
    Mutant {
        broken: "a row is joined with at most one public row where the row is the unit",
        file: "crates/sql/src/resolve/join.rs",
        edits: &[(
            "rows.unit().is_none() && lookup.most_matches() > 1",
            "rows.unit().is_none() && lookup.most_matches() > 3",
        )],
    },
    Mutant {
        broken: "every expression is total (a text that is no whole number ends the run)",
        file: "crates/sql/src/algebra/function/cast.rs",
        edits: &[("|text| text.trim().parse().ok())", "|text| Some(text.trim().parse().expect(\"a number\")))")],
    },
    Mutant {
        broken: "the clock stands still",
        file: "crates/sql/src/resolve/mod.rs",
        edits: &[("Value::Timestamp(self.now)", "Value::Timestamp(jiff::Timestamp::now().as_microsecond())")],
    },
    Mutant {
        broken: "a unit has at most so many rows in a group",
        file: "crates/bounding/src/keep.rs",
        edits: &[("let most = self.most_rows;", "let most = self.most_rows + 1;")],
    },
];

/// Tests the sources as they are, then each mutant.
pub fn run() -> Result<(), String> {
    let tree = target().join("mutants");
    copy_sources(&tree)?;
    println!("── as it is");
    if !replay(&tree).succeeds() {
        return Err("the tests fail without any mutant".into());
    }
    let mut survivors = Vec::new();
    for mutant in &MUTANTS {
        println!("── broken: {}", mutant.broken);
        let path = tree.join(mutant.file);
        let sound = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        fs::write(&path, mutant.applied(&sound)?).map_err(|error| error.to_string())?;
        if !replay(&tree).and("--no-run").succeeds() {
            return Err(format!("this mutant cannot be built: {}", mutant.broken));
        }
        let noticed = !replay(&tree).silently().succeeds();
        println!("{}", if noticed { "noticed" } else { "NOT NOTICED" });
        if !noticed {
            survivors.push(mutant.broken);
        }
        fs::write(&path, sound).map_err(|error| error.to_string())?;
    }
    match survivors[..] {
        [] => {
            println!("all {} mutants were noticed", MUTANTS.len());
            Ok(())
        }
        _ => Err(format!("nobody noticed that these no longer hold:\n{}", survivors.join("\n"))),
    }
}

impl Mutant {
    fn applied(&self, sound: &str) -> Result<String, String> {
        self.edits.iter().try_fold(sound.to_owned(), |text, (from, to)| match text.matches(from).count() {
            1 => Ok(text.replace(from, to)),
            times => Err(format!("{}: {from:?} stands there {times} times instead of once", self.file)),
        })
    }
}

/// Built beside the workspace's own crates, so that nothing else is built anew: they are of another version.
fn replay(tree: &Path) -> Invocation {
    let manifest = tree.join("Cargo.toml").to_string_lossy().into_owned();
    Invocation::new("cargo test --workspace --test replay --manifest-path")
        .argument(manifest)
        .and("--target-dir")
        .argument(target().to_string_lossy())
        .variable("RETICENT_QUERIES", QUERIES)
}

/// What git knows of, as it is in the working tree.
fn copy_sources(to: &Path) -> Result<(), String> {
    let files = Invocation::new("git ls-files").output()?;
    for file in files.lines().map(PathBuf::from) {
        let copy = to.join(&file);
        let folder = copy.parent().unwrap_or(to);
        let done = fs::create_dir_all(folder).and_then(|()| fs::copy(root().join(&file), &copy));
        done.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    // Cargo tells crates of two workspaces apart by their versions, not by their folders: a mutant of the same version would be taken for
    // the crate itself by the next build.
    let (manifest, own) = (to.join("Cargo.toml"), env!("CARGO_PKG_VERSION"));
    let other = |text: String| text.replacen(&format!("\"{own}\""), &format!("\"{own}+mutant\""), 1);
    let renamed = fs::read_to_string(&manifest).map(other).and_then(|text| fs::write(&manifest, text));
    renamed.map_err(|error| format!("{}: {error}", manifest.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mutants that no longer apply would show nothing.
    #[test]
    fn every_mutant_applies_to_the_sources() {
        for mutant in &MUTANTS {
            let sound = fs::read_to_string(root().join(mutant.file)).unwrap();
            assert_ne!(mutant.applied(&sound).unwrap(), sound, "{}", mutant.broken);
        }
    }
}
