//! The on-disk form of a published release.

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use crate::definition::{Definition, Keys};
use crate::release::{KeyedValues, Released, StepRelease, Value};

/// Eight-byte numbers before the values: the step, when it closed, the restarts before it, variance and half-width.
const NUMBERS: usize = 5;
const WORD: usize = 8;

/// A release, with the number of restarts before it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Record {
    pub step: u64,
    pub closed: i64,
    pub restarts: u64,
    pub variance: f64,
    pub half_width: f64,
    /// One, or one for each known key.
    pub values: Vec<i64>,
}

impl Record {
    /// The number of values in a release.
    pub fn lanes(definition: &Definition) -> usize {
        match definition.keys() {
            Keys::Known(keys) => keys.len(),
            Keys::None | Keys::Selected => 1,
        }
    }

    /// The length in bytes of a record with this many values: the same for all records of a stream.
    pub fn length(lanes: usize) -> usize {
        (NUMBERS + lanes + 1) * WORD
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::length(self.values.len()));
        bytes.extend(self.step.to_le_bytes());
        bytes.extend(self.closed.to_le_bytes());
        bytes.extend(self.restarts.to_le_bytes());
        bytes.extend(self.variance.to_le_bytes());
        bytes.extend(self.half_width.to_le_bytes());
        bytes.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        bytes.extend(checksum(&bytes));
        bytes
    }

    /// Parses a record; `None` if it is incomplete or was changed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(WORD)?)?;
        if checksum(content) != sum {
            return None;
        }
        let (words, []) = content.as_chunks::<WORD>() else { return None };
        let (head, values) = words.split_at_checked(NUMBERS)?;
        Some(Self {
            step: u64::from_le_bytes(head[0]),
            closed: i64::from_le_bytes(head[1]),
            restarts: u64::from_le_bytes(head[2]),
            variance: f64::from_le_bytes(head[3]),
            half_width: f64::from_le_bytes(head[4]),
            values: values.iter().map(|value| i64::from_le_bytes(*value)).collect(),
        })
    }

    /// The release as shown to readers.
    pub fn release(&self, definition: &Definition) -> StepRelease {
        let Self { half_width, variance, .. } = *self;
        let released = match definition.keys() {
            Keys::Known(keys) => {
                let values = keys.iter().cloned().zip(self.values.iter().copied()).collect();
                Released::Keyed(KeyedValues { values, half_width, variance })
            }
            Keys::None | Keys::Selected => {
                let value = self.values.first().copied().unwrap_or(0);
                Released::One(Value { value, half_width, variance })
            }
        };
        let closed = Timestamp::from_millisecond(self.closed).unwrap_or(Timestamp::MAX);
        StepRelease { step: self.step, closed, released }
    }
}

/// Distinguishes a complete record from an incomplete one.
fn checksum(content: &[u8]) -> [u8; WORD] {
    let digest = Sha256::digest(content);
    digest[..WORD].try_into().expect("a digest is longer")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_cut_or_changed_is_none() {
        let record =
            Record { step: 7, closed: -3, restarts: 2, variance: 1.5, half_width: 4.0, values: vec![1, -2, i64::MAX] };
        let bytes = record.to_bytes();
        assert_eq!(bytes.len(), Record::length(3));
        assert_eq!(Record::from_bytes(&bytes).as_ref(), Some(&record));
        assert!((0..bytes.len()).all(|length| Record::from_bytes(&bytes[..length]).is_none()));
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert_eq!(Record::from_bytes(&changed), None);
        }
    }
}
