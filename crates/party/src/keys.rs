//! A party's identity: an Ed25519 key. The private key never leaves its file; the public key is in the task.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::str::FromStr;

use reticent::hexadecimal;
use reticent::secrets::PRIVATE_KEY as PRIVATE;
use reticent_durable::{private, sync_directory};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::error::{Error, Result};
use crate::hex::Hex;

/// The prefix of a written public key.
const PUBLIC: &str = "ed25519:";
/// A larger file is not a key file.
const LARGEST_FILE: u64 = 4096;

/// The length of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// A party's signature.
pub type Signature = Hex<SIGNATURE_BYTES>;

/// A party's public identity: written as `ed25519:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey(Hex<32>);

impl PublicKey {
    /// The key's 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Hex(bytes))
    }

    /// Whether the owner of this key signed the message.
    pub fn has_signed(&self, message: &[u8], signature: &Signature) -> bool {
        UnparsedPublicKey::new(&ED25519, self.bytes()).verify(message, &signature.0).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PUBLIC}{}", self.0)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for PublicKey {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let key = text.strip_prefix(PUBLIC).and_then(|digits| digits.parse().ok());
        key.map(Self).ok_or_else(|| {
            let allowed = "`ed25519:` and 64 hexadecimal digits, as `reticent party keygen` prints it";
            Error::parameter("a party's key", text, allowed)
        })
    }
}

impl TryFrom<String> for PublicKey {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// A private key. It is never shown, and is wiped from memory when dropped.
///
/// # Example
/// ```
/// use reticent_party::PrivateKey;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("st-mary.key");
/// let public = PrivateKey::create(&path)?;
/// assert_eq!(PrivateKey::read(&path)?.public(), public);
/// assert!(PrivateKey::create(&path).is_err(), "a key is never overwritten");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PrivateKey {
    pair: Ed25519KeyPair,
    pkcs8: Zeroizing<Vec<u8>>,
}

impl PrivateKey {
    /// Generates a key, in memory only.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn generate() -> Result<Self> {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| no_randomness())?;
        Ok(Self::from_pkcs8(Zeroizing::new(document.as_ref().to_vec())).expect("it was just made"))
    }

    /// Generates a key, writes it durably to a new file that only its owner can read, and returns the public key.
    ///
    /// # Errors
    /// If the file exists (a key is never overwritten) or cannot be written.
    pub fn create(path: &Path) -> Result<PublicKey> {
        let key = Self::generate()?;
        let digits = Zeroizing::new(hexadecimal::write(&key.pkcs8));
        let text = Zeroizing::new(format!("{PRIVATE}{}\n", *digits));
        let written = private(OpenOptions::new().write(true).create_new(true)).open(path).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            sync_directory(path)
        });
        match written {
            Ok(()) => Ok(key.public()),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                let allowed = "a file that does not exist yet: a key is never overwritten";
                Err(Error::parameter("the key file", path.display(), allowed))
            }
            Err(error) => Err(Error::file("written", path, error)),
        }
    }

    /// Reads a key file.
    ///
    /// # Errors
    /// If the file is missing, is not a key file, or is readable by anyone but its owner.
    pub fn read(path: &Path) -> Result<Self> {
        let failed = |error| Error::file("read", path, error);
        let about = fs::metadata(path).map_err(failed)?;
        if others_may_read(&about) {
            let allowed = "readable by its owner only; run `chmod 600`, and make a new key if others may have read it";
            return Err(Error::parameter("the key file", path.display(), allowed));
        }
        let wrong = || Error::parameter("the key file", path.display(), "one made by `reticent party keygen`");
        if about.len() > LARGEST_FILE {
            return Err(wrong());
        }
        let text = Zeroizing::new(fs::read_to_string(path).map_err(failed)?);
        let digits = text.trim_end().strip_prefix(PRIVATE).ok_or_else(wrong)?;
        let pkcs8 = Zeroizing::new(hexadecimal::read(digits).ok_or_else(wrong)?);
        Self::from_pkcs8(pkcs8).ok_or_else(wrong)
    }

    fn from_pkcs8(pkcs8: Zeroizing<Vec<u8>>) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).ok()?;
        Some(Self { pair, pkcs8 })
    }

    /// The public key.
    pub fn public(&self) -> PublicKey {
        PublicKey(Hex(self.pair.public_key().as_ref().try_into().expect("a public key has 32 bytes")))
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Signature {
        Hex(self.pair.sign(message).as_ref().try_into().expect("a signature has 64 bytes"))
    }

    /// The key in the form TLS expects.
    pub(crate) fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PrivateKey(of {})", self.public())
    }
}

pub(crate) fn no_randomness() -> Error {
    Error::Core(reticent::Error::Entropy("the operating system gave no randomness".into()))
}

#[cfg(unix)]
fn others_may_read(about: &fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o077 != 0
}

#[cfg(not(unix))]
fn others_may_read(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use reticent::error::Explained;

    use super::*;

    #[test]
    fn a_key_file_is_for_its_owner_only_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.key");
        let public = PrivateKey::create(&path).unwrap();
        let content = fs::read(&path).unwrap();
        assert!(PrivateKey::create(&path).unwrap_err().is_usage());
        assert_eq!(fs::read(&path).unwrap(), content);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            assert!(PrivateKey::read(&path).unwrap_err().to_string().contains("chmod 600"));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let key = PrivateKey::read(&path).unwrap();
        assert_eq!(key.public(), public);
        let secret = String::from_utf8(content.clone()).unwrap();
        assert!(!format!("{key:?}").contains(secret.trim_end().strip_prefix(PRIVATE).unwrap()));
        fs::write(&path, &content[..content.len() - 3]).unwrap();
        assert!(PrivateKey::read(&path).unwrap_err().is_usage());
        assert!(PrivateKey::read(&folder.path().join("none")).is_err());
    }

    #[test]
    fn a_public_key_is_read_as_it_is_written() {
        let key = PrivateKey::generate().unwrap().public();
        assert_eq!(key.to_string().parse::<PublicKey>().unwrap(), key);
        assert!(key.to_string().to_uppercase().parse::<PublicKey>().is_err());
        assert!(key.to_string()[1..].parse::<PublicKey>().is_err());
    }

    #[test]
    fn a_signature_is_of_one_key_and_one_message() {
        let (key, other) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        let signature = key.sign(b"message");
        assert!(key.public().has_signed(b"message", &signature));
        assert!(!key.public().has_signed(b"messagf", &signature));
        assert!(!other.public().has_signed(b"message", &signature));
    }
}
