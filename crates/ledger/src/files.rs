//! The identity of files, and the datasets that their rows belong to.
//!
//! The ledger identifies a dataset by its name, and a file's dataset by the file's path. A file can be reached by many
//! paths: symbolic links, hard links, a folder that contains it. Here they are all treated as one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reticent_durable::FileId;

use crate::account::Account;
use crate::budget::Budget;
use crate::durable::DurableLedger;
use crate::error::Result;

/// The first of `files` that is also among `others`.
pub fn shared<'path>(files: &'path [PathBuf], others: &[PathBuf]) -> Option<&'path Path> {
    let others: Vec<FileId> = others.iter().filter_map(|file| FileId::of(file)).collect();
    let is_other = |file: &&PathBuf| FileId::of(file).is_some_and(|id| others.contains(&id));
    files.iter().find(is_other).map(PathBuf::as_path)
}

/// A dataset that a file's rows belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The file.
    pub file: PathBuf,
    /// The dataset: this file under some path, or a folder that contains it.
    pub account: Account,
}

impl Owner {
    /// Whether the dataset has a limit, rather than only a history.
    pub fn is_limited(&self) -> bool {
        self.account.dataset.budget != Budget::Unlimited
    }
}

impl DurableLedger {
    /// The datasets that these files belong to: those that have a limit or were ever charged, and are named by a path
    /// of one of the files or of a folder that contains it, by its path or by a link. A file not in the ledger by any
    /// path belongs to none.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn owners(&self, files: &[PathBuf]) -> Result<Vec<Owner>> {
        if files.is_empty() {
            return Ok(Vec::new());
        }
        let mut places: BTreeMap<FileId, &PathBuf> = BTreeMap::new();
        for file in files {
            places.extend(FileId::of_path(file).into_iter().map(|id| (id, file)));
        }
        // Only an absolute path names a file: any other name may happen to match a file here.
        let place = |name: &str| {
            let path = Some(Path::new(name)).filter(|path| path.is_absolute())?;
            let id = FileId::of(path)?;
            // A link leads out of a folder, and a hard link into it.
            places.get(&id).copied().or_else(|| FileId::within(path).find_map(|id| places.get(&id).copied()))
        };
        let owner = |account: Account| {
            let owns = account.charges > 0 || account.dataset.budget != Budget::Unlimited;
            let file = place(&account.dataset.name).filter(|_| owns)?.clone();
            Some(Owner { file, account })
        };
        Ok(self.accounts_of(|name| place(name).is_some())?.into_iter().filter_map(owner).collect())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use reticent::privacy::{Adjacency, Guarantee};

    use super::*;
    use crate::entry::{Dataset, Terms};
    use crate::storage::location::Location;

    #[test]
    fn a_file_is_the_same_under_all_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::create_dir(path("data")).unwrap();
        fs::write(path("data/a.csv"), "x\n").unwrap();
        fs::write(path("other.csv"), "x\n").unwrap();
        fs::hard_link(path("data/a.csv"), path("hard.csv")).unwrap();
        std::os::unix::fs::symlink(path("data/a.csv"), path("soft.csv")).unwrap();
        let ledger = DurableLedger::create(&Location::File(path("ledger.sqlite"))).unwrap();
        let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
        let limit = Budget::Limit(Guarantee::Pure("1".parse().unwrap()));
        let name = path("data/a.csv").display().to_string();
        ledger.register(&Dataset { name: name.clone(), budget: limit, terms }).unwrap();
        // These have neither a limit nor charges.
        for name in [path("other.csv").display().to_string(), "hard.csv".into()] {
            ledger.register(&Dataset { name, budget: Budget::Unlimited, terms: None }).unwrap();
        }
        // A folder owns what lies in it, and what links in it lead to, under every other name of these files.
        for folder in ["folder", "folder/deep", "elsewhere"] {
            fs::create_dir(path(folder)).unwrap();
        }
        for file in ["folder/b.csv", "folder/deep/c.csv", "elsewhere/d.csv"] {
            fs::write(path(file), "x\n").unwrap();
        }
        fs::hard_link(path("folder/b.csv"), path("b-hard.csv")).unwrap();
        fs::hard_link(path("folder/deep/c.csv"), path("c-hard.csv")).unwrap();
        std::os::unix::fs::symlink(path("elsewhere/d.csv"), path("folder/d.csv")).unwrap();
        std::os::unix::fs::symlink(path("folder"), path("folder/deep/loop")).unwrap();
        let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
        let limit = Budget::Limit(Guarantee::Pure("1".parse().unwrap()));
        let owner = path("folder").display().to_string();
        ledger.register(&Dataset { name: owner.clone(), budget: limit, terms }).unwrap();
        for one in ["folder/b.csv", "b-hard.csv", "c-hard.csv", "folder/d.csv", "elsewhere/d.csv"] {
            let owners = ledger.owners(&[path(one)]).unwrap();
            let names: Vec<&str> = owners.iter().map(|owner| owner.account.dataset.name.as_str()).collect();
            assert_eq!(names, [owner.as_str()], "{one}");
        }
        for one in ["data/a.csv", "data/../data/a.csv", "hard.csv", "soft.csv"] {
            let owners = ledger.owners(&[path(one)]).unwrap();
            let names: Vec<&str> = owners.iter().map(|owner| owner.account.dataset.name.as_str()).collect();
            assert_eq!(names, [name.as_str()], "{one}");
            assert!(owners[0].is_limited() && shared(&[path(one)], &[path("data/a.csv")]).is_some(), "{one}");
        }
        assert_eq!(ledger.owners(&[path("other.csv"), path("nowhere.csv")]).unwrap(), []);
        assert_eq!(shared(&[path("other.csv")], &[path("data/a.csv")]), None);
    }
}
