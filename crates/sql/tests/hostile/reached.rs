//! Effects that occur only if a row gets there.

use super::{answered, attack, options, refused};

/// A public sub-query that fails on some of its own rows, joined with one person's: an engine that computes it only
/// when there is a row to join it with fails only if the person is there. Here nothing fails on a value, and the public
/// side is computed beforehand.
#[test]
fn a_public_side_does_not_fail_when_it_is_reached() {
    let person = "(SELECT city FROM t WHERE name = 'target') AS w";
    for failing in [
        "CAST(txt AS INT)",
        "CAST(txt AS DOUBLE)",
        "CAST(txt AS DATE)",
        "CAST('abc' || txt AS TIMESTAMP)",
        "1 / (length(txt) - 1)",
        "1 % (length(txt) - 1)",
        "9223372036854775807 + length(txt)",
        "CAST(size * 1e300 * 1e300 AS BIGINT)",
        "sqrt(-1.0 * size)",
        "substr(txt, -9223372036854775807, length(txt))",
    ] {
        let public = format!("(SELECT city, {failing} AS f FROM p) AS q");
        answered(&format!("SELECT COUNT(*) FROM {person} JOIN {public} ON w.city = q.city AND f IS NOT NULL"));
        answered(&format!("SELECT COUNT(*) FROM {public} JOIN {person} ON w.city = q.city AND f = f"));
        answered(&format!("SELECT COUNT(*) FROM {person} WHERE city IN (SELECT city FROM p WHERE {failing} IS NULL)"));
        answered(&format!("SELECT COUNT({}) FROM t WHERE name = 'target'", failing.replace("size", "a")));
    }
}

/// More than one value of a scalar sub-query is an error in the query, whatever rows are in the table.
#[test]
fn a_sub_query_of_many_values_is_refused_beforehand() {
    let text =
        refused("SELECT COUNT(*) FROM (SELECT a FROM t WHERE name = 'target') AS s WHERE a > (SELECT size FROM p)");
    assert!(text.contains("one value"), "{text}");
}

/// The clock is fixed: if it were read for each batch, two uses would differ by as many rows as there are.
#[test]
fn the_clock_says_one_thing() {
    for clock in ["now()", "current_timestamp", "CURRENT_TIMESTAMP()", "current_date", "today()"] {
        answered(&format!("SELECT COUNT(*) FROM t WHERE {clock} = {clock}"));
        answered(&format!("SELECT COUNT(*) FROM t JOIN p ON t.city = p.city AND {clock} = {clock}"));
        answered(&format!(
            "SELECT COUNT(*) FROM t JOIN t AS w ON t.user_id = w.user_id AND {clock} IS NOT DISTINCT FROM {clock}"
        ));
        let both = format!(
            "SELECT COUNT(*) FROM (SELECT {clock} AS one, user_id FROM t) AS s JOIN (SELECT {clock} AS other FROM p) AS q ON one = other"
        );
        let found = super::ask(&both, &options(), "target").exact.expect("it is answered");
        // Everyone matches all five rows, of which one counts.
        assert_eq!(found.parts[0].numbers, [super::PEOPLE as i64], "{both}");
    }
    assert!(!attack("SELECT COUNT(*) FROM t WHERE random() < 0.5", &options()));
}
