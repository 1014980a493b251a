//! `reticent ledger` as a user runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use reticent::ledger::{Accounting, Charge, ChargeOutcome, Keeper, OnInterruption, Releases};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::storage::{Sqlite, Storage};
use reticent_ledger::{Budget, Dataset, DurableLedger, Event, Location, Row};
use serde_json::Value;

/// A test's own folder, which is also the user's home and the working directory.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ledger-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a directory");
        Self(path.canonicalize().expect("its full path"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
        command.arg("ledger").args(arguments).current_dir(&self.0);
        command.env("HOME", &self.0).env_remove("XDG_DATA_HOME").env_remove("RETICENT_LEDGER").env_remove("TERM");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs with arguments in one string, on the ledger `l`; returns the output.
    fn ok(&self, arguments: &str) -> String {
        let output = self.run(&with_ledger(arguments));
        assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// The same for a run that fails with this code; returns the message.
    fn fails(&self, code: i32, arguments: &str) -> String {
        let output = self.run(&with_ledger(arguments));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments}: {said}");
        assert!(!said.contains("panicked"), "{arguments}: {said}");
        said
    }

    fn json(&self, arguments: &str) -> Vec<Value> {
        let printed = self.ok(&format!("{arguments} --format json"));
        printed.lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn ledger(&self) -> DurableLedger {
        DurableLedger::create(&Location::File(self.file("l"))).expect("a ledger")
    }

    fn database(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file("l")).expect("a database")
    }
}

fn with_ledger(arguments: &str) -> Vec<&str> {
    arguments.split_whitespace().chain(["--ledger", "l"]).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

fn pure(epsilon: &str) -> Guarantee {
    Guarantee::Pure(epsilon.parse().unwrap())
}

/// Charges, and stores a release.
fn charge(ledger: &DurableLedger, dataset: &str, request: &str, unit: &str, guarantee: Guarantee) {
    let charge = Charge {
        dataset: dataset.into(),
        request: request.into(),
        caller: "ada".into(),
        description: "visits, day by day".into(),
        unit: unit.into(),
        adjacency: Adjacency::AddRemove,
        guarantee,
        releases: Releases::Once,
    };
    let ChargeOutcome::New(permit) = ledger.charge(&charge, OnInterruption::Recompute).expect("it fits") else {
        panic!("nothing was released")
    };
    let Accounting::Charged(receipt) = permit.accounting() else { panic!("it was charged") };
    ledger.keep(receipt, "[1, 2, 3]").expect("kept");
}

/// A ledger `l` with a dataset `visits` that has spent 5/12 of 1: entries 1 to 6.
fn spent(name: &str) -> Desk {
    let desk = Desk::new(name);
    desk.ok("create visits --epsilon 1 --unit event");
    let ledger = desk.ledger();
    charge(&ledger, "visits", "monday", "event", pure("1/3"));
    charge(&ledger, "visits", "tuesday", "event", pure("1/12"));
    desk
}

#[test]
fn create_registers_once_and_for_all() {
    let desk = Desk::new("create");
    let output = desk.run(&with_ledger("create people --epsilon 1 --unit row"));
    let (printed, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(printed, "registered people: ε = 1, unit row, adjacency add-remove (ledger l)\n");
    assert!(said.contains("created the ledger l") && said.contains("by default: adjacency add-remove"), "{said}");

    assert!(desk.ok("create people --epsilon 1.0 --unit row").starts_with("nothing changed"));
    for other in [
        "--epsilon 2 --unit row",
        "--epsilon 1 --delta 1e-6 --unit row",
        "--rho 1 --unit row",
        "--epsilon 1 --unit event",
        "--epsilon 1 --unit row --adjacency replace",
    ] {
        let said = desk.fails(2, &format!("create people {other}"));
        assert!(said.contains("already registered: ε = 1, unit row, adjacency add-remove"), "{said}");
    }
    let made = &desk.json("create clicks --rho 0.5 --unit device_id --adjacency replace")[0];
    assert_eq!(
        (&made["outcome"], &made["budget"], &made["unit"]),
        (&"registered".into(), &"ρ = 0.5".into(), &"device_id".into())
    );
    assert_eq!(desk.json("show").len(), 2);
}

#[test]
fn create_without_a_dataset_makes_an_empty_ledger() {
    let desk = Desk::new("empty");
    assert!(desk.ok("create").contains("is ready"));
    assert!(desk.ok("show").contains("no datasets yet"));
    assert!(desk.ok("verify").starts_with("1 entry, all intact"));
    assert!(desk.fails(2, "show people").contains("has none yet"));
}

#[test]
fn several_may_make_the_same_ledger_at_once() {
    let desk = Desk::new("at-once");
    let names: Vec<String> = (0..16).map(|number| format!("dataset{number}")).collect();
    let start = |name: &String| {
        let mut command = desk.command(&["create", name, "--epsilon", "1", "--unit", "row", "--ledger", "l"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
    };
    let children: Vec<_> = names.iter().map(start).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    }
    assert!(desk.ok("verify").starts_with("17 entries, all intact"));
}

#[test]
fn what_cannot_be_is_refused_before_a_ledger_is_made() {
    let desk = Desk::new("refused");
    for wrong in ["0", "-1", "nan", "inf", "-0.5", "1e999999", "one", "1/0"] {
        let said = desk.fails(2, &format!("create people --epsilon {wrong}"));
        assert!(said.contains("epsilon is"), "{said}");
        assert!(desk.fails(2, &format!("create people --rho {wrong}")).contains("rho is"));
    }
    for wrong in ["0", "1", "-1e-6", "2", "nan"] {
        assert!(desk.fails(2, &format!("create people --epsilon 1 --delta {wrong}")).contains("delta is"));
    }
    for (arguments, expected) in [
        ("create people", "people needs a budget: --epsilon E"),
        ("create --epsilon 1", "ε = 1 of which dataset? Give a name or --file FILE"),
        ("create --unit event", "give its name and budget"),
        ("create people --delta 1e-6", "--epsilon"),
        ("create people --epsilon 1 --rho 1", "cannot be used with"),
        ("create people --epsilon 1", "the budget of people needs a privacy unit: --unit row"),
        ("create people --epsilon 1 --unit row --adjacency both", "add-remove or replace"),
        ("create people --epsilon 11 --unit row", "confirmed with --allow-large-epsilon"),
        ("create people --epsilon 1 --unit Event", "write \"event\""),
        ("create people --epsilon 1 --unit events:3", "'3 lines', '3 events'"),
        ("create people --file people.csv --epsilon 1", "cannot be used with"),
        ("create --file people.csv --epsilon 1", "cannot read people.csv"),
    ] {
        let said = desk.fails(2, arguments);
        assert!(said.contains(expected), "{arguments}: {said}");
    }
    for name in ["", "two\nlines", "\u{1b}[2J", "tab\t"] {
        let output = desk.run(&["create", name, "--epsilon", "1", "--unit", "row", "--ledger", "l"]);
        assert_eq!(output.status.code(), Some(2), "{name:?}");
        assert!(!output.stderr.contains(&0x1b), "{name:?}");
        let unit = desk.run(&["create", "people", "--unit", name, "--epsilon", "1", "--ledger", "l"]);
        assert_eq!(unit.status.code(), Some(2), "{name:?}");
    }
    assert!(!desk.file("l").exists());
}

#[test]
fn a_file_is_registered_under_its_full_path() {
    let desk = Desk::new("file");
    fs::write(desk.file("visits.csv"), "at\n").unwrap();
    assert!(desk.fails(2, "create visits.csv --epsilon 1").contains("write --file visits.csv"));
    desk.ok("create --file ./visits.csv --epsilon 1 --unit event");
    let full = desk.file("visits.csv").display().to_string();
    assert_eq!(desk.json("show --file visits.csv")[0]["dataset"], full.as_str());
    assert_eq!(desk.json(&format!("show {full}")).len(), 1);
    assert!(desk.fails(2, "show visits.csv").contains("write --file visits.csv"));
    assert!(desk.fails(2, "history visit.csv").contains(&format!("did you mean {full}?")));
}

#[test]
fn the_users_own_ledger_is_made_where_the_users_data_is() {
    let desk = Desk::new("own");
    let output = desk.run(&["create", "people", "--epsilon", "1", "--unit", "line"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    let place =
        said.lines().find_map(|line| line.strip_prefix("created the ledger ")).expect("it says where").to_owned();
    assert!(Path::new(&place).starts_with(&desk.0) && Path::new(&place).is_file(), "{place}");
    #[cfg(unix)]
    for private in [Path::new(&place), Path::new(&place).parent().unwrap()] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(private).unwrap().permissions().mode() & 0o077, 0, "{}", private.display());
    }
    let shown = desk.command(&["show", "--format", "csv"]).output().unwrap();
    assert!(text(&shown.stdout).contains("\npeople,line,replace,epsilon,1,0,1,0,0,0\n"));
    let other = desk.command(&["show"]).env("RETICENT_LEDGER", desk.file("none")).output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("there is no ledger"));
}

#[test]
fn show_is_exact_for_programs_and_cautious_for_people() {
    let desk = spent("show");
    let object = &desk.json("show")[0];
    let component = &object["spent"][0]["components"][0];
    assert_eq!((&component["spent"], &component["left"]), (&"5/12".into(), &"7/12".into()));
    assert_eq!((&component["budget"], &object["charges"]), (&"1".into(), &2.into()));
    assert!((component["part"].as_f64().unwrap() - 5.0 / 12.0).abs() < 1e-12);

    let table = desk.ok("show visits");
    assert!(table.contains("ε ████████▍░░░░░░░░░░░ 42 %"), "{table}");
    assert!(table.contains("ε = 5/12") && table.contains("ε = 7/12"), "{table}");
    let plain = desk.command(&with_ledger("show")).env("TERM", "dumb").output().unwrap();
    assert!(text(&plain.stdout).contains("ε #########........... 42 %"));

    // With a fraction that nobody can read: 5/12 + 1/1000003.
    charge(&desk.ledger(), "visits", "wednesday", "event", pure("1/1000003"));
    let table = desk.ok("show");
    assert!(table.contains("about 0.416668") && table.contains("about 0.583332"), "{table}");
    assert_eq!(desk.json("show")[0]["spent"][0]["components"][0]["spent"], "5000027/12000036");
}

#[test]
fn epsilon_and_delta_have_a_bar_each() {
    let desk = Desk::new("bars");
    desk.ok("create visits --epsilon 1 --delta 1e-6 --unit event");
    charge(&desk.ledger(), "visits", "r1", "event", Guarantee::Approx("0.5".parse().unwrap(), "1e-6".parse().unwrap()));
    let table = desk.ok("show");
    assert!(table.contains("ε ██████████░░░░░░░░░░ 50 %"), "{table}");
    assert!(table.contains("δ ████████████████████ 100 %"), "{table}");
    assert_eq!(desk.ok("show --format csv").lines().count(), 3);
}

#[test]
fn a_dataset_without_a_limit_gets_one_later() {
    let desk = Desk::new("later");
    let ledger = desk.ledger();
    ledger.register(&Dataset { name: "visits".into(), budget: Budget::Unlimited, terms: None }).unwrap();
    charge(&ledger, "visits", "r1", "event", pure("0.5"));
    charge(&ledger, "visits", "r2", "step", pure("2"));
    drop(ledger);
    let table = desk.ok("show");
    assert_eq!(table.matches("no limit").count(), 2, "{table}");
    assert_eq!(desk.json("show")[0]["budget"], Value::Null);

    // The default adjacency would ignore the earlier charge.
    assert!(desk.fails(2, "create visits --epsilon 1 --unit row").contains("has spent ε = 0.5 under unit event"));
    let said = desk.fails(2, "create visits --epsilon 0.4 --unit event");
    assert!(said.contains("has already spent ε = 0.5, more than ε = 0.4"), "{said}");
    let printed = desk.ok("create visits --epsilon 1 --unit event");
    assert!(printed.contains("had no limit and has one now, of which it has spent ε = 0.5"), "{printed}");
    assert!(desk.fails(2, "create visits --epsilon 2 --unit event").contains("already registered"));

    let object = &desk.json("show")[0];
    assert_eq!((&object["budget"], &object["charges"]), (&"ε = 1".into(), &2.into()));
    assert_eq!(object["spent"][0]["components"][0]["left"], "0.5");
    assert_eq!((&object["spent"][1]["unit"], &object["spent"][1]["limited"]), (&"step".into(), &false.into()));
    assert!(desk.ok("show").contains("closed"));
    assert_eq!(desk.json("history visits").last().unwrap()["kind"], "limited");
    assert!(desk.ok("verify").contains("all intact"));
}

#[test]
fn history_tells_everything_in_order() {
    let desk = spent("history");
    desk.ok("create clicks --epsilon 1 --unit event");
    let objects = desk.json("history");
    let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["opened", "registered", "charged", "released", "charged", "released", "registered"]);
    assert!(objects.windows(2).all(|pair| pair[1]["previous"] == pair[0]["hash"]));
    let charged = &objects[4];
    assert_eq!((&charged["request"], &charged["caller"]), (&"tuesday".into(), &"ada".into()));
    assert_eq!((&charged["guarantee"]["pure"], &charged["spent"]["epsilon"]), (&"1/12".into(), &"5/12".into()));
    assert_eq!((&objects[5]["dataset"], &objects[5]["request"]), (&"visits".into(), &"tuesday".into()));

    assert_eq!(desk.json("history visits").len(), 5);
    assert_eq!(desk.json("history --last 2")[0]["number"], 6);
    assert_eq!(desk.json("history visits --last 2")[0]["number"], 5);
    assert!(desk.json("history --last 0").is_empty());
    assert_eq!(desk.json("history --last 999").len(), 7);

    let table = desk.ok("history");
    assert_eq!(table.lines().count(), 8);
    let line = table.lines().nth(5).unwrap();
    for part in ["  5  ", "charged", "visits", "tuesday", "ada", "ε = 1/12", "ε = 5/12", "visits, day by day"] {
        assert!(line.contains(part), "{part} in {line}");
    }
    let csv = desk.ok("history --format csv");
    let line = csv.lines().nth(5).unwrap();
    assert!(line.contains(",ada,ε = 1/12,5/12,0,0,event,add-remove,\"visits, day by day\","), "{line}");
    assert_eq!(csv.lines().next().unwrap().split(',').count(), csv.lines().nth(1).unwrap().split(',').count());
    assert!(desk.fails(2, "history visit").contains("did you mean visits?"));
}

#[test]
fn a_reader_that_closes_the_pipe_has_seen_enough() {
    let desk = spent("pipe");
    let ledger = desk.ledger();
    for request in 0..600 {
        charge(&ledger, "visits", &format!("r{request}"), "event", pure("1e-9"));
    }
    let mut child = desk
        .command(&with_ledger("history --format json"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn nothing_in_a_rewritten_ledger_reaches_the_terminal() {
    let desk = Desk::new("escape");
    desk.ok("create");
    let mut storage = Sqlite::open(&desk.file("l")).unwrap();
    let dataset = Dataset { name: "\u{1b}[2Jvisits\u{9b}\n".into(), budget: Budget::Unlimited, terms: None };
    storage
        .write(&mut |pages| {
            let last = pages.last()?;
            pages.append(&Row::after(last.as_ref(), Event::Registered(dataset.clone())), None)
        })
        .unwrap();
    drop(storage);
    for command in ["show", "history"] {
        for format in ["table", "json", "csv"] {
            let printed = desk.ok(&format!("{command} --format {format}"));
            assert!(printed.contains("visits"), "{printed}");
            assert!(printed.chars().all(|character| !character.is_control() || character == '\n'), "{printed:?}");
        }
    }
    assert!(!desk.fails(2, "show visits").contains('\u{1b}'));
}

#[test]
fn verify_finds_whatever_was_changed() {
    let sound = spent("sound");
    let printed = sound.ok("verify");
    let head = sound.json("history").last().unwrap()["hash"].as_str().unwrap().to_owned();
    assert_eq!(printed, format!("6 entries, all intact; head {head}\n"));
    let object = &sound.json("verify")[0];
    assert_eq!((&object["sound"], &object["entries"], &object["head"]), (&true.into(), &6.into(), &head.into()));
    assert_eq!(object["findings"], serde_json::json!([]));

    for (place, (tampering, finding)) in [
        ("UPDATE entry SET body = replace(body, '1/12', '1/13') WHERE number = 5", "entry 5 was changed"),
        ("UPDATE entry SET request = 'x' WHERE number = 5", "entry 5 was changed"),
        ("UPDATE entry SET hash = 'nonsense' WHERE number = 5", "entry 5 was changed"),
        ("UPDATE entry SET body = x'00' WHERE number = 5", ""),
        ("DELETE FROM release; DELETE FROM entry WHERE number = 4", "entry 4 is missing"),
        ("UPDATE release SET text = '[9]' WHERE number = 4", "entry 4 keeps a release that was changed or removed"),
        ("DELETE FROM release WHERE number = 4", "entry 4 keeps a release that was changed or removed"),
        (
            "PRAGMA foreign_keys = OFF; UPDATE entry SET number = -3 WHERE number = 3; UPDATE entry SET number = 3 WHERE number = 5;
             UPDATE entry SET number = 5 WHERE number = -3",
            "entry 3 was changed",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let desk = spent(&format!("tampered-{place}"));
        let done = desk.database().execute_batch(tampering);
        if finding.is_empty() {
            // The table itself rejects what is not text.
            assert!(done.is_err());
            continue;
        }
        done.unwrap();
        let output = desk.run(&with_ledger("verify"));
        let printed = text(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{tampering}: {printed}");
        assert!(printed.lines().any(|line| line.starts_with(finding)), "{tampering}: {printed}");
        let json = desk.run(&with_ledger("verify --format json"));
        let object: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(object["sound"], false);
        assert!(!object["findings"].as_array().unwrap().is_empty());
    }
}

#[test]
fn an_anchor_betrays_an_older_copy() {
    let desk = spent("anchor");
    let said = |output: &Output| text(&output.stderr);
    let plain = desk.run(&with_ledger("verify"));
    assert!(said(&plain).contains("without --anchor"), "{}", said(&plain));
    let first = desk.run(&with_ledger("verify --anchor a"));
    assert!(said(&first).contains("the anchor a is new"), "{}", said(&first));
    let backup = fs::read(desk.file("l")).unwrap();
    charge(&desk.ledger(), "visits", "wednesday", "event", pure("0.25"));
    let second = desk.run(&with_ledger("verify --anchor a"));
    assert!(said(&second).contains("was updated from entry 6 to entry 8"), "{}", said(&second));

    for beside in ["l-wal", "l-shm"] {
        let _ = fs::remove_file(desk.file(beside));
    }
    fs::write(desk.file("l"), backup).unwrap();
    assert!(desk.ok("verify").contains("all intact"));
    let held = fs::read(desk.file("a")).unwrap();
    let older = desk.run(&with_ledger("verify --anchor a"));
    assert_eq!(older.status.code(), Some(1));
    assert!(text(&older.stdout).contains("it is an older copy"), "{}", text(&older.stdout));
    assert_eq!(fs::read(desk.file("a")).unwrap(), held);
    assert!(desk.fails(1, "create clicks --epsilon 1 --unit row --anchor a").contains("older copy"));

    fs::write(desk.file("broken"), "{").unwrap();
    assert!(desk.fails(1, "verify --anchor broken").contains("not an anchor"));
    assert!(desk.fails(1, "verify --anchor no/such/folder").contains("could not be written"));
}

#[test]
fn what_is_no_ledger_is_told_plainly_and_left_alone() {
    let desk = spent("foreign");
    let whole = fs::read(desk.file("l")).unwrap();
    let other = rusqlite::Connection::open(desk.file("other")).unwrap();
    other.execute_batch("CREATE TABLE person (name TEXT)").unwrap();
    drop(other);
    let foreign = fs::read(desk.file("other")).unwrap();
    let random: Vec<u8> = (0..5000u32).map(|byte| (byte.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::create_dir(desk.file("folder")).unwrap();
    let mut cases: Vec<(&str, Option<&[u8]>, i32, &str)> = vec![
        ("missing", None, 2, "there is no ledger missing"),
        ("empty", Some(&[]), 2, "there is no ledger empty"),
        ("folder", None, 2, "folder is not a ledger"),
        ("random", Some(&random), 2, "random is not a ledger"),
        ("other", Some(&foreign), 2, "other is not a ledger"),
    ];
    for length in [100, 1024, 4096, 5000, whole.len() / 2, whole.len() - 4096] {
        cases.push(("cut", Some(&whole[..length]), 1, "NOT intact"));
    }
    for (name, bytes, code, expected) in cases {
        for command in ["verify", "show", "history"] {
            if let Some(bytes) = bytes {
                fs::write(desk.file(name), bytes).unwrap();
            }
            let output = desk.run(&[command, "--ledger", name]);
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(!said.contains("panicked"), "{command} {name}: {said}");
            // The part cut off may be one that the command does not read.
            if name != "cut" || command == "verify" {
                assert_eq!(output.status.code(), Some(code), "{command} {name}: {said}");
                assert!(said.contains(expected), "{command} {name}: {said}");
            }
        }
    }
    assert_eq!(fs::read(desk.file("other")).unwrap(), foreign);
    assert!(
        desk.run(&["create", "x", "--epsilon", "1", "--unit", "row", "--ledger", "other"]).status.code() == Some(2)
    );
    assert_eq!(fs::read(desk.file("other")).unwrap(), foreign);
}

/// A mistyped address must not become a file whose name, which every message shows, is the password.
#[test]
fn an_address_that_is_not_understood_is_not_shown() {
    let desk = Desk::new("address");
    for address in
        ["posgres://officer:secret@db.example/d", "host=db.example password=secret", "officer:secret@db.example"]
    {
        for command in [&["show"][..], &["create", "people", "--epsilon", "1", "--unit", "row"], &["verify"]] {
            let by_option = desk.run(&[command, &["--ledger", address]].concat());
            let by_variable = desk.command(command).env("RETICENT_LEDGER", address).output().expect("it starts");
            for output in [by_option, by_variable] {
                let said = text(&output.stderr);
                assert_eq!(output.status.code(), Some(2), "{address}: {said}");
                assert!(said.contains("postgres://USER") && !said.contains("secret"), "{address}: {said}");
            }
        }
    }
    assert_eq!(fs::read_dir(&desk.0).expect("a folder").count(), 0);
}

#[test]
fn a_ledger_that_cannot_be_written_can_be_read() {
    let desk = spent("read-only");
    let mut permissions = fs::metadata(desk.file("l")).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(desk.file("l"), permissions).unwrap();
    assert_eq!(desk.json("show")[0]["charges"], 2);
    assert!(desk.ok("verify").starts_with("6 entries"));
}
