//! Is the ledger as it was written?

use std::collections::{HashMap, HashSet};
use std::fmt;

use reticent::ledger::Charge;

use crate::anchor::Head;
use crate::budget::{Budget, Spend};
use crate::entry::{Dataset, Entry, Event, Row, Terms};
use crate::error::Result;
use crate::hash::Hash;
use crate::limit::Past;
use crate::storage::Pages;

/// Rows are read so many at a time.
const PIECE: u32 = 4096;
/// Beyond this many, more findings would tell nothing new.
const MOST_FINDINGS: usize = 100;

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The entry it is about, if it is about one.
    pub entry: Option<u64>,
    /// What is wrong, in words.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry {
            Some(entry) => write!(formatter, "entry {entry} {}", self.text),
            None => formatter.write_str(&self.text),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many entries there are.
    pub entries: u64,
    /// The newest of them; none if the ledger is empty or too damaged to tell.
    pub head: Option<Head>,
    /// What is wrong; nothing if all is as it was written.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Is everything as it was written?
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Reads everything, recomputes every hash and every sum, and compares with an anchor if there is one.
pub fn verify(pages: &mut dyn Pages, faults: Vec<String>, anchor: Option<&Head>) -> Result<Verdict> {
    let mut walk = Walk { anchor: anchor.cloned(), ..Walk::default() };
    for fault in faults {
        walk.find(None, format!("the file is damaged: {fault}"));
    }
    loop {
        let rows = pages.rows(walk.number, PIECE)?;
        let Some(last) = rows.last() else { break };
        let last = last.number;
        for row in &rows {
            walk.step(row, pages)?;
        }
        walk.number = last;
    }
    Ok(walk.end())
}

/// What is known of the entries so far.
#[derive(Default)]
struct Walk {
    number: u64,
    entries: u64,
    previous: Hash,
    ledger: Option<String>,
    datasets: HashMap<String, Dataset>,
    spent: HashMap<(String, Terms), Spend>,
    /// Of datasets without a limit.
    past: HashMap<(String, Terms), Past>,
    requests: HashSet<(String, String)>,
    charges: HashSet<u64>,
    released: HashSet<u64>,
    anchor: Option<Head>,
    anchored: bool,
    findings: Vec<Finding>,
}

impl Walk {
    fn find(&mut self, entry: Option<u64>, text: impl Into<String>) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Finding { entry, text: text.into() });
        }
    }

    fn step(&mut self, row: &Row, pages: &mut dyn Pages) -> Result<()> {
        let expected = self.number + 1;
        if row.number == expected + 1 {
            self.find(Some(expected), "is missing");
        } else if row.number > expected {
            self.find(None, format!("entries {expected} to {} are missing", row.number - 1));
        }
        match row.open() {
            Ok(entry) => self.entry(row, entry, pages)?,
            Err(_) => self.find(Some(row.number), "was changed"),
        }
        if self.anchor.as_ref().is_some_and(|anchor| anchor.number == row.number) {
            self.anchored = true;
            if self.anchor.as_ref().is_some_and(|anchor| anchor.hash != row.hash) {
                self.find(Some(row.number), "is not the one that was anchored: the ledger was rewritten");
            }
        }
        (self.number, self.entries, self.previous) = (row.number, self.entries + 1, row.hash);
        Ok(())
    }

    fn entry(&mut self, row: &Row, entry: Entry, pages: &mut dyn Pages) -> Result<()> {
        let number = Some(row.number);
        if entry.previous != self.previous && row.number == self.number + 1 {
            self.find(number, "does not follow the one before it: something was changed, removed or reordered");
        }
        match entry.event {
            Event::Opened { ledger } => {
                if row.number != 1 {
                    self.find(number, "opens a ledger that was open already");
                }
                self.ledger = Some(ledger);
            }
            Event::Registered(dataset) => {
                if self.datasets.insert(dataset.name.clone(), dataset).is_some() {
                    self.find(number, "registers a dataset for the second time");
                }
            }
            Event::Limited { dataset, spent } => self.limit(row.number, *dataset, spent),
            Event::Charged { charge, spent } => {
                self.charge(row.number, &charge, &spent);
                self.charges.insert(row.number);
                let terms = Terms::of(&charge);
                self.spent.insert((charge.dataset.clone(), terms), spent);
            }
            Event::Released { charge, digest } => {
                if !self.charges.contains(&charge) {
                    self.find(number, format!("keeps a release for entry {charge}, which is no charge before it"));
                }
                if !self.released.insert(charge) {
                    self.find(number, format!("keeps a second release for entry {charge}"));
                }
                match pages.release(charge) {
                    Ok(Some((kept, text))) if kept.number == row.number && Hash::of(&text) == digest => {}
                    Ok(_) | Err(crate::Error::Damaged(_)) => {
                        self.find(number, "keeps a release that was changed or removed");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// A limit that is set later counts what was charged before.
    fn limit(&mut self, number: u64, dataset: Dataset, spent: Spend) {
        let name = dataset.name.clone();
        let (Budget::Limit(limit), Some(terms)) = (dataset.budget.clone(), dataset.terms.clone()) else {
            return self.find(Some(number), "sets a limit that is none");
        };
        match self.datasets.get(&name) {
            None => return self.find(Some(number), format!("limits {name}, which was not registered before")),
            Some(before) if before.budget != Budget::Unlimited => {
                return self.find(Some(number), format!("limits {name}, whose limit was fixed already"));
            }
            Some(before) if before.terms.as_ref().is_some_and(|registered| *registered != terms) => {
                self.find(Some(number), "limits another unit or adjacency than the dataset's");
            }
            Some(_) => {}
        }
        let key = (name.clone(), terms);
        match self.past.get(&key).unwrap_or(&Past::NOTHING).under(&name, &limit) {
            Ok(counted) if counted == spent => {}
            Ok(_) => self.find(Some(number), "does not count what was spent before"),
            Err(_) => self.find(Some(number), format!("sets a limit that {name} had passed already")),
        }
        self.spent.insert(key, spent);
        self.datasets.insert(name, dataset);
    }

    fn charge(&mut self, number: u64, charge: &Charge, spent: &Spend) {
        let terms = Terms::of(charge);
        let dataset = self.datasets.get(&charge.dataset).cloned();
        let Some(dataset) = dataset else {
            return self.find(Some(number), format!("charges {}, which was not registered before", charge.dataset));
        };
        if dataset.terms.is_some_and(|registered| registered != terms) {
            self.find(Some(number), "charges for another unit or adjacency than the dataset's");
        }
        if dataset.budget == Budget::Unlimited {
            let past = self.past.entry((charge.dataset.clone(), terms.clone())).or_insert(Past::NOTHING);
            past.add(&charge.guarantee);
        }
        let before = self.spent.get(&(charge.dataset.clone(), terms)).cloned().unwrap_or(Spend::NOTHING);
        match dataset.budget.admit(&charge.dataset, &before, &charge.guarantee) {
            Ok(after) if after == *spent => {}
            Ok(_) => self.find(Some(number), "adds up wrongly"),
            Err(_) => self.find(Some(number), format!("charges more than {} has", charge.dataset)),
        }
        if !self.requests.insert((charge.dataset.clone(), charge.request.clone())) {
            self.find(Some(number), format!("charges request {} for the second time", charge.request));
        }
    }

    fn end(mut self) -> Verdict {
        if self.entries == 0 {
            self.find(None, "there are no entries: even the first is missing");
        }
        if let Some(anchor) = self.anchor.clone() {
            let (number, entries) = (anchor.number, self.number);
            if self.ledger.as_ref().is_some_and(|ledger| *ledger != anchor.ledger) {
                self.find(None, "the anchor belongs to another ledger");
            } else if number > entries {
                let text = format!(
                    "the anchor knows entry {number}, but the ledger ends with entry {entries}: it is an older copy, or its \
                     end was cut off"
                );
                self.find(None, text);
            } else if !self.anchored {
                self.find(Some(number), "was anchored, and is missing");
            }
        }
        let (number, hash) = (self.number, self.previous);
        let head = self.ledger.filter(|_| self.entries > 0).map(|ledger| Head { ledger, number, hash });
        Verdict { entries: self.entries, head, findings: self.findings }
    }
}
