//! What is released at the end of a step.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// What is released at the end of a step. Once made it never changes, also after a crash.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRelease {
    /// Counted from 1.
    pub step: u64,
    /// When the step ended. By the clock: when it had to end, which is not when somebody came round to it.
    #[serde(serialize_with = "rfc3339")]
    pub closed: Timestamp,
    /// The running sums.
    pub released: Released,
}

/// Running sums with noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Released {
    /// Of a stream without keys.
    One(Value),
    /// Of a stream with keys.
    Keyed(KeyedValues),
}

/// One running sum with noise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Value {
    /// With noise.
    pub value: i64,
    /// |noise| stays within this with probability at least 95 %.
    pub half_width: f64,
    /// Of the noise.
    pub variance: f64,
}

/// One running sum for each key, with noise.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyedValues {
    /// Known keys in their own order, then admitted ones by the step of their admission.
    #[serde(serialize_with = "pairs")]
    pub values: Vec<(Arc<str>, i64)>,
    /// |noise| of one key stays within this with probability at least 95 %.
    pub half_width: f64,
    /// Of the noise of one key.
    pub variance: f64,
}

impl Released {
    /// |noise| of one value stays within this with probability at least 95 %.
    pub fn half_width(&self) -> f64 {
        match self {
            Self::One(value) => value.half_width,
            Self::Keyed(values) => values.half_width,
        }
    }
}

fn rfc3339<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}

fn pairs<S: Serializer>(values: &[(Arc<str>, i64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|(key, value)| (&**key, value)))
}
