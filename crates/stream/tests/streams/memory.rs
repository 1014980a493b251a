//! Distinctive events go through a process; its memory and its data directory are searched for them.
//!
//! Where one process may not look into another's memory there is nothing to test, and the test says so.
#![cfg(target_os = "linux")]

use std::io::Write;

use crate::bench::{Bench, START, definition};
use crate::child::Process;

/// Numbers that occur in a process by chance hardly ever.
const VALUES: [i64; 5] = [739_184_620_573, 284_710_395_866, 610_937_254_418, 158_846_203_971, 927_301_586_442];
const ID: &str = "canary-that-is-an-id-";
const KEY: &str = "canary-that-is-a-key";

/// What is looked for: a name and the bytes.
fn needles() -> Vec<(String, Vec<u8>)> {
    let mut needles = vec![("an id".to_owned(), ID.into()), ("a key".to_owned(), KEY.into())];
    let mut sum = 0;
    for value in VALUES {
        needles.push((format!("{value} as text"), value.to_string().into_bytes()));
        needles.push((format!("{value} as a number"), value.to_le_bytes().to_vec()));
        sum += value;
        needles.push((format!("the sum up to {value}"), sum.to_le_bytes().to_vec()));
    }
    needles
}

/// What is found in memory, and what on the disk; nothing if memory must not be looked at.
fn found(keys: &str, mode: &str) -> Option<(Vec<String>, Vec<String>)> {
    let bench = Bench::new();
    // Two events a step: the fifth lies in a step that is open.
    let text =
        format!("name='s'\nstep='2 events'\nhorizon=1000\nrange='0..1000000000000'\nepsilon='1'\nkeys={keys}\n{mode}");
    bench.open().create(definition(&text), "ada").unwrap();
    let mut process = Process::start(&bench, "read", START, 0, "");
    let key = |index| if index == 3 { KEY } else { "a" };
    let line = |(index, value)| format!("{{\"id\":\"{ID}{index}\",\"key\":\"{}\",\"value\":{value}}}\n", key(index));
    let text: String = VALUES.iter().enumerate().map(line).collect();
    process.input.write_all(text.as_bytes()).unwrap();
    while process.hear().unwrap() != ("released".to_owned(), vec![2]) {}
    // The last event is counted when the reader waits for more: its thread sleeps in a read of the pipe.
    memory_search::wait_until_asleep(process.child.id());
    let memory = memory_search::memory(process.child.id())?;
    let disk = memory_search::files(&bench.directory());
    drop(process.input);
    assert!(process.child.wait().unwrap().success());
    let search = |bytes: &[u8]| -> Vec<String> {
        let there = needles().into_iter().filter(|(_, needle)| memchr::memmem::find(bytes, needle).is_some());
        there.map(|(name, _)| name).collect()
    };
    Some((search(&memory), search(&disk)))
}

#[test]
fn nothing_of_an_event_is_left_in_memory_or_on_the_disk() {
    for counter in ["pan-private", "pan-private-surviving"] {
        let Some((memory, disk)) = found("['a','b']", &format!("mode='pan-private'\ncounter='{counter}'")) else {
            return;
        };
        assert!(memory.is_empty() && disk.is_empty(), "{counter}: in memory {memory:?}, on disk {disk:?}");
    }
}

/// The control: the same search finds what a curator keeps.
#[test]
fn a_curator_keeps_what_it_counts() {
    let Some((memory, disk)) = found("'selected'", "delta='1e-9'") else { return };
    assert!(memory.iter().any(|found| found.ends_with("as a number")), "{memory:?}");
    assert!(memory.iter().any(|found| found.starts_with("the sum")), "{memory:?}");
    assert!(disk.contains(&"a key".to_owned()), "{disk:?}");
}
