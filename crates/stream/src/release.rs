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

/// The length of a release as JSON without its keys, and of a key's value, in bytes; long numbers can take a little more.
const RELEASE_BYTES: usize = 104;
const VALUE_BYTES: usize = 48;

impl StepRelease {
    /// About how many bytes it takes as JSON in which every value is named.
    pub fn json_bytes(&self) -> usize {
        let escaped = |byte: u8| match byte {
            b'"' | b'\\' => 2,
            0..0x20 => 6,
            _ => 1,
        };
        let value = |key: &str| VALUE_BYTES + key.bytes().map(escaped).sum::<usize>();
        RELEASE_BYTES
            + match &self.released {
                Released::One(_) => 0,
                Released::Keyed(keyed) => keyed.values.iter().map(|(key, _)| value(key)).sum(),
            }
    }
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
