//! Secrets in every wrong place: no command repeats a private key, a token or a password.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A secret.
struct Secret {
    /// As given: the secret itself, or its file.
    given: String,
    /// What must not appear.
    hidden: String,
    /// Whether it can be recognised by its form. A password cannot, so in a question or a query it is not hidden.
    known: bool,
}

const PASSWORD: &str = "correct-horse";

/// Commands that would work, except for the secret put into them.
const COMMANDS: [&[&str]; 16] = [
    &["party", "keygen", "p.key"],
    &[
        "party",
        "task",
        "new",
        "SELECT ward, COUNT(*) FROM t GROUP BY ward",
        "--title",
        "T",
        "--session",
        "s",
        "--epsilon",
        "1",
        "--unit",
        "row",
        "--keys",
        "ward=A,B",
        "--colluders",
        "1",
        "--bounds",
        "age=0..9",
        "--party",
        "a,a.pub,h:1",
        "--party",
        "b,b.pub,h:2",
    ],
    &["party", "task", "show", "task.toml"],
    &["party", "task", "check", "task.toml", "--config", "a.toml"],
    &["party", "run", "--config", "a.toml", "--dry-run"],
    &["party", "verify", "transcript.json", "--task", "task.toml"],
    &["party", "aggregate", "status", "--config", "a.toml"],
    &["party", "report", "--task", "task.toml", "--answer", "yes"],
    &[
        "query",
        "SELECT ward, COUNT(*) FROM t GROUP BY ward",
        "--table",
        "t=t.csv",
        "--epsilon",
        "1",
        "--keys",
        "ward=A,B",
        "--bounds",
        "age=0..9",
        "--policy",
        "t.toml",
        "--ledger",
        "l.sqlite",
        "--dataset",
        "t",
        "--request",
        "r",
        "--dry-run",
    ],
    &["query", "SELECT COUNT(*) FROM t", "--table", "t=t.csv", "--epsilon", "1", "--dataset", "t", "--request", "r"],
    &[
        "count",
        "t.csv",
        "--epsilon",
        "1",
        "--horizon",
        "9",
        "--counter",
        "binary",
        "--dataset",
        "t",
        "--ledger",
        "l.sqlite",
    ],
    &["ledger", "create", "t", "--epsilon", "1", "--unit", "row", "--ledger", "l.sqlite"],
    &["ledger", "show", "t", "--ledger", "l.sqlite"],
    &[
        "local",
        "task",
        "--question",
        "Tea?",
        "--choices",
        "yes,no",
        "--epsilon",
        "1",
        "--expires",
        "2030-01-31",
        "--mechanism",
        "k-ary",
    ],
    &["stream", "show", "visits", "--server", "http://127.0.0.1:1"],
    &["token", "create", "ada", "--role", "owner", "--cap", "t=1"],
];

#[test]
fn no_command_repeats_a_secret_that_stands_in_the_wrong_place() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("secrets");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a directory");
    for command in COMMANDS {
        for secret in secrets(&folder) {
            for place in 1..command.len() {
                for arguments in placed(command, place, &secret.given) {
                    prepare(&folder);
                    let output = run(&folder, &arguments);
                    let said = String::from_utf8_lossy(&output.stderr);
                    assert!(!said.contains(&secret.hidden), "{arguments:?}: {said}");
                    let printed = String::from_utf8_lossy(&output.stdout);
                    assert!(!secret.known || !printed.contains(&secret.hidden), "{arguments:?}: {printed}");
                }
            }
        }
    }
}

/// A name is stored and shown to others: an address with a password in it is refused, and not repeated.
#[test]
fn an_address_with_a_password_is_no_name() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("secrets-for-names");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a directory");
    prepare(&folder);
    for address in [format!("postgres://ada:{PASSWORD}@h"), format!("//ada:{PASSWORD}@h")] {
        for command in [
            "ledger create NAME --epsilon 1 --unit row --ledger l.sqlite",
            "ledger create t --epsilon 1 --unit NAME --ledger l.sqlite",
            "ledger create NAME --ledger l.sqlite",
            "ledger show NAME --ledger l.sqlite",
            "count t.csv --input text --epsilon 1 --horizon 9 --dataset NAME --ledger l.sqlite",
            "count t.csv --input text --epsilon 1 --horizon 9 --dataset t --request NAME --ledger l.sqlite",
        ] {
            let arguments: Vec<String> =
                command.split(' ').map(|word| if word == "NAME" { address.clone() } else { word.into() }).collect();
            let output = run(&folder, &arguments);
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{command}: {said}");
            assert!(!said.contains(PASSWORD) && !String::from_utf8_lossy(&output.stdout).contains(PASSWORD), "{said}");
            let kept = fs::read(folder.join("l.sqlite")).unwrap_or_default();
            assert!(!String::from_utf8_lossy(&kept).contains(PASSWORD), "{command}");
        }
    }
}

/// An invalid configuration or task with a secret in it is not quoted with the secret.
#[test]
fn a_file_that_cannot_be_read_is_not_quoted_with_its_secrets() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("secrets-in-files");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a directory");
    let secrets = secrets(&folder);
    for Secret { given, hidden, .. } in secrets.iter().filter(|secret| !secret.given.ends_with(".key")) {
        for text in [
            given.clone(),
            format!("ledger = \"{given}\" x"),
            format!("\"{given}\" = 1"),
            format!("listen = \"{given}\""),
        ] {
            fs::write(folder.join("wrong.toml"), text).expect("written");
            for command in [
                &["serve", "--config", "wrong.toml"][..],
                &["party", "run", "--config", "wrong.toml"],
                &["party", "task", "show", "wrong.toml"],
                &["party", "aggregate", "collect", "--config", "wrong.toml"],
                &["local", "respond", "--task", "wrong.toml", "--answer", "x"],
                &["query", "SELECT COUNT(*) FROM t", "--table", "t=t.csv", "--policy", "wrong.toml", "--epsilon", "1"],
            ] {
                let output = run(&folder, &command.iter().map(ToString::to_string).collect::<Vec<_>>());
                let said = String::from_utf8_lossy(&output.stderr);
                assert!(!output.status.success() && !said.is_empty() && !said.contains(hidden), "{command:?}: {said}");
            }
        }
    }
}

/// A private key in the place of a public one is reported, with the public key to use.
#[test]
fn a_private_key_for_a_public_one_is_refused_by_its_kind() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("secrets-for-public");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a directory");
    let public = run(&folder, &["party", "keygen", "north.key"].map(String::from)).stdout;
    let arguments = [
        "party",
        "task",
        "new",
        "SELECT COUNT(*) FROM t",
        "--title",
        "T",
        "--session",
        "s",
        "--epsilon",
        "1",
        "--colluders",
        "1",
    ];
    let arguments = [&arguments[..], &["--party", "north,north.key,h:1"]].concat();
    let output = run(&folder, &arguments.iter().map(ToString::to_string).collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("private key") && said.contains(String::from_utf8_lossy(&public).trim()), "{said}");
}

/// A key, a token and a password, each as it is, and the key's own file.
fn secrets(folder: &Path) -> Vec<Secret> {
    let _ = fs::remove_file(folder.join("secret.key"));
    run(folder, &["party", "keygen", "secret.key"].map(String::from));
    let key = fs::read_to_string(folder.join("secret.key")).expect("a key").trim().to_owned();
    let digits = key.rsplit(':').next().expect("digits").to_owned();
    let token = ["token", "create", "ada", "--role", "owner", "--data-dir", "tokens"].map(String::from);
    let _ = fs::remove_dir_all(folder.join("tokens"));
    let token = String::from_utf8(run(folder, &token).stdout).expect("a token").trim().to_owned();
    let end = token.rsplit('_').next().expect("digits").to_owned();
    assert!(digits.len() > 64 && end.len() == 64, "{digits} {end}");
    vec![
        Secret { given: key, hidden: digits.clone(), known: true },
        Secret { given: "secret.key".into(), hidden: digits, known: true },
        Secret { given: token, hidden: end, known: true },
        Secret { given: format!("postgres://ada:{PASSWORD}@127.0.0.1:1/x"), hidden: PASSWORD.into(), known: false },
    ]
}

/// The command with the secret in place of one of its arguments, or of a part of it.
fn placed(command: &[&str], place: usize, secret: &str) -> Vec<Vec<String>> {
    let with = |argument: String| {
        let mut arguments: Vec<String> = command.iter().map(ToString::to_string).collect();
        arguments[place] = argument;
        arguments
    };
    let mut all = vec![with(secret.to_owned())];
    if let Some((name, _)) = command[place].split_once('=').filter(|(name, _)| !name.contains(' ')) {
        all.push(with(format!("{name}={secret}")));
    }
    if command[place].contains(',') && !command[place].contains(' ') {
        let parts: Vec<&str> = command[place].split(',').collect();
        for part in 0..parts.len() {
            let mut parts = parts.clone();
            parts[part] = secret;
            all.push(with(parts.join(",")));
        }
    }
    all
}

/// The files that the commands name.
fn prepare(folder: &Path) {
    for made in ["p.key", "l.sqlite", "l.sqlite-wal", "l.sqlite-shm"] {
        let _ = fs::remove_file(folder.join(made));
    }
    let config = "task = \"task.toml\"\nparty = \"a\"\nkey = \"secret.key\"\nledger = \"l.sqlite\"\ndataset = \"t\"\nstate = \"s\"\n";
    for (name, text) in [
        ("a.pub", "ed25519:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"),
        ("b.pub", "ed25519:ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"),
        ("t.csv", "ward,age\nA,1\nB,2\n"),
        ("t.toml", "max_rows = 1\n"),
        ("a.toml", config),
    ] {
        fs::write(folder.join(name), text).expect("written");
    }
}

fn run(folder: &Path, arguments: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    command.args(arguments).current_dir(folder).env("HOME", folder).env("XDG_DATA_HOME", folder);
    command.env_remove("RETICENT_LEDGER").env_remove("RETICENT_TOKEN").env_remove("RETICENT_SERVER");
    command.stdin(Stdio::null()).output().expect("the program starts")
}
