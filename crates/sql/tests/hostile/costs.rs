//! Queries that take too much whatever the rows. Each was charged, and then failed: for the smallest ε there is, anybody
//! who may ask could have a dataset suspended. What is known before the charge is refused before it.

use std::path::Path;
use std::time::{Duration, Instant};

use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent_sql::{JointQuery, Limits, Options, Query, QueryOutcome, Result, RunLimits, Unit};

use super::{answered, attack, in_a_child, inputs, options, refused};

/// Preparing a query takes ten seconds at most; its last step may take a few more on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn by_row() -> Options {
    let mut options = options();
    options.unit = Unit::Row;
    (options.max_groups, options.max_rows) = (None, None);
    options
}

/// With `number` public keys of each of these columns.
fn with_keys(columns: &[&str], number: usize) -> Options {
    let mut options = by_row();
    for column in columns {
        let first = if *column == "txt" { "x" } else { &column[..1] };
        options.keys.insert((*column).to_owned(), (0..number).map(|key| format!("{first}{key}")).collect());
    }
    options
}

fn prepare(sql: &str, options: &Options) -> Result<Query> {
    let folder = tempfile::tempdir().unwrap();
    Query::prepare(sql, inputs(folder.path(), "target"), options.clone())
}

fn why_not(sql: &str, options: &Options) -> String {
    let started = Instant::now();
    let why = prepare(sql, options).map(|_| sql.chars().take(200).collect::<String>()).unwrap_err().to_string();
    assert!(started.elapsed() < PATIENCE, "{why}: {:?}", started.elapsed());
    why
}

fn list(number: usize, one: impl Fn(usize) -> String) -> String {
    (0..number).map(one).collect::<Vec<_>>().join(",")
}

/// 2,200 × 2,200 groups fill the memory of most machines, and no ledger stores the answer.
#[test]
fn too_many_groups_are_not_charged() {
    let sql = "SELECT city, name, COUNT(*) AS n FROM t GROUP BY city, name";
    let why = why_not(sql, &with_keys(&["city", "name"], 2200));
    assert!(why.contains("the text of the answer would take at least 347 MiB"), "{why}");
    // Few of them are shown, but all of them are counted.
    let few = prepare(&format!("{sql} ORDER BY n DESC LIMIT 10"), &with_keys(&["city", "name"], 1000)).unwrap();
    let limits = |memory: u64| RunLimits { memory: Some(memory), threads: Some(2), ..RunLimits::default() };
    let why = few.check_memory(&limits(512 << 20)).unwrap_err().to_string();
    assert!(why.contains("1000000 groups with 1 numbers and 3 columns each take"), "{why}");
    few.check_memory(&limits(2 << 30)).unwrap();
}

/// Only the numbers that noise is added to used to count: not quantiles, and not how often a number is shown.
#[test]
fn everything_that_is_shown_counts() {
    for shown in [
        list(1900, |one| format!("COUNT(*) + {one}")),
        list(1500, |one| format!("QUANTILE(a, 0.{one:05})")),
        list(1900, |_| "COUNT(*)".into()),
    ] {
        let why = why_not(&format!("SELECT {shown} FROM t GROUP BY city"), &with_keys(&["city"], 12_000));
        assert!(why.contains("but the limit is 16777216; list fewer keys"), "{why}");
    }
    let shown = list(900, |_| "HISTOGRAM(a, 10000)".into());
    let why = why_not(&format!("SELECT {shown} FROM t GROUP BY city"), &with_keys(&["city"], 2));
    assert!(why.contains("2 × 9000000 numbers"), "{why}");
}

/// The least memory with which a query may run is enough for it to run.
#[test]
fn a_run_has_the_memory_it_needs() {
    let by_unit = |columns: &[&str], number: usize| Options { unit: options().unit, ..with_keys(columns, number) };
    let capped = |options: Options| Options { max_groups: Some(1), max_rows: Some(1), ..options };
    let one = "SELECT city, COUNT(*), AVG(a), HISTOGRAM(a, 12) FROM t GROUP BY city";
    let two = "SELECT city, name, COUNT(*), MEDIAN(a), COUNT(*) + 1 FROM t GROUP BY city, name";
    let many = "SELECT city, name, txt, COUNT(*), SUM(a) / COUNT(*) FROM t GROUP BY city, name, txt";
    for (sql, options) in [
        (one, with_keys(&["city"], 3000)),
        (one, capped(by_unit(&["city"], 3000))),
        ("SELECT city, COUNT(*), AVG(a) FROM t GROUP BY city", by_unit(&["city"], 3000)),
        (two, with_keys(&["city", "name"], 50)),
        (many, with_keys(&["city", "name", "txt"], 14)),
        (many, capped(by_unit(&["city", "name", "txt"], 14))),
    ] {
        for threads in [1, 7] {
            let folder = tempfile::tempdir().unwrap();
            let query = Query::prepare(sql, inputs(folder.path(), "target"), options.clone()).unwrap();
            let limits =
                |memory: u64| RunLimits { memory: Some(memory), threads: Some(threads), ..RunLimits::default() };
            let (mut low, mut high) = (0, 1 << 40);
            while low + 1 < high {
                let middle = (low + high) / 2;
                if query.check_memory(&limits(middle)).is_ok() { high = middle } else { low = middle }
            }
            assert!(high < 1 << 26, "{sql}: {high} bytes");
            let query = query.with_engine(limits(high).engine());
            let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(1)));
            assert!(answer.is_ok(), "{sql} with {high} bytes and {threads} threads");
        }
    }
}

/// A chain in which each relation uses the one before twice.
fn chain(first: &str, levels: usize, of: &str) -> String {
    let level = |level: usize| format!(", c{level} AS ({})", of.replace("prev", &format!("c{}", level - 1)));
    format!("WITH c0 AS ({first}){}", (1..=levels).map(level).collect::<String>())
}

/// Where rows are units, what is used twice is computed twice: 2³⁰ times, without a row. Where they have units it is
/// computed once, but its rows may double.
#[test]
fn work_that_doubles_is_not_charged() {
    in_a_child("costs::work_that_doubles_is_not_charged", Duration::from_secs(240), || {
        let nothing = "(SELECT column1 FROM (VALUES (1)) v WHERE false) p";
        let empty = format!("SELECT t.a FROM t JOIN {nothing} ON true");
        let half = format!("SELECT a FROM prev UNION ALL SELECT a FROM prev JOIN {nothing} ON true");
        for (first, of) in
            [(empty.as_str(), "SELECT a FROM prev UNION ALL SELECT a FROM prev"), ("SELECT a FROM t", &half)]
        {
            let sql = |levels: usize| format!("{} SELECT COUNT(*) FROM c{levels}", chain(first, levels, of));
            assert!(attack(&sql(5), &by_row()));
            let why = why_not(&sql(30), &by_row());
            assert!(why.contains("rows of 1 (limit: 4194304)"), "{why}");
        }
        let twice = "SELECT * FROM prev UNION ALL SELECT * FROM prev";
        let sql = |levels: usize| {
            let with = chain("SELECT user_id, a FROM t WHERE name = 'target'", levels, twice);
            format!("{with} SELECT COUNT(*) FROM c{levels}")
        };
        answered(&sql(5));
        assert!(refused(&sql(60)).contains("rows of 1 (limit: 4194304)"));
        let joined = "SELECT x.* FROM prev x JOIN prev y ON x.user_id = y.user_id";
        prepare(&format!("{} SELECT COUNT(*) FROM c60", chain("SELECT user_id FROM t", 60, joined)), &options())
            .unwrap();
    });
}

/// Parties ask whether rows are a sub-query's groups: of each side of each join, 2⁶⁰ times.
#[test]
fn what_parties_ask_of_a_query_is_asked_once() {
    in_a_child("costs::what_parties_ask_of_a_query_is_asked_once", Duration::from_secs(60), || {
        let options = Options { guarantee: Guarantee::Pure("1".parse().unwrap()), ..options() };
        let joined = "SELECT x.* FROM prev x JOIN prev y ON x.user_id = y.user_id";
        let with = chain("SELECT user_id, COUNT(*) AS n FROM t GROUP BY user_id", 60, joined);
        let why = JointQuery::imagined(&format!("{with} SELECT COUNT(*) FROM c60"), options).unwrap_err().to_string();
        assert!(why.contains("cannot be answered by several parties together"), "{why}");
    });
}

/// Each column depends on one aggregate more than the last: half-widths for each number of bars that hold at once took
/// minutes after the charge, and the intervals of all steps all memory.
#[test]
fn error_bars_of_computed_columns_are_limited() {
    let sums = list(240, |one| format!("SUM(a + {one}) AS s{one}"));
    let level =
        |level: usize| format!(", c{level} AS (SELECT *, x{} + s{level} AS x{level} FROM c{})", level - 1, level - 1);
    let sql = |levels: usize| {
        let with: String = (1..=levels).map(level).collect();
        format!("WITH c0 AS (SELECT city, {sums}, 0 AS x0 FROM t GROUP BY city){with} SELECT * FROM c{levels}")
    };
    let why = why_not(&sql(200), &with_keys(&["city"], 3));
    assert!(why.contains("the error bars of computed columns take"), "{why}");
    prepare(&sql(10), &with_keys(&["city"], 3)).unwrap();
    let why = why_not(&sql(60), &with_keys(&["city"], 5000));
    assert!(why.contains("the error bars of computed columns take"), "{why}");
}

/// Each is refused by the limit that it exceeds, and by no other; a limit that is added has to be added here.
#[test]
fn every_limit_is_named_when_it_is_exceeded() {
    let Limits {
        bytes,
        tokens,
        steps: _,
        stack: _,
        depth,
        nodes,
        patterns,
        operators,
        columns,
        all_columns,
        name,
        public_rows,
        public_bytes,
        public_held: _,
        public_pairs,
        copies,
        work,
        long_texts,
        deadline: _,
    } = Limits::default();
    let count = |condition: &str| format!("SELECT COUNT(*) FROM t WHERE {condition}");
    let cross = |times: usize| (0..times).map(|one| format!(" CROSS JOIN p AS p{one}")).collect::<String>();
    let many = "(SELECT x.size FROM p AS x CROSS JOIN p AS y CROSS JOIN p AS v CROSS JOIN p AS w CROSS JOIN p AS r CROSS JOIN p)";
    let stars = chain(&format!("SELECT {} FROM t", list(390, |_| "*".into())), 60, "SELECT * FROM prev");
    let doubled = chain("SELECT user_id FROM t", 30, "SELECT * FROM prev UNION ALL SELECT * FROM prev");
    let cases = [
        (bytes, count(&format!("txt = '{}'", "x".repeat(bytes)))),
        (tokens, count(&format!("a IN ({})", list(tokens / 2, |one| one.to_string())))),
        (depth, count(&format!("a > 0{}", " OR a > 0".repeat(depth)))),
        (nodes, count(&format!("CASE a{} {} END > 1", "+1".repeat(20), "WHEN 1 THEN 2 ".repeat(nodes / 40)))),
        (patterns, count(&format!("CASE {} END > 1", "WHEN txt LIKE 'x%' THEN 2 ".repeat(patterns + 1)))),
        (
            operators,
            format!("SELECT COUNT(*) FROM (SELECT a FROM t{})", " UNION ALL SELECT a FROM t".repeat(operators / 2 + 1)),
        ),
        (columns, format!("SELECT {} FROM t", list(columns + 1, |one| format!("COUNT(*)+{one}")))),
        (all_columns, format!("{stars} SELECT COUNT(*) FROM c60")),
        (name, count(&format!("\"{}\" > 1", "x".repeat(name + 1)))),
        (
            public_rows,
            format!(
                "WITH v AS (SELECT * FROM (VALUES {}) AS v) {}",
                list(2300, |one| format!("({one})")),
                count("a IN (SELECT x.column1 FROM v x, v y)")
            ),
        ),
        (public_bytes, count(&format!("name IN (SELECT repeat(a.size, 30000) FROM {many} AS a CROSS JOIN p AS b)"))),
        (public_pairs, count(&format!("EXISTS (SELECT 1 FROM {many} AS a JOIN {many} AS b ON a.size + b.size < 0)"))),
        (copies, format!("SELECT COUNT(*) FROM t{}", cross(9))),
        (work, format!("{doubled} SELECT COUNT(*) FROM c30")),
        (
            long_texts,
            format!(
                "SELECT COUNT(*) FROM (SELECT user_id, repeat(name, 9000) AS c, repeat(name, 8000) AS d FROM t{}) q",
                cross(5)
            ),
        ),
    ];
    for (limit, sql) in cases {
        let why = why_not(&sql, &options());
        assert!(
            why.contains(&format!("(limit: {limit})")) || why.contains(&format!("at most {limit} levels")),
            "{limit}: {why}"
        );
    }
}

/// The most memory that this process has used, in bytes.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string(Path::new("/proc/self/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
}

/// Just below their limits, none takes much time or memory.
#[test]
fn at_its_limit_a_query_is_prepared_in_time() {
    in_a_child("costs::at_its_limit_a_query_is_prepared_in_time", Duration::from_secs(300), || {
        const MOST: usize = 400 << 20;
        let count = |condition: &str| format!("SELECT COUNT(*) FROM t WHERE {condition}");
        let cross = |times: usize| (0..times).map(|one| format!(" CROSS JOIN p AS p{one}")).collect::<String>();
        let long = "n".repeat(1000);
        let stars = list(1_900, |_| "*".into());
        let wide = chain(&format!("SELECT {stars} FROM (SELECT a AS {long} FROM t) AS q"), 48, "SELECT * FROM prev");
        for sql in [
            count(&format!("txt = '{}'", "x".repeat(99_000))),
            count(&format!("a IN ({})", list(9_900, |one| one.to_string()))),
            count(&format!("txt IN ({})", list(9_000, |one| format!("'{one}'")))),
            count(&format!("a IN (SELECT * FROM (VALUES {}) AS v)", list(4_900, |one| format!("({one})")))),
            count(&format!("CASE {} END > 1", list(1_200, |one| format!("WHEN a={one} THEN {one}")).replace(',', " "))),
            count(&format!("a IN (SELECT p.size{} FROM p{})", "+p0.size".repeat(3), cross(7))),
            format!("SELECT {} FROM t", list(1_900, |one| format!("SUM(a+{one})"))),
            format!(
                "SELECT {},{},{} FROM t",
                list(660, |one| format!("COUNT(a-{one})")),
                list(660, |one| format!("COUNT(a+{one})")),
                list(660, |one| format!("SUM(a+{one})"))
            ),
            format!("SELECT {} FROM t", list(900, |one| format!("HISTOGRAM(a, {})", 7000 + one))),
            format!("SELECT {} FROM t", list(1_600, |one| format!("QUANTILE(a, 0.{one:05})"))),
            format!(
                "SELECT city, {} FROM t GROUP BY city ORDER BY {}",
                list(900, |one| format!("COUNT(*)+{one} AS n{one}")),
                list(900, |one| format!("n{one}"))
            ),
            format!("{wide} SELECT COUNT(*) FROM c48"),
        ] {
            let started = Instant::now();
            let found = prepare(&sql, &by_row());
            let start: String = sql.chars().take(60).collect();
            println!("{start}: {:?}, {:?} MiB so far", started.elapsed(), peak().map(|bytes| bytes >> 20));
            assert!(found.is_ok(), "{start}: {}", found.unwrap_err());
            assert!(started.elapsed() < PATIENCE, "{start}: {:?}", started.elapsed());
            assert!(peak().is_none_or(|bytes| bytes < MOST), "{start}: {:?} bytes", peak());
        }
    });
}

/// What is computed from released values depends on no row, so an answer that is too large is no failure: if it were,
/// anybody could have a dataset suspended.
#[test]
fn answers_that_are_too_large_suspend_nothing() {
    let digits = (0..20).map(|digit| format!("({digit})")).collect::<Vec<_>>().join(",");
    let long = |number: usize| format!("REPEAT('\u{1}', 60000) AS a{number}");
    let statements = [
        // The keys of this join take more than a gigabyte, if every text counts wherever it occurs.
        format!(
            "WITH d AS (SELECT * FROM (VALUES {digits}) AS v(i)) SELECT r.n FROM (SELECT COUNT(*) AS n FROM t) r JOIN \
             (SELECT REPEAT('x', 65000) AS q FROM d a CROSS JOIN d b CROSS JOIN d c) p ON CAST(r.n AS VARCHAR) = p.q \
             AND CAST(r.n AS VARCHAR) || 'a' = p.q AND CAST(r.n AS VARCHAR) || 'b' = p.q"
        ),
        // A control character takes six bytes of JSON.
        format!("SELECT COUNT(*) AS n, {} FROM t", (0..400).map(long).collect::<Vec<_>>().join(", ")),
        // Many short rows of one group: a list in memory for each of them.
        format!(
            "WITH d AS (SELECT * FROM (VALUES {digits}) AS v(i)) SELECT 1 AS a FROM (SELECT COUNT(*) AS n FROM t) r \
             CROSS JOIN d a CROSS JOIN d b CROSS JOIN d c CROSS JOIN d e CROSS JOIN (SELECT i FROM d WHERE i < 4) f"
        ),
    ];
    let limits = RunLimits { memory: Some(64 << 20), threads: Some(1), ..RunLimits::default() };
    for sql in statements {
        let case: String = sql.chars().take(80).collect();
        let folder = tempfile::tempdir().unwrap();
        let query = Query::prepare(&sql, inputs(folder.path(), "target"), by_row());
        let query = query.unwrap_or_else(|error| panic!("{case}: {error}")).with_engine(limits.engine());
        let outcome = query.outcome(&mut Permit::unaccounted().unwrap());
        assert!(matches!(outcome, QueryOutcome::TooLarge), "{case}");
    }
}

/// Join keys of public tables are kept for each join: 32 of them would take gigabytes in a dry run.
#[test]
fn join_keys_of_public_tables_count_together() {
    let digits = (0..32).map(|digit| format!("({digit})")).collect::<Vec<_>>().join(",");
    let join = |number: usize| {
        format!("LEFT JOIN p p{number} ON t.city = CONCAT(p{number}.i, REPEAT('x', {}))", 60_000 + number)
    };
    let joins = |number: usize| (0..number).map(join).collect::<Vec<_>>().join(" ");
    let sql = |number: usize| {
        format!(
            "WITH d AS (SELECT * FROM (VALUES {digits}) AS v(i)), p AS (SELECT CAST(a.i * 32 + b.i AS VARCHAR) AS i \
             FROM d a CROSS JOIN d b) SELECT COUNT(*) FROM t {}",
            joins(number)
        )
    };
    prepare(&sql(1), &options()).unwrap();
    let why = why_not(&sql(32), &options());
    // On a busy machine time is up first.
    assert!(why.contains("bytes of public tables do not fit in memory") || why.contains("too many seconds"), "{why}");
}
