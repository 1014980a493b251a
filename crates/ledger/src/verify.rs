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
mod tests {
    use reticent::privacy::{Adjacency, Guarantee};

    use super::*;
    use crate::storage::Storage;
    use crate::storage::sqlite::Sqlite;

    const KEPT: &str = "17";

    fn opened() -> Event {
        Event::Opened { ledger: "a".into() }
    }

    fn registered(terms: Option<Terms>) -> Event {
        let budget = Budget::Limit(Guarantee::Pure("1".parse().unwrap()));
        Event::Registered(Dataset { name: "people".into(), budget, terms })
    }

    fn rows() -> Terms {
        Terms { unit: "row".into(), adjacency: Adjacency::AddRemove }
    }

    fn charged(releases: Releases) -> Event {
        let Terms { unit, adjacency } = rows();
        let guarantee = Guarantee::Pure("0.5".parse().unwrap());
        let spent = Spend::of(&guarantee);
        let [dataset, request, caller, description] = ["people", "monday", "ada", "a count"].map(String::from);
        let charge = Charge { dataset, request, caller, description, unit, adjacency, guarantee, releases };
        Event::Charged { charge: Box::new(charge), spent, charges: 1, runs: Vec::new() }
    }

    /// Events, chained correctly.
    fn chain(events: &[Event]) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        for event in events {
            rows.push(Row::after(rows.last(), event.clone()));
        }
        rows
    }

    /// The verdict on a ledger whose author computed the hashes correctly.
    fn verdict(events: &[Event]) -> Verdict {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = Sqlite::create(&folder.path().join("ledger.sqlite")).unwrap();
        let mut verdict = None;
        storage
            .write(&mut |pages| {
                for row in chain(events) {
                    pages.append(&row, row.keys.charge.map(|_| KEPT))?;
                }
                verdict = Some(verify(pages, Vec::new(), None)?);
                Ok(())
            })
            .unwrap();
        verdict.unwrap()
    }

    /// The findings about rows that a storage returns in this order.
    fn said_of(rows: &[Row]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let mut storage = Sqlite::create(&folder.path().join("ledger.sqlite")).unwrap();
        let mut walk = Walk::default();
        storage.read(&mut |pages| rows.iter().try_for_each(|row| walk.step(row, pages))).unwrap();
        told(&walk.end())
    }

    fn told(verdict: &Verdict) -> Vec<String> {
        verdict.findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_ledger_that_does_not_begin_with_its_opening_is_not_sound() {
        assert!(verdict(&[opened(), registered(Some(rows()))]).is_sound());
        let never_opened = verdict(&[registered(Some(rows()))]);
        assert_eq!(told(&never_opened), ["entry 1 does not open the ledger, as the first entry does"]);
        let opened_late = verdict(&[registered(Some(rows())), opened()]);
        assert_eq!((opened_late.head, opened_late.findings.len()), (None, 2));
        assert!(!Verdict { entries: 1, head: None, findings: Vec::new() }.is_sound());
    }

    #[test]
    fn whatever_is_not_in_its_place_is_found() {
        const UNFIT: &str = "does not follow the one before it: something was changed, removed or reordered";
        let events = [opened(), registered(Some(rows())), charged(Releases::Once)];
        let chain = chain(&events);
        let said = |order: &[usize]| said_of(&order.iter().map(|&place| chain[place].clone()).collect::<Vec<_>>());
        assert_eq!(said(&[0, 1, 2]), [""; 0]);
        // A gap is told once.
        assert_eq!(said(&[0, 2])[0], "entry 2 is missing");
        assert!(!said(&[0, 2]).iter().any(|text| text.contains(UNFIT)));
        let twice = said(&[0, 0, 1, 2]);
        assert!(twice.contains(&"entry 1 occurs more than once".into()), "{twice:?}");
        assert!(twice.contains(&format!("entry 1 {UNFIT}")), "{twice:?}");
        let back = said(&[0, 1, 2, 1]);
        assert!(back.contains(&"entry 2 comes after entry 3".into()), "{back:?}");
        assert!(back.contains(&format!("entry 2 {UNFIT}")), "{back:?}");
    }

    #[test]
    fn a_suspension_that_was_got_round_is_found() {
        let digest = Hash::of(KEPT);
        let failed = Event::Failed { dataset: "people".into(), charge: 3, digest };
        let reopened = |failure| Event::Reopened { dataset: "people".into(), failure, caller: "ada".into() };
        let start = [opened(), registered(Some(rows())), charged(Releases::Once)];
        let said = |more: &[Event]| told(&verdict(&[&start[..], more].concat()));
        assert_eq!(said(&[failed.clone(), reopened(4)]), [""; 0]);
        assert_eq!(said(&[reopened(3)]), ["entry 4 reopens people, which was not suspended by entry 3"]);
        let mut next = charged(Releases::Once);
        if let Event::Charged { charge, spent, charges, .. } = &mut next {
            charge.request = "tuesday".into();
            *spent = spent.plus(&Spend::of(&charge.guarantee));
            *charges = 2;
        }
        assert_eq!(said(&[failed, next]), ["entry 5 charges people, which is suspended"]);
        let foreign = Event::Failed { dataset: "others".into(), charge: 3, digest };
        assert_eq!(said(&[foreign]), ["entry 4 suspends others for entry 3, which charged another dataset"]);
    }

    /// Leaving a run out of the next charge would avoid the suspension.
    #[test]
    fn a_run_that_is_forgotten_is_found() {
        let run = |last| {
            serde_json::from_value::<Run>(serde_json::json!({"holder": "00000000000000ab", "first": 3, "last": last}))
        };
        let began = |request: &str, number: u64, runs: Vec<Run>| {
            let Event::Charged { mut charge, spent, .. } = charged(Releases::Once) else { unreachable!() };
            charge.request = request.into();
            let spent = (1..number).fold(spent.clone(), |sum, _| sum.plus(&spent));
            Event::Charged { charge, spent, charges: number, runs }
        };
        let start = [opened(), registered(Some(rows())), began("monday", 1, vec![run(3).unwrap()])];
        let said = |more: &[Event]| told(&verdict(&[&start[..], more].concat()));
        let kept = |charge| Event::Released { charge, digest: Hash::of(KEPT) };
        assert_eq!(said(&[began("tuesday", 2, vec![run(3).unwrap()])]), [""; 0]);
        assert_eq!(said(&[began("tuesday", 2, vec![run(4).unwrap()]), kept(3)]), [""; 0]);
        assert_eq!(said(&[kept(3), began("tuesday", 2, Vec::new())]), [""; 0]);
        let forgotten = "entry 4 forgets that what entry 3 began has no outcome";
        assert_eq!(said(&[began("tuesday", 2, Vec::new())]), [forgotten]);
        let no_stream = Event::Began { dataset: "people".into(), charge: 3, runs: Vec::new() };
        assert_eq!(said(&[no_stream]), ["entry 4 computes something for entry 3, which charged no stream of it"]);
    }

    /// Each would let an analyst interrupt more runs before the dataset is suspended.
    #[test]
    fn interrupted_runs_that_are_miscounted_are_found() {
        let digest = Hash::of(KEPT);
        let interrupted = |charge, total, recent| {
            let dataset = "people".into();
            Event::Interrupted { dataset, charge, digest, total, recent }
        };
        let again = |number: u64| {
            let Event::Charged { mut charge, spent, .. } = charged(Releases::Once) else { unreachable!() };
            charge.request = number.to_string();
            let spent = (1..number).fold(spent.clone(), |sum, _| sum.plus(&spent));
            Event::Charged { charge, spent, charges: number, runs: Vec::new() }
        };
        let start = [opened(), registered(Some(rows())), again(1), again(2)];
        let said = |more: &[Event]| told(&verdict(&[&start[..], more].concat()));
        assert_eq!(said(&[interrupted(3, 1, 1), interrupted(4, 2, 2)]), [""; 0]);
        for wrong in [(1, 2), (2, 1), (1, 1), (3, 2)] {
            let miscounted = said(&[interrupted(3, 1, 1), interrupted(4, wrong.0, wrong.1)]);
            assert_eq!(miscounted, ["entry 6 miscounts the interrupted runs of people"]);
        }
        let failed = Event::Failed { dataset: "people".into(), charge: 4, digest };
        assert_eq!(said(&[interrupted(3, 1, 1), failed]), [""; 0]);
        let foreign = Event::Interrupted { dataset: "others".into(), charge: 3, digest, total: 1, recent: 1 };
        assert_eq!(said(&[foreign]), ["entry 5 counts entry 3 for others, but it charged another dataset"]);
    }

    #[test]
    fn a_limit_without_terms_is_found() {
        let verdict = verdict(&[opened(), registered(None)]);
        assert_eq!(told(&verdict), ["entry 2 limits people without a unit and an adjacency"]);
    }

    #[test]
    fn a_charge_that_is_counted_wrongly_is_found() {
        let counted = |charges| {
            let Event::Charged { charge, spent, .. } = charged(Releases::Once) else { unreachable!() };
            told(&verdict(&[
                opened(),
                registered(Some(rows())),
                Event::Charged { charge, spent, charges, runs: Vec::new() },
            ]))
        };
        assert_eq!(counted(1), [""; 0]);
        for wrong in [0, 2, u64::MAX] {
            assert_eq!(counted(wrong), ["entry 3 miscounts the charges of people"]);
        }
    }

    #[test]
    fn a_release_that_was_kept_for_a_stream_is_found() {
        let kept = Event::Released { charge: 3, digest: Hash::of(KEPT) };
        let with = |releases| told(&verdict(&[opened(), registered(Some(rows())), charged(releases), kept.clone()]));
        assert_eq!(with(Releases::Once), [""; 0]);
        assert_eq!(with(Releases::Stream), ["entry 4 keeps a release for entry 3, which charged a stream"]);
    }
}
