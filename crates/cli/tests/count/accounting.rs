//! What is charged, where, and what is reported about it.

use std::fs;
use std::path::Path;

use super::*;
use reticent::privacy::Adjacency;
use reticent_ledger::{Anchor, Budget, Dataset, DurableLedger, Event, Location, Terms};

/// A ledger with one dataset, `people`, that protects lines.
fn ledger_with(folder: &Path, epsilon: &str) -> PathBuf {
    let place = folder.join("ledger.sqlite");
    fs::create_dir_all(folder).expect("a folder");
    let ledger = DurableLedger::create(&Location::File(place.clone())).expect("a ledger");
    let budget = Budget::Limit(reticent::privacy::Guarantee::Pure(epsilon.parse().expect("a number")));
    let terms = Terms { unit: "line".into(), adjacency: Adjacency::Replace };
    ledger.register(&Dataset { name: "people".into(), budget, terms: Some(terms) }).expect("registered");
    place
}

fn charges(place: &Path) -> usize {
    let ledger = DurableLedger::open(&Location::File(place.into())).expect("a ledger");
    assert!(ledger.verify().expect("readable").is_sound());
    let mut charges = 0;
    ledger.history(|entry| charges += usize::from(matches!(entry.event, Event::Charged { .. }))).expect("readable");
    charges
}

/// Runs `reticent count` as a user who has this folder for their data.
pub fn count_at(home: &Path, arguments: &str, input: &[u8]) -> Output {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let mut child = at_home(&mut command(&arguments), home).spawn().expect("the program starts");
    let _ = child.stdin.take().expect("a pipe").write_all(input);
    child.wait_with_output().expect("it ends")
}

#[test]
fn ten_charges_of_a_tenth_exhaust_one_and_the_next_is_refused() {
    let folder = directory("tenths");
    let place = ledger_with(&folder, "1");
    let arguments = format!("- --epsilon 0.1 --horizon 8 --ledger {} --dataset people", place.display());
    for left in ["0.9", "0.8", "0.7", "0.6", "0.5", "0.4", "0.3", "0.2", "0.1"] {
        let output = count_with(&arguments, b"1\n");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let said = text(&output.stderr);
        assert!(said.contains(&format!("ε = {left} of ε = 1 is left")), "{said}");
    }
    let too_much = count_with(&arguments.replace("0.1", "0.3"), b"1\n");
    let said = text(&too_much.stderr);
    assert_eq!(too_much.status.code(), Some(4), "{said}");
    let told = "error: not enough budget left for people: this costs ε = 0.3, and ε = 0.1 of ε = 1 is left; ε = 0.1 would fit\n";
    assert!(said.ends_with(told) && too_much.stdout.is_empty(), "{said}");
    assert_eq!(count_with(&arguments, b"1\n").status.code(), Some(0));
    let output = count_with(&arguments, b"1\n");
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).contains("nothing of ε = 1 is left; nothing more fits"), "{}", text(&output.stderr));
    assert_eq!(charges(&place), 10);
}

#[test]
fn what_does_not_match_the_dataset_is_refused_before_it_is_charged() {
    let folder = directory("mismatch");
    let place = ledger_with(&folder, "1");
    let ledger = place.display();
    for (arguments, message) in [
        (
            format!("--ledger {ledger} --dataset people --adjacency add-remove"),
            "is for the privacy unit line, but this release is for part of a line",
        ),
        (format!("--ledger {ledger} --dataset people --rho 0.1"), "is in ε, and ρ = 0.1 cannot be charged to it"),
        (format!("--ledger {ledger} --dataset poeple"), "has no dataset poeple"),
        (format!("--ledger {ledger}"), "has no dataset standard input"),
        (format!("--ledger {ledger}.none --dataset people"), "there is no ledger"),
        (format!("--ledger {} --dataset people", folder.display()), "is not a ledger"),
        (format!("--ledger {ledger} --dataset people --no-ledger"), "cannot be used with"),
        (format!("--ledger {ledger} --dataset people --request r"), "--request keeps all releases"),
    ] {
        let promise = if arguments.contains("--rho") { "" } else { "--epsilon 0.1" };
        let output = count_with(&format!("- --horizon 8 {promise} {arguments}"), b"1\n");
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{arguments}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
    assert_eq!(charges(&place), 0);
}

#[test]
fn without_a_ledger_named_everything_is_added_up_by_path() {
    let folder = directory("own");
    let (home, file) = (folder.join("home"), folder.join("visits.txt"));
    let own = home.join("reticent/ledger.sqlite");
    fs::write(&file, "1\n0\n1\n").expect("written");
    let said = |path: &Path, more: &str| {
        let output = count_at(&home, &format!("{} --epsilon 0.1 --horizon 8 {more}", path.display()), b"");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let name = file.canonicalize().expect("there");
    let first = format!("charged to {} in your ledger, entry 3; spent on it so far: ε = 0.1", name.display());
    assert!(said(&file, "").contains(&first));
    // The same file by another path.
    let detour = folder.join("../count-own/./visits.txt");
    assert!(said(&detour, "").contains("spent on it so far: ε = 0.2 (unit line, replace); there is no limit"));
    // Different terms are accounted for separately.
    let apart = said(&file, "--unit events:3");
    assert!(apart.contains("ε = 0.2 (unit line, replace); ε = 0.1 (unit 3 lines, replace)"), "{apart}");
    // A copy is another dataset, and so is an explicit name.
    let copy = folder.join("copy.txt");
    fs::copy(&file, &copy).expect("copied");
    assert!(said(&copy, "").contains("spent on it so far: ε = 0.1 "));
    assert!(said(&file, "--dataset visits").contains("charged to visits in your ledger"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&own), mode(own.parent().expect("a folder"))), (0o600, 0o700));
    }
}

#[test]
fn nothing_is_charged_only_where_there_is_no_budget() {
    let folder = directory("unaccounted");
    let own = ledger_with(&folder.join("reticent"), "1");
    let output = count_at(&folder, "- --epsilon 1 --horizon 8 --no-ledger", b"1\n");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("warning: no ledger was charged"), "{}", text(&output.stderr));
    let output = count_at(&folder, "- --epsilon 1 --horizon 8 --no-ledger --dataset people", b"1\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("people has a budget of ε = 1"), "{}", text(&output.stderr));
    assert_eq!(charges(&own), 0);
    // The user's own ledger enforces limits, too.
    assert_eq!(count_at(&folder, "- --epsilon 0.7 --horizon 8 --dataset people", b"1\n").status.code(), Some(0));
    assert_eq!(count_at(&folder, "- --epsilon 0.7 --horizon 8 --dataset people", b"1\n").status.code(), Some(4));
    assert_eq!(charges(&own), 1);
}

#[test]
fn the_same_request_costs_once_and_says_the_same() {
    let folder = directory("request");
    let (place, file) = (ledger_with(&folder, "1"), folder.join("visits.txt"));
    fs::write(&file, "1\n0\n1\n").expect("written");
    let asked = |request: &str, more: &str| {
        let (file, place) = (file.display(), place.display());
        let promise = if more.contains("--epsilon") { "" } else { "--epsilon 0.1" };
        count_with(
            &format!("{file} --horizon 8 {promise} --ledger {place} --dataset people --request {request} {more}"),
            b"",
        )
    };
    let first = asked("monday", "--format json");
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    assert_eq!(text(&first.stdout).lines().count(), 3);
    // Whatever happened to the data.
    fs::write(&file, "0\n0\n0\n0\n0\n").expect("written");
    let again = asked("monday", "--format json");
    assert_eq!((again.status.code(), &again.stdout), (Some(0), &first.stdout), "{}", text(&again.stderr));
    assert!(text(&again.stderr).contains("request monday was answered before: nothing is charged"));
    assert_eq!(text(&asked("monday", "--format csv").stdout).lines().count(), 4);
    let other = asked("monday", "--epsilon 0.2");
    assert_eq!((other.status.code(), other.stdout.len()), (Some(2), 0));
    assert!(
        text(&other.stderr).contains("request id monday of people was already used for a different request"),
        "{}",
        text(&other.stderr)
    );
    assert_eq!(charges(&place), 1);
    // It ends as before: with more lines than steps.
    fs::write(&file, "1\n".repeat(9)).expect("written");
    for _ in 0..2 {
        let output = asked("tuesday", "--format json");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("horizon of 8 steps is reached") && values_from(1, &output).len() == 8);
    }
    assert_eq!(charges(&place), 2);
}

/// A count that was charged and interrupted is completed when the request is repeated; nothing is charged twice.
#[test]
fn an_interrupted_request_is_counted_when_it_is_asked_again() {
    use reticent::ledger::Keeper as _;
    let (first, second) = (directory("uninterrupted"), directory("interrupted"));
    let (whole, place, file) = (ledger_with(&first, "1"), ledger_with(&second, "1"), second.join("visits.txt"));
    fs::write(&file, "1\n0\n1\n").expect("written");
    let asked = |place: &Path| {
        let (file, place) = (file.display(), place.display());
        let promise =
            format!("--horizon 8 --epsilon 1 --format json --ledger {place} --dataset people --request monday");
        count_with(&format!("{file} {promise}"), b"")
    };
    assert_eq!(asked(&whole).status.code(), Some(0));
    let open = |place: &Path| DurableLedger::open(&Location::File(place.into())).expect("a ledger");
    let (charge, _) = open(&whole).request("people", "monday").expect("readable").expect("charged");
    open(&place).charge(&charge, reticent::ledger::OnInterruption::Recompute).expect("charged");
    let output = asked(&place);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), values_from(1, &output).len()), (Some(0), 3), "{said}");
    assert!(
        said.contains("request monday was charged before but not finished; running it again under the same charge"),
        "{said}"
    );
    let again = asked(&place);
    assert_eq!(again.stdout, output.stdout);
    assert!(text(&again.stderr).contains("request monday was answered before"), "{}", text(&again.stderr));
    assert_eq!(charges(&place), 1);
}

#[test]
fn a_saved_counter_goes_on_with_its_charge() {
    let folder = directory("resume-charged");
    let (place, save) = (ledger_with(&folder, "1"), folder.join("state.json"));
    let start =
        format!("- --epsilon 1 --horizon 8 --save {} --ledger {} --dataset people", save.display(), place.display());
    assert_eq!(count_with(&start, b"1\n").status.code(), Some(0));
    let resume = format!("- --resume --save {} --format json", save.display());
    let output = count_with(&resume, b"1\n");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("was charged to people"), "{}", text(&output.stderr));
    assert_eq!(values_from(2, &output).len(), 1);
    assert_eq!(charges(&place), 1);
    let elsewhere = ledger_with(&directory("resume-elsewhere"), "1");
    for (more, message) in [
        (format!("--ledger {}", elsewhere.display()), "was it charged to another ledger?"),
        ("--no-ledger".into(), "the counter was charged to a ledger when it began"),
        ("--dataset others".into(), "the counter was charged to people"),
    ] {
        let output = count_with(&format!("{resume} {more}"), b"1\n");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{more}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{more}: {}", text(&output.stderr));
    }
}

#[test]
fn an_older_ledger_put_back_is_noticed_with_an_anchor() {
    let folder = directory("anchor");
    let (place, anchor) = (ledger_with(&folder, "1"), folder.join("anchor.json"));
    let arguments = format!("- --epsilon 0.4 --horizon 8 --ledger {} --dataset people", place.display());
    let anchored = format!("{arguments} --anchor {}", anchor.display());
    let missing = count_with(&anchored, b"1\n");
    assert_eq!((missing.status.code(), missing.stdout.len()), (Some(1), 0));
    assert!(text(&missing.stderr).contains("there is no anchor"), "{}", text(&missing.stderr));
    let ledger = DurableLedger::open(&Location::File(place.clone())).expect("a ledger");
    ledger.anchored(Anchor::new(&anchor)).advance_anchor().expect("an anchor");
    assert_eq!(count_with(&anchored, b"1\n").status.code(), Some(0));
    let older = fs::read(&place).expect("a file");
    assert_eq!(count_with(&anchored, b"1\n").status.code(), Some(0));
    fs::write(&place, older).expect("put back");
    let output = count_with(&anchored, b"1\n");
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(text(&output.stderr).contains("it is an older copy"), "{}", text(&output.stderr));
    // A user's own ledger registers unknown datasets by itself, but creates no anchor.
    let lost = folder.join("lost.json");
    let own = count_at(&folder.join("home"), &format!("- --epsilon 1 --horizon 8 --anchor {}", lost.display()), b"1\n");
    assert_eq!((own.status.code(), own.stdout.len(), lost.exists()), (Some(1), 0, false), "{}", text(&own.stderr));
    // Without one it is not, as the guide says.
    assert_eq!(count_with(&arguments, b"1\n").status.code(), Some(0));
}

#[test]
fn what_fails_after_the_charge_stays_charged() {
    let folder = directory("failed");
    let place = ledger_with(&folder, "1");
    let full = fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else { return };
    let arguments = format!("- --epsilon 0.4 --horizon 8 --ledger {} --dataset people", place.display());
    let mut child = command(&arguments.split_whitespace().collect::<Vec<_>>()).stdout(full).spawn().expect("starts");
    let _ = child.stdin.take().expect("a pipe").write_all(b"1\n");
    assert_eq!(child.wait_with_output().expect("it ends").status.code(), Some(1));
    assert_eq!(charges(&place), 1);
}

/// Costs may be added up only under the same adjacency.
#[test]
fn units_that_mean_something_else_have_another_name() {
    let folder = directory("units");
    let file = folder.join("x.csv");
    fs::write(&file, "at,n\n2026-03-02T01:00:00Z,1000\n").expect("written");
    let time = "--time at --from 2026-03-02 --to 2026-03-03";
    for (more, unit) in [
        ("--column n --horizon 2".into(), "line"),
        ("--column n --horizon 2 --unit event --adjacency replace".into(), "line"),
        ("--column n --horizon 2 --unit events:2".into(), "2 lines"),
        ("--column n --horizon 2 --adjacency add-remove".into(), "part of a line"),
        (format!("--column n {time} --step 1d"), "event"),
        (format!("--column n {time} --step 1h"), "event"),
        (format!("--column n {time} --step 1h --unit events:2"), "2 events"),
        (format!("--column n {time} --step 1h --unit step --range 0..1"), "step of 1h"),
        (format!("--column n {time} --step 60m --unit step --range 0..1"), "step of 1h"),
        (format!("--column n {time} --step 1d --unit step --range 0..1"), "step of 1d"),
    ] {
        let _ = fs::remove_dir_all(folder.join("home"));
        let output = count_at(&folder.join("home"), &format!("{} --epsilon 1 {more}", file.display()), b"");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{more}: {said}");
        assert!(said.contains(&format!("spent on it so far: ε = 1 (unit {unit}, ")), "{more}: {said}");
    }
    let aside = "--column n --time at --from 2026-03-02T00:30:00Z --horizon 3 --step 1h --unit step --range 0..1";
    let output = count_at(&folder.join("home"), &format!("{} --epsilon 1 {aside}", file.display()), b"");
    assert!(text(&output.stderr).contains("(unit step of 1h and 30m, "), "{}", text(&output.stderr));
}

#[test]
fn a_request_is_about_one_file_and_one_list_of_keys() {
    let folder = directory("requests");
    let place = ledger_with(&folder, "9");
    for (name, line) in [("january", "1\n"), ("february", "0\n")] {
        fs::create_dir_all(folder.join(name)).expect("a folder");
        fs::write(folder.join(name).join("v.csv"), format!("k,n\nx,{line}")).expect("written");
    }
    let asked = |file: &str, more: &str| {
        let (file, place) = (folder.join(file), place.display());
        let arguments = format!("{} --horizon 8 --epsilon 1 --ledger {place} --dataset people {more}", file.display());
        count_with(&arguments, b"").status.code()
    };
    assert_eq!(asked("january/v.csv", "--column n --request r"), Some(0));
    assert_eq!(asked("february/v.csv", "--column n --request r"), Some(2));
    fs::write(folder.join("one.txt"), "a,b\n").expect("written");
    fs::write(folder.join("two.txt"), "a\nb\n").expect("written");
    let keys = |name: &str| format!("--key k --keys {} --request keys", folder.join(name).display());
    assert_eq!(asked("january/v.csv", &keys("one.txt")), Some(0));
    assert_eq!(asked("january/v.csv", &keys("two.txt")), Some(2));
    let many: String = (0..20_000).map(|key| format!("key {key}\n")).collect();
    fs::write(folder.join("many.txt"), many).expect("written");
    assert_eq!(asked("january/v.csv", &keys("many.txt").replace("--request keys", "")), Some(0));
}

#[test]
fn an_epoch_is_never_lowered() {
    let folder = directory("epoch");
    let place = ledger_with(&folder, "1");
    let save = folder.join("state.json");
    let start =
        format!("- --epsilon 1 --horizon 8 --save {} --ledger {} --dataset people", save.display(), place.display());
    assert_eq!(count_with(&start, b"1\n").status.code(), Some(0));
    let older = fs::read(&save).expect("a state");
    assert_eq!(count_with(&format!("- --resume --save {}", save.display()), b"1\n").status.code(), Some(0));
    fs::remove_file(&save).expect("removed");
    let again = count_with(&start, b"1\n");
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again.stderr).contains("state.json.epoch is left over from a counter"), "{}", text(&again.stderr));
    fs::write(&save, older).expect("put back");
    assert_ne!(count_with(&format!("- --resume --save {}", save.display()), b"1\n").status.code(), Some(0));
}

#[test]
fn a_file_with_a_budget_is_not_counted_under_another_name() {
    let folder = directory("names");
    let file = folder.join("visits.txt");
    fs::write(&file, "1\n0\n").expect("written");
    let full = file.canonicalize().expect("there").display().to_string();
    let (home, other) = (folder.join("home"), folder.join("other.txt"));
    fs::write(&other, "1\n0\n").expect("written");
    let place = ledger_with(&home.join("reticent"), "1");
    let budget = Budget::Limit(reticent::privacy::Guarantee::Pure("0.001".parse().expect("a number")));
    let terms = Some(Terms { unit: "line".into(), adjacency: Adjacency::Replace });
    let ledger = DurableLedger::open(&Location::File(place)).expect("a ledger");
    ledger.register(&Dataset { name: full, budget, terms }).expect("registered");
    let save = folder.join("state.json");
    let start = format!("{} --epsilon 1 --horizon 9 --save {}", other.display(), save.display());
    assert_eq!(count_at(&home, &start, b"").status.code(), Some(0));
    let promise = "--epsilon 0.5 --horizon 9";
    for arguments in [
        format!("{} {promise} --dataset people", file.display()),
        format!("{} {promise} --dataset unheard-of", file.display()),
        format!("{} {promise} --dataset unheard-of --no-ledger", file.display()),
        format!("{} --resume --save {}", file.display(), save.display()),
    ] {
        let output = count_at(&home, &arguments, b"");
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments}: {}", text(&output.stderr));
        assert!(
            text(&output.stderr).contains("budget") && text(&output.stderr).contains("ε = 0.001"),
            "{arguments}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_chart_does_not_overwrite_the_ledger() {
    let folder = directory("plot-ledger");
    let place = ledger_with(&folder, "1");
    let before = fs::read(&place).expect("a file");
    let arguments = format!("- --epsilon 1 --horizon 8 --ledger {0} --dataset people --plot {0}", place.display());
    assert_eq!(count_with(&arguments, b"1\n").status.code(), Some(2));
    assert_eq!(fs::read(&place).expect("a file"), before);
}

#[cfg(unix)]
#[test]
fn a_file_with_a_budget_has_it_under_every_name_and_lists_no_keys() {
    let folder = directory("every-name");
    let place = ledger_with(&folder, "1");
    let [data, hard, other] = ["data.csv", "hard.csv", "other.csv"].map(|name| folder.join(name));
    for file in [&data, &other] {
        fs::write(file, "page\nhome\n").expect("written");
    }
    fs::hard_link(&data, &hard).expect("a hard link");
    let ledger = DurableLedger::open(&Location::File(place.clone())).expect("a ledger");
    let budget = Budget::Limit(reticent::privacy::Guarantee::Pure("1".parse().expect("a number")));
    let terms = Some(Terms { unit: "line".into(), adjacency: Adjacency::Replace });
    let name = data.canonicalize().expect("there").display().to_string();
    ledger.register(&Dataset { name: name.clone(), budget, terms }).expect("registered");
    let ledger = format!("--epsilon 0.1 --horizon 8 --key page --ledger {}", place.display());
    let [data, hard, other] = [data, hard, other].map(|file| file.display().to_string());
    for (arguments, message) in [
        (format!("{hard} {ledger} --dataset people --keys home"), format!("{name} has a budget of ε = 1")),
        (
            format!("{other} {ledger} --dataset people --keys {hard}"),
            format!("{name}, which it belongs to, has a budget"),
        ),
        (format!("{data} {ledger} --keys {hard}"), "is private in this request".into()),
    ] {
        let output = count_with(&arguments, b"");
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(&message), "{arguments}: {said}");
    }
    // Nor does it have another one as standard input.
    for (arguments, message) in [
        (format!("- {ledger} --dataset people --keys home"), format!("{name} has a budget of ε = 1")),
        (format!("- {ledger} --keys {data}"), "is private in this request".into()),
    ] {
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let output = command(&arguments).stdin(fs::File::open(&hard).expect("there")).output().expect("it ends");
        let said = text(&output.stderr);
        assert!(output.status.code() == Some(2) && said.contains(&message), "{arguments:?}: {said}");
    }
    assert_eq!(charges(&place), 0);
}
