//! What entries are chained with.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::Error;

/// A SHA-256 digest, written as 64 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// What comes before the first entry.
    pub const NONE: Self = Self([0; 32]);

    /// Of a text, or of any bytes.
    pub fn of(text: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(text.as_ref()).into())
    }
}

/// Two digits a byte.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal(&self.0))
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
        let wrong = || Error::Damaged("a hash is not 64 hexadecimal digits".into());
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return Err(wrong());
        }
        let digit = |letter: u8| char::from(letter).to_digit(16).ok_or_else(wrong);
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            // Two digits of 4 bits each.
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
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
