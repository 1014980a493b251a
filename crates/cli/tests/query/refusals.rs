//! SQL that cannot be answered privately: named, and not charged.

use super::*;

/// Queries and their error messages.
const REFUSED: [(&str, &str); 55] = [
    ("", "write SELECT COUNT(*) FROM"),
    ("SELEC COUNT(*) FROM visits", "invalid query: "),
    ("SELECT COUNT(* FROM visits", "invalid query: "),
    ("SELECT 'x FROM visits", "invalid query: "),
    ("SELECT COUNT(*) FROM visits; SELECT COUNT(*) FROM visits", "there are several statements"),
    ("DROP TABLE visits", "only SELECT is supported"),
    ("EXPLAIN ANALYZE SELECT COUNT(*) FROM visits", "only SELECT is supported"),
    ("COPY visits TO 'x.csv'", "only SELECT is supported"),
    ("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION 'visits.csv'", "invalid query: "),
    ("SELECT COUNT(*) FROM 'visits.csv'", "there is no table"),
    ("SELECT COUNT(*) FROM information_schema.tables", "there is no table"),
    ("SELECT 1", "no table of this query is private"),
    ("SELECT * FROM visits", "rows describe people"),
    ("SELECT age FROM visits ORDER BY age LIMIT 1", "ORDER BY over private rows"),
    ("SELECT region FROM visits GROUP BY region", "such as COUNT(*)"),
    ("SELECT DISTINCT region FROM visits", "SELECT DISTINCT over private rows is not supported"),
    (
        "SELECT COUNT(*) FROM (SELECT DISTINCT region FROM visits)",
        "SELECT DISTINCT over private rows is not supported: group by the columns instead",
    ),
    ("SELECT COUNT(*) FROM bosses", "no table of this query is private"),
    ("SELECT MIN(age) FROM visits", "MIN(age) cannot be answered privately: use COUNT"),
    ("SELECT ARRAY_AGG(age) FROM visits", "ARRAY_AGG(age) cannot be answered privately"),
    ("SELECT FIRST_VALUE(age ORDER BY age) FROM visits", "write first_value(…)"),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING MAX(age) > 50",
        "MAX(age) cannot be answered privately",
    ),
    ("SELECT SUM(note || 'x') FROM visits", "it is text, not a number"),
    ("SELECT AVG(CAST(note AS VARCHAR)) FROM visits", "it is text, not a number"),
    ("SELECT QUANTILE(age) FROM visits", "QUANTILE takes a column and a fraction"),
    ("SELECT QUANTILE(age, 2) FROM visits", "a constant from 0 to 1"),
    ("SELECT HISTOGRAM(age, 0) FROM visits", "the number of bins"),
    ("SELECT COUNT(DISTINCT region) FROM visits", "COUNT(DISTINCT region) is not supported"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 3)", "LIMIT over private rows"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age LIMIT 3)", "over private rows"),
    ("SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age)", "ORDER BY over private rows"),
    ("WITH v AS (SELECT * FROM visits ORDER BY age) SELECT COUNT(*) FROM v", "ORDER BY over private rows"),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT region FROM visits)", "DISTINCT over private rows"),
    (
        "SELECT COUNT(*) FROM (SELECT row_number() OVER (ORDER BY age) AS place FROM visits) WHERE place < 3",
        "one row's value would depend on other people's",
    ),
    (
        "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT age FROM visits)",
        "a query in which one row counts several times",
    ),
    (
        "SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits",
        "a query with two aggregations of private rows",
    ),
    ("SELECT COUNT(*) FROM visits TABLESAMPLE BERNOULLI (10)", "TABLESAMPLE is not supported"),
    ("SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)", "a separate query with its own budget"),
    ("SELECT COUNT(*) FROM visits WHERE user IN (SELECT user FROM visits)", "a sub-query inside an expression"),
    ("SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM visits AS v WHERE v.age > 99)", "a sub-query"),
    ("SELECT COUNT((SELECT MIN(note) FROM visits)) FROM visits", "MIN(note) cannot be answered privately"),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY region HAVING COUNT(*) > (SELECT 1 FROM visits)",
        "a sub-query inside an expression",
    ),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY region ORDER BY (SELECT MIN(age) FROM visits)",
        "MIN(age) cannot be answered privately",
    ),
    ("SELECT COUNT(*), (SELECT MIN(age) FROM visits) FROM visits", "MIN(age) cannot be answered privately"),
    (
        "SELECT COUNT(*) FROM visits LIMIT (SELECT CAST(MIN(age) AS BIGINT) FROM visits)",
        "MIN(age) cannot be answered privately",
    ),
    ("SELECT COUNT(*) FROM visits WHERE random() < 0.5", "there is no function random"),
    ("SELECT COUNT(*) FROM visits WHERE uuid() < note", "there is no function uuid"),
    ("SELECT COUNT(*) FROM visits WHERE note LIKE region", "the pattern must be a constant"),
    ("SELECT COUNT(*) FROM visits JOIN plans ON visits.user = plans.user", "it needs the unit on both sides"),
    (
        "SELECT COUNT(*) FROM visits JOIN (SELECT round(random()) AS r FROM bosses) AS b ON visits.age = b.r",
        "there is no function random",
    ),
    ("SELECT COUNT(*) FROM visits JOIN bosses ON true", "a join without a condition"),
    ("SELECT COUNT(*) FROM visits JOIN bosses ON bosses.region = bosses.region", "a join without a condition"),
    ("SELECT COUNT(*) FROM visits JOIN twice ON visits.region = twice.region", "in which region is not unique"),
    (
        "SELECT COUNT(*) FROM visits RIGHT JOIN bosses ON visits.region = bosses.region",
        "an outer JOIN that keeps public rows",
    ),
    (
        "SELECT region, COUNT(*) FROM visits GROUP BY ROLLUP(region)",
        "ROLLUP (region) is not supported: group by plain columns",
    ),
];

/// The same if a user's rows belong to one person.
const REFUSED_FOR_USERS: [(&str, &str); 6] = [
    ("SELECT COUNT(DISTINCT region) FROM visits", "COUNT(DISTINCT user)"),
    ("SELECT COUNT(*) FROM visits JOIN plans ON visits.region = plans.plan", "add visits.user = plans.user to its ON"),
    (
        "SELECT COUNT(*) FROM (SELECT 'x' AS user FROM visits) AS a JOIN (SELECT 'x' AS user FROM visits) AS b \
         ON a.user = b.user",
        "select the unit's column in both sub-queries",
    ),
    ("SELECT COUNT(*) FROM visits, plans", "add visits.user = plans.user to its ON"),
    ("SELECT COUNT(*) FROM visits FULL JOIN plans ON visits.user = plans.user", "a FULL JOIN is not supported"),
    ("SELECT AVG(n) FROM (SELECT user, STABLE_MEDIAN(age) AS n FROM visits GROUP BY user)", "use COUNT, SUM, AVG, MIN"),
];

#[test]
fn what_has_no_private_form_is_refused_before_anything_is_charged() {
    let desk = Desk::with_visits("refusals");
    desk.write("twice.csv", "region,boss\nnorth,Ada\nsouth,Alan\nsouth,Kurt\n");
    let tables = "--table visits=visits.csv --table plans=plans.csv --public-table bosses=bosses.csv \
                  --public-table twice=twice.csv --dataset both --epsilon 1 --delta 1e-8 --bounds age=0..120";
    let users = format!("{tables} --unit user --bounds n=0..9");
    let all = REFUSED.iter().map(|one| (one, tables)).chain(REFUSED_FOR_USERS.iter().map(|one| (one, users.as_str())));
    for ((sql, expected), arguments) in all {
        let said = desk.fails(2, sql, arguments);
        assert!(said.contains(expected), "{sql}: {said}");
    }
    assert_eq!(desk.charges(), []);
}
