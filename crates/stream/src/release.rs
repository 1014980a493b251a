//! The release at the end of a step.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

/// The release at the end of a step. It never changes, even after a crash.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepRelease {
    /// The step, counted from 1.
    pub step: u64,
    /// When the step ended. By the clock: when it was due, not when it was actually closed.
    #[serde(serialize_with = "rfc3339")]
    pub closed: Timestamp,
    /// The running sums.
    pub released: Released,
}

/// Noisy running sums.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Released {
    /// Of a stream without keys.
    One(Value),
    /// Of a stream with keys.
    Keyed(KeyedValues),
}

/// A noisy running sum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Value {
    /// The noisy sum.
    pub value: i64,
    /// |noise| stays within this with probability at least 95 %.
    pub half_width: f64,
    /// The variance of the noise.
    pub variance: f64,
}

/// A noisy running sum for each key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyedValues {
    /// Known keys in their own order, then admitted ones by the step of their admission.
    #[serde(serialize_with = "pairs")]
    pub values: Vec<(Arc<str>, i64)>,
    /// |noise| of one key stays within this with probability at least 95 %.
    pub half_width: f64,
    /// The variance of the noise of one key.
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
