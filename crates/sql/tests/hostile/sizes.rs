//! Statements that are large, deep, or multiply themselves: an error in bounded time, never the end of the process.

use std::time::{Duration, Instant};

use super::{answered, attack, in_a_child, options, prepare, refused};

/// Exponential work takes longer than this even on the fastest machine; other work takes a fraction on the busiest.
const PATIENCE: Duration = Duration::from_secs(60);

fn timely(what: &str, sql: &str) -> bool {
    let started = Instant::now();
    let found = prepare(sql);
    let (took, words) = (started.elapsed(), found.as_ref().err().map(ToString::to_string));
    let words: String = words.unwrap_or_else(|| "prepared".into()).chars().take(120).collect();
    println!("{what}: {took:?}: {words}");
    assert!(took < PATIENCE, "{what} takes {took:?}");
    assert!(!words.contains("its nesting cannot be parsed"), "{what} panics");
    found.is_ok()
}

/// Every kind of recursion, deeper than any stack.
#[test]
fn large_statements_are_refused_in_time() {
    in_a_child("sizes::large_statements_are_refused_in_time", Duration::from_secs(600), || {
        let many = |times: usize, text: &str| text.repeat(times);
        let count = |condition: &str| format!("SELECT COUNT(*) FROM t WHERE {condition}");
        let around = |times: usize, before: &str, inside: &str, after: &str| {
            format!("{}{inside}{}", many(times, before), many(times, after))
        };
        let refused = [
            ("terms", count(&format!("1{} > 0", many(20_000, "+1")))),
            ("fewer terms", count(&format!("1{} > 0", many(9_000, "+1")))),
            ("conditions", count(&format!("a > 0{}", many(4_000, " OR a > 0")))),
            ("parentheses", count(&around(100_000, "(", "1", ")"))),
            ("fewer parentheses", count(&around(9_000, "(", "a > 1", ")"))),
            ("CASE", count(&around(10_000, "CASE WHEN true THEN ", "1", " END"))),
            ("fewer CASE", count(&around(2_000, "CASE WHEN true THEN ", "1", " END"))),
            ("NOT", count(&around(10_000, "NOT ", "a > 1", ""))),
            ("minus", count(&around(10_000, "- ", "a", " > 1"))),
            ("plus", count(&around(10_000, "+ ", "a", " > 1"))),
            ("functions", count(&around(3_000, "abs(", "a", ") > 1"))),
            ("sub-queries", around(10_000, "SELECT COUNT(*) FROM (", "SELECT 1 FROM t", ") AS s")),
            ("fewer sub-queries", around(1_500, "SELECT * FROM (", "SELECT 1 FROM t", ") AS s")),
            ("nested joins", format!("SELECT COUNT(*) FROM {}", around(5_000, "(", "t", ")"))),
            ("UNION", format!("SELECT COUNT(*) FROM (SELECT a FROM t{})", many(3_000, " UNION ALL SELECT a FROM t"))),
            ("UNION of constants", count(&format!("a IN (SELECT 1{})", many(4_000, " UNION ALL SELECT 1")))),
            ("joins", format!("SELECT COUNT(*) FROM t{}", many(3_000, " CROSS JOIN p"))),
            ("arrays", count(&around(9_000, "[", "1", "]"))),
            ("BETWEEN", count(&around(90, "(", "a > 1", " BETWEEN true AND true)"))),
            (
                "a long text compared often",
                count(&around(12, "(", &format!("txt = '{}'", many(90_000, "'")), " BETWEEN true AND true)")),
            ),
            ("an unclosed text", count(&format!("txt = '{}", many(90_000, "x")))),
            ("bytes", count(&format!("txt = '{}'", many(200_000, "x")))),
        ];
        for (what, sql) in refused {
            assert!(!timely(what, &sql), "{what} is refused");
        }
        let list = |item: &dyn Fn(usize) -> String, number: usize| (0..number).map(item).collect::<Vec<_>>().join(",");
        timely("an IN list", &count(&format!("a IN ({})", list(&|item| item.to_string(), 20_000))));
        timely("a shorter IN list", &count(&format!("a IN ({})", list(&|item| item.to_string(), 9_000))));
        timely("an IN list of expressions", &count(&format!("a IN ({})", list(&|item| format!("a+{item}"), 4_500))));
        timely(
            "VALUES",
            &count(&format!("a IN (SELECT * FROM (VALUES {}) AS v)", list(&|item| format!("({item})"), 4_500))),
        );
        timely(
            "VALUES of texts",
            &count(&format!(
                "txt IN (SELECT * FROM (VALUES {}) AS v)",
                list(&|item| format!("('a text of some length {item}')"), 2_500)
            )),
        );
        timely("aggregates", &format!("SELECT {} FROM t", list(&|item| format!("SUM(a+{item})"), 2_400)));
        let named = list(&|item| format!("SUM(a + {item}) AS s{item}"), 1_200);
        timely(
            "aliases",
            &format!(
                "SELECT {named} FROM t HAVING s0 + s1 > {}",
                list(&|item| format!("s{item}"), 900).replace(',', "+")
            ),
        );
        timely("keys", &format!("SELECT COUNT(*) FROM t GROUP BY {}", list(&|item| format!("a+{item}"), 3_000)));
        timely("WHEN", &count(&format!("CASE {} ELSE 0 END > 1", many(2_000, "WHEN a = 1 THEN 2 "))));
        timely("WHEN with an operand", &count(&format!("CASE a {} ELSE 0 END > 1", many(2_000, "WHEN 1 THEN 2 "))));
        timely("coalesce", &count(&format!("coalesce({}) > 1", list(&|_| "a".into(), 9_000))));
        timely("an identifier", &count(&format!("{} > 1", many(90_000, "x"))));
        timely("a quoted identifier", &count(&format!("\"{}\" > 1", many(90_000, "\"\""))));
        timely("a table", &format!("SELECT COUNT(*) FROM {}", many(90_000, "t")));
        timely("USING", &format!("SELECT COUNT(*) FROM t JOIN t AS w USING (user_id{})", many(4_000, ",a")));
        timely("a pattern", &count(&format!("txt ~ '{}'", many(400, "(a*)"))));
        timely("a repeated pattern", &count("txt ~ '((((\\w{50}){50}){50}){50})'"));
    });
}

/// Each takes memory before any row is read, which no limit of a run counts.
#[test]
fn patterns_are_limited() {
    let (like, regular) = ("txt LIKE 'x{}%'", "regexp_like(txt, '^x{}')");
    for [first, other] in [[like, like], ["txt ~ 'x{}'", regular], ["txt NOT ILIKE '_{}'", "txt !~* 'X{}'"]] {
        let when = |pattern: usize| {
            let condition = if pattern.is_multiple_of(2) { first } else { other };
            format!("WHEN {} THEN {pattern} ", condition.replace("{}", &pattern.to_string()))
        };
        let sql = |patterns: usize| {
            let whens: String = (0..patterns).map(when).collect();
            format!("SELECT COUNT(*) FROM t WHERE CASE {whens} ELSE 0 END > 50")
        };
        answered(&sql(100));
        let why = refused(&sql(101));
        assert!(why.contains("it has too many patterns (limit: 100)"), "{why}");
    }
}

/// Each is held while the next one is computed, and may be 64 KiB long.
#[test]
fn texts_of_a_row_are_limited() {
    let list = |number: usize, of: &str| {
        let item = |item: usize| of.replace('#', &item.to_string());
        (0..number).map(item).collect::<Vec<_>>()
    };
    let computed = |number: usize| {
        let all = list(number - 1, "reverse(txt)").join(", ");
        format!("SELECT COUNT(*) FROM t WHERE concat({all}) <> 'q'")
    };
    answered(&computed(512));
    let why = refused(&computed(513));
    assert!(why.contains("it computes or compares 513 texts for each row (limit: 512)"), "{why}");
    // Rows that wait for others of their unit have a text more: the unit.
    let held = |number: usize| {
        let (columns, keys) = (list(number, "txt AS c#").join(", "), list(number, "c#").join(", "));
        format!(
            "SELECT COUNT(*) FROM (SELECT user_id, {keys} FROM (SELECT user_id, {columns} FROM t) GROUP BY user_id, {keys})"
        )
    };
    let why = refused(&held(513));
    assert!(why.contains("texts for each row (limit: 512)"), "{why}");
    answered(&held(100));
}

/// Two thousand stacked sub-queries took as many stack frames when a row passed through them; without a row, none. A
/// list of five thousand expressions, compared one after the other, did the same.
#[test]
fn no_row_goes_deeper_than_the_stack() {
    in_a_child("sizes::no_row_goes_deeper_than_the_stack", Duration::from_secs(600), || {
        let chain = |levels: usize, of: &dyn Fn(usize) -> String| {
            let levels: Vec<String> = (1..=levels).map(|level| format!("c{level} AS ({})", of(level - 1))).collect();
            format!("WITH c0 AS (SELECT * FROM t WHERE name = 'target'), {}", levels.join(", "))
        };
        for levels in [60, 200, 1200] {
            for of in [
                "SELECT * FROM c{}",
                "SELECT user_id, a FROM c{} WHERE a >= 0",
                "SELECT * FROM c{} UNION ALL SELECT * FROM c0",
            ] {
                let with = chain(levels, &|level| of.replace("{}", &level.to_string()));
                attack(&format!("{with} SELECT COUNT(*) FROM c{levels}"), &options());
            }
        }
        // One row goes as deep as two thousand; the long ones get no more than that.
        let one = "(SELECT * FROM t WHERE name = 'target') AS t";
        for (items, joins, from) in [(4_500, 4_000, one), (100, 100, one), (100, 100, "t")] {
            let list: Vec<String> = (0..items).map(|item| format!("a + {item}")).collect();
            let list = list.join(",");
            attack(&format!("SELECT COUNT(*) FROM {from} WHERE name = 'target' AND a IN ({list})"), &options());
            let using = ",a".repeat(joins);
            attack(&format!("SELECT COUNT(*) FROM {from} JOIN t AS w USING (user_id{using})"), &options());
        }
        // Computations on released values run on the caller's stack.
        for levels in [60, 1200] {
            let above: Vec<String> =
                (1..=levels).map(|level| format!("c{level} AS (SELECT n FROM c{})", level - 1)).collect();
            attack(
                &format!("WITH c0 AS (SELECT COUNT(*) AS n FROM t), {} SELECT n FROM c{levels}", above.join(", ")),
                &options(),
            );
        }
    });
}

/// Each level refers to the previous one several times: expanded, there would be 4⁵⁰ terms, or 2²⁰ joins.
#[test]
fn what_is_named_twice_is_computed_once() {
    in_a_child("sizes::what_is_named_twice_is_computed_once", Duration::from_secs(240), || {
        let chain = |first: &str, levels: usize, of: &str| {
            let level = |level: usize| format!("c{level} AS ({})", of.replace("prev", &format!("c{}", level - 1)));
            format!("WITH c0 AS ({first}), {}", (1..=levels).map(level).collect::<Vec<_>>().join(", "))
        };
        let first = "SELECT user_id, a, a AS z, city FROM t";
        for levels in [9, 20, 50] {
            for of in [
                "SELECT z+z+z+z AS z FROM prev",
                "SELECT z*z*z*z AS z FROM prev",
                "SELECT z/(z+1.5)*z AS z FROM prev",
                "SELECT z*1.1 - z*0.9 AS z FROM prev",
            ] {
                let with = chain(first, levels, of);
                timely(&format!("{levels} of {of}"), &format!("{with} SELECT SUM(z) FROM c{levels}"));
                attack(&format!("{with} SELECT COUNT(z) FROM c{levels}"), &options());
            }
        }
        let joined = "SELECT x.* FROM prev x JOIN prev y ON x.user_id = y.user_id";
        for levels in [5, 20] {
            let with = chain(first, levels, joined);
            timely(&format!("{levels} joins"), &format!("{with} SELECT COUNT(*) FROM c{levels}"));
            attack(&format!("{with} SELECT COUNT(*) FROM c{levels}"), &options());
        }
        // The same for public tables, which are computed while the query is resolved, and for released values.
        let with = chain("SELECT city, size AS s FROM p", 20, "SELECT x.* FROM prev x JOIN prev y ON x.city = y.city");
        timely("20 public joins", &format!("{with} SELECT COUNT(*) FROM t WHERE city IN (SELECT city FROM c20)"));
        let with = chain(
            "SELECT city, COUNT(*) AS n FROM t GROUP BY city",
            20,
            "SELECT x.* FROM prev x JOIN prev y ON x.city = y.city",
        );
        attack(&format!("{with} SELECT city, n FROM c20"), &options());
        let pairs = "(SELECT x.size FROM p x, p y, p z, p v, p w, p q, p r, p s)";
        timely("a product of public tables", &format!("SELECT COUNT(*) FROM t WHERE a IN {pairs}"));
    });
}

/// Joined with itself again and again, a person with two rows has 4, 16, 256, 65,536, … of them: at six levels the
/// process ran out of memory, but only if someone had two rows.
#[test]
fn a_person_with_two_rows_does_not_take_all_memory() {
    in_a_child("sizes::a_person_with_two_rows_does_not_take_all_memory", Duration::from_secs(240), || {
        let twice =
            "SELECT user_id, a FROM t WHERE name = 'target' UNION ALL SELECT user_id, a FROM t WHERE name = 'target'";
        for levels in [3, 6] {
            let level = |level: usize| {
                let before = level - 1;
                format!("c{level} AS (SELECT x.* FROM c{before} x JOIN c{before} y ON x.user_id = y.user_id)")
            };
            let with = (1..=levels).map(level).collect::<Vec<_>>().join(", ");
            answered(&format!("WITH c0 AS ({twice}), {with} SELECT COUNT(*) FROM c{levels}"));
            attack(
                &format!(
                    "SELECT COUNT(*) FROM (SELECT t.user_id, COUNT(*) AS n FROM t{} WHERE t.name = 'target' GROUP BY t.user_id) AS q",
                    (0..levels).map(|place| format!(" CROSS JOIN p AS p{place}")).collect::<String>()
                ),
                &options(),
            );
        }
    });
}

/// Five public rows, joined with themselves nine times, turn each private row into two million: it would never end.
#[test]
fn joins_with_public_tables_multiply_up_to_a_limit() {
    let times = |joins: usize| -> String { (0..joins).map(|join| format!(" CROSS JOIN p AS p{join}")).collect() };
    answered(&format!("SELECT COUNT(*) FROM t{} WHERE name = 'target'", times(2)));
    let why = refused(&format!("SELECT COUNT(*) FROM t{} WHERE name = 'target'", times(9)));
    assert!(why.contains("could turn 1 row into 1953125 (limit: 1048576)"), "{why}");
    // In pieces, and after aggregates that turn many rows into one.
    let inner = format!("(SELECT t.user_id FROM t{})", times(5));
    let why =
        refused(&format!("SELECT COUNT(*) FROM {inner} AS a JOIN {inner} AS b ON a.user_id = b.user_id{}", times(4)));
    assert!(why.contains("the query is too large"), "{why}");
}

/// A long text in a million public rows is in memory once, but DISTINCT, ORDER BY and functions would copy it.
#[test]
fn a_public_text_counts_wherever_it_occurs() {
    let ten = "WITH d AS (SELECT 1 AS v UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5)";
    let joins: String = (0..8).map(|number| format!(" CROSS JOIN d j{number}")).collect();
    let big = format!("{ten}, one AS (SELECT REPEAT('a', 65000) AS t), big AS (SELECT t FROM one{joins})");
    for use_of in
        ["SELECT DISTINCT t FROM big", "SELECT LENGTH(REVERSE(t)) AS t FROM big", "SELECT t FROM big ORDER BY t"]
    {
        let sql = format!("{big} SELECT COUNT(*) FROM t WHERE a IN (SELECT COUNT(*) FROM ({use_of}) AS q)");
        let words = refused(&sql);
        assert!(words.contains("do not fit in memory") || words.contains("too many seconds"), "{words}");
    }
}
