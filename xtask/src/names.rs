//! Checks that the code named in the documentation exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::links::{Pages, prose};

/// Checks every page in `docs`. The other pages also name what there was before.
///
/// # Errors
/// One line for each file, function or type that does not exist.
pub fn check(root: &Path, pages: &Pages) -> Result<(), String> {
    let mut defined = BTreeSet::new();
    for entry in fs::read_dir(root.join("crates")).map_err(|error| error.to_string())? {
        define(&entry.map_err(|error| error.to_string())?.path().join("src"), &mut defined)?;
    }
    let pages = pages.iter().filter(|(path, _)| path.starts_with("docs"));
    let unknown: Vec<String> = pages
        .flat_map(|(path, text)| {
            unknown(text, &defined, |file| root.join(file).exists())
                .into_iter()
                .map(move |told| format!("{}:{told}", path.display()))
        })
        .collect();
    if unknown.is_empty() { Ok(()) } else { Err(unknown.join("\n")) }
}

/// Collects the names of all functions, types, variants and modules in a folder.
fn define(folder: &Path, defined: &mut BTreeSet<String>) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        defined.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
        if path.is_dir() {
            define(&path, defined)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
            // A function by its definition: as a word alone its name may be anything. A type or variant by its name.
            let functions = words.windows(2).filter(|pair| pair[0] == "fn").map(|pair| pair[1]);
            let types = words.iter().copied().filter(|word| word.starts_with(|letter: char| letter.is_uppercase()));
            defined.extend(functions.chain(types).map(str::to_owned));
        }
    }
    Ok(())
}

/// Paths such as `crates/core/src/permit.rs` and names such as `Permit::spend` that do not exist, each with its line.
fn unknown(text: &str, defined: &BTreeSet<String>, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut unknown = Vec::new();
    for (number, line) in prose(text) {
        for code in line.split('`').skip(1).step_by(2) {
            let is_name =
                code.contains("::") && code.chars().all(|letter| letter.is_alphanumeric() || "_:".contains(letter));
            // Crates go by the names of their folders, and by those of their packages.
            let mut parts =
                code.split("::").filter(|part| !part.starts_with("reticent") && !exists(&format!("crates/{part}")));
            if (code.starts_with("crates/") && !exists(code)) || (is_name && !parts.all(|part| defined.contains(part)))
            {
                unknown.push(format!("{number}: {code} does not exist"));
            }
        }
    }
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_told_with_its_line() {
        let page = "`Permit::spend`, `core::permit` and `crates/core`\n`Permit::lend`, `core::loans`\n\n`crates/loans`\n\
                    ```\n`Permit::lend`\n```\n`a::b c`\n";
        let defined = ["Permit", "spend", "permit"].map(String::from).into();
        let told = unknown(page, &defined, |path| path == "crates/core");
        assert_eq!(
            told,
            ["2: Permit::lend", "2: core::loans", "4: crates/loans"].map(|told| format!("{told} does not exist"))
        );
    }
}
