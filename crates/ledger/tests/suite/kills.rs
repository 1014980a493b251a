//! Clients and servers are killed: nothing reported is lost, and nothing is charged twice.

use std::collections::HashMap;
use std::process::Child;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use reticent::exact::Rational;
use reticent::ledger::{Accounting, ChargeOutcome, Keeper, OnInterruption};
use reticent_ledger::{DurableLedger, Event, Spend};

use super::crowd::location_text;
use super::{Place, ask, create, history, limited, open, pure, start_worker, tell, told, variable};

pub const TASK: &str = "client";
const BUDGET: &str = "1000";
const COST: &str = "0.001";
/// The most releases awaited between two kills.
const MOST_PATIENT: u64 = 6;

/// How long a client waits before it retries an unavailable server.
const PAUSE: Duration = Duration::from_millis(20);

/// Something that happens to the clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blow {
    /// One is killed.
    One,
    /// All are killed at once.
    All,
    /// The server is killed, under all of them.
    #[allow(dead_code, reason = "SQLite has none")]
    Server,
}

/// What a client reported, or that it ended.
struct News {
    client: usize,
    line: Option<String>,
}

/// A release that was shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shown {
    entry: u64,
    release: String,
}

/// Clients, and everything they reported.
struct Crowd {
    location: String,
    clients: Vec<Child>,
    /// The newest request that each has told.
    newest: Vec<u64>,
    /// By the request's id.
    shown: HashMap<String, Shown>,
    told: usize,
    news: (Sender<News>, Receiver<News>),
}

impl Crowd {
    fn start(&mut self, client: usize) -> Child {
        let variables = [
            ("PLACE", self.location.clone()),
            ("WHO", client.to_string()),
            // What it told last is asked again first.
            ("FIRST", self.newest[client].to_string()),
        ];
        let mut child = start_worker(TASK, &variables);
        let (lines, news) = (told(&mut child), self.news.0.clone());
        thread::spawn(move || {
            lines.for_each(|line| drop(news.send(News { client, line: Some(line) })));
            news.send(News { client, line: None })
        });
        child
    }

    /// Hears one piece of news; the client that ended, if it is that.
    fn hear(&mut self) -> Option<usize> {
        let News { client, line } = self.news.1.recv().unwrap();
        let Some(line) = line else { return Some(client) };
        let [number, entry, release] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        assert_ne!(number, "failed", "client {client}: {entry} {release}");
        let shown = Shown { entry: entry.parse().unwrap(), release: release.to_owned() };
        let request = format!("{client}-{number}");
        if let Some(before) = self.shown.insert(request.clone(), shown.clone()) {
            assert_eq!(before, shown, "{request} was shown twice, and differently");
        }
        self.newest[client] = number.parse().unwrap();
        self.told += 1;
        None
    }

    /// Kills clients and starts them anew, when all that they told was heard.
    fn kill(&mut self, victims: &[usize]) {
        for &victim in victims {
            self.clients[victim].kill().unwrap();
        }
        let mut ended = 0;
        while ended < victims.len() {
            ended += usize::from(self.hear().is_some());
        }
        for &victim in victims {
            self.clients[victim].wait().unwrap();
        }
        for &victim in victims {
            self.clients[victim] = self.start(victim);
        }
    }
}

/// Lets `clients` processes charge and keep, deals them the blows, and looks at what is left.
pub fn survive(place: &dyn Place, clients: usize, blows: &[Blow], mut kill_server: impl FnMut()) {
    let ledger = create(place);
    ledger.register(&limited("people", pure(BUDGET))).unwrap();
    drop(ledger);
    let mut crowd = Crowd {
        location: location_text(place).unwrap(),
        clients: Vec::new(),
        newest: vec![0; clients],
        shown: HashMap::new(),
        told: 0,
        news: channel(),
    };
    for client in 0..clients {
        let child = crowd.start(client);
        crowd.clients.push(child);
    }
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % below
    };
    for blow in blows {
        let awaited = crowd.told + usize::try_from(draw(MOST_PATIENT)).unwrap();
        while crowd.told < awaited {
            assert_eq!(crowd.hear(), None, "a client ended by itself");
        }
        match blow {
            Blow::One => crowd.kill(&[usize::try_from(draw(clients as u64)).unwrap()]),
            Blow::All => crowd.kill(&(0..clients).collect::<Vec<_>>()),
            Blow::Server => kill_server(),
        }
    }
    let awaited = crowd.told + clients;
    while crowd.told < awaited {
        assert_eq!(crowd.hear(), None, "a client ended by itself");
    }
    for client in &mut crowd.clients {
        client.kill().unwrap();
    }
    let mut ended = 0;
    while ended < clients {
        ended += usize::from(crowd.hear().is_some());
    }
    for client in &mut crowd.clients {
        client.wait().unwrap();
    }
    examine(&open(place), &crowd.shown);
}

/// Everything that was shown is in the ledger, once, and the sums are right.
fn examine(ledger: &DurableLedger, shown: &HashMap<String, Shown>) {
    let verdict = ledger.verify().unwrap();
    assert!(verdict.is_sound(), "{:?}", verdict.findings);
    let mut charged = HashMap::new();
    let mut sum = Rational::ZERO;
    for entry in history(ledger) {
        if let Event::Charged { charge, .. } = entry.event {
            sum = &sum + &Spend::of(&charge.guarantee).epsilon;
            let before = charged.insert(charge.request.clone(), entry.number);
            assert_eq!(before, None, "{} was charged twice", charge.request);
        }
    }
    let account = ledger.account("people").unwrap().unwrap();
    assert_eq!((account.charges, &account.spent[0].1.epsilon), (charged.len() as u64, &sum));
    assert!(sum <= BUDGET.parse().unwrap());
    for (request, Shown { entry, release }) in shown {
        assert_eq!(charged.get(request), Some(entry), "{request} was shown");
        match ledger.charge(&ask("people", request, pure(COST)), OnInterruption::Recompute).unwrap() {
            ChargeOutcome::AlreadyAnswered(kept) => assert_eq!(kept, *release),
            ChargeOutcome::New(_) | ChargeOutcome::Unfinished(_) => {
                panic!("{request} was shown, but its release was not kept")
            }
        }
    }
    println!("{} releases shown, {} charged, all accounted for", shown.len(), charged.len());
}

/// A client: charge, keep, tell; until it is killed.
pub fn work() {
    let place = variable("PLACE").parse().unwrap();
    let (who, first) = (variable("WHO"), variable("FIRST").parse::<u64>().unwrap());
    // A server that was killed is not there for a while. Its start must not wait for those who ask after it.
    let patiently = |attempt: &mut dyn FnMut() -> reticent_ledger::Result<(u64, String)>| loop {
        match attempt() {
            Err(error) if error.is_storage() && variable("PLACE").starts_with("postgres") => thread::sleep(PAUSE),
            outcome => return outcome,
        }
    };
    let mut ledger = None;
    for number in first.. {
        let charge = ask("people", &format!("{who}-{number}"), pure(COST));
        let outcome = patiently(&mut || {
            if ledger.is_none() {
                ledger = Some(DurableLedger::open(&place)?);
            }
            let ledger = ledger.as_ref().expect("just opened");
            match ledger.charge(&charge, OnInterruption::Recompute)? {
                // What is asked twice is answered with the entry that it had.
                ChargeOutcome::AlreadyAnswered(kept) => {
                    let (entry, _) = kept.split_once(' ').expect("clients keep their entry's number");
                    Ok((entry.parse().expect("a number"), kept))
                }
                ChargeOutcome::New(permit) | ChargeOutcome::Unfinished(permit) => {
                    let Accounting::Charged(receipt) = permit.accounting() else { panic!("it was charged") };
                    // Another process, or another try, would release something else.
                    let mut noise = [0; 8];
                    getrandom::fill(&mut noise).expect("the system gives randomness");
                    let release = format!("{} {}", receipt.entry, u64::from_le_bytes(noise));
                    Ok((receipt.entry, ledger.keep(receipt, &release)?))
                }
            }
        });
        match outcome {
            Ok((entry, release)) => tell(&format!("{number} {entry} {release}")),
            Err(error) => return tell(&format!("failed {number} {error}")),
        }
    }
}
