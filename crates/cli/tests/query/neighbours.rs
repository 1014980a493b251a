//! Nothing but the answer depends on the rows: neither messages nor exit codes nor columns.

use super::*;

/// The cells of the row that only one of the tables has.
const BAD: [&[u8]; 14] = [
    b"40",
    b"",
    b"NaN",
    b"inf",
    b"-1e400",
    b"-9223372036854775808",
    b"99999999999999999999999999999999999999",
    b"old",
    b"\"",
    b"\"1\n2\"",
    b"\xff\xfe\x00",
    b"0",
    b"1,2,3,4,5,6",
    b"(",
];

/// Queries that could fail for some row, with what they need.
const DELICATE: [(&str, &str); 18] = [
    ("SELECT COUNT(*) FROM visits WHERE 1 / (age - 40) > 0", ""),
    ("SELECT COUNT(*) FROM visits WHERE 1 % CAST(age AS BIGINT) = 0", ""),
    ("SELECT COUNT(*) FROM visits WHERE CAST(CAST(age AS BIGINT) AS SMALLINT) * 30000 > 0", ""),
    ("SELECT COUNT(*) FROM visits WHERE -CAST(age AS BIGINT) > 0", ""),
    ("SELECT COUNT(*) FROM visits WHERE CAST(age AS DECIMAL(38, 2)) * 1000 > 3", ""),
    ("SELECT COUNT(*) FROM visits WHERE CAST(note AS DATE) > DATE '2020-01-01'", ""),
    ("SELECT COUNT(*) FROM visits WHERE to_timestamp(note) > now()", ""),
    ("SELECT COUNT(*) FROM visits WHERE lpad(note, CASE WHEN user = 'new' THEN 1000000000000 ELSE 1 END) = 'x'", ""),
    ("SELECT COUNT(*) FROM visits WHERE rpad(note, 1000000000) = repeat(note, 1000000000)", ""),
    ("SELECT COUNT(*) FROM visits WHERE substr(note, CAST(age AS BIGINT), CAST(age AS BIGINT)) = 'x'", ""),
    ("SELECT COUNT(*) FROM visits WHERE sqrt(age) + ln(age) + power(age, age) > 0", ""),
    ("SELECT SUM(age), AVG(age), STDDEV(age), MEDIAN(age), HISTOGRAM(age, 4) FROM visits", "--bounds age=0..100"),
    ("SELECT SUM(age * age - 3) FROM visits", "--bounds age=-1e9..1e9"),
    ("SELECT MEDIAN(age) FROM visits", "--bounds age=auto --epsilon 1000"),
    ("SELECT region, COUNT(*) FROM visits GROUP BY region", "--keys region=north,south"),
    ("SELECT CAST(age AS BIGINT) AS a, COUNT(*) FROM visits GROUP BY a", "--keys a=20,30"),
    (
        "SELECT AVG(s) FROM (SELECT user, AVG(CAST(age AS DECIMAL(38, 0))) AS s FROM visits GROUP BY user)",
        "--unit user --bounds s=0..100",
    ),
    (
        "SELECT AVG(s) FROM (SELECT user, SUM(CAST(age AS BIGINT)) AS s, AVG(age), MIN(note) FROM visits GROUP BY user)",
        "--unit user --bounds s=0..100",
    ),
];

/// The messages other than released bounds, the exit code, and the shape of the output.
fn seen(desk: &Desk, sql: &str, arguments: &str) -> (String, Option<i32>, Vec<String>) {
    let epsilon = if arguments.contains("--epsilon") { "" } else { "--epsilon 1" };
    let output = desk.ask_visits(sql, &format!("--no-ledger --format csv {epsilon} {arguments}"));
    let printed = text(&output.stdout);
    let shape = printed.lines().enumerate().map(|(line, shown)| match line {
        0 => shown.to_owned(),
        _ => shown.split(',').next().filter(|_| arguments.contains("--keys")).unwrap_or_default().to_owned(),
    });
    let said = text(&output.stderr);
    let said = said.lines().filter(|line| !line.starts_with("bounds of age, found privately: "));
    (said.collect(), output.status.code(), shape.collect())
}

#[test]
fn neighbours_cannot_be_told_apart() {
    let desk = Desk::new("neighbours");
    for (sql, arguments) in DELICATE {
        desk.write("visits.csv", visits(30));
        let before = seen(&desk, sql, arguments);
        assert_eq!(before.1, Some(0), "{sql}: {}", before.0);
        for cell in BAD {
            let row = [b"new,north,", cell, b",", cell, b"\n"].concat();
            desk.write("visits.csv", [visits(30).as_bytes(), &row].concat());
            assert_eq!(seen(&desk, sql, arguments), before, "{sql} with {}", String::from_utf8_lossy(cell));
        }
    }
}

#[test]
fn what_one_row_could_break_is_refused() {
    let desk = Desk::with_visits("breaking");
    for (sql, expected) in [
        ("SELECT COUNT(*) FROM visits WHERE user = 'new' AND note ~ '('", "invalid regular expression"),
        ("SELECT COUNT(*) FROM visits WHERE user = 'u1' AND note SIMILAR TO '('", "use LIKE, or ~"),
        ("SELECT COUNT(*) FROM visits WHERE regexp_like('x', note)", "must be constants"),
        ("SELECT COUNT(*) FROM visits WHERE 'x' ~ note", "the pattern must be a constant"),
        ("SELECT COUNT(*) FROM visits WHERE date_trunc(note, now()) < now()", "the part must be one of"),
    ] {
        let said = desk.fails(2, sql, "--table visits=visits.csv --epsilon 1 --unit user --bounds s=0..100");
        assert!(said.contains(expected), "{sql}: {said}");
    }
    assert_eq!(desk.charges(), []);
}

/// A stack overflow aborts the program, and only a row that is computed with could cause it.
#[test]
fn deep_expressions_are_refused_or_computed() {
    let desk = Desk::with_visits("deep");
    let arguments = "--table visits=visits.csv --no-ledger --epsilon 1";
    let nested = |levels: usize| {
        let divided = " / age".repeat(levels);
        format!(
            "SELECT COUNT(*) FROM visits WHERE CASE WHEN user = 'u1' THEN CAST(age AS BIGINT){divided} ELSE 0 END > 3"
        )
    };
    desk.answer(&nested(100), arguments);
    let said = desk.fails(2, &nested(800), arguments);
    assert!(said.contains("a query nested this deeply"), "{said}");
    let step = " + x".repeat(100);
    let steps: Vec<String> = (1..9)
        .map(|step_number| format!("t{step_number} AS (SELECT x{step} AS x FROM t{})", step_number - 1))
        .collect();
    let sql =
        format!("WITH t0 AS (SELECT age AS x FROM visits), {} SELECT COUNT(*) FROM t8 WHERE x > 3", steps.join(", "));
    // Each step is separate, so together they are no deeper than one.
    desk.answer(&sql, arguments);
}
