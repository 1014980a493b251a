//! Texts that can be parsed in several ways at every level, with a mistake deep inside: the parser would read the
//! innermost part once for every combination. `NOT (NOT (NOT (…`, 22 levels deep, took 48 seconds, and each further
//! level twice as long.

use std::time::{Duration, Instant};

use reticent_sql::Limits;
use reticent_sql::text::{on_a_large_stack, parse};
use sqlparser::keywords::ALL_KEYWORDS;

use super::in_a_child;

/// Exponential work takes longer than this from the thirtieth level on; other work takes a fraction on the busiest
/// machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of bytes that a text must stay within.
const BYTES: usize = 95_000;

/// Most tokens around the nesting: with more than allowed in total, a text is refused before it is parsed.
const AROUND: usize = 20;

/// Parses a text, or refuses it. Returns whether the parser gave up.
fn gives_up(sql: &str, limits: &Limits) -> bool {
    let started = Instant::now();
    let words = parse(sql, limits).err().map_or_else(String::new, |error| error.to_string());
    let (took, case) = (started.elapsed(), sql.chars().take(120).collect::<String>());
    assert!(took < PATIENCE, "{case} takes {took:?}");
    words.contains("take too many steps to parse")
}

/// Levels that can be nested, where an expression, a table or a statement is expected.
fn nested(level: &str, times: usize) -> [String; 3] {
    ["SELECT COUNT(*) FROM t WHERE x = ", "SELECT COUNT(*) FROM ", ""]
        .map(|before| format!("{before}{}1 1", level.repeat(times)))
}

/// In a separate process and on its own stack, with fewer steps than usual, so that all words are tried in a minute;
/// and with less stack, so that uncounted recursion overflows it even where frames are small.
fn attempt(test: &str, body: impl Fn(&Limits) + Sync) {
    let limits = Limits { steps: 100_000, stack: 16 << 20, ..Limits::default() };
    in_a_child(test, Duration::from_secs(900), || {
        let tried = on_a_large_stack(&limits, || {
            body(&limits);
            Ok(())
        });
        tried.unwrap();
    });
}

#[test]
fn no_word_doubles_the_work_at_each_level() {
    attempt("readings::no_word_doubles_the_work_at_each_level", |limits| {
        let mut doubling = Vec::new();
        for word in ALL_KEYWORDS {
            for bracket in [" ", " (", " [", " ((", " (x, "] {
                let level = format!("{word}{bracket}");
                let all = [24, 200].into_iter().flat_map(|times| nested(&level, times));
                if all.filter(|sql| gives_up(sql, limits)).count() > 0 {
                    doubling.push(level);
                }
            }
            // Some words recurse without counting a level: the stack overflowed, and the process ended.
            let deepest = format!("{word} ");
            gives_up(&nested(&deepest, (BYTES / deepest.len()).min(limits.tokens - AROUND))[0], limits);
        }
        println!("{} give up: {doubling:?}", doubling.len());
        for word in ["NOT (", "ARRAY [", "TRY_CAST (", "CONVERT (", "POSITION (("] {
            assert!(doubling.iter().any(|level| level == word), "{word} shows nothing: {doubling:?}");
        }
        // The more stands beside each level, the more is read again.
        for level in doubling {
            for (times, siblings) in [(24, 300)] {
                for sql in nested(&format!("{level}{}", "x, ".repeat(siblings)), times) {
                    gives_up(&sql, limits);
                }
            }
        }
    });
}

#[test]
fn no_mixture_of_words_doubles_the_work_either() {
    attempt("readings::no_mixture_of_words_doubles_the_work_either", |limits| {
        let levels = "(|((|[|{|{fn f(|- (|f(|f(x => |x -> (|(x, y) -> (|x IN (|x IN ((SELECT |x IN (SELECT(|(SELECT * FROM ((|\
            ((SELECT * FROM ((|(SELECT x FROM ((|(TABLE t, (|(VALUES ((|(SELECT(|(FROM (|(WITH a (|(WITH a AS (|\
            (SELECT * FROM LATERAL (|(SELECT * FROM t JOIN ((|(SELECT * FROM TABLE(((SELECT |(SELECT * FROM UNNEST((SELECT |\
            CASE WHEN NOT (|CASE NOT (|CAST(x AS ARRAY<|CAST(x AS STRUCT<a |STRUCT<a ARRAY<|EXISTS (SELECT NOT (|INTERVAL (|\
            INTERVAL NOT (|x BETWEEN NOT (|x LIKE NOT (|x AND NOT (|x::ARRAY<|x[NOT (|f(x) OVER (PARTITION BY NOT (|\
            f(x) FILTER (WHERE NOT (|DATE (|MAP {NOT (|ARRAY[NOT (|ARRAY(SELECT NOT (|GROUPING SETS ((|(SELECT x GROUP BY CUBE (NOT (|\
            (SELECT x LIMIT NOT (|(SELECT TOP (NOT (|t TABLESAMPLE (NOT (|(SELECT x CONNECT BY NOT (|SUBSTRING((|POSITION((|OVERLAY((|\
            CEIL((|TRIM((|EXTRACT(x FROM (|CONVERT(x, ";
        for level in levels.split('|') {
            for times in [8, 30, 60, BYTES / level.len()] {
                for sql in nested(level, times) {
                    gives_up(&sql, limits);
                }
            }
            for sql in nested(&format!("{level}{}", "x, ".repeat(300)), 24) {
                gives_up(&sql, limits);
            }
        }
    });
}

/// With the full number of steps.
#[test]
fn the_parser_gives_up_soon() {
    in_a_child("readings::the_parser_gives_up_soon", Duration::from_secs(900), || {
        for level in ["NOT (".to_owned(), format!("NOT ({}", "x, ".repeat(300))] {
            let sql = format!("SELECT COUNT(*) FROM t WHERE x = {}1 1", level.repeat(24));
            let limits = Limits::default();
            assert!(on_a_large_stack(&limits, || Ok(gives_up(&sql, &limits))).unwrap(), "{level}");
        }
    });
}

/// Whatever fits within all other limits is parsed in half of the steps.
#[test]
fn large_statements_that_are_right_are_read() {
    let list = |item: &dyn Fn(usize) -> String, number: usize| (0..number).map(item).collect::<Vec<_>>().join(",");
    let around = |times: usize, before: &str, after: &str| format!("{}a{}", before.repeat(times), after.repeat(times));
    let conditions = [
        format!("a IN ({})", list(&|item| format!("a+{item}"), 4_500)),
        format!("a IN ({})", list(&|item| format!("CASE WHEN NOT (a = {item}) THEN {item} ELSE -1 END"), 1_200)),
        format!("a IN ({})", list(&|item| format!("CAST(abs(CEIL(a)) AS INT) + {item}"), 1_200)),
        format!("a IN ({})", list(&|_| around(20, "(", ")"), 400)),
        format!("a IN ({})", list(&|_| around(15, "NOT (", ")"), 300)),
        format!("a IN ({})", list(&|_| around(15, "SUBSTRING((", "), 1, 2)"), 100)),
        format!("d IN ({})", list(&|item| format!("DATE '2024-01-01' + INTERVAL '{item}' DAY"), 2_500)),
    ];
    let limits = Limits { steps: Limits::default().steps / 2, ..Limits::default() };
    on_a_large_stack(&Limits::default(), || {
        for condition in conditions {
            let sql = format!("SELECT COUNT(*) FROM t WHERE {condition}");
            assert!(parse(&sql, &limits).is_ok(), "{}: {:?}", &condition[..100], parse(&sql, &limits).err());
        }
        Ok(())
    })
    .unwrap();
}
