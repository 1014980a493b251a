//! The pages of the documents, followed from top to bottom as they stand: every command runs, and says what the page shows.
//!
//! | file | holds |
//! |---|---|
//! | `page` | pages, and what to do on them |
//! | `shell` | a reader's terminal |
//! | `alike` | whether a program says what a page shows |
//! | `ports` | free ports on loopback |
#![cfg(unix)]

mod alike;
mod page;
#[path = "../support/ports.rs"]
mod ports;
mod shell;

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use page::{Page, Step};
use shell::{PATIENCE, Shell};

/// How a page is followed.
struct Guide {
    page: &'static str,
    /// What is replaced in its text first.
    replaced: &'static [(&'static str, &'static str)],
    /// Commands with one of these words are not run.
    without: &'static [&'static str],
    /// Commands that contain one of these texts, or are shown with it in their output, end with this code instead of 0.
    codes: &'static [(&'static str, i32)],
    /// Commands with one of these words are repeated until they say what the page shows: something must happen first.
    repeated: &'static [&'static str],
    /// Lines with one of these words may be missing from an output, or be there: noise or the machine decides.
    optional: &'static [&'static str],
}

/// Every page with commands.
const GUIDES: [Guide; 10] = [START, TABLES, SUBSAMPLE, COUNTERS, SERVICE, STREAMS, LOCAL, PARTIES, LEDGER, AUDIT];

impl Guide {
    fn follow(&self) {
        let page = Page::read(self.page, self.replaced);
        let mut shell = Shell::new(self.page, &page);
        let mut commands = 0;
        for step in &page.steps {
            match step {
                Step::File { name, text } => fs::write(shell.folder.join(name), text).expect("written"),
                Step::Command { text, .. } if self.without.iter().any(|word| text.contains(word)) => {}
                Step::Command { text, shown } if text.starts_with("reticent serve") => {
                    let output = shell.start(text);
                    self.wait_for(text, shown, || fs::read_to_string(&output).unwrap_or_default());
                    commands += 1;
                }
                Step::Command { text, shown } if self.repeated.iter().any(|word| text.contains(word)) => {
                    self.wait_for(text, shown, || shell.run(text, false).1);
                    commands += 1;
                }
                Step::Command { text, shown } => {
                    let whole = format!("{text}\n{}\n", shown.join("\n"));
                    let code = self.codes.iter().find(|(part, _)| whole.contains(part)).map_or(0, |(_, code)| *code);
                    let (ended, said) = shell.run(text, code == 0);
                    assert_eq!(ended, code, "{}: {text}\n{said}", self.page);
                    let wrong = alike::difference(shown, &said, self.optional).filter(|_| !shown.is_empty());
                    assert_eq!(wrong, None, "{}: {text}\n{said}", self.page);
                    commands += 1;
                }
            }
        }
        assert!(commands > 0, "{} has no commands", self.page);
        shell.stop();
    }

    /// Waits until an output is what the page shows.
    fn wait_for(&self, command: &str, shown: &[String], mut said: impl FnMut() -> String) {
        let start = Instant::now();
        loop {
            let said = said();
            let Some(wrong) = alike::difference(shown, &said, self.optional) else { return };
            assert!(start.elapsed() < PATIENCE, "{}: {command}\n{said}\n{wrong}", self.page);
            sleep(Duration::from_millis(50));
        }
    }
}

const NOTHING: Guide = Guide { page: "", replaced: &[], without: &[], codes: &[], repeated: &[], optional: &[] };

const START: Guide = Guide { page: "start.md", ..NOTHING };

#[test]
fn the_start_can_be_pasted() {
    START.follow();
}

/// So few work in Direction that noise decides whether it is shown.
/// Bounds are not found once in a while, which is a refusal.
const TABLES: Guide = Guide { page: "tables.md", optional: &["Direction"], without: &["salary=auto"], ..NOTHING };

#[test]
fn private_tables_can_be_pasted() {
    TABLES.follow();
}

/// Runs do not wait for the end of their time, and have more of it. What isolates them depends on the machine.
const SUBSAMPLE: Guide = Guide {
    page: "subsample.md",
    replaced: &[
        ("people.csv --unit user", "people.csv --unpadded --unit user"),
        ("people.csv --unit row", "people.csv --unpadded --unit row"),
        ("--time-limit 200ms", "--time-limit 20s"),
    ],
    codes: &[("\nrefused\n", 3)],
    optional: &["at a time", "gave no answer", "--unpadded", " time ", " isolation ", "runs: "],
    ..NOTHING
};

#[cfg(target_os = "linux")]
#[test]
fn a_statistic_of_ones_own_can_be_pasted() {
    SUBSAMPLE.follow();
}

/// So few visit the page contact that noise decides whether it is shown.
const COUNTERS: Guide = Guide { page: "counters.md", optional: &[" contact "], ..NOTHING };

#[test]
fn continual_counting_can_be_pasted() {
    COUNTERS.follow();
}

/// At any free address, and without the link that only a terminal shows.
const SERVED: [(&str, &str); 2] =
    [("$ reticent serve", "$ reticent serve --listen 127.0.0.1:8080"), ("/#token=reticent_…", "/")];

/// The first steps must end. A client that nobody reads from any more fails.
const SERVICE: Guide = Guide {
    page: "service.md",
    replaced: &SERVED,
    codes: &[("releases/stream", 23)],
    repeated: &["stream show"],
    ..NOTHING
};

#[test]
fn the_service_can_be_pasted() {
    SERVICE.follow();
}

const STREAMS: Guide = Guide { page: "streams.md", replaced: &SERVED, ..NOTHING };

#[test]
fn streams_can_be_pasted() {
    STREAMS.follow();
}

/// In years to come, too.
const LOCAL: Guide = Guide {
    page: "local.md",
    replaced: &[SERVED[0], SERVED[1], ("2030-01-01", "2999-01-01")],
    codes: &[("already answered", 4)],
    ..NOTHING
};

#[test]
fn a_survey_can_be_pasted() {
    LOCAL.follow();
}

const PARTIES: Guide = Guide { page: "parties.md", ..NOTHING };

#[test]
fn parties_can_be_pasted() {
    PARTIES.follow();
}

/// Without those that read the file by another program, or one that nobody has.
const LEDGER: Guide = Guide {
    page: "ledger.md",
    without: &["sqlite3", "copy-of-last-week"],
    codes: &[("not enough budget left", 4)],
    ..NOTHING
};

#[test]
fn the_ledger_can_be_pasted() {
    LEDGER.follow();
}

const AUDIT: Guide = Guide { page: "audit.md", ..NOTHING };

#[test]
fn the_audit_can_be_pasted() {
    AUDIT.follow();
}

/// What a block of `sh` contains: it needs something that these tests do not have, and is not run.
const NOT_RUN: [&str; 4] = ["cargo install", "postgres://", "postgresql://", "sqlite3"];

#[test]
fn no_command_is_left_out() {
    for (name, text) in page::all() {
        let has_commands = page::steps(&text).iter().any(|step| matches!(step, Step::Command { .. }));
        assert_eq!(has_commands, GUIDES.iter().any(|guide| guide.page == name), "{name}");
        for (_, lines) in page::blocks(&text).into_iter().filter(|(language, _)| *language == "sh") {
            let lines = lines.join("\n");
            assert!(NOT_RUN.iter().any(|word| lines.contains(word)), "{name}: {lines}");
        }
    }
}

/// The commands of the README are on the pages, too, where they are run.
#[test]
fn the_readme_is_on_the_pages() {
    let words = |text: &str| text.split_whitespace().filter(|word| *word != "\\").collect::<Vec<_>>().join(" ");
    let pages: Vec<String> = page::all().iter().map(|(_, text)| words(text)).collect();
    let readme = fs::read_to_string(page::root().join("README.md")).expect("the README");
    let mut commands = 0;
    for line in readme.lines() {
        let command = line.trim_start().trim_start_matches("cargo run -p reticent-cli -- ");
        let is_command = command.len() < line.trim_start().len() || command.starts_with("reticent ");
        let command = words(command.split("  #").next().unwrap_or_default());
        commands += usize::from(is_command);
        assert!(!is_command || pages.iter().any(|page| page.contains(&command)), "{command}");
    }
    assert!(commands >= 5, "{commands} commands");
}
