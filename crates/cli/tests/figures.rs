//! `reticent figures` as a user runs it.

use std::process::Command;

const FIGURES: [&str; 6] =
    ["one-run", "error-by-step", "error-by-horizon", "largest-error-by-horizon", "pan-private", "trust"];
/// The largest chart: they are for documents.
const MOST_BYTES: usize = 150_000;

#[test]
fn every_figure_is_drawn_with_its_numbers() {
    let directory = std::env::temp_dir().join(format!("reticent-figures-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["figures", "--quick", "--out"])
        .arg(&directory)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "no progress bar where nobody looks");
    for name in FIGURES {
        let svg = std::fs::read_to_string(directory.join(format!("{name}.svg"))).expect("the chart is there");
        assert!(svg.len() < MOST_BYTES, "{name}: {} bytes", svg.len());
        let document = roxmltree::Document::parse(&svg).expect("it is well formed");
        assert!(document.descendants().any(|node| node.tag_name().name() == "desc"), "{name}");
        let csv = std::fs::read_to_string(directory.join(format!("{name}.csv"))).expect("its numbers are there");
        let mut lines = csv.lines().map(|line| line.split(',').count());
        let columns = lines.next().expect("a header");
        // A guarantee with a comma is quoted; no figure has less than its header says.
        assert!(columns >= 4 && lines.clone().count() > 5 && lines.all(|count| count >= columns), "{name}");
        assert!(!csv.contains("NaN") && !csv.contains("inf"), "{name}");
    }
    assert_eq!(std::fs::read_dir(&directory).expect("the directory").count(), 2 * FIGURES.len());
    std::fs::remove_dir_all(&directory).expect("it can be removed");
}

/// Over many runs the measured errors match the predicted ones, or a figure does not show what it claims to. With at
/// least 19 runs per figure, one of them is off by a factor of 3 with probability below 10⁻⁷.
#[test]
fn measured_errors_lie_near_those_predicted() {
    let directory = std::env::temp_dir().join(format!("reticent-measured-{}", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["figures", "--quick", "--out"])
        .arg(&directory)
        .output()
        .expect("the program starts");
    assert!(output.status.success());
    let csv = std::fs::read_to_string(directory.join("error-by-horizon.csv")).expect("its numbers are there");
    let mut ratios = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.rsplit(',').collect();
        let (predicted, measured): (f64, f64) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
        assert!((0.3..3.0).contains(&(measured / predicted)), "{line}");
        ratios.push(measured / predicted);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((0.75..1.25).contains(&mean), "{mean}");
    std::fs::remove_dir_all(&directory).expect("it can be removed");
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error() {
    let output = Command::new(env!("CARGO_BIN_EXE_reticent"))
        .args(["figures", "--quick", "--out", "/dev/null/figures"])
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/dev/null/figures cannot be made"));
}

#[test]
fn help_ends_with_an_example() {
    let output = Command::new(env!("CARGO_BIN_EXE_reticent")).args(["figures", "--help"]).output();
    let help = String::from_utf8(output.expect("the program starts").stdout).expect("the help is text");
    assert!(help.contains("reticent figures --out docs/figures"));
}
