//! `reticent plan` as a user runs it.

use std::process::{Command, Output};

use serde_json::Value;

fn reticent(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reticent")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is text")
}

fn plan(arguments: &[&str]) -> Output {
    let output = reticent(&[&["plan", "count"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    output
}

fn objects(arguments: &[&str]) -> Vec<Value> {
    let output = plan(&[arguments, &["--format", "json"]].concat());
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect("an object a line")).collect()
}

fn number(object: &Value, name: &str) -> f64 {
    object[name].as_f64().unwrap_or_else(|| panic!("{name} is a number in {object}"))
}

#[test]
fn json_has_every_counter_with_its_figures_the_best_first() {
    let objects = objects(&["--horizon", "1024", "--epsilon", "1"]);
    for object in &objects {
        let [last, average, worst, largest] =
            ["rmse_last", "rmse_average", "rmse_worst", "max_error_95"].map(|name| number(object, name));
        assert!(0.0 < last && last <= worst * (1.0 + 1e-9) && average <= worst * (1.0 + 1e-9), "{object}");
        assert!(largest > average, "{object}");
        assert!(["exact", "simulated", "bound"].iter().any(|basis| object["max_error_95_is"] == **basis), "{object}");
        assert!(object["state_bytes"].as_u64().is_some_and(|bytes| bytes > 0), "{object}");
        assert_eq!(object["guarantee"], "ε = 1");
    }
    assert!(objects.windows(2).all(|pair| number(&pair[0], "rmse_average") <= number(&pair[1], "rmse_average")));
    // The known errors of the notes' counters, with discrete noise.
    for (name, average) in
        [("output-noise", 1448.1546), ("input-noise", 30.7195), ("two-level", 15.5930), ("binary", 34.7765)]
    {
        let object = objects.iter().find(|object| object["counter"] == name).expect("it is listed");
        assert!((number(object, "rmse_average") / average - 1.0).abs() < 2e-3, "{object}");
    }
}

#[test]
fn several_guarantees_stand_side_by_side() {
    let objects = objects(&["--horizon", "2^12", "--epsilon", "1", "--rho", "0.05"]);
    for guarantee in ["ε = 1", "ρ = 0.05"] {
        assert!(objects.iter().any(|object| object["guarantee"] == guarantee && object["counter"] == "binary"));
    }
    let table = text(&plan(&["--horizon", "2^12", "--epsilon", "1", "--delta", "1e-6"]).stdout);
    assert!(table.contains("δ = 1e-6") && table.contains("Lower bound"), "{table}");
}

#[test]
fn counters_that_cannot_serve_are_left_out_and_named() {
    let arguments = ["--unbounded", "--epsilon", "1"];
    let objects = objects(&arguments);
    assert!(objects.iter().any(|object| object["counter"] == "input-noise"));
    assert!(objects.iter().all(|object| object["counter"] != "binary"));
    let table = text(&plan(&arguments).stdout);
    let left_out = table.lines().find(|line| line.starts_with("Left out: ")).expect("a line says which");
    assert!(left_out.contains("binary") && left_out.contains("horizon is unbounded"), "{left_out}");
    assert!(!text(&plan(&["--horizon", "9", "--epsilon", "1", "--delta", "1e-6"]).stdout).contains("binary ("));
}

#[test]
fn the_table_marks_the_best_and_says_it_in_words() {
    let arguments = ["--horizon", "4096", "--epsilon", "1"];
    let best = objects(&arguments)[0]["counter"].as_str().expect("a name").to_owned();
    let table = text(&plan(&arguments).stdout);
    assert!(table.contains(&format!("{best} ◄ least")), "{table}");
    assert!(table.contains(&format!("{best}: typically within ±")), "{table}");
    assert!(table.contains('█'), "{table}");
}

#[test]
fn csv_has_a_header_and_a_line_for_each() {
    let arguments = ["--horizon", "100", "--epsilon", "1", "--delta", "1e-6"];
    let csv = text(&plan(&[&arguments[..], &["--format", "csv"]].concat()).stdout);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("counter,guarantee,steps,rmse_last,"));
    assert_eq!(lines.len() - 1, objects(&arguments).len());
    assert!(csv.contains("\"ε = 1, δ = 1e-6\""));
}

#[test]
fn sensitivity_scales_the_errors() {
    let average = |more: &[&str]| {
        let arguments = [&["--horizon", "5000", "--epsilon", "1"], more].concat();
        let all = objects(&arguments);
        number(all.iter().find(|object| object["counter"] == "binary").expect("it is listed"), "rmse_average")
    };
    let ratio = |more| average(more) / average(&["--range", "0..10"]);
    assert!((ratio(&["--range", "-10..10"]) - 1.0).abs() < 1e-9);
    assert!((ratio(&["--range", "-10..10", "--adjacency", "replace"]) - 2.0).abs() < 1e-3);
    assert!((ratio(&["--range", "0..10", "--unit", "events:3"]) - 3.0).abs() < 1e-3);
}

#[test]
fn the_chart_is_well_formed() {
    let path = std::env::temp_dir().join(format!("reticent-plan-{}.svg", std::process::id()));
    let file = path.to_str().expect("the path is text");
    plan(&["--horizon", "2^40", "--epsilon", "1", "--plot", file]);
    let svg = std::fs::read_to_string(&path).expect("the chart was written");
    std::fs::remove_file(&path).expect("it can be removed");
    let document = roxmltree::Document::parse(&svg).expect("it is well formed");
    assert!(document.descendants().any(|node| node.text().is_some_and(|text| text.trim() == "binary")));
    let unwritable = reticent(&["plan", "count", "--horizon", "9", "--epsilon", "1", "--plot", "/nowhere/x.svg"]);
    assert_eq!(unwritable.status.code(), Some(1));
    assert!(text(&unwritable.stderr).contains("/nowhere/x.svg cannot be written"));
}

#[test]
fn bad_arguments_are_named_and_exit_with_2() {
    let cases: [(&[&str], &str); 20] = [
        (&["--horizon", "9", "--epsilon", "0"], "epsilon is 0, but it must be"),
        (&["--horizon", "9", "--epsilon", "-1"], "epsilon is -1, but it must be"),
        (&["--horizon", "9", "--epsilon", "nan"], "epsilon is nan, but it must be"),
        (&["--horizon", "9", "--epsilon", "inf"], "epsilon is inf, but it must be"),
        (&["--horizon", "9", "--rho", "0"], "rho is 0, but it must be"),
        (&["--horizon", "9", "--epsilon", "1", "--delta", "1"], "delta is 1, but it must be"),
        (&["--horizon", "9", "--delta", "1e-6"], "--epsilon"),
        (&["--horizon", "0", "--epsilon", "1"], "horizon is 0, but it must be from 1 to 2^40"),
        (&["--horizon", "2^41", "--epsilon", "1"], "horizon is 2199023255552, but it must be from 1 to 2^40"),
        (&["--horizon", "-1", "--epsilon", "1"], "write a number of steps"),
        (&["--horizon", "many", "--epsilon", "1"], "write a number of steps"),
        (&["--horizon", "9", "--unbounded", "--epsilon", "1"], "cannot be used with"),
        (&["--epsilon", "1"], "required"),
        (&["--horizon", "9"], "required"),
        (&["--horizon", "9", "--epsilon", "1", "--range", "1..0"], "range is 1..0, but it must be"),
        (&["--horizon", "9", "--epsilon", "1", "--range", "0..0"], "range is 0..0, but it must be"),
        (&["--horizon", "9", "--epsilon", "1", "--range", "few"], "write two whole numbers"),
        (&["--horizon", "9", "--epsilon", "1", "--unit", "user"], "unit is user, but it must be"),
        (&["--horizon", "9", "--epsilon", "1", "--adjacency", "near"], "adjacency is near, but it must be"),
        (&["--horizon", "9", "--epsilon", "1e-300"], "but it must be"),
    ];
    for (arguments, message) in cases {
        let output = reticent(&[&["plan", "count"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
}

/// The models' names and errors, as JSON has them.
fn trust(arguments: &[&str]) -> Vec<(String, f64)> {
    let output = reticent(&[&["plan", "trust", "--format", "json"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    let object = |line: &str| -> (String, f64) {
        let object: Value = serde_json::from_str(line).expect("an object a line");
        (object["name"].as_str().expect("a name").into(), number(&object, "standard_deviation"))
    };
    text(&output.stdout).lines().map(object).collect()
}

#[test]
fn trust_costs_from_the_curators_error_to_the_local_one() {
    let costs = trust(&["--rows", "10000", "--parties", "10", "--epsilon", "0.1"]);
    let error = |name: &str| costs.iter().find(|(one, _)| one == name).unwrap_or_else(|| panic!("{name}: {costs:?}")).1;
    let near = |one: f64, other: f64| assert!((one / other - 1.0).abs() < 0.01, "{one} {other}");
    // √2/ε, times √m for parties who trust nobody, times √n in the end but for the √2 that a coin has less than noise.
    near(error("curator"), 2f64.sqrt() * 10.0);
    near(error("masked, t = 0"), error("curator"));
    near(error("masked, t = 5"), 2f64.sqrt() * error("curator"));
    near(error("masked, t = 9"), error("broadcast"));
    near(error("broadcast"), 10f64.sqrt() * error("curator"));
    near(error("local"), 100.0 * error("curator") / 2f64.sqrt());
    // Programs get every number of colluders, people some.
    assert_eq!(trust(&["--rows", "10000", "--parties", "100", "--epsilon", "1"]).len(), 100 + 4);
    let table = text(&reticent(&["plan", "trust", "--rows", "10000", "--parties", "100", "--epsilon", "1"]).stdout);
    assert!(table.lines().count() < 40 && table.contains('█'), "{table}");
    assert!(table.contains("You trust nobody: every answer is randomised"), "{table}");
}

#[test]
fn the_chart_of_trust_is_well_formed() {
    let path = std::env::temp_dir().join(format!("reticent-trust-{}.svg", std::process::id()));
    let file = path.to_str().expect("the path is text");
    let output = reticent(&["plan", "trust", "--rows", "100", "--parties", "1", "--epsilon", "1", "--plot", file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let svg = std::fs::read_to_string(&path).expect("the chart was written");
    std::fs::remove_file(&path).expect("it can be removed");
    let document = roxmltree::Document::parse(&svg).expect("it is well formed");
    for name in ["curator", "pan-private", "masked", "broadcast", "local"] {
        assert!(document.descendants().any(|node| node.text().is_some_and(|text| text.trim() == name)), "{name}");
    }
}

#[test]
fn bad_arguments_of_trust_are_named_and_exit_with_2() {
    for (arguments, message) in [
        (["--rows", "0", "--parties", "1", "--epsilon", "1"], "rows is 0"),
        (["--rows", "10", "--parties", "11", "--epsilon", "1"], "parties is 11"),
        (["--rows", "10", "--parties", "0", "--epsilon", "1"], "parties is 0"),
        (["--rows", "10", "--parties", "2", "--epsilon", "0"], "epsilon is 0"),
        (["--rows", "2^41", "--parties", "2", "--epsilon", "1"], "rows is 2199023255552"),
    ] {
        let output = reticent(&[&["plan", "trust"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(message), "{arguments:?}: {}", text(&output.stderr));
    }
}

#[test]
fn every_example_of_the_help_works() {
    let directory = std::env::temp_dir().join(format!("reticent-plan-help-{}", std::process::id()));
    std::fs::create_dir_all(directory.join("examples")).expect("a directory for what the examples write");
    std::fs::write(directory.join("examples/staff.csv"), "department,age,contract,salary\n").expect("a table");
    let mut examples = 0;
    let subjects = [&["plan", "--help"][..], &["plan", "count", "--help"], &["plan", "trust", "--help"]];
    for help in subjects.into_iter().chain([&["plan", "query", "--help"][..]]).map(reticent) {
        let lines = text(&help.stdout).replace("\\\n", " ");
        for example in lines.lines().filter_map(|line| line.trim().strip_prefix("reticent ")) {
            let command = format!("{} {example}", env!("CARGO_BIN_EXE_reticent"));
            let shell =
                Command::new("sh").args(["-c", &command]).current_dir(&directory).env("HOME", &directory).output();
            let output = shell.expect("a shell");
            assert_eq!(output.status.code(), Some(0), "{example}: {}", text(&output.stderr));
            examples += 1;
        }
    }
    std::fs::remove_dir_all(&directory).expect("it can be removed");
    assert_eq!(examples, 12);
}
