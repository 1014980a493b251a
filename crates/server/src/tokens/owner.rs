//! The owner's token of one run, for a service that has no tokens yet.
//!
//! A request from this machine proves nothing: a proxy on it forwards requests of others, and other users of the
//! machine have the same address. So the owner presents a secret from the data directory, which only the owner can
//! read. It is drawn at each start, and expires when the service stops or the first token is created.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use reticent_durable::replace;

use super::secret::Secret;
use crate::error::{Error, Result};

/// Its file within the data directory, which contains a link to the dashboard.
const FILE: &str = "owner.url";
/// What precedes it in the link: browsers do not send the part after the #, so it appears in no log.
const MARK: &str = "/#token=";

/// The owner's token of one run. Its file is removed on drop.
#[derive(Debug)]
pub struct Owner {
    secret: Secret,
    file: PathBuf,
}

impl Owner {
    /// Draws a new token.
    ///
    /// # Errors
    /// If the operating system provides no randomness.
    pub fn draw(directory: &Path) -> Result<Self> {
        Ok(Self { secret: Secret::draw()?, file: directory.join(FILE) })
    }

    /// Whether `text` is this token.
    pub fn is(&self, text: &str) -> bool {
        Secret::read(text).is_some_and(|given| given.id() == self.secret.id() && given.has_hash(&self.secret.hash()))
    }

    /// The link to the dashboard, with the token.
    pub fn link(&self, address: SocketAddr) -> String {
        format!("http://{address}{MARK}{}", self.secret.text())
    }

    /// Writes the link to its file, which only its owner can read.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn publish(&self, address: SocketAddr) -> Result<()> {
        // An existing file would keep its permissions.
        let _ = fs::remove_file(&self.file);
        let failed = |error| Error::asked(format!("{} cannot be written: {error}", self.file.display()));
        replace(&self.file, (self.link(address) + "\n").as_bytes()).map_err(failed)
    }

    /// The address and the owner's token of the service running in a data directory without tokens.
    pub fn published(directory: &Path) -> Option<(String, String)> {
        let link = fs::read_to_string(directory.join(FILE)).ok()?;
        let (address, token) = link.trim_end().split_once(MARK)?;
        Some((address.to_owned(), token.to_owned()))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_has_a_secret_of_its_own_that_is_found_while_it_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let [owner, other] = [(); 2].map(|()| Owner::draw(folder.path()).unwrap());
        fs::write(folder.path().join(FILE), "of a run that was killed").unwrap();
        assert_eq!(Owner::published(folder.path()), None);
        owner.publish(([127, 0, 0, 1], 8080).into()).unwrap();
        let (address, token) = Owner::published(folder.path()).unwrap();
        assert_eq!(address, "http://127.0.0.1:8080");
        assert!(owner.is(&token) && !other.is(&token) && !owner.is("reticent_x"));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode() & 0o777, 0o600);
        }
        drop(owner);
        assert_eq!(Owner::published(folder.path()), None);
    }
}
