//! The hash by which every report identifies its task.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};
use crate::hexadecimal;
use crate::text::serde_as_text;

/// The beginning of all canonical texts; another form of task would begin differently.
const FORM: &str = "reticent local task 1";

/// SHA-256 of a task's canonical form, written as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct TaskId([u8; 32]);

impl TaskId {
    /// The digest itself.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal::write(&self.0))
    }
}

impl fmt::Debug for TaskId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for TaskId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bytes = hexadecimal::read(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::parameter("task", text, "64 hexadecimal digits"))
    }
}

serde_as_text!(TaskId);

/// A task as bytes, the same however it was written: names and texts one after another, each prefixed with its length,
/// so that no two tasks have the same bytes.
pub(in crate::local) struct Canonical(Vec<u8>);

impl Canonical {
    pub fn new() -> Self {
        let mut canonical = Self(Vec::new());
        canonical.text(FORM);
        canonical
    }

    pub fn field(&mut self, name: &str, text: &str) {
        self.text(name);
        self.text(text);
    }

    fn text(&mut self, text: &str) {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
    }

    pub fn hash(self) -> TaskId {
        TaskId(Sha256::digest(&self.0).into())
    }
}
