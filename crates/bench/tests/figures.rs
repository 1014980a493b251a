//! Every figure of the documentation can be drawn, and shows what it claims to show.

use std::path::Path;
use std::process::{Command, Output};

const FIGURES: [&str; 6] =
    ["one-run", "error-by-step", "error-by-horizon", "largest-error-by-horizon", "pan-private", "trust"];
/// Figures are part of web pages: none is larger.
const MOST_BYTES: usize = 150_000;

fn draw(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_figures")).arg("--quick").arg(folder).output().expect("the program starts")
}

#[test]
fn every_figure_is_drawn_with_its_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("figures");
    let output = draw(&directory);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "no progress bar without a terminal");
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
}

/// Over many runs, measured errors are near those predicted. With 19 runs or more for each, one is off by a factor of 3 with
/// probability below 10⁻⁷.
#[test]
fn measured_errors_lie_near_those_predicted() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(draw(folder.path()).status.success());
    let csv = std::fs::read_to_string(folder.path().join("error-by-horizon.csv")).expect("its numbers are there");
    let mut ratios = Vec::new();
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.rsplit(',').collect();
        let (predicted, measured): (f64, f64) = (fields[1].parse().unwrap(), fields[2].parse().unwrap());
        assert!((0.3..3.0).contains(&(measured / predicted)), "{line}");
        ratios.push(measured / predicted);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    assert!((0.75..1.25).contains(&mean), "{mean}");
}

#[test]
fn a_folder_that_cannot_be_created_is_an_error() {
    let output = draw(Path::new("/dev/null/figures"));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot create /dev/null/figures"));
}
