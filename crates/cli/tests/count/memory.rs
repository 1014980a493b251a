//! What an attacker finds in the memory of a counter that may be seized.
//!
//! Distinctive numbers are counted; when their releases have appeared, and the input stays open, the whole memory of
//! the process is searched for them, as text and as binary numbers. If a process may not read another's memory there is
//! nothing to test, and the test says so.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};

use super::*;

/// Numbers that hardly ever occur in a process by chance.
const CANARIES: [i64; 5] = [739_184_620_573, 284_710_395_866, 610_937_254_418, 158_846_203_971, 927_301_586_442];

/// A form of input: its name, its header, and how it writes a number.
type Form = (&'static str, &'static str, fn(i64) -> String);

const FORMS: [Form; 4] = [
    ("text", "", |number| format!("{number}\n")),
    ("csv", "who,n\n", |number| format!("\"someone\",\"{number}\"\n")),
    ("ndjson", "", |number| format!("{{\"who\":\"someone\",\"n\":{number}}}\n")),
    // In quotes, with an escape, and with an exponent: whatever takes more than digits.
    ("ndjson", "", |number| match number % 3 {
        0 => format!("{{\"n\":\"{number}\"}}\n"),
        1 => format!("{{\"\\u006e\":\" {number}\\u0020\"}}\n"),
        _ => format!("{{\"n\":{number}.0e0}}\n"),
    }),
];

/// The canaries found in the memory of `reticent count`; `None` if it must not be looked at.
fn found(counter: &str, seizure: &str, (input, header, line): Form) -> Option<Vec<String>> {
    let mut arguments =
        vec!["-", "--epsilon", "1", "--horizon", "1024", "--range", "0..1000000000000", "--format", "csv"];
    arguments.extend(["--counter", counter, "--input", input]);
    if input != "text" {
        arguments.extend(["--column", "n"]);
    }
    let mut child = command(&arguments).env("RETICENT_TEST_SEIZURE", seizure).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let lines = header.to_owned() + &CANARIES.map(line).concat();
    stdin.write_all(lines.as_bytes()).expect("written");
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    for _ in 0..=CANARIES.len() {
        stdout.read_line(&mut String::new()).expect("read");
    }
    // The last release has been printed; now the process waits for more.
    memory_search::wait_until_asleep(child.id());
    let found = search(child.id());
    drop(stdin);
    assert!(child.wait().expect("it ends").success());
    found
}

fn search(process: u32) -> Option<Vec<String>> {
    let bytes = memory_search::memory(process)?;
    let mut found = Vec::new();
    for canary in CANARIES {
        let forms = [
            ("text", canary.to_string().into_bytes()),
            ("number", canary.to_le_bytes().to_vec()),
            ("negative number", (-canary).to_le_bytes().to_vec()),
        ];
        for (form, needle) in forms {
            if memchr::memmem::find(&bytes, &needle).is_some() {
                found.push(format!("{canary} as {form}"));
            }
        }
    }
    Some(found)
}

#[test]
fn nothing_of_the_data_is_left_in_a_pan_private_counter() {
    for counter in ["pan-private", "pan-private-surviving"] {
        for form in FORMS {
            let Some(found) = found(counter, "look", form) else { return };
            assert!(found.is_empty(), "{counter}, {form:?}: {found:?}");
        }
    }
}

/// The control: the search finds what is there.
#[test]
fn an_ordinary_counter_keeps_what_it_read() {
    for form in FORMS {
        let Some(found) = found("binary", "look", form) else { return };
        assert!(found.len() >= CANARIES.len(), "{form:?}: {found:?}");
    }
}

/// The control with the same counter: it is the erasure that removes the data.
#[cfg(debug_assertions)]
#[test]
fn without_erasing_a_pan_private_counter_keeps_what_it_read() {
    for counter in ["pan-private", "pan-private-surviving"] {
        let Some(found) = found(counter, "keep", FORMS[0]) else { return };
        assert!(found.len() >= CANARIES.len(), "{counter}: {found:?}");
    }
}

/// No other process can read it, and no core dump is written.
#[test]
fn a_pan_private_counter_cannot_be_dumped() {
    let mut child = command(&["-", "--epsilon", "1", "--horizon", "8", "--counter", "pan-private", "--format", "csv"])
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(b"1\n").expect("written");
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut String::new()).expect("read");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id()));
    let memory = File::open(format!("/proc/{}/mem", child.id()));
    drop(stdin);
    child.wait().expect("it ends");
    let limits = limits.expect("limits are public");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a limit");
    assert_eq!(core.split_whitespace().rev().nth(1), Some("0"), "{core}");
    // The superuser can read everything.
    let superuser = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata("/proc/self").expect("this process")) == 0;
    assert!(superuser || memory.is_err());
}

#[test]
fn what_would_keep_raw_data_is_refused() {
    for (arguments, message) in
        [("--save state.json", "cannot be saved"), ("--time at --step 1m --from 0", "leave --step out")]
    {
        let output =
            count_with(&format!("- --epsilon 1 --horizon 8 --counter pan-private {arguments}"), b"at,n\n1,2\n");
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert!(text(&output.stderr).contains(message), "{arguments}: {}", text(&output.stderr));
        assert!(!std::path::Path::new("state.json").exists());
    }
    let output = count_with("- --epsilon 1 --unbounded --counter pan-private", b"1\n");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
