//! Checks the links in the documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders with pages to check, relative to the repository.
const FOLDERS: [&str; 2] = ["", "docs"];

/// The pages of the documentation: their paths relative to the repository, and their texts.
pub type Pages = BTreeMap<PathBuf, String>;

/// Reads every page.
///
/// # Errors
/// If one cannot be read.
pub fn pages(root: &Path) -> Result<Pages, String> {
    let mut pages = Pages::new();
    for folder in FOLDERS {
        let failed = |error| format!("{folder}: {error}");
        for entry in fs::read_dir(root.join(folder)).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let path = Path::new(folder).join(name);
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.insert(path.clone(), fs::read_to_string(root.join(&path)).map_err(failed)?);
            }
        }
    }
    Ok(pages)
}

/// Checks every link.
///
/// # Errors
/// One line for each broken link.
pub fn check(root: &Path, pages: &Pages) -> Result<(), String> {
    let broken = broken(pages, |path| root.join(path).exists());
    println!("{} pages, {} broken links", pages.len(), broken.len());
    if broken.is_empty() { Ok(()) } else { Err(broken.join("\n")) }
}

/// Broken relative links. All paths are relative to the repository.
fn broken(pages: &Pages, exists: impl Fn(&Path) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (path, text) in pages {
        for (line, link) in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { Some(path.clone()) } else { joined(path, file) };
            let leads = match target.as_ref().and_then(|target| pages.get(target)) {
                Some(page) => anchor.is_empty() || anchors(page).contains(anchor),
                None => anchor.is_empty() && target.is_some_and(|target| exists(&target)),
            };
            if !leads {
                broken.push(format!("{}:{line}: {link} leads nowhere", path.display()));
            }
        }
    }
    broken
}

/// The target path of a link in a page; `None` if it is outside the repository.
fn joined(page: &Path, file: &str) -> Option<PathBuf> {
    let mut path = page.parent()?.to_path_buf();
    for component in Path::new(file).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Lines outside code blocks, with their numbers.
pub fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(place, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        (!code && !fence).then_some((place + 1, line))
    })
}

/// Link targets, as in `](…)`, outside code.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let plain: String = line.split('`').step_by(2).collect();
        let targets = plain.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.extend(targets.map(|(target, _)| (number, target.to_owned())));
    }
    links
}

/// The anchors of headings, on GitHub and in the book.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(heading) = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')) else {
            continue;
        };
        let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
        let anchor: String = heading.trim().to_lowercase().chars().filter(kept).collect();
        let anchor = anchor.replace(' ', "-");
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let free = std::iter::once(anchor.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken_links(page: &str) -> Vec<String> {
        let other = "# Other\n\n## What's new, in `0.2`?\n\n## Twice\n\n## Twice\n\n```\n## Code\n```\n";
        let pages = Pages::from([
            (PathBuf::from("docs/page.md"), page.to_owned()),
            (PathBuf::from("docs/other.md"), other.to_owned()),
        ]);
        broken(&pages, |path| ["README.md", "docs/figures/a.svg"].contains(&path.to_str().unwrap()))
    }

    #[test]
    fn links_that_lead_somewhere_are_not_told() {
        let page = "# A page\n\n[a](other.md), [b](other.md#whats-new-in-02) and [c](#a-page)\n[d](other.md#twice-1)\n\
                    ![e](figures/a.svg) [f](../README.md) [g](https://example.org/nothing) `[h](nowhere.md)`\n\n\
                    ```\n[i](nowhere.md)\n```\n";
        assert_eq!(broken_links(page), Vec::<String>::new());
    }

    #[test]
    fn links_that_lead_nowhere_are_told_with_their_line() {
        let page = "# A page\n[a](nowhere.md)\n[b](other.md#code) [c](#nothing)\n\n[d](other.md#twice-2)\n[e](../../etc/passwd)\n";
        let expected =
            ["2: nowhere.md", "3: other.md#code", "3: #nothing", "5: other.md#twice-2", "6: ../../etc/passwd"];
        assert_eq!(broken_links(page), expected.map(|told| format!("docs/page.md:{told} leads nowhere")));
    }
}
