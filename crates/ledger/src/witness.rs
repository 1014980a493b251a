//! What this process has seen of a ledger, which must still be there later.
//!
//! Anyone who can write to the storage can overwrite a ledger with an older copy, even while it is open: neither the
//! file's identity nor the chain, which is intact in an older copy, reveals it. But a running process remembers. Every
//! entry that a budget decision depends on (the newest entry, a dataset's registration and limit, its newest charge
//! under each of its terms) is compared with the one found there before: it must be the same entry, or a newer one
//! while the earlier one is still in the chain. Entries that other processes wrote and this one never read are not
//! covered; an [anchor](crate::anchor) covers them.

use std::collections::BTreeMap;

use crate::entry::{Keys, Row};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::run::Holder;
use crate::storage::{Pages, Storage};

/// Where an entry was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    End,
    Registration(String),
    /// A dataset's limit that was set later.
    Limit(String),
    /// The newest charge under a dataset's terms.
    Newest(String, String),
}

/// The entries that were found, by number and hash.
type Seen = BTreeMap<Place, (u64, Hash)>;

/// A watched storage.
pub struct Witness {
    storage: Box<dyn Storage>,
    seen: Seen,
}

impl Witness {
    /// Watches a storage, of which nothing was seen yet.
    pub fn of(storage: Box<dyn Storage>) -> Self {
        Self { storage, seen: Seen::new() }
    }
}

/// One transaction of either kind.
type Transact = fn(&mut dyn Storage, &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()>;

impl Witness {
    fn watch(&mut self, transact: Transact, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        let (seen, mut found) = (&self.seen, Seen::new());
        transact(&mut *self.storage, &mut |pages| {
            found.clear();
            work(&mut Watched { pages, seen, found: &mut found })
        })?;
        // Only now is what it found durable.
        self.seen.extend(found);
        Ok(())
    }
}

impl Storage for Witness {
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.watch(|storage, work| storage.write(work), work)
    }

    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.watch(|storage, work| storage.read(work), work)
    }

    fn faults(&mut self) -> Result<Vec<String>> {
        self.storage.faults()
    }

    fn try_writing(&mut self) -> Result<()> {
        self.storage.try_writing()
    }
}

/// The rows, within a watched transaction.
struct Watched<'work> {
    pages: &'work mut dyn Pages,
    seen: &'work Seen,
    /// What this transaction found or added.
    found: &'work mut Seen,
}

impl Watched<'_> {
    fn compare(&mut self, place: Place, row: Option<&Row>) -> Result<()> {
        let Some((number, hash)) = self.found.get(&place).or_else(|| self.seen.get(&place)).copied() else {
            self.found.extend(row.map(|row| (place, (row.number, row.hash))));
            return Ok(());
        };
        match row {
            Some(row) if row.number == number && row.hash == hash => Ok(()),
            Some(row) if row.number > number && self.pages.row(number)?.is_some_and(|row| row.hash == hash) => {
                self.found.insert(place, (row.number, row.hash));
                Ok(())
            }
            // A changed row is reported as such.
            row => row.map_or(Ok(()), |row| row.open().map(drop)).and(Err(Error::Older(number))),
        }
    }
}

impl Place {
    /// Where a row is found as the newest of its kind.
    fn newest(row: &Row) -> Option<Self> {
        let Keys { dataset, terms, .. } = &row.keys;
        Some(Self::Newest(dataset.clone()?, terms.clone()?))
    }

    /// Where a row is found if it is a limit that was set later.
    fn limit(row: &Row) -> Option<Self> {
        let Keys { dataset, request, .. } = &row.keys;
        request.as_deref().filter(|request| *request == Keys::LIMIT)?;
        dataset.clone().map(Self::Limit)
    }
}

impl Pages for Watched<'_> {
    fn last(&mut self) -> Result<Option<Row>> {
        let row = self.pages.last()?;
        self.compare(Place::End, row.as_ref())?;
        Ok(row)
    }

    fn row(&mut self, number: u64) -> Result<Option<Row>> {
        self.pages.row(number)
    }

    fn rows(&mut self, after: u64, most: u32) -> Result<Vec<Row>> {
        self.pages.rows(after, most)
    }

    fn registration(&mut self, dataset: &str) -> Result<Option<Row>> {
        let row = self.pages.registration(dataset)?;
        self.compare(Place::Registration(dataset.into()), row.as_ref())?;
        Ok(row)
    }

    fn registrations(&mut self) -> Result<Vec<Row>> {
        let rows = self.pages.registrations()?;
        for row in &rows {
            if let Some(dataset) = &row.keys.registered {
                self.compare(Place::Registration(dataset.clone()), Some(row))?;
            }
        }
        Ok(rows)
    }

    fn charge(&mut self, dataset: &str, request: &str) -> Result<Option<Row>> {
        let row = self.pages.charge(dataset, request)?;
        if request == Keys::LIMIT {
            self.compare(Place::Limit(dataset.into()), row.as_ref())?;
        }
        Ok(row)
    }

    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>> {
        let row = self.pages.last_charge(dataset, terms)?;
        self.compare(Place::Newest(dataset.into(), terms.into()), row.as_ref())?;
        Ok(row)
    }

    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>> {
        let rows = self.pages.last_charges(dataset)?;
        for row in &rows {
            Place::newest(row).map_or(Ok(()), |place| self.compare(place, Some(row)))?;
        }
        // Nor may one be missing.
        let known = self.seen.range(Place::Newest(dataset.into(), String::new())..);
        let mut known = known.take_while(|(place, _)| matches!(place, Place::Newest(of, _) if of == dataset));
        let is_found = |place: &Place| rows.iter().any(|row| Place::newest(row).as_ref() == Some(place));
        match known.find(|(place, _)| !is_found(place)) {
            Some((_, (number, _))) => Err(Error::Older(*number)),
            None => Ok(rows),
        }
    }

    fn release(&mut self, charge: u64) -> Result<Option<(Row, String)>> {
        self.pages.release(charge)
    }

    fn hold(&mut self, holder: Holder) -> Result<()> {
        self.pages.hold(holder)
    }

    fn is_held(&mut self, holder: Holder) -> Result<bool> {
        self.pages.is_held(holder)
    }

    fn append(&mut self, row: &Row, release: Option<&str>) -> Result<()> {
        self.pages.append(row, release)?;
        let places = [Some(Place::End), Place::newest(row), Place::limit(row)].into_iter().flatten();
        self.found.extend(places.map(|place| (place, (row.number, row.hash))));
        Ok(())
    }
}
