//! Verification: was the ledger changed since it was written?

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use reticent::ledger::{Charge, Releases};
use serde_json::{Value, json};

use crate::account::MOST_INTERRUPTED;
use crate::anchor::{Anchor, Head};
use crate::budget::{Budget, Spend};
use crate::durable::DurableLedger;
use crate::entry::{Dataset, Entry, Event, Keys, Row, Terms};
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::limit::Past;
use crate::run::{Holder, Run};
use crate::storage::Pages;
use crate::storage::location::Location;

/// How many rows are read at a time.
const PIECE: u32 = 4096;
/// The most findings reported.
const MOST_FINDINGS: usize = 100;

/// Something that was changed, removed or added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The entry concerned, if it is a single one.
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

/// The result of verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// How many entries there are.
    pub entries: u64,
    /// The newest entry; `None` if the ledger is empty or too damaged.
    pub head: Option<Head>,
    /// What is wrong; empty if the ledger is intact.
    pub findings: Vec<Finding>,
}

impl Verdict {
    /// Whether the ledger is intact.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty() && self.head.is_some()
    }

    /// The verdict about a ledger that cannot be read.
    fn unread(text: String) -> Self {
        Self { entries: 0, head: None, findings: vec![Finding { entry: None, text }] }
    }

    /// The verdict for programs.
    pub fn to_json(&self) -> Value {
        let findings =
            self.findings.iter().map(|finding| json!({ "entry": finding.entry, "text": finding.to_string() }));
        json!({
            "entries": self.entries,
            "sound": self.is_sound(),
            "head": self.head.as_ref().map(|head| head.hash),
            "ledger": self.head.as_ref().map(|head| &head.ledger),
            "findings": findings.collect::<Vec<_>>(),
        })
    }
}

/// A verdict, and what became of the anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// The verdict.
    pub verdict: Verdict,
    /// What the anchor held before.
    pub held: Option<Head>,
    /// Whether the anchor could be moved to the newest entry; it is moved only if the ledger is intact.
    pub advanced: Result<()>,
}

impl Inspection {
    /// Verifies the ledger at a location, and compares it with an anchor, which is moved if the ledger is intact. A ledger
    /// that the anchor knows and that is gone, and one too damaged to be read, are findings, too.
    ///
    /// # Errors
    /// If the ledger or the anchor cannot be read.
    pub fn of(location: &Location, anchor: Option<&Anchor>) -> Result<Self> {
        let held = anchor.map(Anchor::read).transpose()?.flatten();
        let opened = DurableLedger::open_to_read(location);
        let verdict = opened.and_then(|ledger| match anchor {
            Some(anchor) => ledger.anchored(anchor.clone()).verify(),
            None => ledger.verify(),
        });
        let verdict = match (verdict, &held) {
            (Ok(verdict), _) => verdict,
            // The worst that can be done to a ledger is to delete it.
            (Err(Error::Missing(_)), Some(held)) => {
                Verdict::unread(format!("the anchor knows entry {}, but there is no ledger", held.number))
            }
            (Err(Error::Damaged(what)), _) => Verdict::unread(format!("{what}, so not everything can be read")),
            (Err(error), _) => return Err(error),
        };
        let advanced = match (anchor, &verdict.head, verdict.is_sound()) {
            (Some(anchor), Some(head), true) => anchor.advance(head),
            _ => Ok(()),
        };
        Ok(Self { verdict, held, advanced })
    }
}

/// Reads the whole ledger, recomputes every hash and every sum, and compares with the anchor, if there is one.
pub fn verify(pages: &mut dyn Pages, faults: Vec<String>, anchor: Option<&Head>) -> Result<Verdict> {
    let mut walk = Walk { anchor: anchor.cloned(), ..Walk::default() };
    for fault in faults {
        walk.find(None, format!("the file is damaged: {fault}"));
    }
    let mut after = 0;
    loop {
        let rows = pages.rows(after, PIECE)?;
        for row in &rows {
            walk.step(row, pages)?;
        }
        // A damaged storage may return the same rows forever.
        match rows.iter().map(|row| row.number).max() {
            Some(last) if last > after => after = last,
            _ => break,
        }
    }
    Ok(walk.end())
}

/// The state of the walk over the entries.
#[derive(Default)]
struct Walk {
    number: u64,
    entries: u64,
    previous: Hash,
    ledger: Option<String>,
    datasets: HashMap<String, Dataset>,
    /// Totals and numbers of charges.
    spent: HashMap<(String, Terms), (Spend, u64)>,
    /// The charges of datasets without a limit.
    past: HashMap<(String, Terms), Past>,
    requests: HashSet<(String, String)>,
    charges: HashMap<u64, (String, Releases)>,
    released: HashSet<u64>,
    /// The failure that suspended each dataset.
    suspended: HashMap<String, u64>,
    /// How many runs on each dataset were interrupted, and how many since it was last suspended or reopened.
    interrupted: HashMap<String, (u64, u64)>,
    /// What has no outcome yet: by dataset and terms, then by holder, the entries that began it.
    running: HashMap<Under, BTreeMap<Holder, BTreeSet<u64>>>,
    /// The charges of these.
    begun: HashMap<u64, (Under, Holder, u64)>,
    anchor: Option<Head>,
    anchored: bool,
    findings: Vec<Finding>,
}

/// A dataset and the key of its terms.
type Under = (String, String);

impl Walk {
    fn find(&mut self, entry: Option<u64>, text: impl Into<String>) {
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push(Finding { entry, text: text.into() });
        }
    }

    fn step(&mut self, row: &Row, pages: &mut dyn Pages) -> Result<()> {
        let expected = self.number + 1;
        match row.number.checked_sub(expected) {
            Some(0) => {}
            Some(1) => self.find(Some(expected), "is missing"),
            Some(_) => self.find(None, format!("entries {expected} to {} are missing", row.number - 1)),
            None if row.number == self.number => self.find(Some(row.number), "occurs more than once"),
            None => self.find(Some(row.number), format!("comes after entry {}", self.number)),
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
        // After a gap the hash cannot match.
        if entry.previous != self.previous && row.number <= self.number + 1 {
            self.find(number, "does not follow the one before it: something was changed, removed or reordered");
        }
        if row.number == 1 && !matches!(entry.event, Event::Opened { .. }) {
            self.find(number, "does not open the ledger, as the first entry does");
        }
        if let Event::Computed { charge, .. } = entry.event {
            self.finish(charge);
        }
        self.runs(row, &entry.event);
        match entry.event {
            Event::Opened { ledger } => {
                if row.number == 1 && self.ledger.is_none() {
                    self.ledger = Some(ledger);
                } else {
                    self.find(number, "opens a ledger that was already open");
                }
            }
            Event::Registered(dataset) => {
                if dataset.budget != Budget::Unlimited && dataset.terms.is_none() {
                    self.find(number, format!("limits {} without a unit and an adjacency", dataset.name));
                }
                if self.datasets.insert(dataset.name.clone(), dataset).is_some() {
                    self.find(number, "registers a dataset for the second time");
                }
            }
            Event::Limited { dataset, spent, charges, .. } => self.limit(row.number, *dataset, spent, charges),
            Event::Charged { charge, spent, charges, .. } => {
                self.charge(row.number, &charge, &spent, charges);
                self.charges.insert(row.number, (charge.dataset.clone(), charge.releases));
                let terms = Terms::of(&charge);
                self.spent.insert((charge.dataset.clone(), terms), (spent, charges));
            }
            Event::Released { charge, digest } => {
                if let Some((_, Releases::Stream)) = self.charges.get(&charge) {
                    self.find(number, format!("keeps a release for entry {charge}, which charged a stream"));
                }
                self.kept(row.number, charge, digest, pages)?;
            }
            Event::Failed { dataset, charge, digest } => {
                if self.charges.get(&charge).is_some_and(|(whose, _)| *whose != dataset) {
                    self.find(number, format!("suspends {dataset} for entry {charge}, which charged another dataset"));
                }
                self.kept(row.number, charge, digest, pages)?;
                self.interrupted.entry(dataset.clone()).or_default().1 = 0;
                self.suspended.insert(dataset, row.number);
            }
            Event::Interrupted { dataset, charge, digest, total, recent } => {
                if self.charges.get(&charge).is_some_and(|(whose, _)| *whose != dataset) {
                    self.find(number, format!("counts entry {charge} for {dataset}, but it charged another dataset"));
                }
                self.kept(row.number, charge, digest, pages)?;
                let counted = self.interrupted.entry(dataset.clone()).or_default();
                *counted = (counted.0.saturating_add(1), counted.1.saturating_add(1));
                if *counted != (total, recent) {
                    self.find(number, format!("miscounts the interrupted runs of {dataset}"));
                }
                if recent >= MOST_INTERRUPTED {
                    self.suspended.insert(dataset, row.number);
                }
            }
            Event::Began { dataset, charge, .. } | Event::Computed { dataset, charge, .. } => {
                if self.charges.get(&charge) != Some(&(dataset, Releases::Stream)) {
                    self.find(number, format!("computes something for entry {charge}, which charged no stream of it"));
                }
            }
            Event::Reopened { dataset, failure, .. } => {
                self.interrupted.entry(dataset.clone()).or_default().1 = 0;
                if self.suspended.remove(&dataset) != Some(failure) {
                    self.find(number, format!("reopens {dataset}, which was not suspended by entry {failure}"));
                }
            }
        }
        Ok(())
    }

    /// Checks that an entry repeats the runs of whatever has no outcome yet, so that nobody forgets that it must have one.
    fn runs(&mut self, row: &Row, event: &Event) {
        let (Keys { dataset: Some(dataset), terms: Some(terms), .. }, false) =
            (&row.keys, matches!(event, Event::Failed { .. } | Event::Interrupted { .. } | Event::Reopened { .. }))
        else {
            return;
        };
        let under = (dataset.clone(), terms.clone());
        let running = self.running.entry(under.clone()).or_default();
        let mut forgotten = Vec::new();
        running.retain(|holder, entries| {
            let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return false };
            let covers = |run: &Run| run.holder == *holder && run.first <= *first && run.last >= *last;
            let is_covered = event.runs().iter().any(covers);
            if !is_covered {
                forgotten.push(*first);
            }
            is_covered
        });
        let own = event.runs().iter().find(|run| run.last == row.number);
        if let (Some(run), Some((_, charge))) = (own, event.begins(row.number)) {
            running.entry(run.holder).or_default().insert(row.number);
            self.begun.insert(charge, (under, run.holder, row.number));
        }
        for entry in forgotten {
            self.find(Some(row.number), format!("forgets that what entry {entry} began has no outcome"));
        }
    }

    /// A charge has an outcome.
    fn finish(&mut self, charge: u64) {
        if let Some((under, holder, entry)) = self.begun.remove(&charge)
            && let Some(entries) = self.running.get_mut(&under).and_then(|running| running.get_mut(&holder))
        {
            entries.remove(&entry);
        }
    }

    /// Checks what was stored for a charge against the entry that records it.
    fn kept(&mut self, number: u64, charge: u64, digest: Hash, pages: &mut dyn Pages) -> Result<()> {
        self.finish(charge);
        if !self.charges.contains_key(&charge) {
            self.find(Some(number), format!("keeps a release for entry {charge}, which is not an earlier charge"));
        }
        if !self.released.insert(charge) {
            self.find(Some(number), format!("keeps a second release for entry {charge}"));
        }
        match pages.release(charge) {
            Ok(Some((kept, text))) if kept.number == number && Hash::of(&text) == digest => {}
            Ok(_) | Err(crate::Error::Damaged(_)) => {
                self.find(Some(number), "keeps a release that was changed or removed");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Checks that a limit set later counts the earlier charges.
    fn limit(&mut self, number: u64, dataset: Dataset, spent: Spend, charges: u64) {
        let name = dataset.name.clone();
        let (Budget::Limit(limit), Some(terms)) = (dataset.budget.clone(), dataset.terms.clone()) else {
            return self.find(Some(number), "sets no limit, or one without a unit and an adjacency");
        };
        match self.datasets.get(&name) {
            None => return self.find(Some(number), format!("limits {name}, which was not registered before")),
            Some(before) if before.budget != Budget::Unlimited => {
                return self.find(Some(number), format!("limits {name}, whose limit was already fixed"));
            }
            Some(before) if before.terms.as_ref().is_some_and(|registered| *registered != terms) => {
                self.find(Some(number), "limits a unit or adjacency that is not the dataset's");
            }
            Some(_) => {}
        }
        let key = (name.clone(), terms);
        let past = self.past.get(&key).cloned().unwrap_or(Past::NOTHING);
        match past.under(&name, &limit) {
            Ok(counted) if counted == spent && past.charges == charges => {}
            Ok(_) => self.find(Some(number), "does not count what was spent before"),
            Err(_) => self.find(Some(number), format!("sets a limit that {name} had already exceeded")),
        }
        self.spent.insert(key, (spent, charges));
        self.datasets.insert(name, dataset);
    }

    fn charge(&mut self, number: u64, charge: &Charge, spent: &Spend, charges: u64) {
        let terms = Terms::of(charge);
        let dataset = self.datasets.get(&charge.dataset).cloned();
        let Some(dataset) = dataset else {
            return self.find(Some(number), format!("charges {}, which was not registered before", charge.dataset));
        };
        if self.suspended.contains_key(&charge.dataset) {
            self.find(Some(number), format!("charges {}, which is suspended", charge.dataset));
        }
        if dataset.terms.is_some_and(|registered| registered != terms) {
            self.find(Some(number), "charges a unit or adjacency that is not the dataset's");
        }
        if dataset.budget == Budget::Unlimited {
            let past = self.past.entry((charge.dataset.clone(), terms.clone())).or_insert(Past::NOTHING);
            past.add(&charge.guarantee);
        }
        let (before, times) = self.spent.get(&(charge.dataset.clone(), terms)).cloned().unwrap_or((Spend::NOTHING, 0));
        if Some(charges) != times.checked_add(1) {
            self.find(Some(number), format!("miscounts the charges of {}", charge.dataset));
        }
        match dataset.budget.admit(&charge.dataset, &before, &charge.guarantee) {
            Ok(after) if after == *spent => {}
            Ok(_) => self.find(Some(number), "adds up wrongly"),
            Err(_) => self.find(Some(number), format!("charges more than {} had left", charge.dataset)),
        }
        if !self.requests.insert((charge.dataset.clone(), charge.request.clone())) {
            self.find(Some(number), format!("charges request {} for the second time", charge.request));
        }
    }

    fn end(mut self) -> Verdict {
        if self.entries == 0 {
            self.find(None, "there are no entries; even an empty ledger has one");
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
                self.find(Some(number), "was anchored but is missing");
            }
        }
        let (number, hash) = (self.number, self.previous);
        let head = self.ledger.filter(|_| self.entries > 0).map(|ledger| Head { ledger, number, hash });
        Verdict { entries: self.entries, head, findings: self.findings }
    }
}

#[cfg(test)]
mod tests;
