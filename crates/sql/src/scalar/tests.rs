//! Queries on a small table.

use super::ScalarQuery;

const ROWS: &[[&str; 3]] = &[
    ["north", "30", "2024-01-31"],
    ["south", "50", "2024-02-01"],
    ["north", "9", ""],
    ["south", "unknown", "someday"],
    ["", "inf", "2025-03-01"],
];

fn header() -> [String; 3] {
    ["region", "age", "joined"].map(String::from)
}

fn answer(sql: &str) -> Option<String> {
    let query = ScalarQuery::new(sql, &header()).unwrap_or_else(|error| panic!("{sql}: {error}"));
    query.answer(ROWS.iter().map(|row| row.iter().map(|cell| cell.as_bytes()).collect()))
}

#[test]
fn columns_that_are_used_as_numbers_are_numbers() {
    for (sql, expected) in [
        ("SELECT SUM(age) FROM data", "89"),
        ("SELECT MEDIAN(age) FROM data", "30"),
        ("SELECT MAX(age) FROM data", "unknown"),
        ("SELECT MAX(age + 0) FROM data", "50"),
        ("SELECT MAX(CAST(age AS INT)) FROM data", "50"),
        ("SELECT MAX(age) FROM data WHERE age > 10", "50"),
        ("SELECT MAX(d.age) FROM data d WHERE d.\"age\" BETWEEN 0 AND 40", "30"),
        ("SELECT COUNT(*) FROM data WHERE age IN (9, 50)", "2"),
        ("SELECT ROUND(AVG(age), 2) FROM data", "29.67"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age) FROM data", "30"),
        ("SELECT CASE WHEN AVG(age) > 20 THEN 'old' ELSE 'young' END FROM data", "old"),
        ("SELECT COUNT(region) FROM data", "4"),
        ("SELECT region FROM data GROUP BY region ORDER BY SUM(age) DESC NULLS LAST, region LIMIT 1", "south"),
        ("SELECT COUNT(*) FROM data WHERE CAST(joined AS DATE) < DATE '2024-02-01'", "1"),
        ("SELECT joined::date - INTERVAL '1 day' < DATE '2024-02-01' FROM data WHERE age = 30", "true"),
    ] {
        assert_eq!(answer(sql).as_deref(), Some(expected), "{sql}");
    }
}

#[test]
fn without_one_value_there_is_no_answer() {
    for sql in [
        "SELECT region FROM data",
        "SELECT region FROM data WHERE region = 'west'",
        "SELECT AVG(age) FROM data WHERE region = 'west'",
        "SELECT 1 / (COUNT(*) - 5) FROM data",
    ] {
        assert_eq!(answer(sql), None, "{sql}");
    }
    let empty = ScalarQuery::new("SELECT COUNT(*) FROM data", &header()).unwrap();
    assert_eq!(empty.answer([]).as_deref(), Some("0"));
}

/// Rows with fewer or more cells than the header, and bytes that are not UTF-8.
#[test]
fn odd_rows_are_read_all_the_same() {
    let query = ScalarQuery::new("SELECT COUNT(*) || ',' || COUNT(age) FROM data", &header()).unwrap();
    let rows: Vec<Vec<&[u8]>> = vec![vec![], vec![b"north"], vec![b"\xff\xfe", b"1"], vec![b"a", b"2", b"c", b"d"]];
    assert_eq!(query.answer(rows).as_deref(), Some("4,2"));
}

#[test]
fn more_rows_than_a_batch_holds_are_all_there() {
    let query = ScalarQuery::new("SELECT COUNT(*) FROM data", &header()).unwrap();
    assert_eq!(query.answer((0..20_001).map(|_| vec![&b"north"[..]])).as_deref(), Some("20001"));
}

#[test]
fn what_cannot_be_asked_is_an_error_before_there_are_rows() {
    for (sql, said) in [
        ("SELEC 1", "SELEC"),
        ("SELECT agee FROM data", "agee"),
        ("SELECT age FROM people", "people"),
        ("SELECT age, region FROM data", "2 columns"),
        ("SELECT NOSUCH(age) FROM data", "function"),
        ("CREATE TABLE t AS SELECT 1", "only SELECT"),
        ("COPY data TO 'out.csv'", "only SELECT"),
        ("SELECT 1; SELECT 2", "several statements"),
        ("", "it is empty"),
        ("SELECT MAX(age) || CAST(now() AS VARCHAR) FROM data", "no clock"),
        ("SELECT COUNT(*) FROM data WHERE joined < CURRENT_DATE", "no clock"),
        ("SELECT COUNT(*) FROM data WHERE CAST(joined AS TIMESTAMP) < LOCALTIMESTAMP", "no clock"),
    ] {
        let error = ScalarQuery::new(sql, &header()).unwrap_err().to_string();
        assert!(error.contains(said), "{sql}: {error}");
    }
    let twice = ["a", "a"].map(String::from);
    assert!(ScalarQuery::new("SELECT COUNT(*) FROM data", &twice).is_err());
}
