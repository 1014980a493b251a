//! Everything but the releases: errors, exit codes, the guarantee.

use super::*;

#[test]
fn what_is_promised_and_assumed_is_said_first() {
    let said = |arguments: &str, input: &[u8]| {
        let output = count_with(arguments, input);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    let lines = said("- --epsilon 1 --horizon 8 --counter binary", b"1\n");
    for part in ["ε = 1, unit step, adjacency replace, range 0..1, counter binary, horizon 8 steps", "RMSE"] {
        assert!(lines.contains(part), "{lines}");
    }
    assert!(
        lines.contains("its arrival is public") && lines.contains("charged to standard input in your ledger"),
        "{lines}"
    );
    let sums = said("- --epsilon 1 --delta 1e-6 --unbounded --adjacency add-remove --counter hybrid", b"1\n");
    for part in ["ε = 1, δ = 1e-6", "unit event, adjacency add-remove", "unbounded", "this is not checked"] {
        assert!(sums.contains(part), "{sums}");
    }
    let events = said("- --rho 0.5 --time at --step 1h --from 2026-01-31 --to 2026-02-01", b"at\n");
    for part in ["ρ = 0.5", "unit event, adjacency add-remove", "24 steps", "whether any one event happened"] {
        assert!(events.contains(part), "{events}");
    }
}

/// A guarantee that gives almost no protection must be confirmed, and is then reported as such.
#[test]
fn a_large_epsilon_must_be_confirmed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reticent"));
    at_home(command.args("count - --horizon 8 --epsilon 1000".split(' ')).stdin(Stdio::null()), &home());
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("at most 10, or confirmed with --allow-large-epsilon"));
    let said = text(&count_with("- --horizon 8 --epsilon 1000", b"1\n").stderr);
    assert!(said.contains("but ε = 1000 gives almost no protection"), "{said}");
}

#[test]
fn mistakes_outside_the_rows_are_named_and_exit_with_2() {
    let csv = b"n,at,n2,n2\n1,2,3,4\n";
    for (arguments, message) in [
        ("- --horizon 8", "--epsilon E"),
        ("- --epsilon 1", "--horizon T"),
        ("- --epsilon 0 --horizon 8", "--epsilon is 0, but it must be"),
        ("- --epsilon -1 --horizon 8", "--epsilon is -1, but it must be"),
        ("- --epsilon nan --horizon 8", "--epsilon is nan, but it must be"),
        ("- --epsilon 1 --delta 2 --horizon 8", "--delta is 2, but it must be"),
        ("- --rho 0 --horizon 8", "--rho is 0, but it must be"),
        ("- --epsilon 1 --rho 1 --horizon 8", "cannot be used with"),
        ("- --delta 1e-6 --rho 1 --horizon 8", "--epsilon"),
        ("- --epsilon 1 --horizon 8 --unbounded", "cannot be used with"),
        ("- --epsilon 1 --horizon 0", "--horizon is 0, but it must be"),
        ("- --epsilon 1 --horizon 2000000000000", "--horizon is 2000000000000, but it must be"),
        ("- --epsilon 1 --horizon 8 --range 7", "write two whole numbers"),
        ("- --epsilon 1 --horizon 8 --range 7..1", "range is 7..1, but it must be"),
        ("- --epsilon 1 --horizon 8 --range 3..3", "range is 3..3, but it must be"),
        ("- --epsilon 1 --horizon 8 --unit person", "unit is person, but it must be"),
        ("- --epsilon 1 --horizon 8 --adjacency swap", "--adjacency is swap, but it must be"),
        ("- --epsilon 1 --horizon 8 --counter best", "counter is best, but it must be"),
        ("- --epsilon 1 --unbounded --counter output-noise", "but it must be"),
        ("- --epsilon 1 --horizon 8 --level 1", "--level is 1, but it must be"),
        ("- --epsilon 1 --horizon 8 --column salary", "standard input has no column salary"),
        ("- --epsilon 1 --horizon 8 --column n2", "several columns n2"),
        ("- --epsilon 1 --horizon 8 --input csv", "--column"),
        ("- --epsilon 1 --horizon 8 --input text --column n", "--input csv"),
        ("- --epsilon 1 --horizon 8 --time at", "--step"),
        ("- --epsilon 1 --horizon 8 --time at --step 60 --from 0", "--step is 60, but it must be"),
        ("- --epsilon 1 --horizon 8 --time at --step 1m --from yesterday", "--from is yesterday, but it must be"),
        ("- --epsilon 1 --time at --step 1m --from 0 --to 90", "whole number of steps"),
        ("- --epsilon 1 --time at --step 1m --from 60 --to 0", "--to must be later"),
        ("- --epsilon 1 --horizon 8 --time at --step 1m --from 0 --unit step", "--range"),
        ("- --epsilon 1 --horizon 8 --time at --step 1m --from 0 --adjacency replace", "add-remove"),
        ("- --epsilon 1 --horizon 8 --events --step 1m --from 0", "--time"),
        ("- --epsilon 1 --horizon 8 --resume", "--save"),
        ("- --epsilon 1 --horizon 8 --resume --save /nowhere/state", "no saved counter"),
        ("- --epsilon 1 --horizon 8 --save /nowhere/state", "--save cannot use /nowhere/state"),
        ("/nowhere.txt --epsilon 1 --horizon 8", "cannot read /nowhere.txt"),
        ("/ --epsilon 1 --horizon 8", "is a directory"),
        ("tests/query/tiny.parquet --epsilon 1 --horizon 8", "--column"),
        ("tests/query/tiny.parquet --epsilon 1 --horizon 8 --column salary", "there is no column `salary`"),
        (
            "tests/query/tiny.parquet --epsilon 1 --horizon 8 --column age --input csv",
            "in the format parquet by its name",
        ),
        ("- --epsilon 1 --horizon 8 --column age --input parquet", "standard input is a pipe"),
    ] {
        let output = count_with(arguments, csv);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(message), "{arguments}: {said}");
        assert!(output.stdout.is_empty(), "{arguments}");
        assert!(!said.contains("1,2,3,4"), "{arguments}: {said}");
    }
    assert_eq!(count_with("- --epsilon 1 --horizon 8 --column n", b"").status.code(), Some(2), "no header");
}

/// Before anything is charged, even for a pipe; with steps closed by the clock nothing waits for the first event.
#[test]
fn what_is_no_text_is_refused_by_how_it_begins() {
    let home = directory("foreign");
    for (start, said) in [
        (&b"\x1f\x8b\x08\0rest"[..], "standard input is compressed with gzip"),
        (b"PAR1\x15\0", "standard input is a Parquet file and has no lines"),
        (b"\xff\xfe1\0\n\0", "standard input is text in UTF-16"),
    ] {
        for input in ["text", "ndjson --events"] {
            let output = accounting::count_at(&home, &format!("- --epsilon 1 --horizon 8 --input {input}"), start);
            assert_eq!(output.status.code(), Some(2), "{said}: {}", text(&output.stderr));
            assert!(text(&output.stderr).contains(said), "{said}: {}", text(&output.stderr));
            assert!(!text(&output.stderr).contains("charged to") && output.stdout.is_empty());
        }
    }
    let array = home.join("events.json");
    std::fs::write(&array, "[{\"value\": 1}]").expect("written");
    let output = count_with(&format!("{} --epsilon 1 --horizon 8", array.display()), b"");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("is a JSON array by its name"), "{}", text(&output.stderr));
}

#[test]
fn a_first_row_in_place_of_a_header_is_not_shown() {
    let output = count_with("- --epsilon 1 --horizon 8 --column n", b"alice,secret\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(!text(&output.stderr).contains("alice"), "{}", text(&output.stderr));
}

/// Messages and exit codes are the same whatever a row contains.
#[test]
fn neighbours_cannot_be_told_apart_by_errors() {
    let home = directory("neighbours");
    let seen = |arguments: &str, input: &[u8]| {
        // Earlier charges are mentioned, too: make them the same for all.
        let _ = std::fs::remove_dir_all(&home);
        let output = accounting::count_at(&home, arguments, input);
        (text(&output.stderr), output.status.code(), text(&output.stdout).lines().count())
    };
    let bad: [&[u8]; 11] = [
        b"1",
        b"",
        b"x",
        b"-1",
        b"NaN",
        b"inf",
        b"1e400",
        b"-9223372036854775808",
        b"99999999999999999999",
        b"\"",
        b"\xff\x00",
    ];
    for (arguments, first, last) in [
        ("- --epsilon 1 --horizon 3", "", ""),
        ("- --epsilon 1 --horizon 2", "", ""),
        ("- --epsilon 1 --unbounded --unit event --range -9223372036854775807..9223372036854775807", "", ""),
        ("- --epsilon 1 --horizon 3 --column n", "n,m\n", ",2"),
        ("- --epsilon 1 --horizon 3 --input ndjson --column n", "", ""),
        ("- --epsilon 1 --time n --step 1m --from 0 --to 3600", "n,m\n", ",2"),
        ("- --epsilon 1 --time m --column n --step 1m --from 0 --to 3600 --range -100..100", "n,m\n", ",2"),
    ] {
        let outcomes: Vec<_> = bad
            .iter()
            .map(|cell| seen(arguments, &[first.as_bytes(), b"1\n", cell, last.as_bytes(), b"\n1\n"].concat()))
            .collect();
        for (outcome, cell) in outcomes.iter().zip(bad) {
            assert_eq!(outcome, &outcomes[0], "{arguments}: {cell:?}");
        }
    }
    let rows =
        |rows: &str| seen("- --epsilon 1 --time n --step 1m --from 0 --to 3600", format!("n\n{rows}").as_bytes());
    assert_eq!(rows(""), rows("1\n"), "a row more or less");
    assert_eq!(rows("").2, 61);
}

#[cfg(target_os = "linux")]
#[test]
fn reading_that_fails_has_one_text() {
    // A file whose first byte cannot be read.
    let output = count_with("/proc/self/mem --epsilon 1 --horizon 3", b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).ends_with("error: reading the input failed\n"), "{}", text(&output.stderr));
}

#[test]
fn the_horizon_is_an_end() {
    let output = count_with("- --epsilon 1 --horizon 3 --format json", b"1\n1\n1\n1\n1\n");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(values_from(1, &output).len(), 3);
    let said = text(&output.stderr);
    assert!(said.contains("error: the horizon of 3 steps is reached"), "{said}");
    assert_eq!(said.matches("horizon of 3 steps").count(), 1, "{said}");
    assert_eq!(count_with("- --epsilon 1 --horizon 3", b"1\n1\n1\n").status.code(), Some(0));
}

#[test]
fn no_line_no_release() {
    let output = count_with("- --epsilon 1 --horizon 3 --format csv", b"");
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "step,value,half_width,level\n"));
}

/// A reader that closes the pipe early is no error; a full disk is. Neither is a panic.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_or_full_output_is_no_panic() {
    let lines = "1\n".repeat(200_000);
    let mut child = command(&["-", "--epsilon", "1", "--horizon", "200000"]).spawn().expect("the program starts");
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().expect("a pipe");
    let _ = stdin.write_all(lines.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let full = std::fs::File::create("/dev/full").expect("the device opens");
    let mut child =
        command(&["-", "--epsilon", "1", "--horizon", "200000"]).stdout(full).spawn().expect("the program starts");
    let _ = child.stdin.take().expect("a pipe").write_all(b"1\n");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: ") && !text(&output.stderr).contains("panicked"));
}

#[test]
fn help_ends_with_examples_that_work() {
    let help = text(&Command::new(env!("CARGO_BIN_EXE_reticent")).args(["count", "--help"]).output().unwrap().stdout);
    let examples = help.split("Examples:").nth(1).expect("examples").split("Exit codes").next().expect("examples");
    let examples = examples.replace("\\\n", " ");
    let examples: Vec<&str> =
        examples.lines().filter(|line| line.contains("reticent") && !line.contains("tail")).collect();
    assert!(examples.len() >= 3, "{help}");
    for example in examples {
        let directory = std::path::Path::new(env!("CARGO_BIN_EXE_reticent")).parent().expect("a directory");
        let path = format!("{}:{}", directory.display(), std::env::var("PATH").expect("a path"));
        let output =
            at_home(Command::new("sh").args(["-c", example]).env("PATH", path), &home()).output().expect("a shell");
        assert_eq!(output.status.code(), Some(0), "{example}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty(), "{example}");
    }
}
