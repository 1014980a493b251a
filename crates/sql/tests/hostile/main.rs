//! Attacks on the guarantee that nothing but the noisy release depends on one unit's rows.
//!
//! | module | attacks by |
//! |---|---|
//! | `copies` | rows that count more often than they may |
//! | `costs` | queries that fail whatever the rows |
//! | `earlier` | queries that once worked |
//! | `names` | names that might be used internally |
//! | `texts` | texts that grow until memory runs out |
//! | `reached` | failures that occur only if a row gets there |
//! | `readings` | texts that can be parsed in several ways |
//! | `sizes` | statements that are large, deep or multiply themselves |
//! | `units` | people who might be merged |
//!
//! Each attack is run on two tables that differ in one person, `target` in one and `other` in the other. The outcome
//! must be the same for both.

#[path = "../replay/compare.rs"]
#[allow(dead_code, reason = "shared with neighbour replay, which uses all of it")]
mod compare;
mod copies;
mod costs;
mod earlier;
mod names;
mod reached;
mod readings;
mod sizes;
mod texts;
mod units;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::{Exact, Input, Options, Query, Range, Result, Table, Unit};

/// People in each table, each with one row.
const PEOPLE: usize = 2000;

/// Answers by person, one of which may be replaced.
fn options() -> Options {
    let mut options = Options::new(Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap()));
    options.unit = Unit::Column("user_id".into());
    (options.max_groups, options.max_rows) = (Some(1), Some(1));
    options.adjacency = Adjacency::Replace;
    options.now = 1_763_000_000_000_000;
    for name in ["a", "n", "s"] {
        options.bounds.insert(name.into(), Range::Public("0..100".parse().unwrap()));
    }
    options
}

/// The private table `t`, in which the last person has this name, and the public table `p`.
fn inputs(folder: &Path, last: &str) -> Vec<Input> {
    let mut rows = "user_id,name,city,a,txt\n".to_owned();
    for person in 0..PEOPLE {
        let name = if person + 1 == PEOPLE { last.to_owned() } else { format!("n{person}") };
        rows += &format!("u{person},{name},c{},{},x{person}\n", person % 5, person % 100);
    }
    fs::write(folder.join("t.csv"), rows).unwrap();
    fs::write(folder.join("p.csv"), "city,txt,size\nc0,1,10\nc1,2,20\nc2,3,30\nc3,four,40\nc4,,50\n").unwrap();
    let open = |name: &str, public: bool| {
        let location = folder.join(format!("{name}.csv"));
        Input { table: Table::open(name, location.to_str().unwrap()).unwrap(), public }
    };
    vec![open("t", false), open("p", true)]
}

/// Everything that one table yields.
struct Outcome {
    /// Plan, summary and errors.
    words: String,
    exact: Option<Exact>,
    groups: Option<usize>,
}

fn ask(sql: &str, options: &Options, last: &str) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let query = match Query::prepare(sql, inputs(folder.path(), last), options.clone()) {
        Ok(query) => query,
        Err(error) => return Outcome { words: error.to_string(), exact: None, groups: None },
    };
    let mut words = format!("{:?}\n{}", query.summary(), query.words());
    let key = || ChoiceKey::draw(&mut Entropy::seeded(1).draw().unwrap());
    let exact = query.exact(key()).map_err(|error| words += &error.to_string()).ok();
    let mut permit = Permit::unaccounted_from(Entropy::seeded(1));
    let answer = query.answer(&mut permit).map_err(|error| words += &error.to_string()).ok();
    Outcome { words, exact, groups: answer.map(|answer| answer.rows.len()) }
}

/// Queries both tables: the texts must be equal, and statistics within their sensitivity. Returns whether it was
/// answered.
fn attack(sql: &str, options: &Options) -> bool {
    let case: String = sql.chars().take(400).collect();
    let (one, other) = (ask(sql, options, "target"), ask(sql, options, "other"));
    assert_eq!(one.words, other.words, "{case}");
    assert_eq!(one.groups.is_some(), other.groups.is_some(), "{case}");
    match (&one.exact, &other.exact) {
        (Some(one), Some(other)) => compare::exact(one, other, &case, &mut BTreeMap::new()),
        (one, other) => assert_eq!(one.is_some(), other.is_some(), "{case}"),
    }
    one.exact.is_some()
}

/// Like [`attack`]; it must be answered, or the attack shows nothing.
fn answered(sql: &str) {
    assert!(attack(sql, &options()), "{sql}: {}", ask(sql, &options(), "target").words);
}

/// Why a query is refused, for both tables alike.
fn refused(sql: &str) -> String {
    assert!(!attack(sql, &options()), "{sql}");
    ask(sql, &options(), "target").words
}

fn prepare(sql: &str) -> Result<Query> {
    let folder = tempfile::tempdir().unwrap();
    Query::prepare(sql, inputs(folder.path(), "target"), options())
}

/// Runs a test's body in a separate process, so that one that is killed or never ends is a failure like any other.
fn in_a_child(test: &str, within: Duration, body: impl FnOnce()) {
    const CHILD: &str = "RETICENT_CHILD";
    if std::env::var(CHILD).as_deref() == Ok(test) {
        body();
        return;
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(CHILD, test)
        .spawn()
        .unwrap();
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > within {
            child.kill().unwrap();
            panic!("{test} did not end within {within:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{test}: {status}");
}
