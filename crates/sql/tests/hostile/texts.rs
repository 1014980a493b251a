//! Texts that grow: one row whose text is a gigabyte, or one column that refers to ever more memory, ends the process;
//! whether it does reveals whether the row is there.

use std::time::Duration;

use super::{answered, in_a_child};

/// As many letters as three nested replacements turn into a gigabyte.
const LETTERS: usize = 1040;

/// `name = 'target'` starts with one letter, and each level replaces every letter by a thousand.
#[test]
fn texts_do_not_grow_beyond_their_limit() {
    in_a_child("texts::texts_do_not_grow_beyond_their_limit", Duration::from_secs(120), || {
        let k = "x".repeat(LETTERS);
        let seed = "CASE WHEN name = 'target' THEN 'x' ELSE '' END";
        let nested =
            |levels: usize, wrap: &dyn Fn(&str) -> String| (0..levels).fold(seed.to_owned(), |text, _| wrap(&text));
        let replaced = |levels: usize| nested(levels, &|text| format!("replace({text}, 'x', '{k}')"));
        let mut texts = vec![
            replaced(3),
            replaced(12),
            nested(3, &|text| format!("regexp_replace({text}, 'x', '{k}', 'g')")),
            nested(3, &|text| format!("regexp_replace({text}, '', '{k}', 'g')")),
            nested(8, &|text| format!("repeat({text}, 1000)")),
            nested(3, &|text| format!("lpad({text}, length({text}) * 60000, 'é')")),
            nested(3, &|text| format!("rpad({text}, 9223372036854775807, {text})")),
            nested(4, &|text| format!("concat({text}, {text}, {text}, {text})")),
            nested(40, &|text| format!("upper({text} || 'ΐ')")),
        ];
        texts.push(format!("repeat({seed}, 9223372036854775807)"));
        for text in texts {
            answered(&format!("SELECT COUNT(*) FROM (SELECT {text} AS s FROM t) AS q WHERE s || s <> 'q'"));
            answered(&format!(
                "SELECT SUM(n) FROM (SELECT user_id, length(max({text})) AS n FROM t GROUP BY user_id) AS q"
            ));
        }
        let doubled: Vec<String> =
            (1..50).map(|level| format!("c{level} AS (SELECT s || s AS s FROM c{})", level - 1)).collect();
        answered(&format!(
            "WITH c0 AS (SELECT {seed} AS s FROM t), {} SELECT COUNT(*) FROM c49 WHERE s <> 'q'",
            doubled.join(", ")
        ));
    });
}

/// Arrow stores texts in buffers, and a choice between two columns used to keep those of both: twice as many at each
/// level, whatever was chosen. At thirty levels memory ran out; but only if a row got that far.
#[test]
fn a_text_chosen_again_and_again_does_not_take_ever_more_memory() {
    let name = "texts::a_text_chosen_again_and_again_does_not_take_ever_more_memory";
    in_a_child(name, Duration::from_secs(60), || {
        let long = "CASE WHEN name = 'target' THEN 'longer than twelve bytes: ' || txt END";
        for choice in
            ["CASE WHEN length(s) > 3 THEN s ELSE s END", "coalesce(s, s)", "CASE WHEN s = '' THEN 'a' ELSE s END"]
        {
            let levels: Vec<String> =
                (1..40).map(|level| format!("c{level} AS (SELECT {choice} AS s FROM c{})", level - 1)).collect();
            answered(&format!(
                "WITH c0 AS (SELECT {long} AS s FROM t WHERE name = 'target'), {} SELECT COUNT(*) FROM c39 WHERE s <> 'q'",
                levels.join(", ")
            ));
        }
    });
}
