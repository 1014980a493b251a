//! The same for queries that parties answer together: a party's vector moves by at most its sensitivity.

use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::joint::Shape;
use reticent_sql::{Error, Input, JointQuery, Query, Table};

use super::dice::Dice;
use super::grammar::Question;
use super::tables::Tables;

/// Random queries, each on two neighbouring tables.
const QUERIES: u64 = 400;
const SEED: u64 = 20_261_116;

/// A party's shape and numbers, or the reason for a refusal.
type Outcome = Result<(Shape, Vec<i64>), Error>;

fn inputs(tables: &Tables) -> Vec<Input> {
    let input = |(name, location, public): (&str, String, bool)| {
        let table = Table::open(name, &location).expect("the files are there");
        Input { table, public }
    };
    tables.files().into_iter().map(input).collect()
}

fn key(seed: u64) -> ChoiceKey {
    ChoiceKey::draw(&mut Entropy::seeded(seed).draw().expect("seeded"))
}

fn ask(question: &Question, tables: &Tables, seed: u64) -> Outcome {
    let query = JointQuery::prepare(&question.sql, inputs(tables), question.options.clone())?;
    let exact = query.measure(key(seed))?;
    Ok((query.shape().clone(), exact.for_noise().to_vec()))
}

/// The numbers that a curator would add noise to, part by part, are the same up to the factors.
fn matches_a_curators(question: &Question, tables: &Tables, seed: u64, outcome: &(Shape, Vec<i64>)) {
    let query = Query::prepare(&question.sql, inputs(tables), question.options.clone()).expect("it is private");
    let exact = query.exact(key(seed)).expect("they can be read");
    let scaled: Vec<i64> = exact
        .parts
        .iter()
        .zip(&outcome.0.parts)
        .flat_map(|(exact, part)| {
            let (times, over) = (i128::from(part.times), i128::from(part.over));
            let nearest = move |number: &i64| (2 * i128::from(*number) * times + over).div_euclid(2 * over);
            exact.numbers.iter().map(move |number| nearest(number) as i64)
        })
        .collect();
    // The keys are text here, so both have the same order of groups.
    assert_eq!(scaled, outcome.1, "{}", question.sql);
    let sensitivities: Vec<u64> = exact.parts.iter().map(|part| part.l1).collect();
    let declared: Vec<u64> = outcome.0.parts.iter().map(|part| part.sensitivity).collect();
    assert_eq!(sensitivities, declared);
}

#[test]
fn one_unit_moves_a_partys_vector_by_at_most_its_sensitivity() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut measured, mut several_parts, mut grouped, mut imagined, mut reached) = (0, 0, 0, 0, 0.0f64);
    for number in 0..QUERIES {
        let mut dice = Dice::new(SEED + number);
        let mut question = Question::simple(&mut dice);
        question.options.guarantee = Guarantee::Pure("1".parse().expect("a number"));
        let tables = Tables::roll(&mut dice, &question, folder.path());
        tables.write(&tables.rows);
        let one = ask(&question, &tables, number);
        if let Ok(outcome) = &one {
            matches_a_curators(&question, &tables, number, outcome);
        }
        tables.write(&tables.neighbour);
        let other = ask(&question, &tables, number);
        let case = format!("query {number}: {}", question.sql);
        let ((shape, ours), (their_shape, theirs)) = match (one, other) {
            (Ok(one), Ok(other)) => (one, other),
            (one, other) => {
                assert_eq!(one.err(), other.err(), "{case}");
                continue;
            }
        };
        assert_eq!(shape, their_shape, "{case}");
        assert_eq!((ours.len(), shape.labels().len()), (shape.cells(), shape.cells()), "{case}");
        let moved: u128 = ours.iter().zip(&theirs).map(|(one, other)| u128::from(one.abs_diff(*other))).sum();
        let most = shape.sensitivity().expect("it fits");
        assert!(moved <= most.into(), "{case}: {moved} > {most}");
        measured += 1;
        several_parts += u32::from(shape.parts.len() > 1);
        grouped += u32::from(shape.groups() > 1);
        reached = reached.max(moved as f64 / most as f64);
        // The shape is the same without tables, unless the query reads a public one, which a task does not contain.
        match JointQuery::imagined(&question.sql, question.options.clone()) {
            Ok(query) => {
                imagined += 1;
                assert_eq!(*query.shape(), shape, "{case}");
            }
            Err(error) => assert!(question.sql.contains("JOIN"), "{case}: {error}"),
        }
    }
    println!(
        "{measured} of {QUERIES} measured; {several_parts} of several parts, {grouped} in groups, {imagined} imagined"
    );
    assert!(measured >= 60 && several_parts >= 30 && grouped >= 4 && imagined >= 35);
    assert!(reached >= 0.999, "the bound is reached, so that a smaller claim would have failed: {reached}");
}
