//! The samplers compared with those of NumPy and OpenDP.

use serde_json::{Value, json};

use super::layout::{aligned, show};
use super::measurement::Measurement;

/// The libraries that ours is compared with.
const PEERS: [&str; 2] = ["numpy", "opendp"];

/// One law at one scale: one of our generators, if any, and the peers that support it.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    law: String,
    scale: Option<f64>,
    ours: Option<Measurement>,
    peers: [Option<f64>; PEERS.len()],
}

impl Comparison {
    /// Every measurement of ours, then the peers' measurements for which we have none.
    pub fn of(measurements: &[Measurement]) -> Vec<Self> {
        let ours = measurements.iter().filter(|measurement| !PEERS.contains(&measurement.generator.as_str()));
        let mut comparisons: Vec<Self> = ours.map(|ours| Self::around(ours, Some(ours), measurements)).collect();
        for measurement in measurements {
            let (law, scale) = (&measurement.law, measurement.scale);
            if !comparisons.iter().any(|comparison| comparison.law == *law && comparison.scale == scale) {
                comparisons.push(Self::around(measurement, None, measurements));
            }
        }
        comparisons
    }

    fn around(subject: &Measurement, ours: Option<&Measurement>, all: &[Measurement]) -> Self {
        let peers = PEERS.map(|peer| {
            let found = all.iter().find(|other| other.generator == peer && other.measures_the_same_as(subject));
            found.map(|measurement| measurement.million_per_second)
        });
        Self { law: subject.law.clone(), scale: subject.scale, ours: ours.cloned(), peers }
    }

    fn speed(&self) -> Option<f64> {
        self.ours.as_ref().map(|ours| ours.million_per_second)
    }

    /// Our speed relative to a peer.
    fn ratio(&self, peer: usize) -> Option<f64> {
        Some(self.speed()? / self.peers[peer]?)
    }

    /// The comparison as one JSON object; missing measurements are null.
    pub fn json(&self) -> Value {
        json!({
            "law": self.law,
            "scale": self.scale,
            "generator": self.ours.as_ref().map(|ours| &ours.generator),
            "million_per_second": self.speed(),
            "numpy": self.peers[0],
            "opendp": self.peers[1],
            "over_numpy": self.ratio(0),
            "over_opendp": self.ratio(1),
        })
    }

    fn row(&self) -> [String; HEADER.len()] {
        let number = |value: Option<f64>, unit: &str| value.map_or_else(|| "–".into(), |value| show(value) + unit);
        [
            self.law.clone(),
            self.scale.map_or_else(|| "–".into(), |scale| scale.to_string()),
            self.ours.as_ref().map_or_else(|| "–".into(), |ours| ours.generator.clone()),
            number(self.speed(), ""),
            number(self.peers[0], ""),
            number(self.ratio(0), " ×"),
            number(self.peers[1], ""),
            number(self.ratio(1), " ×"),
        ]
    }
}

const HEADER: [&str; 8] = ["law", "scale", "ours", "M/s", "NumPy", "ours/NumPy", "OpenDP", "ours/OpenDP"];

/// Millions of samples per second on one core, aligned.
pub fn table(comparisons: &[Comparison]) -> String {
    let rows: Vec<_> = comparisons.iter().map(Comparison::row).collect();
    String::from("millions of samples a second on one core, best of several repetitions\n")
        + &aligned(HEADER, &rows, &[0, 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 5] = [
        r#"{"generator": "reticent", "law": "laplace", "scale": 10, "million_per_second": 50}"#,
        r#"{"generator": "chacha20", "law": "uniform words", "scale": null, "million_per_second": 200.5}"#,
        r#"{"generator": "numpy", "law": "laplace", "scale": 10.0, "million_per_second": 40.0}"#,
        r#"{"generator": "opendp", "law": "laplace", "scale": 10.0, "million_per_second": 0.1}"#,
        r#"{"generator": "numpy", "law": "standard normal", "scale": null, "million_per_second": 91.37}"#,
    ];

    fn comparisons() -> Vec<Comparison> {
        Comparison::of(&LINES.map(|line| Measurement::read(line).unwrap()))
    }

    #[test]
    fn the_table_is_aligned_and_complete() {
        let expected = "\
millions of samples a second on one core, best of several repetitions
law              scale  ours       M/s  NumPy  ours/NumPy  OpenDP  ours/OpenDP
laplace             10  reticent  50.0   40.0      1.25 ×   0.100        500 ×
uniform words        –  chacha20   200      –           –       –            –
standard normal      –  –            –   91.4           –       –            –
";
        assert_eq!(table(&comparisons()), expected);
    }

    #[test]
    fn json_has_the_same_numbers() {
        let first = comparisons()[0].json();
        assert_eq!((first["over_numpy"].as_f64(), first["opendp"].as_f64()), (Some(1.25), Some(0.1)));
        assert!(comparisons()[1].json()["numpy"].is_null());
    }
}
