//! Many simultaneous requests: exactly what fits is granted.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use reticent::error::Explained;
use reticent::ledger::{Accounting, ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::storage::{Pages, Storage};
use reticent_ledger::{DurableLedger, Event, Holder, Result, Row, Spend};

use super::{Place, ask, create, history, limited, open, pure, start_worker, tell, told, variable};

pub const TASK: &str = "crowd";
const PROCESSES: u64 = 2;
const THREADS: u64 = 64;
const FIT: usize = 1000;
const COST: &str = "0.001";

/// `asked` charges by 2 processes of 64 threads each, where 1,000 fit.
pub fn exactly_what_fits_is_granted(place: &dyn Place, asked: u64) {
    let ledger = create(place);
    ledger.register(&limited("people", pure("1"))).unwrap();
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            let Some(location) = location_text(place) else { panic!("a place has a name") };
            let variables =
                [("PLACE", location), ("WHO", process.to_string()), ("MOST", (asked / PROCESSES).to_string())];
            start_worker(TASK, &variables)
        })
        .collect();
    let mut lines: Vec<_> = children.iter_mut().map(told).collect();
    // All are ready before the first one asks.
    for lines in &mut lines {
        assert_eq!(lines.next().as_deref(), Some("ready"));
    }
    for child in &mut children {
        child.stdin.take().unwrap().write_all(b"go").unwrap();
    }
    let (mut granted, mut refused) = (HashMap::new(), 0);
    thread::scope(|scope| {
        let readers: Vec<_> = lines.into_iter().map(|lines| scope.spawn(move || lines.collect::<Vec<_>>())).collect();
        for line in readers.into_iter().flat_map(|reader| reader.join().unwrap()) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["granted", request, entry] => {
                    let before = granted.insert(request.to_owned(), entry.parse::<u64>().unwrap());
                    assert_eq!(before, None, "{request} was granted twice");
                }
                ["refused", count] => refused += count.parse::<u64>().unwrap(),
                _ => panic!("{line}"),
            }
        }
    });
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!((granted.len(), refused), (FIT, asked - FIT as u64));
    let ledger = open(place);
    let account = ledger.account("people").unwrap().unwrap();
    assert_eq!((account.charges, &account.spent[0].1), (FIT as u64, &Spend::of(&pure("1"))));
    let charged: HashMap<_, _> = history(&ledger)
        .into_iter()
        .filter_map(|entry| match entry.event {
            Event::Charged { charge, .. } => Some((charge.request, entry.number)),
            _ => None,
        })
        .collect();
    assert_eq!(charged, granted);
    assert!(ledger.verify().unwrap().is_sound());
}

/// A location as a child can read it.
pub fn location_text(place: &dyn Place) -> Option<String> {
    match place.location() {
        reticent_ledger::Location::File(path) => path.to_str().map(String::from),
        reticent_ledger::Location::Postgres(url) => Some(url),
    }
}

/// One process of the crowd: threads that share a handle.
pub fn work() {
    let place = variable("PLACE").parse().unwrap();
    let (who, most) = (variable("WHO"), variable("MOST").parse::<u64>().unwrap());
    let ledger = DurableLedger::open(&place).unwrap();
    let (next, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    tell("ready");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= most {
                        return;
                    }
                    let request = format!("{who}-{number}");
                    match ledger.charge(&ask("people", &request, pure(COST)), OnInterruption::Recompute) {
                        Ok(ChargeOutcome::New(permit)) => {
                            let Accounting::Charged(receipt) = permit.accounting() else { panic!("it was charged") };
                            tell(&format!("granted {request} {}", receipt.entry));
                        }
                        Ok(ChargeOutcome::Unfinished(_)) => panic!("{request} was asked once"),
                        Ok(ChargeOutcome::AlreadyAnswered(text)) => panic!("{text}"),
                        Err(error) if error.is_overdrawn() => drop(refused.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    tell(&format!("refused {}", refused.into_inner()));
}

/// A storage that looks before it locks: what a missing lock would do, at the worst moment.
struct Unlocked {
    storage: Box<dyn Storage>,
    /// Both have looked.
    looked: Arc<Barrier>,
}

/// Pages that remember what is to be appended.
struct Later<'pages> {
    pages: &'pages mut dyn Pages,
    rows: Vec<(Row, Option<String>)>,
}

impl Storage for Unlocked {
    fn write(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        let mut rows = Vec::new();
        self.storage.read(&mut |pages| {
            let mut later = Later { pages, rows: Vec::new() };
            work(&mut later)?;
            rows = later.rows;
            Ok(())
        })?;
        self.looked.wait();
        self.storage.write(&mut |pages| {
            for (row, release) in &rows {
                let row = Row::after(pages.last()?.as_ref(), row.open()?.event);
                pages.append(&row, release.as_deref())?;
            }
            Ok(())
        })
    }

    fn read(&mut self, work: &mut dyn FnMut(&mut dyn Pages) -> Result<()>) -> Result<()> {
        self.storage.read(work)
    }

    fn try_writing(&mut self) -> Result<()> {
        self.storage.try_writing()
    }

    fn faults(&mut self) -> Result<Vec<String>> {
        self.storage.faults()
    }
}

impl Pages for Later<'_> {
    fn last(&mut self) -> Result<Option<Row>> {
        self.pages.last()
    }
    fn row(&mut self, number: u64) -> Result<Option<Row>> {
        self.pages.row(number)
    }
    fn rows(&mut self, after: u64, most: u32) -> Result<Vec<Row>> {
        self.pages.rows(after, most)
    }
    fn registration(&mut self, dataset: &str) -> Result<Option<Row>> {
        self.pages.registration(dataset)
    }
    fn registrations(&mut self) -> Result<Vec<Row>> {
        self.pages.registrations()
    }
    fn charge(&mut self, dataset: &str, request: &str) -> Result<Option<Row>> {
        self.pages.charge(dataset, request)
    }
    fn last_charge(&mut self, dataset: &str, terms: &str) -> Result<Option<Row>> {
        self.pages.last_charge(dataset, terms)
    }
    fn last_charges(&mut self, dataset: &str) -> Result<Vec<Row>> {
        self.pages.last_charges(dataset)
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
        self.rows.push((row.clone(), release.map(String::from)));
        Ok(())
    }
}

/// Without the lock two charges are granted where one fits, and `verify` finds it.
pub fn without_the_lock_too_much_is_granted(place: &dyn Place, storage: impl Fn() -> Box<dyn Storage>) {
    create(place).register(&limited("people", pure("1"))).unwrap();
    let looked = Arc::new(Barrier::new(2));
    let handles = [(); 2].map(|()| {
        let unlocked = Unlocked { storage: storage(), looked: Arc::clone(&looked) };
        DurableLedger::on(Box::new(unlocked))
    });
    let granted = thread::scope(|scope| {
        let threads: Vec<_> = handles
            .iter()
            .zip(["a", "b"])
            .map(|(ledger, request)| {
                scope
                    .spawn(move || ledger.charge(&ask("people", request, pure("1")), OnInterruption::Recompute).is_ok())
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().unwrap().then_some(())).count()
    });
    assert_eq!(granted, 2);
    let findings = open(place).verify().unwrap().findings;
    assert!(findings.iter().any(|finding| finding.text == "charges more than people had left"), "{findings:?}");
}
