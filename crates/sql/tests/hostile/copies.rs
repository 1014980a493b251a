//! Rows that count more often than their stability allows, or with less noise than their bounds require.

use std::fs;

use reticent::noise::Entropy;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::{Input, Query, Range, Result, Table, Unit};

use super::{answered, attack, options, refused};

/// One row, or none.
const ONE: &str = "(SELECT * FROM t WHERE name = 'target') AS t";

/// Shared relations were partitioned by unit, which rows do not have where each is its own: a query failed exactly if a
/// row was there.
#[test]
fn what_is_named_twice_needs_no_unit() {
    let mut by_row = options();
    by_row.unit = Unit::Row;
    let nothing = "(SELECT column1 FROM (VALUES (1)) v WHERE false) p";
    let sql = format!(
        "WITH a AS (SELECT a FROM t WHERE name = 'target') \
         SELECT COUNT(*) FROM (SELECT a FROM a UNION ALL SELECT a FROM a JOIN {nothing} ON true) z"
    );
    assert!(attack(&sql, &by_row));
}

/// The noise is scaled to the bounds that a number is clamped to, even if the same column has two of them.
#[test]
fn each_range_has_a_measure_of_its_own() {
    let mut two = options();
    two.bounds.insert("a".into(), Range::Public("0..1000000".parse().unwrap()));
    two.bounds.insert("(a)".into(), Range::Public("1000000000..1000000001".parse().unwrap()));
    for asked in ["SUM(a) AS x, SUM((a)) AS y", "SUM((a)) AS x, AVG(a) AS y, VARIANCE((a)) AS z"] {
        assert!(attack(&format!("SELECT {asked} FROM t"), &two), "{asked}");
    }
}

/// One file as two tables, and one file under two names in one table.
#[cfg(unix)]
#[test]
fn a_file_counts_once_whatever_it_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("many")).unwrap();
    fs::write(at("many/1.csv"), "user_id,a\nu1,1\nu2,2\nu3,3\n").unwrap();
    fs::hard_link(at("many/1.csv"), at("many/2.csv")).unwrap();
    fs::hard_link(at("many/1.csv"), at("other.csv")).unwrap();
    std::os::unix::fs::symlink(at("many/1.csv"), at("many/3.csv")).unwrap();
    let open =
        |name: &str, file: &str| Input { table: Table::open(name, at(file).to_str().unwrap()).unwrap(), public: false };
    let prepare = |sql: &str, unit: Unit| -> Result<Query> {
        let mut options = options();
        options.unit = unit;
        Query::prepare(sql, vec![open("a", "many"), open("b", "other.csv")], options)
    };
    let query = prepare("SELECT COUNT(*) FROM a", Unit::Row).unwrap();
    let key = ChoiceKey::draw(&mut Entropy::seeded(1).draw().unwrap());
    assert_eq!(query.exact(key).unwrap().parts[0].numbers, [3]);
    for unit in [Unit::Row, Unit::Column("user_id".into())] {
        let both = "SELECT COUNT(*) FROM (SELECT user_id FROM a UNION ALL SELECT user_id FROM b) q";
        let why = prepare(both, unit).unwrap_err().to_string();
        assert!(why.contains("a and b, which have a file in common"), "{why}");
    }
}

/// An aggregate within units makes at most one row of each input row, but one row may have become many: the limit also
/// holds for later operators.
#[test]
fn copies_are_counted_through_aggregates() {
    let many = "(SELECT x.size * 5 + y.size AS k FROM p AS x CROSS JOIN p AS y CROSS JOIN p AS v CROSS JOIN p AS w)";
    let inner = format!("(SELECT t.user_id, m.k FROM {ONE} CROSS JOIN {many} AS m GROUP BY t.user_id, m.k)");
    answered(&format!("SELECT COUNT(*) FROM {inner} AS u"));
    let why = refused(&format!("SELECT COUNT(*) FROM {inner} AS u CROSS JOIN {many} AS m CROSS JOIN p"));
    assert!(why.contains("the query is too large"), "{why}");
}

/// One row, joined with many public ones, and a long text in each: gigabytes from one row.
#[test]
fn long_texts_are_not_multiplied() {
    let many = "(SELECT x.size FROM p AS x CROSS JOIN p AS y CROSS JOIN p AS v CROSS JOIN p AS w CROSS JOIN p)";
    let long = |number: usize| -> String {
        (0..number).map(|one| format!(", repeat(name, 9000 + {one}) AS c{one}")).collect()
    };
    for (number, fits) in [(1, true), (2, false), (60, false)] {
        let sql =
            format!("SELECT COUNT(*) FROM (SELECT t.user_id{} FROM {ONE} CROSS JOIN {many} AS m) AS q", long(number));
        assert_eq!(attack(&sql, &options()), fits, "{number}");
    }
    let within =
        format!("(SELECT user_id, MAX(repeat(name, 9000)) AS m FROM {ONE} CROSS JOIN {many} AS m GROUP BY user_id)");
    answered(&format!("SELECT COUNT(*) FROM {within} AS q WHERE length(m) > 3"));
}

/// Public rows are joined before anything is charged: a dry run must not take forever.
#[test]
fn joins_of_public_tables_end() {
    let many = "(SELECT x.size FROM p AS x CROSS JOIN p AS y CROSS JOIN p AS v CROSS JOIN p AS w CROSS JOIN p AS r CROSS JOIN p)";
    let sql = format!(
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM {many} AS a JOIN {many} AS b ON a.size + b.size < 0)"
    );
    let why = refused(&sql);
    assert!(why.contains("compares too many pairs of rows"), "{why}");
    let why = refused(&format!(
        "SELECT COUNT(*) FROM t WHERE name IN (SELECT repeat(a.size, 30000) FROM {many} AS a CROSS JOIN p AS b)"
    ));
    assert!(why.contains("do not fit in memory"), "{why}");
}
