//! `reticent audit` as a user runs it.

use std::process::{Command, Output};

fn reticent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

#[test]
fn a_sound_mechanism_is_consistent() {
    let output = reticent(&["audit", "discrete-laplace", "--epsilon", "1", "--samples", "20000", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_str(&text(&output.stdout)).expect("one JSON object");
    assert_eq!((&report["mechanism"], &report["verdict"]), (&"discrete-laplace".into(), &"consistent".into()));
    assert_eq!((report["claimed_epsilon"].as_f64(), report["claimed_delta"].as_f64()), (Some(1.0), Some(0.0)));
    let bound = report["lower_bound"].as_f64().expect("a number");
    assert!(bound > 0.8 && bound <= 1.0, "{bound}");
    assert!(output.stderr.is_empty(), "no progress bar where nobody looks");
}

#[test]
fn the_table_and_the_csv_name_the_verdict() {
    for format in ["table", "csv"] {
        let output = reticent(&["audit", "discrete-laplace", "--samples", "5000", "--format", format]);
        assert!(text(&output.stdout).contains("consistent"), "{format}");
    }
    assert!(text(&reticent(&["audit", "--list"]).stdout).contains("discrete-laplace"));
}

#[test]
fn bad_arguments_are_named_and_exit_with_2() {
    let cases: [(&[&str], &str); 7] = [
        (&["audit", "discrete-laplace", "--epsilon", "0"], "epsilon is 0, but it must be"),
        (&["audit", "discrete-laplace", "--epsilon", "-1"], "epsilon is -1, but it must be"),
        (&["audit", "discrete-laplace", "--epsilon", "NaN"], "epsilon is NaN, but it must be"),
        (&["audit", "discrete-laplace", "--epsilon", "inf"], "epsilon is inf, but it must be"),
        (&["audit", "discrete-laplace", "--samples", "10"], "10 is not in 1000..="),
        (&["audit", "something-else"], "mechanism is something-else, but it must be"),
        (&["audit"], "required"),
    ];
    for (arguments, message) in cases {
        let output = reticent(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// A reader that closes the pipe early is no error; a full disk is. Neither is a panic.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_or_full_output_is_no_panic() {
    use std::process::Stdio;
    let mut closed = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["audit", "discrete-gaussian"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(closed.stdout.take());
    let output = closed.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
    let full = std::fs::File::create("/dev/full").expect("the device opens");
    let output = Command::new(env!("CARGO_BIN_EXE_reticent")).args(["audit", "--list"]).stdout(full).output();
    let output = output.expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).starts_with("error: "), "{}", text(&output.stderr));
}

#[test]
fn extreme_parameters_are_refused_and_not_panicked_at() {
    for arguments in [
        ["audit", "randomised-response", "--epsilon", "300"],
        ["audit", "histogram", "--epsilon", "900"],
        ["audit", "threshold", "--epsilon", "1e-8"],
        ["audit", "discrete-gaussian", "--delta", "1e-60"],
        ["audit", "stable-mode", "--epsilon", "1e-300"],
        ["audit", "discrete-laplace", "--list", "--epsilon=1"],
    ] {
        assert_eq!(reticent(&arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_ends_with_an_example_that_works() {
    let help = text(&reticent(&["audit", "--help"]).stdout);
    let example = help.lines().find_map(|line| line.trim().strip_prefix("reticent ")).expect("an example");
    let output = reticent(&example.split_whitespace().collect::<Vec<_>>());
    assert_eq!(output.status.code(), Some(0), "{example}: {}", text(&output.stderr));
}
