//! Public keys that a user lists, or names a file of.

use std::path::{Path, PathBuf};

use reticent::keys::{in_file, listed};
use reticent::message;

use crate::accounting::check_public;
use crate::error::{Error, Result};

/// The public keys: a comma-separated list, or a file with one key per line. `private` are the files whose rows are
/// protected now, and `ledger` is the ledger that the user names; the user's own is asked as well.
///
/// # Privacy
/// Keys are published. A file that holds protected rows is refused before it is read, and so are secrets.
///
/// # Errors
/// If there is no key or no such file, or the keys must not be published.
pub fn public_keys(text: &str, private: &[PathBuf], ledger: Option<&str>) -> Result<Vec<String>> {
    let wrong = |why: &dyn std::fmt::Display| Error::Request(message!(["keys"], " {text}: {why}"));
    if !Path::new(text).is_file() {
        return listed(text).map_err(|problem| wrong(&problem));
    }
    check_public(ledger, &[PathBuf::from(text)], private)?;
    let content = std::fs::read_to_string(text).map_err(|error| wrong(&error))?;
    in_file(&content, None).map_err(|problem| wrong(&problem))
}
