//! Parties with their own keys, ledgers and state directories.

use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Location, Spend, Terms};
use reticent_party::transport::Transport;
use reticent_party::{Abort, Error, Outcome, Party, PrivateKey, Result, State, Statistic, Task, Times};
use tempfile::TempDir;

/// The unit and the dataset of all parties.
const DATASET: &str = "visits";

/// Generous: only a vanished party is waited for this long, and then on a [clock](crate::clock).
pub const TIMES: Times =
    Times { join: Duration::from_secs(600), round: Duration::from_secs(120), linger: Duration::from_secs(60) };

/// A party's numbers.
pub struct Numbers(pub Vec<i64>);

impl Statistic for Numbers {
    fn check(&self, _: &Task) -> Result<()> {
        Ok(())
    }

    fn exact(&mut self, _: &Task, _: [u8; 32]) -> Result<Vec<i64>, String> {
        Ok(self.0.clone())
    }
}

/// Parties that know each other.
pub struct Village {
    pub folder: TempDir,
    pub task: Task,
    pub keys: Vec<PrivateKey>,
    pub ledgers: Vec<DurableLedger>,
    listeners: Vec<TcpListener>,
}

/// What differs between villages.
pub struct Plan {
    pub parties: usize,
    pub protocol: &'static str,
    pub cells: usize,
    pub budget: Budget,
}

impl Default for Plan {
    fn default() -> Self {
        let (parties, protocol, cells) = (3, "protocol = \"masked\"\ncolluders = 1", 2);
        Self { parties, protocol, cells, budget: Budget::Unlimited }
    }
}

/// A budget of pure ε.
pub fn epsilon(epsilon: &str) -> Budget {
    Budget::Limit(Guarantee::Pure(epsilon.parse().unwrap()))
}

impl Village {
    pub fn new(plan: Plan) -> Self {
        Self::behind(plan, |address| address)
    }

    /// A village whose addresses are those of proxies in front of the parties.
    pub fn behind(plan: Plan, mut before: impl FnMut(String) -> String) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys: Vec<_> = (0..plan.parties).map(|_| PrivateKey::generate().unwrap()).collect();
        let listeners: Vec<_> = (0..plan.parties).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let cells: Vec<String> = (0..plan.cells).map(|cell| format!("\"cell {cell}\"")).collect();
        let mut text = format!(
            "title = \"Test\"\nsession = \"first\"\n{}\nepsilon = 1\nunit = \"row\"\nadjacency = \"add-remove\"\n\
             sql = \"SELECT COUNT(*) FROM visits\"\nbound = 1000000\nsensitivity = 1\ncells = [{}]\n",
            plan.protocol,
            cells.join(", "),
        );
        for (place, (key, listener)) in keys.iter().zip(&listeners).enumerate() {
            let (key, address) = (key.public(), before(listener.local_addr().unwrap().to_string()));
            text += &format!("[[party]]\nname = \"p{place}\"\nkey = \"{key}\"\naddress = \"{address}\"\n");
        }
        let ledger = |place: usize| {
            let file = folder.path().join(format!("{place}.sqlite"));
            let ledger = DurableLedger::create(&Location::File(file)).unwrap();
            let terms = Some(Terms { unit: "row".into(), adjacency: Adjacency::AddRemove });
            ledger.register(&Dataset { name: DATASET.into(), budget: plan.budget.clone(), terms }).unwrap();
            ledger
        };
        let ledgers = (0..plan.parties).map(ledger).collect();
        Self { task: text.parse().unwrap(), folder, keys, ledgers, listeners }
    }

    pub fn parties(&self) -> usize {
        self.keys.len()
    }

    /// A party's listener; it can be bound again after an attempt.
    pub fn listener(&self, place: usize) -> TcpListener {
        self.listeners[place].try_clone().unwrap()
    }

    pub fn state_directory(&self, place: usize) -> PathBuf {
        self.folder.path().join(format!("{place}.state"))
    }

    /// Runs something as a party.
    pub fn with<T>(&self, place: usize, work: impl FnOnce(&Party<'_>) -> T) -> T {
        self.with_task(place, &self.task, work)
    }

    /// Runs something as a party with its own task.
    pub fn with_task<T>(&self, place: usize, task: &Task, work: impl FnOnce(&Party<'_>) -> T) -> T {
        let state = State::open(&self.state_directory(place)).unwrap();
        let (key, ledger) = (&self.keys[place], &self.ledgers[place]);
        let (times, dataset, transcript) = (TIMES, DATASET, None);
        work(&Party { task, place, key, ledger, dataset, state: &state, times, transcript })
    }

    /// A party's numbers: each is a different power of ten.
    pub fn numbers(&self, place: usize) -> Numbers {
        Numbers((0..self.task.cells().len()).map(|cell| 1000 * (place as i64 + 1) + cell as i64).collect())
    }

    /// The sums of all parties' numbers.
    pub fn sums(&self) -> Vec<i64> {
        let all: Vec<_> = (0..self.parties()).map(|place| self.numbers(place).0).collect();
        (0..self.task.cells().len()).map(|cell| all.iter().map(|numbers| numbers[cell]).sum()).collect()
    }

    /// Runs a party over the network.
    pub fn run(&self, place: usize) -> Result<Outcome> {
        self.with(place, |party| party.run(self.listener(place), &mut self.numbers(place)))
    }

    /// Runs a party over a transport made from its connections.
    pub fn run_over<T: Transport>(
        &self,
        place: usize,
        task: &Task,
        wire: impl FnOnce(reticent_party::transport::Mesh) -> T,
    ) -> Result<Outcome> {
        let (members, key, listener) = (task.parties(), &self.keys[place], self.listener(place));
        let start = || reticent_party::transport::Mesh::start(members, place, key, listener, LARGEST).map(wire);
        self.with_task(place, task, |party| party.run_over(start, &mut self.numbers(place)))
    }

    /// Runs all parties at once, each on its own thread.
    pub fn all<T: Send>(&self, act: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let act = &act;
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.parties()).map(|place| scope.spawn(move || act(place))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    /// How often a party's ledger was charged.
    pub fn charges(&self, place: usize) -> u64 {
        self.ledgers[place].account(DATASET).unwrap().unwrap().charges
    }

    /// What a party has spent.
    pub fn spent(&self, place: usize) -> Spend {
        self.ledgers[place].account(DATASET).unwrap().unwrap().spent[0].1.clone()
    }

    /// Checks that all have the same transcript, that it is sound, and that the sums are about right.
    pub fn check(&self, outcomes: Vec<Result<Outcome>>) -> Vec<Outcome> {
        let outcomes: Vec<Outcome> = outcomes.into_iter().map(Result::unwrap).collect();
        let first = &outcomes[0].transcript;
        for outcome in &outcomes {
            assert_eq!(outcome.transcript, *first);
            assert_eq!(outcome.release.value(), &first.output);
            let file = reticent_party::Transcript::read(&outcome.file).unwrap();
            assert_eq!(file, *first);
        }
        let verdict = first.verify(Some(&self.task));
        assert!(verdict.is_sound(), "{:?}", verdict.findings);
        assert_eq!(verdict.signatures, 4 * self.parties());
        for (value, sum) in first.output.iter().zip(self.sums()) {
            // e^-200 of two-sided geometric noise of scale 1, times what is shared out.
            assert!((value - sum).abs() < 1000, "{value} is not near {sum}");
        }
        outcomes
    }
}

/// The size of a village's largest frame.
pub const LARGEST: usize = 1 << 16;

/// The resulting abort.
pub fn abort(result: Result<Outcome>) -> Abort {
    match result {
        Err(Error::Aborted(abort)) => *abort,
        Err(error) => panic!("not an abort: {error}"),
        Ok(_) => panic!("it was released"),
    }
}
