//! `ORDER BY n DESC LIMIT k` over many groups: selected privately first, where that is more accurate.

use std::fmt::Write;
use std::fs;

use reticent::Permit;
use reticent::noise::Entropy;
use reticent_sql::answer::{Answer, Entry};
use reticent_sql::{Asked, Input, Query, Settings, Table};

const USERS: usize = 200;
const GROUPS: usize = 40;
const TOP: &str = "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 3";

/// Whether a user is in a group: the first groups have the most users.
fn is_in(user: usize, group: usize) -> bool {
    (user * 7 + group * 11) % GROUPS < GROUPS - group
}

fn exact(group: usize) -> f64 {
    (0..USERS).filter(|user| is_in(*user, group)).count() as f64
}

fn asked() -> Asked {
    Asked {
        epsilon: Some("1".into()),
        units: vec!["user".into()],
        max_rows: Some("1".into()),
        max_groups: Some(GROUPS.to_string()),
        keys: vec![("k".into(), (0..GROUPS).map(|group| format!("g{group}")).collect())],
        ..Asked::default()
    }
}

fn prepared(sql: &str, asked: &Asked) -> (Query, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = String::from("user,k,x\n");
    for (user, group) in (0..USERS).flat_map(|user| (0..GROUPS).map(move |group| (user, group))) {
        if is_in(user, group) {
            writeln!(csv, "u{user},g{group},{}", user % 10).unwrap();
        }
    }
    fs::write(folder.path().join("t.csv"), csv).unwrap();
    let table = Table::open("t", folder.path().join("t.csv").to_str().unwrap()).unwrap();
    let settings = Settings::new(sql, asked, vec![Input { table, public: false }], &[]).unwrap();
    (Query::prepare(&settings.sql, settings.inputs, settings.options).unwrap(), folder)
}

/// The groups of an answer, with their counts and half-widths.
fn rows(answer: &Answer) -> Vec<(usize, f64, f64)> {
    let row = |row: &Vec<Entry>| match &row[..] {
        [Entry::Plain(key), Entry::Released { value, half_width }, ..] => {
            (key.as_str().unwrap()[1..].parse().unwrap(), value.as_f64().unwrap(), *half_width)
        }
        other => panic!("{other:?}"),
    };
    answer.rows.iter().map(row).collect()
}

fn selects(sql: &str, asked: &Asked) -> bool {
    let (query, _folder) = prepared(sql, asked);
    query.summary().split[0].what.starts_with("the 3 groups with the most")
}

/// Bars hold for whichever groups are shown. At least 95 % of 600 cover; three standard errors below is 92 %.
#[test]
fn bars_of_selected_groups_cover() {
    let (query, _folder) = prepared(TOP, &asked());
    let summary = query.summary();
    assert_eq!(summary.guarantee, "ε = 1");
    assert_eq!(summary.split.iter().map(|share| share.cost.as_str()).collect::<Vec<_>>(), ["ε = 0.5"; 2]);
    let (mut covered, mut best) = (0, 0);
    for seed in 0..200 {
        let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
        let rows = rows(&answer);
        assert_eq!(rows.len(), 3);
        assert!(rows.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{rows:?}");
        covered += rows.iter().filter(|(group, count, off)| (exact(*group) - count).abs() <= *off).count();
        best += rows.iter().filter(|(group, ..)| *group < 8).count();
        assert!(answer.summary.half_widths.contains("selected privately"), "{}", answer.summary.half_widths);
    }
    assert!(covered >= 552, "{covered} of 600");
    assert!(best >= 540, "{best} of 600 are among the first fifth");
}

/// A unit is in at most 3 of 3 selected groups, with half of ε: scale 3/0.5, of which 95 % are within ln 20 = 3 scales.
/// Without the selection it would be 40.
#[test]
fn noise_is_that_of_the_selected_groups() {
    let width = |sql: &str, asked: &Asked| {
        let (query, _folder) = prepared(sql, asked);
        query.summary().split.last().unwrap().half_width.unwrap()
    };
    assert_eq!(width(TOP, &asked()), 18.0);
    assert!(width("SELECT k, COUNT(*) AS n FROM t GROUP BY k", &asked()) > 119.0);
    // A unit that is replaced leaves three groups and enters three.
    let replaced = Asked { adjacency: Some("replace".into()), ..asked() };
    assert_eq!(width(TOP, &replaced), 36.0);
    let rows = Asked { max_rows: Some("2".into()), ..asked() };
    assert_eq!(width(TOP, &rows), 36.0);
    // With means, all numbers are those of the selected groups.
    let bounds = vec![("x".to_owned(), "0..10".to_owned())];
    let means = "SELECT k, COUNT(*) AS n, AVG(x) AS m FROM t GROUP BY k ORDER BY n DESC LIMIT 3";
    let (query, _folder) = prepared(means, &Asked { bounds, ..asked() });
    let all: Vec<String> = query.summary().split.iter().map(|share| share.cost.clone()).collect();
    assert_eq!(all, ["ε = 0.5", "ε = 0.25", "ε = 0.25"]);
    assert_eq!(query.guarantee().to_string(), "ε = 1");
    let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(1))).unwrap();
    assert_eq!(answer.rows.len(), 3);
}

#[test]
fn only_where_it_is_more_accurate() {
    assert!(selects(TOP, &asked()));
    assert!(selects("SELECT COUNT(*) AS n, k FROM t GROUP BY k ORDER BY COUNT(*) DESC, k LIMIT 3", &asked()));
    assert!(selects("SELECT k, COUNT(DISTINCT user) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 3", &asked()));
    assert!(selects(TOP, &Asked { delta: Some("1e-8".into()), max_groups: Some("1000".into()), ..asked() }));
    for sql in [
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n LIMIT 3",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k LIMIT 3",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY k DESC LIMIT 3",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 3 OFFSET 1",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) < 50 ORDER BY n DESC LIMIT 3",
        "SELECT SUM(n) AS s FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 3)",
    ] {
        assert!(!selects(sql, &asked()), "{sql}");
    }
    // A unit in few groups, each row a unit, weighed rows, ρ, and keys from the data.
    for other in [
        Asked { max_groups: Some("5".into()), ..asked() },
        Asked { units: Vec::new(), max_rows: None, max_groups: None, ..asked() },
        Asked { max_rows: None, max_groups: None, ..asked() },
        Asked { epsilon: None, rho: Some("0.1".into()), ..asked() },
        Asked { delta: Some("1e-8".into()), keys: Vec::new(), ..asked() },
    ] {
        assert!(!selects(TOP, &other), "{other:?}");
    }
}

/// A regression: a selection takes k coins for every group, and nothing interrupts it. Two requests stopped a service.
#[test]
fn a_selection_that_would_take_minutes_is_not_made() {
    let most = 20_000;
    let asked = Asked {
        max_groups: Some(most.to_string()),
        keys: vec![("k".into(), (0..most).map(|group| format!("g{group}")).collect())],
        ..asked()
    };
    let selects = |k: u32| {
        let (query, _folder) = prepared(&TOP.replace("LIMIT 3", &format!("LIMIT {k}")), &asked);
        query.summary().split[0].what.starts_with(&format!("the {k} groups with the most"))
    };
    assert!(selects(200) && !selects(220));
}
