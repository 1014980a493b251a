//! Neighbour replay: random queries on neighbouring tables, with fixed random choices.
//!
//! Nothing but the release may depend on the rows: neighbours must give the same plan, summary, columns and errors, the
//! same keys where keys are public, and exact statistics that differ by at most the declared sensitivity. Rows contain
//! whatever could break an engine: NaN, infinities, the smallest integer, texts that are not numbers, units with many
//! rows.
//!
//! With `RETICENT_LONG=1` a million queries are answered instead of twenty thousand.

mod compare;
mod dice;
mod expressions;
mod grammar;
mod joint;
mod simple;
mod tables;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use reticent::Permit;
use reticent::noise::Entropy;
use reticent_sql::answer::Summary;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::text::PANICS;
use reticent_sql::{Answer, Engine, Exact, Input, Query, Table};

use compare::Moved;
use dice::Dice;
use grammar::Question;
use tables::Tables;

/// The number of random queries answered, each on two neighbouring tables.
const ANSWERED: u64 = 20_000;
const SEED: u64 = 20_261_117;
const THREADS: u64 = 2;
/// 1/N of the queries are also answered with noise, and their error bars computed.
const NOISY: u64 = 8;

/// The results on one table.
struct Outcome {
    words: String,
    exact: Option<Exact>,
    answer: Option<Answer>,
}

fn ask(question: &Question, tables: &Tables, seed: u64) -> Outcome {
    let inputs = tables.files().into_iter().map(|(name, location, public)| {
        let table = Table::open(name, &location).expect("the files are there");
        Input { table, public }
    });
    let query = match Query::prepare(&question.sql, inputs.collect(), question.options.clone()) {
        Ok(query) => query,
        Err(error) => return Outcome { words: error.to_string(), exact: None, answer: None },
    };
    // Usually all units share a bucket: that is where units could get mixed up.
    let (threads, buckets) = (1 + seed as usize % 2, [1, 1, 2, 64][seed as usize / 2 % 4]);
    let query = query.with_engine(Engine { threads, buckets, ..Engine::default() });
    let noisy = seed.is_multiple_of(NOISY);
    let summary = noisy.then(|| query.summary());
    let words = format!("{summary:?}\n{}\n{}", query.words(), query.plan_text());
    let key = || ChoiceKey::draw(&mut Entropy::seeded(seed).draw().expect("seeded"));
    let exact = query.exact(key()).unwrap_or_else(|error| panic!("query {seed}: {error}: {}", question.sql));
    let mut permit = Permit::unaccounted_from(Entropy::seeded(seed));
    let answer = noisy.then(|| query.answer(&mut permit).map_err(|error| error.to_string()));
    let answer = answer.map(|answer| answer.unwrap_or_else(|error| panic!("query {seed}: {error}: {}", question.sql)));
    Outcome { words, exact: Some(exact), answer }
}

/// The results of one thread's share of the queries.
#[derive(Default)]
struct Tally {
    moved: BTreeMap<String, Moved>,
    made: BTreeMap<&'static str, u64>,
    tried: u64,
    refused: BTreeMap<String, u64>,
}

fn replay(numbers: impl Iterator<Item = u64>, answered: &AtomicU64, most: u64) -> Tally {
    let folder = tempfile::tempdir().expect("a folder");
    let mut tally = Tally::default();
    for number in numbers {
        if answered.load(Ordering::Relaxed) >= most {
            break;
        }
        tally.tried += 1;
        let mut dice = Dice::new(SEED + number);
        let question = Question::roll(&mut dice);
        let tables = Tables::roll(&mut dice, &question, folder.path());
        let case = format!("query {number}: {}", question.sql);
        tables.write(&tables.rows);
        let one = ask(&question, &tables, number);
        tables.write(&tables.neighbour);
        let other = ask(&question, &tables, number);
        assert_eq!(one.words, other.words, "{case}");
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "a panic: {case}");
        match (&one.exact, &other.exact) {
            (Some(one), Some(other)) => {
                assert!(!question.made.contains("refused"), "it must be refused: {case}");
                compare::exact(one, other, &case, &mut tally.moved);
                question.made.iter().for_each(|made| *tally.made.entry(made).or_default() += 1);
                answered.fetch_add(1, Ordering::Relaxed);
            }
            _ => {
                if question.made.contains("refused") {
                    *tally.made.entry("refused").or_default() += 1;
                }
                let reason = one.words.chars().take(70).collect();
                *tally.refused.entry(reason).or_default() += 1;
            }
        }
        match (&one.answer, &other.answer) {
            (Some(one), Some(other)) => {
                assert_eq!(one.columns, other.columns, "{case}");
                // Limits that were chosen, and the threshold that follows from them, are released.
                let unreleased = |answer: &Answer| match answer.summary.limits.is_empty() {
                    true => answer.summary.clone(),
                    false => Summary { limits: Vec::new(), half_widths: String::new(), ..answer.summary.clone() },
                };
                assert_eq!(unreleased(one), unreleased(other), "{case}");
                if question.public_keys {
                    assert_eq!(compare::keys(one), compare::keys(other), "{case}");
                }
            }
            (one, other) => assert_eq!(one.is_some(), other.is_some(), "{case}"),
        }
    }
    tally
}

/// Features of queries, and the least number per thousand answered queries that must have each.
const FLOORS: [(&str, u64); 49] = [
    ("AVG", 109),
    ("CASE", 141),
    ("COUNT", 175),
    ("COUNT(DISTINCT unit)", 43),
    ("CROSS JOIN", 46),
    ("DISTINCT of released values", 31),
    ("EXISTS", 38),
    ("FILTER", 53),
    ("HAVING", 72),
    ("HAVING within a unit", 28),
    ("HISTOGRAM", 66),
    ("IN (SELECT …)", 55),
    ("JOIN on the unit", 21),
    ("JOIN with a public table", 53),
    ("LEFT JOIN on the unit", 13),
    ("LEFT JOIN with a public table", 34),
    ("MODE", 59),
    ("OFFSET", 60),
    ("ORDER BY and LIMIT", 25),
    ("RIGHT JOIN from a public table", 20),
    ("RIGHT JOIN on the unit", 12),
    ("STABLE_MEDIAN", 49),
    ("STDDEV", 56),
    ("SUM", 64),
    ("UNION ALL", 53),
    ("USING", 33),
    ("VALUES", 74),
    ("VARIANCE", 54),
    ("WHERE", 278),
    ("WITH", 130),
    ("WITH used twice", 2),
    ("aggregates of released values", 30),
    ("aggregates within a unit", 87),
    ("clock", 87),
    ("columns renamed by an alias", 58),
    ("nested join", 53),
    ("no caps", 50),
    ("patterns", 89),
    ("public DISTINCT", 28),
    ("public ORDER BY and LIMIT", 23),
    ("public aggregates", 27),
    ("public casts that fail", 36),
    ("public keys", 36),
    ("public table first", 23),
    ("quantiles", 141),
    ("refused", 18),
    ("released values joined with public ones", 23),
    ("scalar sub-query", 47),
    ("sub-query", 115),
];

#[test]
fn nothing_but_the_release_depends_on_the_rows() {
    let long = std::env::var("RETICENT_LONG").is_ok();
    let most = if long { 1_000_000 } else { ANSWERED };
    let most = std::env::var("RETICENT_QUERIES").ok().and_then(|number| number.parse().ok()).unwrap_or(most);
    let answered = AtomicU64::new(0);
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let answered = &answered;
        let share = |first: u64| scope.spawn(move || replay((first..).step_by(THREADS as usize), answered, most));
        let threads: Vec<_> = (0..THREADS).map(share).collect();
        threads.into_iter().map(|thread| thread.join().expect("a share of the queries")).collect()
    });
    let sum = |of: &dyn Fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    let (answered, tried) = (answered.load(Ordering::Relaxed), sum(&|tally| tally.tried));
    println!("{answered} of {tried} answered");
    let names: std::collections::BTreeSet<&str> = tallies.iter().flat_map(|tally| tally.made.keys().copied()).collect();
    let made = |name: &str| sum(&|tally| tally.made.get(name).copied().unwrap_or_default());
    names.iter().for_each(|name| println!("{:7} {name}", made(name)));
    let mut reasons: BTreeMap<&str, u64> = BTreeMap::new();
    tallies
        .iter()
        .flat_map(|tally| &tally.refused)
        .for_each(|(reason, times)| *reasons.entry(reason).or_default() += times);
    let mut reasons: Vec<(&str, u64)> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    reasons.iter().take(25).for_each(|(reason, times)| println!("refused {times:6} times: {reason}"));
    assert!(answered * 10 >= tried * 4, "a good share is answered: {answered} of {tried}");
    for (name, floor) in FLOORS {
        assert!(made(name) * 1000 >= floor * answered, "{name}: {} of {answered}", made(name));
    }
    // The bounds are reached, so any smaller claim would have failed above.
    for statistic in ["rows", "units", "values of x", "count and sum of x", "histogram of x", "keys", "ranks"] {
        let largest = tallies.iter().filter_map(|tally| tally.moved.get(statistic)).map(|moved| moved.largest);
        let reached = largest.fold(0.0, f64::max);
        assert!(reached >= 0.999, "{statistic}: {reached}");
    }
}
