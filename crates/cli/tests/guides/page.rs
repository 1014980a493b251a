//! Pages of the documents, and what to do on them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::ports::free;

/// Loopback, as pages write it before a port.
const LOOPBACK: &str = "127.0.0.1:";

/// A page, ready to be followed.
pub struct Page {
    pub steps: Vec<Step>,
    /// The free address that stands for each one on the page.
    pub addresses: BTreeMap<String, String>,
}

/// Something that a page tells its reader to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Write a file: a block of TOML that begins with `# NAME.toml`.
    File { name: String, text: String },
    /// Run a command: a line of a block that begins with `$ `, with the lines that continue it.
    Command { text: String, shown: Vec<String> },
}

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All pages: their names and texts.
pub fn all() -> Vec<(String, String)> {
    let files = fs::read_dir(root().join("docs")).expect("the pages").map(|file| file.expect("a page").path());
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let pages = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages.map(|path| (name(&path), fs::read_to_string(&path).expect("text"))).collect()
}

impl Page {
    /// Reads a page, with some of its text replaced and every address on loopback by a free one.
    pub fn read(name: &str, replaced: &[(&str, &str)]) -> Self {
        let mut text = fs::read_to_string(root().join("docs").join(name)).expect("the page");
        for (from, to) in replaced {
            assert!(text.contains(from), "{name} does not contain {from:?}");
            text = text.replace(from, to);
        }
        let mut addresses = BTreeMap::new();
        for rest in text.split(LOOPBACK).skip(1) {
            let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
            addresses.entry(format!("{LOOPBACK}{port}")).or_insert_with(free);
        }
        for (from, to) in &addresses {
            text = text.replace(from, to);
        }
        Self { steps: steps(&text), addresses }
    }
}

/// The blocks of a page: the language of each, and its lines.
pub fn blocks(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            blocks.push((language, lines.by_ref().take_while(|line| *line != "```").collect()));
        }
    }
    blocks
}

/// What a page's blocks tell its reader to do.
pub fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for (language, lines) in blocks(page) {
        match (language, lines.as_slice()) {
            ("", lines) => steps.extend(commands(lines)),
            ("toml", [first, lines @ ..]) if first.starts_with("# ") && first.ends_with(".toml") => {
                let text = lines.iter().flat_map(|line| [*line, "\n"]).collect();
                steps.push(Step::File { name: first[2..].to_owned(), text });
            }
            _ => {}
        }
    }
    steps
}

/// The commands of a block, and what it shows of their outputs. A command goes on after a backslash, and within single quotes.
fn commands(block: &[&str]) -> Vec<Step> {
    let mut commands: Vec<(String, Vec<String>)> = Vec::new();
    let mut goes_on = false;
    for line in block {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (_, Some((text, _))) if goes_on => text.extend(["\n", *line]),
            (Some(first), _) => commands.push((first.to_owned(), Vec::new())),
            (None, Some((_, shown))) => shown.push((*line).to_owned()),
            (None, None) => panic!("{line:?} is no command: begin it with $, or name the block's language"),
        }
        let is_open = |text: &str| text.ends_with('\\') || text.matches('\'').count() % 2 == 1;
        goes_on = commands.last().is_some_and(|(text, shown)| shown.is_empty() && is_open(text));
    }
    commands.into_iter().map(|(text, shown)| Step::Command { text, shown }).collect()
}

#[test]
fn commands_files_and_outputs_are_told_apart() {
    let page = "# Page\n$ not a command\n```\n$ one \\\n    two\nfirst\n  second\n$ say '{\n  }'\n```\n\
                ```toml\n# a.toml\nx = 1\n```\n```toml\ny = 1\n```\n```\n$ three\n```\n";
    let command = |text: &str, shown: &[&str]| Step::Command {
        text: text.into(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    let file = Step::File { name: "a.toml".into(), text: "x = 1\n".into() };
    let expected =
        [command("one \\\n    two", &["first", "  second"]), command("say '{\n  }'", &[]), file, command("three", &[])];
    assert_eq!(steps(page), expected);
}
