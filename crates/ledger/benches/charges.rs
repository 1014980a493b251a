//! How many charges per second become durable, compared with what the disk allows.
//!
//! Prints one JSON object per line; `cargo xtask bench ledger` makes a table of them. Every row is measured several
//! times, alternating with the others, and the median counts, since disk speed varies.

use std::env;
use std::error::Error;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use reticent::ledger::{Charge, ChargeOutcome, Keeper, OnInterruption};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::{Budget, Dataset, DurableLedger, Location, Terms, fresh_id};
use serde_json::json;

/// How many clients charge at once.
const WRITERS: usize = 16;
/// How many clients share commits in one process that serves many.
const CROWD: usize = 256;
/// How long one measurement lasts.
const LENGTH: Duration = Duration::from_secs(2);
/// How many measurements the median is taken of.
const ROUNDS: usize = 5;
/// The bytes SQLite writes at a time.
const PAGE: usize = 4096;
/// The raw file is overwritten cyclically, since growing it would cost more.
const RAW_PAGES: u64 = 4096;

/// Measures in a folder; returns operations per second.
type Task = fn(&Path) -> Outcome<f64>;
type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client", place] => client(Path::new(place)),
        [folder] => measure(Path::new(folder)),
        _ => Err("usage: ledger_bench FOLDER".into()),
    }
}

fn measure(folder: &Path) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    let tasks: [(&str, Task); 6] = [
        ("fdatasync of one page, nothing else", raw),
        ("SQLite alone: one row a commit, one writer", sqlite_alone),
        ("charges, 1 writer", |folder| threads(folder, 1)),
        ("charges, 16 processes", processes),
        ("charges, 16 threads (one commit for all who wait)", |folder| threads(folder, WRITERS)),
        ("charges, 256 threads", |folder| threads(folder, CROWD)),
    ];
    let mut rates = vec![Vec::new(); tasks.len()];
    for round in 0..ROUNDS {
        for ((name, task), rates) in tasks.iter().zip(&mut rates) {
            eprintln!("round {} of {ROUNDS}: {name}", round + 1);
            rates.push(task(&folder.join(format!("round-{round}")))?);
        }
    }
    let medians: Vec<f64> = rates.into_iter().map(median).collect();
    for ((name, _), rate) in tasks.iter().zip(&medians) {
        println!("{}", json!({"task": name, "per_second": rate, "of_raw": rate / medians[0]}));
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A new empty folder, so that every measurement starts from the same state.
fn empty(folder: &Path) -> Outcome<PathBuf> {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)?;
    Ok(folder.to_owned())
}

fn raw(folder: &Path) -> Outcome<f64> {
    let path = empty(folder)?.join("raw");
    let mut file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(path)?;
    let page = [7; PAGE];
    (0..RAW_PAGES).try_for_each(|_| file.write_all(&page))?;
    file.sync_all()?;
    per_second(|count| {
        file.seek(SeekFrom::Start(count % RAW_PAGES * PAGE as u64))?;
        file.write_all(&page)?;
        Ok(file.sync_data()?)
    })
}

fn sqlite_alone(folder: &Path) -> Outcome<f64> {
    let connection = rusqlite::Connection::open(empty(folder)?.join("plain.sqlite"))?;
    connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch("CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
    let body = "x".repeat(600);
    let mut insert = connection.prepare("INSERT INTO entry (body) VALUES (?1)")?;
    per_second(|_| Ok(insert.execute([&body]).map(drop)?))
}

fn per_second(mut once: impl FnMut(u64) -> Outcome<()>) -> Outcome<f64> {
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < LENGTH {
        once(count)?;
        count += 1;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

fn new_ledger(folder: &Path) -> Outcome<PathBuf> {
    let place = empty(folder)?.join("ledger.sqlite");
    let budget = Budget::Limit(Guarantee::Pure("1000000".parse()?));
    let terms = Terms { unit: "user_id".into(), adjacency: Adjacency::AddRemove };
    let dataset = Dataset { name: "people".into(), budget, terms: Some(terms) };
    DurableLedger::create(&Location::File(place.clone()))?.register(&dataset)?;
    Ok(place)
}

/// Charges until the time is up; returns the number of charges.
fn charge(ledger: &DurableLedger, on_interruption: OnInterruption) -> Outcome<u64> {
    let (start, mut count) = (Instant::now(), 0);
    while start.elapsed() < LENGTH {
        let charge = Charge::new("people", fresh_id()?, Guarantee::Pure("0.001".parse()?))
            .caller("bench")
            .description("SELECT region, COUNT(*) FROM people GROUP BY region")
            .unit("user_id", Adjacency::AddRemove);
        match ledger.charge(&charge, on_interruption)? {
            ChargeOutcome::New(_) => count += 1,
            ChargeOutcome::Unfinished(_) | ChargeOutcome::AlreadyAnswered(_) => {
                return Err("a new request was answered before".into());
            }
        }
    }
    Ok(count)
}

fn threads(folder: &Path, writers: usize) -> Outcome<f64> {
    let place = new_ledger(folder)?;
    let ledger = DurableLedger::open(&Location::File(place))?;
    let start = Instant::now();
    let count: u64 = thread::scope(|scope| {
        let work = || charge(&ledger, OnInterruption::Abandon).map_err(|error| error.to_string());
        let workers: Vec<_> = (0..writers).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().map_err(|_| "a writer panicked".to_owned())?)
            .sum::<Result<_, _>>()
    })?;
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

/// The clients start together, when their standard input is closed.
fn processes(folder: &Path) -> Outcome<f64> {
    let place = new_ledger(folder)?;
    let spawn = || {
        Command::new(env::current_exe()?).arg("client").arg(&place).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
    };
    let mut clients: Vec<_> = (0..WRITERS).map(|_| spawn()).collect::<Result<_, _>>()?;
    // They report when they are ready.
    for client in &mut clients {
        client.stdout.as_mut().ok_or("no pipe")?.read_exact(&mut [0])?;
    }
    clients.iter_mut().for_each(|client| drop(client.stdin.take()));
    // Each by its own clock, so that the time processes take to exit is not measured.
    let mut rate = 0.0;
    for client in clients {
        let output = client.wait_with_output()?;
        rate += String::from_utf8(output.stdout)?.trim().parse::<f64>()?;
    }
    Ok(rate)
}

fn client(place: &Path) -> Outcome<()> {
    let ledger = DurableLedger::open(&Location::File(place.into()))?;
    print!(" ");
    std::io::stdout().flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let start = Instant::now();
    // The first client that ends would otherwise suspend the dataset for all others: nothing is kept.
    let count = charge(&ledger, OnInterruption::Recompute)?;
    println!("{}", count as f64 / start.elapsed().as_secs_f64());
    Ok(())
}
