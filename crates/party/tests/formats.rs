//! Files in the formats of today, made by the program, must open with whatever the code becomes.
//!
//! A change of a format must raise its version and add a fixture. These stay as they are: they must still open, or be refused with a text
//! that `docs/formats.md` tells. What is hashed and signed must stay the same to the byte: hash and signatures are checked.

use std::fs;
use std::path::{Path, PathBuf};

use reticent_party::{PrivateKey, State, Task, Transcript};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn task() -> Task {
    Task::read(&fixture("task.toml")).unwrap()
}

#[test]
fn a_task_has_the_hash_it_had() {
    assert_eq!(task().hash().to_string(), "91aa10ff643e93a42f93d03f85443eb6a9600262d4644bcd5f71cc0d319fd533");
}

#[test]
fn a_transcript_of_version_1_is_sound_and_other_versions_are_refused() {
    let transcript = Transcript::read(&fixture("transcript-1.json")).unwrap();
    assert!(transcript.verify(Some(&task())).is_sound());
    assert_eq!((transcript.attempt, transcript.output), (1, vec![3, 2]));
    let text =
        fs::read_to_string(fixture("transcript-1.json")).unwrap().replacen("\"version\": 1", "\"version\": 2", 1);
    let refused = Transcript::from_json(text.as_bytes()).unwrap_err();
    assert_eq!(refused, "transcript version 2, but this program reads 1");
}

#[test]
fn attempts_of_version_1_are_remembered() {
    let (folder, hash) = (tempfile::tempdir().unwrap(), task().hash());
    fs::copy(fixture("attempts-1.json"), folder.path().join(format!("attempts-{hash}.json"))).unwrap();
    let state = State::open(folder.path()).unwrap();
    assert_eq!(state.next(hash).unwrap(), 2);
    assert!(state.mark_used(hash, 1).is_err() && state.mark_used(hash, 2).is_ok());
}

#[cfg(unix)]
#[test]
fn a_key_is_the_one_of_its_task() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("north.key");
    fs::copy(fixture("north.key"), &path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(PrivateKey::read(&path).unwrap().public(), task().parties()[0].key);
}
