//! Random queries of one shape, which parties can also answer together.

use reticent::privacy::{Adjacency, Guarantee};
use reticent_sql::{Options, Range, Unit};

use super::dice::Dice;
use super::grammar::Question;

/// Numeric expressions; `n` is an integer in Parquet and text in CSV.
const NUMBERS: [&str; 30] = [
    "a",
    "b",
    "a + b",
    "a * b",
    "a / b",
    "a % b",
    "b - a",
    "-a",
    "abs(a)",
    "round(a)",
    "floor(a / b)",
    "sqrt(a)",
    "ln(b)",
    "power(a, b)",
    "coalesce(a, b, 3)",
    "nullif(a, b)",
    "CASE WHEN a > b THEN a WHEN a IS NULL THEN 1 ELSE b END",
    "CAST(note AS DOUBLE)",
    "CAST(note AS INT)",
    "CAST(a AS INT)",
    "CAST(a AS BIGINT) / CAST(b AS BIGINT)",
    "CAST(a AS BIGINT) % CAST(b AS BIGINT)",
    "-CAST(a AS BIGINT)",
    "CAST(a AS BIGINT) * CAST(a AS BIGINT)",
    "character_length(note)",
    "CAST(substr(note, 1, 2) AS SMALLINT)",
    "date_part('year', CAST(note AS TIMESTAMP))",
    "CAST(CAST(note AS DATE) AS INT)",
    "CAST(CAST(a AS DECIMAL(10, 2)) AS DOUBLE)",
    "strpos(note, 'a')",
];

const CONDITIONS: [&str; 16] = [
    "a > 3",
    "a / b > 1",
    "CAST(a AS BIGINT) / CAST(b AS BIGINT) = 0",
    "note LIKE '%a%'",
    "note IS NOT NULL",
    "a BETWEEN 0 AND 10",
    "region IN ('north', 'south')",
    "CAST(note AS INT) = 7",
    "CAST(note AS DATE) < DATE '2020-01-01'",
    "NOT (a = b)",
    "a = a",
    "regexp_like(note, '^[a-z]')",
    "upper(note) <> 'X'",
    "b IS NULL OR b <> 0",
    "lower(region) || note > 'n'",
    "CAST(a AS DECIMAL(5, 2)) > 1",
];

const KEYS: [&str; 7] = [
    "region",
    "upper(region)",
    "CASE WHEN a > 5 THEN 'many' ELSE 'few' END",
    "floor(a / 10)",
    "note",
    "CAST(b AS BIGINT) / CAST(a AS BIGINT)",
    "date_trunc('month', CAST(note AS TIMESTAMP))",
];

const AGGREGATES: [&str; 14] = [
    "COUNT(*)",
    "COUNT(x)",
    "SUM(x)",
    "AVG(x)",
    "AVG(y)",
    "VARIANCE(x)",
    "STDDEV(y)",
    "MEDIAN(x)",
    "QUANTILE(y, 0.9)",
    "STABLE_MEDIAN(x)",
    "MODE(k)",
    "HISTOGRAM(x, 4)",
    "SUM(x) FILTER (WHERE y > 0)",
    "COUNT(DISTINCT user_id)",
];

impl Question {
    pub fn simple(dice: &mut Dice) -> Self {
        let by_user = !dice.one_in(3);
        let epsilon = "1".parse().expect("a number");
        let delta = "1e-6".parse().expect("a number");
        let mut options = Options::new(Guarantee::Approx(epsilon, delta));
        if by_user {
            options.unit = Unit::Column("user_id".into());
            options.max_groups = Some(1 + dice.below(3));
            options.max_rows = Some(1 + dice.below(3));
        }
        if dice.one_in(2) {
            options.adjacency = Adjacency::Replace;
        }
        for (name, range) in [("x", "-10..20"), ("y", "0..1000"), ("a", "-10..20"), ("b", "-10..20")] {
            options.bounds.insert(name.into(), Range::Public(range.parse().expect("a range")));
        }
        let grouped = !dice.one_in(4);
        let key = dice.pick(&KEYS);
        let public_keys = grouped && dice.one_in(2) && key == "region";
        if public_keys {
            let keys = ["north", "south", "east", "nowhere"].map(String::from);
            options.keys.insert("k".into(), keys.into());
        }
        let source = match dice.below(5) {
            0 if by_user => "t JOIN u ON t.user_id = u.user_id",
            1 => "t JOIN r ON t.region = r.label",
            2 => "t LEFT JOIN r ON t.region = r.label AND r.size > 1",
            3 if by_user => {
                "(SELECT user_id, max(region) AS region, sum(a) AS a, min(b) AS b, max(note) AS note FROM t GROUP BY user_id) AS t"
            }
            _ => "t",
        };
        let qualified = |text: &str| {
            let own = ["a", "b", "note", "region"];
            own.iter().fold(text.to_owned(), |text, name| replace_word(&text, name, &format!("t.{name}")))
        };
        let (x, y) = (qualified(dice.pick(&NUMBERS)), qualified(dice.pick(&NUMBERS)));
        let condition = match dice.one_in(2) {
            true => format!(" WHERE {}", qualified(dice.pick(&CONDITIONS))),
            false => String::new(),
        };
        let inner = format!("SELECT t.user_id, {} AS k, {x} AS x, {y} AS y FROM {source}{condition}", qualified(key));
        let mut aggregates: Vec<&str> = (0..=dice.below(3)).map(|_| dice.pick(&AGGREGATES)).collect();
        aggregates.dedup();
        if !by_user {
            aggregates.retain(|one| !one.contains("DISTINCT"));
        }
        if aggregates.is_empty() {
            aggregates.push("COUNT(*)");
        }
        let named: Vec<String> =
            aggregates.iter().enumerate().map(|(place, one)| format!("{one} AS v{place}")).collect();
        let (keys, by) = if grouped { ("k, ", " GROUP BY k") } else { ("", "") };
        let after = match dice.below(8) {
            0 => " HAVING COUNT(*) > 2",
            1 if grouped => " ORDER BY k DESC LIMIT 3",
            _ => "",
        };
        let sql = format!("SELECT {keys}{} FROM ({inner}) AS q{by}{after}", named.join(", "));
        Self { sql, options, public_keys: public_keys && after.is_empty(), made: std::collections::BTreeSet::new() }
    }
}

/// Replaces a name that stands by itself, outside quotes.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut result = String::new();
    for (part, piece) in text.split('\'').enumerate() {
        if part > 0 {
            result.push('\'');
        }
        if part % 2 == 1 {
            result.push_str(piece);
            continue;
        }
        let mut rest = piece;
        while !rest.is_empty() {
            let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
            let (name, more) = rest.split_at(end.max(rest.chars().next().map_or(0, char::len_utf8)));
            let named = name == word && !more.starts_with(['(', '.']) && !result.ends_with('.');
            result.push_str(if named { by } else { name });
            rest = more;
        }
    }
    result
}
