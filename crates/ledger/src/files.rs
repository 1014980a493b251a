//! The identity of files and of tables in databases, and the datasets that their rows belong to.
//!
//! The ledger identifies a dataset by its name, and a file's dataset by the file's path. A file can be reached by many
//! paths: symbolic links, hard links, a folder that contains it. Here they are all treated as one. A table of a database
//! has one name, but its rows may be those of others, too: its partitions, or materialised views of it.

use std::collections::BTreeMap;
use std::path::Path;

use reticent::ledger::Origin;
use reticent_durable::FileId;

use crate::account::Account;
use crate::budget::Budget;
use crate::durable::DurableLedger;
use crate::error::Result;

/// The first of `rows` that is also among `others`.
pub fn shared<'rows>(rows: &'rows [Origin], others: &[Origin]) -> Option<&'rows Origin> {
    rows.iter().find(|one| others.iter().any(|other| is_shared(one, other)))
}

fn is_shared(one: &Origin, other: &Origin) -> bool {
    match (one, other) {
        (Origin::File(one), Origin::File(other)) => FileId::of(one).is_some_and(|id| FileId::of(other) == Some(id)),
        (Origin::Table { sharing, .. }, Origin::Table { name, .. }) => sharing.contains(name),
        _ => false,
    }
}

/// A dataset that rows belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Where the rows are.
    pub origin: Origin,
    /// The dataset: a file under some path, a folder that contains it, or a table of a database.
    pub account: Account,
}

impl Owner {
    /// Whether the dataset has a limit, rather than only a history.
    pub fn is_limited(&self) -> bool {
        self.account.dataset.budget != Budget::Unlimited
    }
}

impl DurableLedger {
    /// The datasets that these rows belong to: those that have a limit or were ever charged, and are named by a path of
    /// one of the files or of a folder that contains it, by its path or by a link, or by a table that may hold rows of
    /// one of the tables. Rows not in the ledger under any name belong to none.
    ///
    /// # Errors
    /// If the ledger cannot be read or is damaged.
    pub fn owners(&self, rows: &[Origin]) -> Result<Vec<Owner>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let mut places: BTreeMap<FileId, &Origin> = BTreeMap::new();
        let mut tables: BTreeMap<&str, &Origin> = BTreeMap::new();
        for origin in rows {
            match origin {
                Origin::File(file) => places.extend(FileId::of_path(file).into_iter().map(|id| (id, origin))),
                Origin::Table { sharing, .. } => tables.extend(sharing.iter().map(|name| (name.as_str(), origin))),
            }
        }
        let place = |name: &str| {
            if let Some(origin) = tables.get(name) {
                return Some(*origin);
            }
            // Only an absolute path names a file: any other name may happen to match a file here.
            let path = Some(Path::new(name)).filter(|path| path.is_absolute() && !places.is_empty())?;
            let id = FileId::of(path)?;
            // A link leads out of a folder, and a hard link into it.
            places.get(&id).copied().or_else(|| FileId::within(path).find_map(|id| places.get(&id).copied()))
        };
        let owner = |account: Account| {
            let owns = account.charges > 0 || account.dataset.budget != Budget::Unlimited;
            let origin = place(&account.dataset.name).filter(|_| owns)?.clone();
            Some(Owner { origin, account })
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
        let origin = |name: &str| Origin::File(path(name));
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
            let owners = ledger.owners(&[origin(one)]).unwrap();
            let names: Vec<&str> = owners.iter().map(|owner| owner.account.dataset.name.as_str()).collect();
            assert_eq!(names, [owner.as_str()], "{one}");
        }
        for one in ["data/a.csv", "data/../data/a.csv", "hard.csv", "soft.csv"] {
            let owners = ledger.owners(&[origin(one)]).unwrap();
            let names: Vec<&str> = owners.iter().map(|owner| owner.account.dataset.name.as_str()).collect();
            assert_eq!(names, [name.as_str()], "{one}");
            assert!(owners[0].is_limited() && shared(&[origin(one)], &[origin("data/a.csv")]).is_some(), "{one}");
        }
        assert_eq!(ledger.owners(&[origin("other.csv"), origin("nowhere.csv")]).unwrap(), []);
        assert_eq!(shared(&[origin("other.csv")], &[origin("data/a.csv")]), None);
    }

    #[test]
    fn a_table_is_owned_by_all_that_may_hold_its_rows() {
        let folder = tempfile::tempdir().unwrap();
        let ledger = DurableLedger::create(&Location::File(folder.path().join("ledger.sqlite"))).unwrap();
        let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
        let limit = Budget::Limit(Guarantee::Pure("1".parse().unwrap()));
        let table = |name: &str, sharing: &[&str]| Origin::Table {
            name: name.into(),
            sharing: sharing.iter().map(|name| (*name).into()).collect(),
        };
        ledger.register(&Dataset { name: "postgresql://7/d/s.all".into(), budget: limit, terms }).unwrap();
        let (all, part) = ("postgresql://7/d/s.all", "postgresql://7/d/s.part");
        let partition = table(part, &[part, all]);
        let owners = ledger.owners(std::slice::from_ref(&partition)).unwrap();
        assert_eq!((owners.len(), &owners[0].origin), (1, &partition));
        assert_eq!(ledger.owners(&[table("postgresql://7/d/s.b", &["postgresql://7/d/s.b"])]).unwrap(), []);
        assert!(shared(std::slice::from_ref(&partition), &[table(all, &[all, part])]).is_some());
        assert!(shared(&[partition], &[table("b", &["b"]), Origin::File(folder.path().into())]).is_none());
    }
}
