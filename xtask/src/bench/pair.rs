//! Our releases, each compared with everything else measured on the same task.

use serde_json::{Value, json};

use super::layout::{aligned, show};
use super::measurement::Measurement;

/// The name under which ours are measured.
const OURS: &str = "reticent";
const HEADER: [&str; 5] = ["release", "ours, M/s", "against", "M/s", "ours/theirs"];

/// One release of ours, and another library or a limit on the same task.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    ours: Measurement,
    theirs: Measurement,
}

impl Pair {
    /// Every pair of ours and theirs, in the order in which ours were measured.
    pub fn of(measurements: &[Measurement]) -> Vec<Self> {
        let is_ours = |measurement: &&Measurement| measurement.generator == OURS;
        let mut pairs = Vec::new();
        for ours in measurements.iter().filter(is_ours) {
            let others = measurements.iter().filter(|other| !is_ours(other) && other.measures_the_same_as(ours));
            pairs.extend(others.map(|theirs| Self { ours: ours.clone(), theirs: theirs.clone() }));
        }
        pairs
    }

    fn ratio(&self) -> f64 {
        self.ours.million_per_second / self.theirs.million_per_second
    }

    /// The pair as one JSON object.
    pub fn json(&self) -> Value {
        json!({
            "release": self.ours.law,
            "million_per_second": self.ours.million_per_second,
            "against": self.theirs.generator,
            "their_million_per_second": self.theirs.million_per_second,
            "ratio": self.ratio(),
        })
    }

    fn row(&self) -> [String; HEADER.len()] {
        [
            self.ours.law.clone(),
            show(self.ours.million_per_second),
            self.theirs.generator.clone(),
            show(self.theirs.million_per_second),
            show(self.ratio()) + " ×",
        ]
    }
}

/// Millions of items per second on one core, aligned.
pub fn table(pairs: &[Pair]) -> String {
    let rows: Vec<_> = pairs.iter().map(Pair::row).collect();
    String::from("millions a second on one core, whole releases, best of several repetitions\n")
        + &aligned(HEADER, &rows, &[0, 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 4] = [
        r#"{"generator": "reticent", "law": "histogram, cells", "scale": null, "million_per_second": 50}"#,
        r#"{"generator": "a copy", "law": "histogram, cells", "scale": null, "million_per_second": 200.5}"#,
        r#"{"generator": "opendp", "law": "histogram, cells", "scale": null, "million_per_second": 0.1}"#,
        r#"{"generator": "opendp", "law": "something else", "scale": null, "million_per_second": 1}"#,
    ];

    #[test]
    fn ours_stand_beside_all_others_of_the_same_task() {
        let pairs = Pair::of(&LINES.map(|line| Measurement::read(line).unwrap()));
        let expected = "\
millions a second on one core, whole releases, best of several repetitions
release           ours, M/s  against    M/s  ours/theirs
histogram, cells       50.0  a copy     200      0.249 ×
histogram, cells       50.0  opendp   0.100        500 ×
";
        assert_eq!(table(&pairs), expected);
        assert_eq!(pairs[1].json()["ratio"].as_f64(), Some(500.0));
    }
}
