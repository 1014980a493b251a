//! The hash that chains entries.

use std::fmt;
use std::str::FromStr;

use reticent::hexadecimal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// A SHA-256 digest, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash before the first entry.
    pub const NONE: Self = Self([0; 32]);

    /// The hash of a text, or of any bytes.
    pub fn of(text: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(text.as_ref()).into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal::write(&self.0))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.to_string()
    }
}

impl FromStr for Hash {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bytes = hexadecimal::read(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| Error::Damaged("a hash is not 64 hexadecimal digits".into()))
    }
}

impl TryFrom<String> for Hash {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_sha_256() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4, of "abc"
        assert_eq!(Hash::of("abc").to_string(), known);
        assert_eq!(known.parse::<Hash>().unwrap(), Hash::of("abc"));
        assert!("ba78".parse::<Hash>().is_err() && "é".repeat(32).parse::<Hash>().is_err());
    }
}
