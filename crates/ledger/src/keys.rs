//! Public keys that a user lists, or names a file of.

use std::path::{Path, PathBuf};

use reticent::keys::{in_file, listed};
use reticent::ledger::Origin;
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
    let private: Vec<Origin> = private.iter().cloned().map(Origin::File).collect();
    check_public(ledger, &[Origin::File(text.into())], &private)?;
    let content = std::fs::read_to_string(text).map_err(|error| wrong(&error))?;
    in_file(&content, None).map_err(|problem| wrong(&problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::dataset_of_file;
    use crate::durable::DurableLedger;
    use crate::entry::Dataset;
    use crate::storage::location::Location;

    /// `reticent stream create --keys patients.csv` once published every line.
    #[test]
    fn protected_rows_are_not_read_as_keys() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (patients, ledger) = (at("patients.csv"), at("ledger.sqlite"));
        std::fs::write(&patients, "name\nAda\n").unwrap();
        let limit = reticent::privacy::Guarantee::Pure("1".parse().unwrap());
        let dataset = Dataset::limited(dataset_of_file(&patients).unwrap(), limit, "row".into(), None, false).unwrap();
        DurableLedger::create(&Location::File(ledger.clone())).unwrap().register(&dataset).unwrap();
        let (named, ledger) = (patients.to_str().unwrap(), ledger.to_str().unwrap());
        let refused = |private: &[PathBuf], ledger| public_keys(named, private, ledger).unwrap_err().to_string();
        assert!(refused(&[], Some(ledger)).contains("is given as public, but"));
        assert!(refused(std::slice::from_ref(&patients), None).contains("is private in this request"));
        std::fs::write(at("pages.txt"), "home\nhelp\n").unwrap();
        let pages = public_keys(at("pages.txt").to_str().unwrap(), &[patients], Some(ledger)).unwrap();
        assert_eq!(pages, ["home", "help"]);
        assert!(public_keys("pags.txt", &[], None).unwrap_err().to_string().contains("no such file"));
    }
}
