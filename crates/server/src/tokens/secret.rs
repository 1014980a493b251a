//! The token itself: a public id, by which it is looked up, and 32 secret bytes.

use reticent::hexadecimal;
use reticent::secrets::TOKEN as PREFIX;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::error::{Error, Result};

const ID_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;

/// A token.
pub struct Secret {
    id: String,
    hex: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secret").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Secret {
    /// Draws a new token.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn draw() -> Result<Self> {
        let mut bytes = [0; ID_BYTES + SECRET_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|_| Error::Machine("the operating system provides no randomness".into()))?;
        Ok(Self { id: hexadecimal::write(&bytes[..ID_BYTES]), hex: hexadecimal::write(&bytes[ID_BYTES..]) })
    }

    /// Parses a token; `None` if it is not one.
    pub fn read(text: &str) -> Option<Self> {
        let (id, hex) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_hex = |text: &str, length| hexadecimal::read(text).is_some_and(|bytes| bytes.len() == length);
        (is_hex(id, ID_BYTES) && is_hex(hex, SECRET_BYTES)).then(|| Self { id: id.into(), hex: hex.into() })
    }

    /// Its public part.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The stored hash. With 256 random bits, no slow hash is needed to prevent guessing.
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.hex.as_bytes()).into()
    }

    /// Whether this is its hash, compared in constant time.
    pub fn has_hash(&self, hash: &[u8]) -> bool {
        self.hash().ct_eq(hash).into()
    }

    /// The token as text, to be shown once.
    pub fn text(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.hex)
    }
}
