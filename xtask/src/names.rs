//! Checks that the code named in the documentation exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::links::{Pages, prose};

/// The names of functions, types, variants and modules, and the files in which each stands.
type Names = BTreeMap<String, BTreeSet<PathBuf>>;

/// Checks every page in `docs`. The other pages also name what there was before.
///
/// # Errors
/// One line for each file, function or type that does not exist.
pub fn check(root: &Path, pages: &Pages) -> Result<(), String> {
    let mut names = Names::new();
    for entry in fs::read_dir(root.join("crates")).map_err(|error| error.to_string())? {
        collect(&entry.map_err(|error| error.to_string())?.path().join("src"), &mut names)?;
    }
    let mut missing = Vec::new();
    for (path, text) in pages.iter().filter(|(path, _)| path.starts_with("docs")) {
        let told = unknown(text, &names, |file| root.join(file).exists());
        missing.extend(told.into_iter().map(|told| format!("{}:{told}", path.display())));
    }
    if missing.is_empty() { Ok(()) } else { Err(missing.join("\n")) }
}

/// Collects the names in a folder.
fn collect(folder: &Path, names: &mut Names) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let mut add = |name: &str| _ = names.entry(name.to_owned()).or_default().insert(path.clone());
        path.file_stem().into_iter().for_each(|name| add(&name.to_string_lossy()));
        if path.is_dir() {
            collect(&path, names)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            let words: Vec<&str> = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').collect();
            // A function by its definition: as a word alone its name may be anything. A type or variant by its name.
            words.windows(2).filter(|pair| pair[0] == "fn").for_each(|pair| add(pair[1]));
            words
                .iter()
                .filter(|word| word.starts_with(|letter: char| letter.is_uppercase()))
                .for_each(|word| add(word));
        }
    }
    Ok(())
}

/// Paths such as `crates/core/src/permit.rs` and names such as `Permit::spend` that do not exist, each with its line.
fn unknown(text: &str, names: &Names, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let mut unknown = Vec::new();
    for (number, line) in prose(text) {
        for code in line.split('`').skip(1).step_by(2) {
            let is_name =
                code.contains("::") && code.chars().all(|letter| letter.is_alphanumeric() || "_:".contains(letter));
            if (code.starts_with("crates/") && !exists(code)) || (is_name && !is_known(code, names, &exists)) {
                unknown.push(format!("{number}: {code} does not exist"));
            }
        }
    }
    unknown
}

/// Whether each part is the name of something, and what follows a type stands in a file with that type.
fn is_known(code: &str, names: &Names, exists: impl Fn(&str) -> bool) -> bool {
    // Crates go by the names of their folders, and by those of their packages.
    let is_crate = |part: &&str| part.starts_with("reticent") || exists(&format!("crates/{part}"));
    let parts: Vec<&str> = code.split("::").skip_while(is_crate).collect();
    let is_type = |part: &str| part.starts_with(|letter: char| letter.is_uppercase());
    let pairs = parts.windows(2).filter(|pair| is_type(pair[0]));
    parts.iter().all(|part| names.contains_key(*part))
        && pairs.into_iter().all(|pair| !names[pair[0]].is_disjoint(&names[pair[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_is_told_with_its_line() {
        let page = "`Permit::spend`, `core::permit` and `crates/core`\n`Permit::lend`, `core::loans`\n\n`crates/loans`\n\
                    ```\n`Permit::lend`\n```\n`a::b c`\n";
        let files = [("Permit", "permit.rs"), ("spend", "permit.rs"), ("permit", "permit.rs"), ("lend", "loan.rs")];
        let names = files.map(|(name, file)| (name.to_owned(), [PathBuf::from(file)].into())).into();
        let told = unknown(page, &names, |path| path == "crates/core");
        assert_eq!(
            told,
            ["2: Permit::lend", "2: core::loans", "4: crates/loans"].map(|told| format!("{told} does not exist"))
        );
    }
}
