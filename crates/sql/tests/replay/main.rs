//! Neighbour replay: random queries on neighbouring tables, choices frozen.
//!
//! Nothing but the release may depend on the rows: neighbours must give the same plan, summary, columns and errors, the same
//! keys where keys are public, and exact statistics that differ by no more than the declared sensitivity. Rows hold whatever
//! could trip an engine: NaN, infinities, the smallest whole number, texts that are no numbers, units with many rows.

mod compare;
mod dice;
mod grammar;
mod joint;
mod tables;

use std::collections::BTreeMap;
use std::thread;

use reticent::Permit;
use reticent::noise::Entropy;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::{Answer, Input, Query, Table};

use compare::Moved;
use dice::Dice;
use grammar::Question;
use tables::Tables;

/// Random queries, each on two neighbouring tables.
const QUERIES: u64 = 2_000;
const SEED: u64 = 20_260_302;
const THREADS: u64 = 2;

/// What one table gives.
struct Outcome {
    words: String,
    exact: Option<reticent_sql::release::exact::Exact>,
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
    let mut words = format!("{:?}\n{}\n{}", query.summary().expect("a summary"), query.words(), compare::plan(&query));
    let key = || ChoiceKey::draw(&mut Entropy::seeded(seed).draw().expect("seeded"));
    let exact = query.exact(key()).map_err(|error| words += &error.to_string()).ok();
    let mut permit = Permit::unaccounted_from(Entropy::seeded(seed));
    let answer = query.answer(&mut permit, key()).map_err(|error| words += &error.to_string()).ok();
    Outcome { words, exact, answer }
}

/// What a share of all queries came to.
#[derive(Default)]
struct Tally {
    moved: BTreeMap<String, Moved>,
    answered: u64,
    refused: BTreeMap<String, u32>,
}

fn replay(numbers: impl Iterator<Item = u64>) -> Tally {
    let folder = tempfile::tempdir().expect("a folder");
    let mut tally = Tally::default();
    for number in numbers {
        let mut dice = Dice::new(SEED + number);
        let question = Question::roll(&mut dice);
        let tables = Tables::roll(&mut dice, &question, folder.path());
        let case = format!("query {number}: {}", question.sql);
        tables.write(&tables.rows);
        let one = ask(&question, &tables, number);
        tables.write(&tables.neighbour);
        let other = ask(&question, &tables, number);
        assert_eq!(one.words, other.words, "{case}");
        match (&one.exact, &other.exact) {
            (Some(one), Some(other)) => compare::exact(one, other, &case, &mut tally.moved),
            _ => *tally.refused.entry(one.words.clone()).or_default() += 1,
        }
        match (&one.answer, &other.answer) {
            (Some(one), Some(other)) => {
                tally.answered += 1;
                assert_eq!(one.columns, other.columns, "{case}");
                assert_eq!(one.summary, other.summary, "{case}");
                if question.public_keys {
                    assert_eq!(compare::keys(one), compare::keys(other), "{case}");
                }
            }
            (one, other) => assert_eq!(one.is_some(), other.is_some(), "{case}"),
        }
    }
    tally
}

#[test]
fn nothing_but_the_release_depends_on_the_rows() {
    let tallies: Vec<Tally> = thread::scope(|scope| {
        let share = |first: u64| scope.spawn(move || replay((first..QUERIES).step_by(THREADS as usize)));
        let threads: Vec<_> = (0..THREADS).map(share).collect();
        threads.into_iter().map(|thread| thread.join().expect("a share of the queries")).collect()
    });
    let answered: u64 = tallies.iter().map(|tally| tally.answered).sum();
    let refused: BTreeMap<&String, u32> =
        tallies.iter().flat_map(|tally| tally.refused.iter().map(|(reason, times)| (reason, *times))).collect();
    println!("{answered} of {QUERIES} answered; others: {refused:?}");
    assert!(answered * 10 >= QUERIES * 8, "most queries are answered: {answered}, {refused:?}");
    // The bounds are reached, so that any smaller claim would have failed above.
    for statistic in ["rows", "units", "values of x", "count and sum of x", "histogram of x", "keys", "ranks"] {
        let largest = tallies.iter().filter_map(|tally| tally.moved.get(statistic)).map(|moved| moved.largest);
        let reached = largest.fold(0.0, f64::max);
        assert!(reached >= 0.999, "{statistic}: {reached}");
    }
}
