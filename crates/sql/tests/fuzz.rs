//! Any text yields an answer or an error, in time; no panic, no stack overflow.
//!
//! Valid tokens in any order, valid queries with tokens swapped, and garbage. Thirty thousand texts in ordinary runs,
//! on busy and idle machines alike; with `RETICENT_LONG=1`, an hour of the processor's time with a fresh seed, which is printed.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use reticent::privacy::Guarantee;
use reticent_sql::text::{PANICS, tables};
use reticent_sql::{Input, Options, Query, Range, Table, Unit};

/// How long one text may take: minutes less than an endless one, and a thousand times what it takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of texts in ordinary runs.
const TEXTS: u64 = 30_000;
/// The duration of long runs.
const LONG: Duration = Duration::from_secs(3600);

const WORDS: &[&str] = &[
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "WITH",
    "RECURSIVE",
    "AS",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "NATURAL",
    "ON",
    "USING",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "DISTINCT",
    "VALUES",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "AND",
    "OR",
    "NOT",
    "IS",
    "NULL",
    "TRUE",
    "FALSE",
    "IN",
    "EXISTS",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "ESCAPE",
    "CAST",
    "INTERVAL",
    "DATE",
    "TIMESTAMP",
    "EXTRACT",
    "YEAR",
    "OVER",
    "PARTITION",
    "ROWS",
    "FILTER",
    "WITHIN",
    "ASC",
    "DESC",
    "NULLS",
    "FIRST",
    "LATERAL",
    "TABLESAMPLE",
    "TOP",
    "FETCH",
    "NEXT",
    "ONLY",
    "ARRAY",
    "UNNEST",
    "PIVOT",
    "QUALIFY",
    "WINDOW",
    "INSERT",
    "DELETE",
    "EXPLAIN",
    "COUNT",
    "SUM",
    "AVG",
    "MEDIAN",
    "QUANTILE",
    "MODE",
    "HISTOGRAM",
    "VARIANCE",
    "coalesce",
    "nullif",
    "substr",
    "substring",
    "position",
    "trim",
    "replace",
    "regexp_replace",
    "regexp_like",
    "lpad",
    "split_part",
    "round",
    "log",
    "power",
    "date_trunc",
    "date_part",
    "now",
    "random",
    "concat",
    "if",
    "VARCHAR",
    "DOUBLE",
    "BIGINT",
    "DECIMAL",
    "t",
    "u",
    "r",
    "p",
    "user_id",
    "region",
    "a",
    "b",
    "note",
    "label",
    "size",
    "x",
    "\"user_id\"",
    "\"\"",
    "(",
    ")",
    "(",
    ")",
    ",",
    ",",
    ".",
    "*",
    ";",
    "+",
    "-",
    "/",
    "%",
    "=",
    "<>",
    "<",
    ">=",
    "||",
    "~",
    "::",
    "[",
    "]",
    "{",
    "}",
    "0",
    "1",
    "-1",
    "9223372036854775808",
    "1e400",
    "0.5",
    "'x'",
    "''",
    "'2024-02-30'",
    "'%_\\'",
    "'((('",
    "$1",
    "/*",
    "--",
    "?",
];

const QUERIES: [&str; 12] = [
    "SELECT region, COUNT(*) AS n FROM t WHERE a > 3 AND note LIKE '%a%' GROUP BY region HAVING COUNT(*) > 2 ORDER BY n DESC LIMIT 3",
    "WITH c AS (SELECT user_id, SUM(a) AS x FROM t GROUP BY user_id) SELECT AVG(x), MEDIAN(x) FROM c JOIN t ON c.user_id = t.user_id",
    "SELECT COUNT(DISTINCT t.user_id) FROM t LEFT JOIN r ON t.region = r.label AND r.size BETWEEN 1 AND 2 WHERE r.label IS NULL",
    "SELECT CASE WHEN a > b THEN 'many' WHEN a IS NULL THEN NULL ELSE 'few' END AS k, SUM(a * b / 2) FROM t GROUP BY 1",
    "SELECT COUNT(*) FROM (SELECT * FROM t UNION ALL SELECT * FROM u) AS s WHERE region IN (SELECT label FROM r ORDER BY size LIMIT 2)",
    "SELECT COUNT(*) FILTER (WHERE a > (SELECT MAX(size) FROM r)) FROM t, (VALUES (1, 'a'), (2, NULL)) AS v(x, y) WHERE x = 1",
    "SELECT date_trunc('month', CAST(note AS TIMESTAMP)) + INTERVAL '1 month 2 days' AS m, COUNT(*) FROM t GROUP BY m",
    "SELECT substring(note FROM 2 FOR 3), trim(BOTH 'x' FROM note), position('a' IN note), extract(year FROM now()), COUNT(*) FROM t GROUP BY 1, 2, 3",
    "SELECT HISTOGRAM(a, 4), MODE(region), QUANTILE(b, 0.9), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a) FROM t",
    "SELECT COUNT(*) FROM t WHERE regexp_like(replace(lower(note) || 'x', 'a', 'b'), '^[a-z]+$') OR NOT EXISTS (SELECT 1 FROM r)",
    "SELECT w.region, STDDEV(w.a) FROM (t AS w RIGHT JOIN r ON w.region = r.label) GROUP BY w.region FETCH FIRST 2 ROWS ONLY",
    "SELECT SUM(CAST(round(a, 2) AS BIGINT) % 7), COUNT(nullif(b, -0.0)) FROM t JOIN u USING (user_id) WHERE t.a IS NOT DISTINCT FROM u.a",
];

/// Tokens of queries and others, some of them swapped, dropped or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let change = (any::<prop::sample::Index>(), 0..5u8, prop::sample::select(WORDS), any::<prop::sample::Index>());
    (prop::sample::select(&QUERIES[..]), prop::collection::vec(change, 1..4)).prop_map(|(query, changes)| {
        let spaced = query.replace('(', " ( ").replace(')', " ) ").replace(',', " , ");
        let mut words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
        for (place, kind, word, other) in changes {
            let (place, other) = (place.index(words.len()), other.index(words.len()));
            match kind {
                0 => words[place] = word.to_owned(),
                1 => words.insert(place, word.to_owned()),
                2 if words.len() > 1 => drop(words.remove(place)),
                3 => words.swap(place, other),
                _ => {
                    let (from, to) = (place.min(other), place.max(other));
                    let some: Vec<String> = words[from..to].to_vec();
                    words.splice(other..other, some);
                }
            }
        }
        words.join(" ")
    })
}

fn texts() -> impl Strategy<Value = String> {
    let word = prop::sample::select(WORDS);
    prop_oneof![
        6 => mutated(),
        2 => prop::collection::vec(word.clone(), 0..60).prop_map(|words| words.join(" ")),
        1 => prop::collection::vec(word, 0..30).prop_map(|words| format!("SELECT COUNT(*) FROM t WHERE {}", words.join(" "))),
        1 => any::<String>(),
        1 => prop::collection::vec(any::<u8>(), 0..200).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

/// What this process has used of the processor: the same on a busy machine as on an idle one.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.try_into().unwrap(), time.tv_nsec.try_into().unwrap())
}

#[test]
fn any_text_is_answered_or_refused_in_time() {
    let long = std::env::var("RETICENT_LONG").is_ok();
    let seed = std::env::var("RETICENT_SEED").ok().and_then(|seed| seed.parse().ok());
    let now = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    let seed: u64 = seed.unwrap_or(if long { now } else { 20_261_117 });
    println!("RETICENT_SEED={seed}");
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("t.csv", "user_id,region,a,b,note\nu1,north,1,2,x\n");
    write("u.csv", "user_id,region,a,b,note\nu1,south,1,2,y\n");
    write("r.csv", "label,size\nnorth,1\nsouth,2\n");
    let inputs = || {
        let open = |name: &str, public: bool| {
            let location = folder.path().join(format!("{name}.csv"));
            Input { table: Table::open(name, location.to_str().unwrap()).unwrap(), public }
        };
        vec![open("t", false), open("u", false), open("r", true)]
    };
    let mut options = Options::new(Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap()));
    options.unit = Unit::Column("user_id".into());
    (options.max_groups, options.max_rows) = (Some(1), Some(1));
    for name in ["a", "b", "x"] {
        options.bounds.insert(name.into(), Range::Public("0..10".parse().unwrap()));
    }
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (strategy, started) = (texts(), processor_time());
    let (mut tried, mut admitted, mut longest) = (0u64, 0u64, Duration::ZERO);
    while if long { processor_time() - started < LONG } else { tried < TEXTS } {
        let sql = strategy.new_tree(&mut runner).unwrap().current();
        let before = processor_time();
        let found = Query::prepare(&sql, inputs(), options.clone());
        let took = processor_time() - before;
        assert!(took < PATIENCE, "{took:?}: {sql}");
        let _ = (tables(&sql), reticent_sql::dialect::split(&sql));
        assert_eq!(PANICS.load(Ordering::Relaxed), 0, "it panics: {sql}");
        longest = longest.max(took);
        tried += 1;
        admitted += u64::from(found.is_ok());
    }
    println!("{tried} texts, {admitted} of them queries that can be answered; the longest took {longest:?}");
    assert!(admitted * 300 >= tried, "{admitted} of {tried} are queries");
}
