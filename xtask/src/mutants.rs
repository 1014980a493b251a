//! `cargo xtask mutants`: private SQL, broken on purpose in one place at a time, must fail its tests.
//!
//! A test that has never failed shows nothing. Each mutant is a copy of the sources in which a rule of
//! `crates/sql/src/algebra` does not hold; it must be detected by neighbour replay, which knows nothing of the rule.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Invocation, root, target};

/// Enough queries to detect every mutant, and to pass without one.
const QUERIES: &str = "5000";

/// A broken rule, and where it is broken.
struct Mutant {
    /// What no longer holds.
    broken: &'static str,
    /// Files, texts that occur in them once, and their replacements. A rule that is checked in two places is broken in
    /// both.
    edits: &'static [(&'static str, &'static str, &'static str)],
}

const MUTANTS: [Mutant; 8] = [
    Mutant {
        broken: "a projection keeps the unit of its row (taken from the last column of its type instead)",
        edits: &[(
            "crates/sql/src/engine/push.rs",
            "sink(chunk.with_columns(columns))\n            }),",
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
        edits: &[(
            "crates/sql/src/engine/push.rs",
            "Grouping::of(std::slice::from_ref(&both), both.len())",
            "Grouping::of(&[], both.len())",
        )],
    },
    Mutant {
        broken: "rows of different units are never in one group within units",
        edits: &[
            (
                "crates/sql/src/resolve/select.rs",
                "rows.unit().is_some() && names.iter().any(|name| name.is_unit)",
                "rows.unit().is_some()",
            ),
            (
                "crates/sql/src/engine/push.rs",
                "std::iter::once(unit).chain(keys).cloned().collect()",
                "keys.cloned().collect()",
            ),
        ],
    },
    Mutant {
        broken: "a table in both sides of UNION ALL has its copies added up",
        edits: &[(
            "crates/sql/src/algebra/rows.rs",
            "*total = total.saturating_add(copies)",
            "*total = (*total).max(copies)",
        )],
    },
    Mutant {
        broken: "a row is joined with at most one public row where the row is the unit",
        edits: &[
            (
                "crates/sql/src/resolve/join.rs",
                "rows.unit().is_none() && lookup.most_matches() > 1",
                "rows.unit().is_none() && lookup.most_matches() > 3",
            ),
            (
                "crates/sql/src/algebra/rows.rs",
                "(table, copies.saturating_mul(lookup.most_matches()))",
                "(table, copies.saturating_mul(lookup.most_matches().min(1)))",
            ),
        ],
    },
    Mutant {
        broken: "every expression is total (a text that is no whole number ends the run)",
        edits: &[(
            "crates/sql/src/algebra/function/cast.rs",
            "|text| text.trim().parse().ok())",
            "|text| Some(text.trim().parse().expect(\"a number\")))",
        )],
    },
    Mutant {
        broken: "the clock stands still",
        edits: &[(
            "crates/sql/src/resolve/mod.rs",
            "|now| Some(Value::Timestamp(now))",
            "|_| Some(Value::Timestamp(jiff::Timestamp::now().as_microsecond()))",
        )],
    },
    Mutant {
        broken: "contribution bounding limits the rows of a unit in a group",
        edits: &[("crates/bounding/src/keep.rs", "let most = self.most;", "let most = self.most + 1;")],
    },
];

/// Tests the unchanged sources, then each mutant whose description contains a word, or all.
pub fn run(word: &str) -> Result<(), String> {
    let tree = target().join("mutants");
    copy_sources(&tree)?;
    println!("── unchanged");
    if !replay(&tree).succeeds() {
        return Err("the tests fail without any mutant".into());
    }
    let mut survivors = Vec::new();
    let mutants: Vec<&Mutant> = MUTANTS.iter().filter(|mutant| mutant.broken.contains(word)).collect();
    for mutant in &mutants {
        println!("── broken: {}", mutant.broken);
        let changed = mutant.applied()?;
        for (file, text) in &changed {
            fs::write(tree.join(file), text).map_err(|error| format!("{file}: {error}"))?;
        }
        if !replay(&tree).and("--no-run").succeeds() {
            return Err(format!("this mutant cannot be built: {}", mutant.broken));
        }
        let noticed = !replay(&tree).silently().succeeds();
        println!("{}", if noticed { "noticed" } else { "NOT NOTICED" });
        if !noticed {
            survivors.push(mutant.broken);
        }
        for file in changed.keys() {
            fs::copy(root().join(file), tree.join(file)).map_err(|error| format!("{file}: {error}"))?;
        }
    }
    match survivors[..] {
        [] => {
            println!("all {} mutants were noticed", mutants.len());
            Ok(())
        }
        _ => Err(format!("no test noticed that these no longer hold:\n{}", survivors.join("\n"))),
    }
}

impl Mutant {
    /// The files that it changes, in their mutated form.
    fn applied(&self) -> Result<BTreeMap<&'static str, String>, String> {
        let mut changed = BTreeMap::new();
        for (file, from, to) in self.edits {
            let sound = || fs::read_to_string(root().join(file)).map_err(|error| format!("{file}: {error}"));
            let text = changed.remove(file).map_or_else(sound, Ok)?;
            match text.matches(from).count() {
                1 => changed.insert(*file, text.replace(from, to)),
                times => return Err(format!("{file}: {from:?} occurs {times} times instead of once")),
            };
        }
        Ok(changed)
    }
}

/// Built next to the workspace's own crates, under another version, so that nothing else is rebuilt.
fn replay(tree: &Path) -> Invocation {
    let manifest = tree.join("Cargo.toml").to_string_lossy().into_owned();
    Invocation::new("cargo test --workspace --test replay --manifest-path")
        .argument(manifest)
        .and("--target-dir")
        .argument(target().to_string_lossy())
        .variable("RETICENT_QUERIES", QUERIES)
}

/// The files tracked by git, as in the working tree.
fn copy_sources(to: &Path) -> Result<(), String> {
    let files = Invocation::new("git ls-files").output()?;
    for file in files.lines().map(PathBuf::from) {
        let copy = to.join(&file);
        let folder = copy.parent().unwrap_or(to);
        let done = fs::create_dir_all(folder).and_then(|()| fs::copy(root().join(&file), &copy));
        done.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    // Cargo distinguishes crates of two workspaces by their versions, not by their folders: the next build would
    // mistake a mutant of the same version for the crate itself.
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
            for (file, text) in mutant.applied().unwrap() {
                assert_ne!(fs::read_to_string(root().join(file)).unwrap(), text, "{}", mutant.broken);
            }
        }
    }
}
