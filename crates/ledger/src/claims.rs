//! Same rows, one budget: which dataset a request is charged to, and which datasets rule it out.

use std::path::Path;

use reticent::ledger::Origin;

use crate::budget::Budget;
use crate::durable::DurableLedger;
use crate::entry::Dataset;
use crate::error::{Error, Result};
use crate::files::Owner;

/// The dataset that all unnamed streams are charged to.
const STANDARD_INPUT: &str = "standard input";

/// The dataset that a request is charged to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChargedDataset {
    /// A dataset that the user named.
    Named(String),
    /// A file, by its full path, or a table of a database.
    Own(String),
    /// An unnamed stream: all such streams share one account.
    Nameless,
}

impl ChargedDataset {
    /// The dataset that the user named, or else that of the rows, or else the one of all unnamed streams.
    ///
    /// # Errors
    /// As [`dataset_of`].
    ///
    /// # Example
    /// ```
    /// use reticent_ledger::ChargedDataset;
    ///
    /// assert_eq!(ChargedDataset::new(Some("people"), None)?.name(), "people");
    /// assert!(ChargedDataset::new(None, None)?.is_nameless());
    /// # Ok::<(), reticent_ledger::Error>(())
    /// ```
    pub fn new(named: Option<&str>, rows: Option<&Origin>) -> Result<Self> {
        Ok(match (named, rows) {
            (Some(name), _) => Self::Named(name.into()),
            (None, Some(rows)) => Self::Own(dataset_of(rows)?),
            (None, None) => Self::Nameless,
        })
    }

    /// The dataset's name in the ledger.
    pub fn name(&self) -> &str {
        match self {
            Self::Named(name) | Self::Own(name) => name,
            Self::Nameless => STANDARD_INPUT,
        }
    }

    /// Whether it is the account that all unnamed streams share.
    pub fn is_nameless(&self) -> bool {
        *self == Self::Nameless
    }
}

/// The name of the dataset that rows make up: the full path of a file, or the name of a table.
///
/// # Errors
/// As [`dataset_of_file`].
pub fn dataset_of(rows: &Origin) -> Result<String> {
    match rows {
        Origin::File(file) => dataset_of_file(file),
        Origin::Table { name, .. } => Ok(name.clone()),
    }
}

/// The name of a file's dataset: its full path, with links resolved. A copy, or a renamed file, is another dataset.
///
/// # Errors
/// [`Error::File`] if the file does not exist; [`Error::FileName`] if its path is not Unicode.
pub fn dataset_of_file(file: &Path) -> Result<String> {
    let shown = || file.display().to_string();
    let full = file.canonicalize().map_err(|error| Error::File { file: shown(), reason: error.to_string() })?;
    full.into_os_string().into_string().map_err(|_| Error::FileName(shown()))
}

/// What some rows are to be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use<'dataset> {
    /// Release statistics about them, charged to this dataset.
    Charged(&'dataset str),
    /// Release statistics about them without charging anything.
    Uncharged,
    /// Publish them.
    Public,
}

impl DurableLedger {
    /// The dataset in this ledger that forbids a use of these rows, whatever their names; `None` if the use is allowed.
    /// Call it before reading them.
    ///
    /// | use | forbidden by |
    /// |---|---|
    /// | [`Use::Charged`] | another dataset with a limit: its budget would be spent without being charged |
    /// | [`Use::Uncharged`] | any dataset with a limit |
    /// | [`Use::Public`] | any dataset with a limit or a charge: rows that were ever protected are not published |
    ///
    /// # Errors
    /// If the ledger cannot be read, or is damaged.
    pub fn conflict(&self, rows: &[Origin], wanted: Use<'_>) -> Result<Option<Owner>> {
        let stands_against = |owner: &Owner| match wanted {
            Use::Charged(dataset) => owner.is_limited() && owner.account.dataset.name != dataset,
            Use::Uncharged => owner.is_limited(),
            Use::Public => true,
        };
        Ok(self.owners(rows)?.into_iter().find(stands_against))
    }

    /// The limit of a dataset; `None` if it is not registered or has no limit.
    ///
    /// # Errors
    /// If the ledger cannot be read, or is damaged.
    pub fn limit(&self, dataset: &str) -> Result<Option<Budget>> {
        let dataset = self.dataset(dataset)?;
        Ok(dataset.map(|dataset| dataset.budget).filter(|budget| *budget != Budget::Unlimited))
    }

    /// Registers a dataset without a limit, unless it is registered already.
    ///
    /// # Errors
    /// If the ledger cannot be read or written.
    pub fn ensure(&self, dataset: &str) -> Result<()> {
        if self.dataset(dataset)?.is_some() {
            return Ok(());
        }
        match self.register(&Dataset { name: dataset.into(), budget: Budget::Unlimited, terms: None }) {
            // Another process was faster.
            Ok(_) | Err(Error::DatasetExists(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use reticent::error::Explained;
    use std::fs;
    use std::path::PathBuf;

    use reticent::ledger::{Charge, Keeper, OnInterruption, Releases};
    use reticent::privacy::{Adjacency, Guarantee};

    use super::*;
    use crate::entry::Terms;
    use crate::storage::location::Location;

    struct Place {
        folder: tempfile::TempDir,
        ledger: DurableLedger,
    }

    impl Place {
        /// `limited.csv` has a limit, `charged.csv` was charged, `known.csv` is registered, and `new.csv` is unknown.
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let ledger = DurableLedger::create(&Location::File(folder.path().join("ledger.sqlite"))).unwrap();
            let place = Self { folder, ledger };
            for name in ["limited.csv", "charged.csv", "known.csv", "new.csv"] {
                fs::write(place.path(name), "x\n").unwrap();
            }
            fs::hard_link(place.path("limited.csv"), place.path("link.csv")).unwrap();
            let guarantee = Guarantee::Pure("1".parse().unwrap());
            let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
            let (name, budget) = (place.name("limited.csv"), Budget::Limit(guarantee.clone()));
            place.ledger.register(&Dataset { name, budget, terms }).unwrap();
            for name in ["charged.csv", "known.csv"] {
                place.ledger.ensure(&place.name(name)).unwrap();
            }
            let charge = Charge {
                dataset: place.name("charged.csv"),
                request: "monday".into(),
                caller: "ada".into(),
                description: "a count".into(),
                unit: "row".into(),
                adjacency: Adjacency::AddRemove,
                guarantee,
                releases: Releases::Once,
            };
            place.ledger.charge(&charge, OnInterruption::Recompute).unwrap();
            place
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(name)
        }

        fn name(&self, name: &str) -> String {
            dataset_of_file(&self.path(name)).unwrap()
        }

        fn refuses(&self, file: &str, wanted: Use<'_>) -> bool {
            self.ledger.conflict(&[self.path("new.csv").into(), self.path(file).into()], wanted).unwrap().is_some()
        }
    }

    #[test]
    fn rows_with_a_budget_are_charged_to_it_and_those_ever_charged_are_not_public() {
        let place = Place::new();
        let own = place.name("limited.csv");
        for file in ["limited.csv", "link.csv"] {
            assert!(!place.refuses(file, Use::Charged(&own)), "{file}");
            for wanted in [Use::Charged("people"), Use::Uncharged, Use::Public] {
                assert!(place.refuses(file, wanted), "{file} {wanted:?}");
            }
        }
        assert!(place.refuses("charged.csv", Use::Public));
        for wanted in [Use::Charged("people"), Use::Uncharged] {
            assert!(!place.refuses("charged.csv", wanted), "{wanted:?}");
        }
        for wanted in [Use::Charged("people"), Use::Uncharged, Use::Public] {
            assert!(!place.refuses("known.csv", wanted), "{wanted:?}");
        }
        assert!(place.ledger.limit(&own).unwrap().is_some() && place.ledger.limit("people").unwrap().is_none());
    }

    #[test]
    fn a_dataset_that_is_known_stays_as_it_is() {
        let place = Place::new();
        let own = place.name("limited.csv");
        place.ledger.ensure(&own).unwrap();
        assert!(place.ledger.limit(&own).unwrap().is_some());
    }

    #[test]
    fn a_file_is_charged_under_its_full_path_unless_it_is_named() {
        let place = Place::new();
        std::os::unix::fs::symlink(place.path("new.csv"), place.path("soft.csv")).unwrap();
        let subject = |named, file: &str| ChargedDataset::new(named, Some(&place.path(file).into()));
        assert_eq!(subject(None, "soft.csv").unwrap(), ChargedDataset::Own(place.name("new.csv")));
        assert_eq!(subject(Some("people"), "soft.csv").unwrap().name(), "people");
        let missing = subject(None, "nowhere.csv").unwrap_err();
        assert!(matches!(missing, Error::File { .. }) && missing.is_usage(), "{missing}");
        assert_eq!(ChargedDataset::new(None, None).unwrap().name(), STANDARD_INPUT);
    }
}
