//! What one device sends.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::prefix::PrefixReport;
use super::task::TaskId;
use crate::error::{Error, Result};
use crate::hexadecimal;

/// What one device sends: the task, a purely random number, perhaps a coarse time, and the randomised answer.
///
/// # Privacy
/// The [id](Report::id) is drawn afresh for every report and derived from nothing: it serves to count no report twice,
/// and two reports of one device have nothing in common except what their responses reveal. How a report travels (an
/// address, a cookie, the second of its arrival) can reveal whose it is, and is not part of it.
///
/// # Example
/// ```
/// use reticent::local::Report;
///
/// let json = r#"{
///     "task": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
///     "id": "000102030405060708090a0b0c0d0e0f",
///     "response": { "value": 2 }
/// }"#;
/// let report: Report = serde_json::from_str(json).unwrap();
/// assert_eq!(Report::from_bytes(&report.to_bytes())?, report);
/// assert_eq!(report.to_bytes().len(), 59);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The task that it answers.
    pub task: TaskId,
    /// Random; no two reports have the same.
    pub id: ReportId,
    /// The hour, day or week in which it was made, if the task asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<u64>,
    /// The randomised answer.
    pub response: Payload,
}

/// A randomised answer of any mechanism.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Payload {
    /// A choice, or a point of a projective space.
    Value(u64),
    /// The bits of a set of choices, the first in the lowest bit of the first byte.
    Set(#[serde(with = "bytes_as_text")] Vec<u8>),
    /// One bit.
    Bit(bool),
    /// A prefix.
    Prefix(PrefixReport),
}

mod bytes_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::hexadecimal;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hexadecimal::write(bytes))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        hexadecimal::read(&text).ok_or_else(|| D::Error::custom("a set is written in hexadecimal digits"))
    }
}

/// 128 random bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ReportId([u8; 16]);

impl ReportId {
    /// A fresh one.
    pub fn random<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        let mut bytes = [0; 16];
        rng.fill_bytes(&mut bytes);
        Self(bytes)
    }

    /// The bits themselves.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl From<ReportId> for String {
    fn from(id: ReportId) -> Self {
        hexadecimal::write(&id.0)
    }
}

impl TryFrom<String> for ReportId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        let bytes = hexadecimal::read(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::parameter("report id", text, "32 hexadecimal digits"))
    }
}

/// The first byte of a report.
const FORM: u8 = 1;
/// Stands for "no period".
const NO_PERIOD: u64 = u64::MAX;
const VALUE: u8 = 0;
const SET: u8 = 1;
const BIT: u8 = 2;
const PREFIX: u8 = 3;

impl Report {
    /// The compact form: 1 byte of form, 32 of the task, 16 of the id, 8 of the period, 1 of the kind of response, and
    /// the response; numbers with the lowest byte first, without trailing zeros.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![FORM];
        bytes.extend(self.task.bytes());
        bytes.extend(self.id.0);
        bytes.extend(self.period.unwrap_or(NO_PERIOD).to_le_bytes());
        match &self.response {
            Payload::Value(value) => {
                bytes.push(VALUE);
                bytes.extend(short(u128::from(*value)));
            }
            Payload::Set(set) => {
                bytes.push(SET);
                bytes.extend(set);
            }
            Payload::Bit(bit) => bytes.extend([BIT, u8::from(*bit)]),
            Payload::Prefix(prefix) => {
                bytes.push(PREFIX);
                bytes.extend(prefix.level.to_le_bytes());
                bytes.extend(short(prefix.point));
            }
        }
        bytes
    }

    /// Reads the compact form. Every report has exactly one.
    ///
    /// # Errors
    /// If the bytes are not a report.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes).ok_or_else(|| {
            Error::parameter(
                "report",
                format!("{} bytes", bytes.len()),
                "a report in its compact form, whole and unchanged",
            )
        })
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (&form, bytes) = bytes.split_first()?;
        let (task, bytes) = bytes.split_first_chunk::<32>()?;
        let (id, bytes) = bytes.split_first_chunk::<16>()?;
        let (period, bytes) = bytes.split_first_chunk::<8>()?;
        let (&kind, bytes) = bytes.split_first()?;
        let response = match (kind, bytes) {
            (VALUE, bytes) => Payload::Value(long(bytes)?.try_into().ok()?),
            (SET, bytes) => Payload::Set(bytes.to_vec()),
            (BIT, [bit @ (0 | 1)]) => Payload::Bit(*bit == 1),
            (PREFIX, bytes) => {
                let (level, bytes) = bytes.split_first_chunk::<4>()?;
                Payload::Prefix(PrefixReport { level: u32::from_le_bytes(*level), point: long(bytes)? })
            }
            _ => return None,
        };
        let period = Some(u64::from_le_bytes(*period)).filter(|&period| period != NO_PERIOD);
        (form == FORM).then_some(Self { task: TaskId::from_bytes(*task), id: ReportId(*id), period, response })
    }
}

/// Without trailing zeros.
fn short(number: u128) -> Vec<u8> {
    let bytes = number.to_le_bytes();
    bytes[..bytes.len() - number.leading_zeros() as usize / 8].to_vec()
}

fn long(bytes: &[u8]) -> Option<u128> {
    let mut whole = [0; 16];
    whole.get_mut(..bytes.len())?.copy_from_slice(bytes);
    // Every number is written in exactly one way.
    (bytes.last() != Some(&0)).then(|| u128::from_le_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use proptest::prelude::*;

    fn payloads() -> impl Strategy<Value = Payload> {
        prop_oneof![
            any::<u64>().prop_map(Payload::Value),
            any::<u8>().prop_map(|small| Payload::Value(small.into())),
            prop::collection::vec(any::<u8>(), 0..40).prop_map(Payload::Set),
            any::<bool>().prop_map(Payload::Bit),
            (any::<u32>(), any::<u128>()).prop_map(|(level, point)| Payload::Prefix(PrefixReport { level, point })),
        ]
    }

    proptest! {
        #[test]
        fn both_forms_lead_back(
            task in any::<[u8; 32]>(),
            id in any::<[u8; 16]>(),
            period in prop::option::of(0..u64::MAX),
            response in payloads(),
        ) {
            let report = Report { task: TaskId::from_bytes(task), id: ReportId(id), period, response };
            prop_assert_eq!(&Report::from_bytes(&report.to_bytes()).unwrap(), &report);
            let json = serde_json::to_string(&report).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Report>(&json).unwrap(), &report);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            if let Ok(report) = Report::from_bytes(&bytes) {
                prop_assert_eq!(report.to_bytes(), bytes);
            }
        }
    }

    #[test]
    fn ids_are_random() {
        let mut entropy = Entropy::seeded(1);
        let mut rng = entropy.draw().unwrap();
        assert_ne!(ReportId::random(&mut rng), ReportId::random(&mut rng));
    }
}
