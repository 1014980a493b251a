//! The output of the benchmarks.

use serde_json::Value;

/// How fast one generator draws from one law, or one library makes one release.
#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// The generator or library.
    pub generator: String,
    /// What is drawn or released.
    pub law: String,
    pub scale: Option<f64>,
    pub million_per_second: f64,
}

impl Measurement {
    /// Parses one line of a benchmark's output.
    pub fn read(line: &str) -> Result<Self, String> {
        let fields = || {
            let value: Value = serde_json::from_str(line).ok()?;
            Some(Self {
                generator: value.get("generator")?.as_str()?.into(),
                law: value.get("law")?.as_str()?.into(),
                scale: value.get("scale")?.as_f64(),
                million_per_second: value.get("million_per_second")?.as_f64()?,
            })
        };
        fields().ok_or_else(|| format!("this is not a measurement: {line}"))
    }

    /// Whether the two can be compared.
    pub fn measures_the_same_as(&self, other: &Self) -> bool {
        self.law == other.law && self.scale == other.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_output_is_not_taken_for_a_measurement() {
        for line in ["", "Warning: …", "{}", r#"{"generator": "numpy", "law": 1}"#] {
            assert!(Measurement::read(line).is_err());
        }
    }
}
