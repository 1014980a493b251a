//! Fixed-length bytes written as hexadecimal digits, and SHA-256 digests.

use std::fmt;
use std::str::FromStr;

use reticent::hexadecimal;
use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

/// `N` bytes, written as 2·`N` lower-case hexadecimal digits.
///
/// # Example
/// ```
/// use reticent_party::Hex;
///
/// let bytes: Hex<2> = "0aff".parse().unwrap();
/// assert_eq!((bytes.0, bytes.to_string()), ([10, 255], "0aff".to_owned()));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Hex<const N: usize>(pub [u8; N]);

/// A SHA-256 digest.
pub type Digest = Hex<32>;

/// The error for text that is not the right number of hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not {0} lower-case hexadecimal digits")]
pub struct NotHexadecimal(usize);

/// The digest of all parts, concatenated.
pub fn sha256<'part>(parts: impl IntoIterator<Item = &'part [u8]>) -> Digest {
    let mut context = Context::new(&SHA256);
    parts.into_iter().for_each(|part| context.update(part));
    Hex(context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes"))
}

impl<const N: usize> fmt::Display for Hex<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hexadecimal::write(&self.0))
    }
}

impl<const N: usize> fmt::Debug for Hex<N> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl<const N: usize> FromStr for Hex<N> {
    type Err = NotHexadecimal;

    fn from_str(text: &str) -> Result<Self, NotHexadecimal> {
        let bytes = hexadecimal::read(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(NotHexadecimal(2 * N))
    }
}

impl<const N: usize> TryFrom<String> for Hex<N> {
    type Error = NotHexadecimal;

    fn try_from(text: String) -> Result<Self, NotHexadecimal> {
        text.parse()
    }
}

impl<const N: usize> From<Hex<N>> for String {
    fn from(hex: Hex<N>) -> Self {
        hex.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_read_as_they_are_written_and_in_no_other_way() {
        let hex = Hex([0, 1, 0xab, 0xff]);
        assert_eq!(hex.to_string().parse(), Ok(hex));
        for wrong in ["0001abf", "0001abf ", "0001ABFF", "0001abffff", "", "0001abé"] {
            assert_eq!(wrong.parse::<Hex<4>>(), Err(NotHexadecimal(8)), "{wrong}");
        }
    }

    #[test]
    fn it_is_sha_256_of_all_parts() {
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4, of "abc"
        assert_eq!(sha256([b"a".as_slice(), b"bc"]).to_string(), known);
    }
}
