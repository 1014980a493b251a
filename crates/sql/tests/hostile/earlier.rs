//! Queries that once let one person move an answer without limit, or made an error depend on a row.
//!
//! Each was found by someone trying to break the guarantee; each must be refused, or harmless, forever.

use std::fs;

use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::{Exact, Input, Options, Query, Range, Result, Table, Unit};

/// As many rows as the engine reads at once, so that a unit at the front shifts the start of all later batches.
const BATCH: usize = 8192;

fn options(unit: Unit) -> Options {
    let guarantee = Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap());
    let mut options = Options::new(guarantee);
    options.unit = unit;
    (options.max_groups, options.max_rows) = (Some(1), Some(1));
    options
}

fn by_user() -> Options {
    options(Unit::Column("user_id".into()))
}

/// A private table `v` and a public table `p`.
fn prepare(private: &str, sql: &str, options: Options) -> Result<Query> {
    let folder = tempfile::tempdir().unwrap();
    let (v, p) = (folder.path().join("v.csv"), folder.path().join("p.csv"));
    fs::write(&v, private).unwrap();
    fs::write(&p, "id,id2,label\n1,1,a\n2,2,b\n3,3,c\n").unwrap();
    let open = |name: &str, path: &std::path::Path| Table::open(name, path.to_str().unwrap()).unwrap();
    let inputs = vec![Input { table: open("v", &v), public: false }, Input { table: open("p", &p), public: true }];
    // The files must outlive the query.
    std::mem::forget(folder);
    Query::prepare(sql, inputs, options)
}

fn refusal(sql: &str, options: Options) -> String {
    let people = "user_id,name,x,label\n1,Ann,0.5,a\n2,Bob,0.5,b\n";
    prepare(people, sql, options).map(|_| ()).expect_err(sql).to_string()
}

fn exact(people: &str, sql: &str, options: Options) -> Exact {
    let key = ChoiceKey::draw(&mut Entropy::seeded(1).draw().unwrap());
    prepare(people, sql, options).unwrap().exact(key).unwrap()
}

#[test]
fn a_public_key_is_unique_for_the_private_row_and_not_for_itself() {
    for condition in ["p.id = p.id2", "p.id = v.x * 0 + p.id2", "p.id > v.x"] {
        let text = refusal(&format!("SELECT COUNT(*) FROM v JOIN p ON {condition}"), options(Unit::Row));
        assert!(text.contains("is not supported"), "{condition}: {text}");
    }
    assert!(prepare("label\na\n", "SELECT COUNT(*) FROM v JOIN p ON p.label = v.label", options(Unit::Row)).is_ok());
}

#[test]
fn a_public_side_that_changes_from_run_to_run_is_refused() {
    let sql =
        "SELECT COUNT(*) FROM v JOIN (SELECT CASE WHEN random() < 0.5 THEN 1 ELSE 9 END AS id FROM p) q ON v.x = q.id";
    assert!(refusal(sql, options(Unit::Row)).contains("there is no function random"));
}

#[test]
fn nothing_reads_rows_beside_the_aggregate() {
    let queries = [
        "SELECT COUNT(*) FROM v HAVING COUNT(*) > (SELECT COUNT(*) FROM v)",
        "SELECT COUNT(*) + (SELECT COUNT(*) FROM v) FROM v",
        "SELECT COUNT(*) FROM v WHERE x > (SELECT AVG(x) FROM v)",
        "SELECT COUNT(*) FROM v WHERE user_id IN (SELECT user_id FROM v)",
        "SELECT COUNT(*) FROM v WHERE EXISTS (SELECT 1 FROM v w WHERE w.user_id = v.user_id)",
        "SELECT COUNT(*) FROM v JOIN LATERAL (SELECT p.id FROM p WHERE CAST(v.name AS INT) = p.id) l ON true",
        "SELECT COUNT(*) FROM (SELECT * FROM v LIMIT 1)",
        "SELECT COUNT(*) FROM (SELECT *, row_number() OVER (ORDER BY x) AS r FROM v)",
        "SELECT COUNT(*) FROM (SELECT DISTINCT name FROM v)",
        "SELECT COUNT(*) FROM v WHERE random() < 0.5",
        "SELECT COUNT(*) FROM v UNION ALL SELECT COUNT(*) FROM v",
        "SELECT name FROM v",
    ];
    for sql in queries {
        let mut options = by_user();
        options.bounds.insert("x".into(), Range::Public("0..1".parse().unwrap()));
        let text = refusal(sql, options);
        let known =
            ["cannot be answered privately", "is not supported", "there is no function random", "there is no table v"];
        assert!(known.iter().any(|known| text.contains(known)), "{sql}: {text}");
    }
}

#[test]
fn a_decimal_that_overflows_is_no_error() {
    let sql = "SELECT COUNT(a) FROM (SELECT user_id, AVG(CAST(name AS DECIMAL(38, 0))) AS a FROM v GROUP BY user_id)";
    let people =
        "user_id,name\n1,99999999999999999999999999999999999999\n1,99999999999999999999999999999999999999\n2,Bob\n";
    assert_eq!(exact(people, sql, by_user()).parts[0].numbers, [1]);
}

/// Two people are never merged, even if a float cannot tell their numbers apart.
#[test]
fn units_are_told_apart_exactly() {
    let people = format!("user_id,x\n{},1\n{},1\n", (1i64 << 60) + 1, (1i64 << 60) + 2);
    let found = exact(&people, "SELECT COUNT(DISTINCT user_id) FROM v WHERE x > 0", by_user());
    assert_eq!(found.parts[0].numbers, [2]);
    let bounded = || {
        let mut options = by_user();
        options.bounds.insert("user_id".into(), Range::Public("0..1".parse().unwrap()));
        options
    };
    assert_eq!(exact(&people, "SELECT COUNT(DISTINCT user_id) FROM v", bounded()).parts[0].numbers, [2]);
}

/// 0.1 + 0.2 + 0.3 is 0.6 in one order but not in another; a unit with many rows at the front shifts all later batches.
#[test]
fn what_a_sub_query_computes_of_one_unit_does_not_depend_on_the_others() {
    let mut people = String::from("user_id,x\n");
    let rows: Vec<String> =
        ["0.1", "0.2", "0.3"].iter().flat_map(|x| (0..BATCH / 2).map(move |user| format!("u{user},{x}\n"))).collect();
    people.extend(rows);
    let in_front: String = (0..BATCH / 2).map(|_| "z,0.25\n").collect();
    let with_another = people.replacen("user_id,x\n", &format!("user_id,x\n{in_front}"), 1);
    for (inner, condition) in [
        ("SUM(x)", "s = 0.6"),
        ("AVG(x)", "s = 0.2"),
        ("MAX(x * 0.0 - 0.0)", "1.0 / s > 0"),
        ("MIN(-x * 0.0)", "1.0 / s > 0"),
    ] {
        let sql = format!(
            "SELECT SUM(CASE WHEN {condition} THEN 1 ELSE 0 END) FROM \
             (SELECT user_id, {inner} AS s FROM v GROUP BY user_id)"
        );
        let (one, other) = (exact(&people, &sql, by_user()), exact(&with_another, &sql, by_user()));
        let moved: u64 =
            one.parts[0].numbers.iter().zip(&other.parts[0].numbers).map(|(one, other)| one.abs_diff(*other)).sum();
        assert!(moved <= one.parts[0].l1, "{inner}: one unit moves the sum by {moved}, not {}", one.parts[0].l1);
    }
}

/// One column under two names, each with its own range: values clamped to one are more sensitive than the other
/// implies.
#[test]
fn two_ranges_of_one_column_are_two_measures() {
    let mut options = by_user();
    for (name, range) in [("x", "0..100"), ("X", "0..10")] {
        options.bounds.insert(name.into(), Range::Public(range.parse().unwrap()));
    }
    let sql = "SELECT SUM(x), SUM(X) FROM v";
    let [one, other] =
        ["user_id,x\na,1\n", "user_id,x\na,1\nb,100\n"].map(|people| exact(people, sql, options.clone()));
    assert_eq!(one.parts.len(), 2);
    for (one, other) in one.parts.iter().zip(&other.parts) {
        let moved: u64 = one.numbers.iter().zip(&other.numbers).map(|(one, other)| one.abs_diff(*other)).sum();
        assert!(moved <= one.l1, "{}: one unit moves it by {moved}, not {}", one.words, one.l1);
    }
}

#[test]
fn constants_can_be_patterns() {
    let people = "user_id,name\n1,Ann\n2,Bob\n";
    let sql = "SELECT COUNT(*) FROM v WHERE name LIKE 'A%' AND regexp_like(name, '^[A-Z]')";
    assert_eq!(exact(people, sql, by_user()).parts[0].numbers, [1]);
}
