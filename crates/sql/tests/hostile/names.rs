//! Names that might be used internally, or that could be mistaken for the unit's.

use super::{answered, attack, options};

/// An earlier engine carried the unit as a column with a name of its own. A query that gave a column of a VALUES list
/// that name, and crossed it with the rows of one person, got many "people" made of that one row, each of which
/// counted. Here the unit has no name.
#[test]
fn a_column_called_like_the_unit_inside_is_not_the_unit() {
    let values: Vec<String> = (0..50).map(|value| format!("('v{value}')")).collect();
    let values = values.join(",");
    let names = ["__reticent_unit_1", "__RETICENT_UNIT_1", "__reticent_unit", "user_id", "USER_ID", "u", "0", "1", ""];
    for name in names {
        let (public, private) =
            (format!("(VALUES {values}) AS p(\"{name}\")"), "(SELECT 1 AS x FROM t WHERE name = 'target') s1");
        for from in [
            format!("({public} CROSS JOIN {private}) AS s"),
            format!("({private} CROSS JOIN {public}) AS s"),
            format!("(SELECT * FROM {public}, {private}) AS s"),
            format!("(SELECT p.\"{name}\" FROM {private} JOIN {public} ON true) AS s"),
        ] {
            answered(&format!("SELECT COUNT(*) FROM {from}"));
            attack(&format!("SELECT s.\"{name}\", COUNT(*) FROM {from} GROUP BY s.\"{name}\""), &options());
            attack(&format!("SELECT COUNT(DISTINCT s.\"{name}\") FROM {from}"), &options());
            attack(&format!("WITH c AS (SELECT * FROM {from}) SELECT COUNT(DISTINCT \"{name}\") FROM c"), &options());
            attack(
                &format!("SELECT SUM(n) FROM (SELECT \"{name}\", COUNT(*) AS n FROM {from} GROUP BY \"{name}\") AS q"),
                &options(),
            );
        }
        answered(&format!(
            "WITH p(\"{name}\") AS (VALUES {values}), s1 AS (SELECT 1 AS x FROM t WHERE name = 'target') \
             SELECT COUNT(*) FROM (SELECT * FROM p CROSS JOIN s1) AS s"
        ));
    }
}

/// A column that is renamed to the unit's name, in a sub-query, an alias or WITH, does not become the unit.
#[test]
fn a_column_named_user_id_is_not_the_unit_for_that_reason() {
    let source = "(SELECT name AS user_id, a AS n FROM t)";
    for sql in [
        format!("SELECT COUNT(DISTINCT user_id) FROM {source} AS s"),
        format!("SELECT COUNT(*) FROM {source} AS s JOIN t ON s.user_id = t.user_id"),
        format!("SELECT SUM(n) FROM (SELECT user_id, SUM(n) AS n FROM {source} AS s GROUP BY user_id) AS q"),
        "SELECT COUNT(DISTINCT user_id) FROM t AS s(name, user_id)".into(),
        "SELECT SUM(n) FROM (SELECT u, COUNT(*) AS n FROM t AS s(x, u) GROUP BY u) AS q".into(),
        "SELECT COUNT(*) FROM t AS s(x, user_id) JOIN t ON t.user_id = s.user_id".into(),
        "WITH t AS (SELECT name AS user_id, a AS n FROM t) SELECT COUNT(DISTINCT user_id) FROM t".into(),
    ] {
        attack(&sql, &options());
    }
    // The unit under another name is still the unit.
    answered("SELECT SUM(n) FROM (SELECT w, COUNT(*) AS n FROM (SELECT user_id AS w FROM t) AS s GROUP BY w) AS q");
    answered(
        "SELECT COUNT(*) FROM (SELECT user_id AS w, name FROM t) AS s JOIN t ON t.USER_ID = s.\"w\" AND s.name = 'target'",
    );
}
