//! Predicted errors are those that an answer then has, and every change that is advised does what was predicted.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;

use reticent::Permit;
use reticent::noise::Entropy;
use reticent_sql::advice::{Advice, DryRun, Setting};
use reticent_sql::answer::Entry;
use reticent_sql::{Asked, Input, Query, Settings, Table};

/// Rows of each of three groups.
const ROWS: usize = 500;

/// A table in which every user has a row in each of three groups, with values spread evenly over 0..100.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut csv = String::from("user,k,x\n");
    for row in 0..3 * ROWS {
        writeln!(csv, "u{},k{},{}", row / 3, row % 3, (row / 3) as f64 * 100.0 / ROWS as f64).unwrap();
    }
    fs::write(folder.path().join("t.csv"), csv).unwrap();
    folder
}

fn prepared(folder: &tempfile::TempDir, sql: &str, asked: &Asked) -> Query {
    let table = Table::open("t", folder.path().join("t.csv").to_str().unwrap()).unwrap();
    let settings = Settings::new(sql, asked, vec![Input { table, public: false }], &[]).unwrap();
    Query::prepare(&settings.sql, settings.inputs, settings.options).unwrap()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

fn keys() -> Vec<(String, Vec<String>)> {
    vec![("k".into(), ["k0", "k1", "k2"].map(String::from).into())]
}

/// What a user who follows the advice asks.
fn followed(asked: &Asked, settings: &[Setting]) -> Asked {
    let mut asked = asked.clone();
    for Setting { name, column, value } in settings {
        let column = column.clone();
        match *name {
            "epsilon" => asked.epsilon = Some(value.clone()),
            "delta" => asked.delta = Some(value.clone()),
            "rho" => asked.rho = Some(value.clone()),
            "max-rows" => asked.max_rows = Some(value.clone()),
            "max-groups" => asked.max_groups = Some(value.clone()),
            "keys" => asked.keys.extend(keys()),
            "bounds" if value == "LO..HI" => asked.bounds = vec![(column.unwrap(), "-1..1".into())],
            "bounds" => asked.bounds.push((column.unwrap(), value.clone())),
            other => panic!("{other} is no setting"),
        }
    }
    asked
}

/// Follows each piece of advice, and returns the names of the settings.
fn check(sql: &str, asked: &Asked) -> BTreeSet<&'static str> {
    let folder = folder();
    let dry = |asked: &Asked| prepared(&folder, sql, asked).dry_run(None).unwrap();
    let now = dry(asked);
    for Advice { settings, effects, withheld_below, .. } in &now.advice {
        let then = dry(&followed(asked, settings));
        let error = |dry: &DryRun, name: &str| {
            let column = dry.forecast.columns.iter().find(|column| column.column == name).unwrap();
            (column.half_width.unwrap(), column.times.clone())
        };
        for effect in effects {
            let ((new, of), (old, other)) = (error(&then, &effect.column), error(&now, &effect.column));
            // Bounds that were to be found are now 2 wide.
            let new = match other.as_deref() {
                _ if of == other => new,
                Some("(HI − LO)²") => new / 4.0,
                _ => new / 2.0,
            };
            assert!((new / old - effect.ratio).abs() < 0.01, "{sql}, {settings:?}: {new} instead of {old}, {effect:?}");
        }
        if let Some(below) = withheld_below {
            assert_eq!(then.forecast.withheld_below.unwrap_or(0), *below, "{sql}, {settings:?}");
        }
        assert!(withheld_below.is_some() || effects.iter().any(|effect| effect.ratio < 0.951), "{sql}: {settings:?}");
    }
    now.advice.iter().flat_map(|advice| &advice.settings).map(|setting| setting.name).collect()
}

#[test]
fn advice_does_what_it_says() {
    let sql = "SELECT k, COUNT(*) AS n, AVG(x) AS mean, SUM(x) / COUNT(*) AS ratio, MEDIAN(x) AS m FROM t GROUP BY k";
    let each_row = Asked {
        epsilon: Some("1".into()),
        delta: Some("1e-8".into()),
        bounds: pairs(&[("x", "0..100")]),
        ..Asked::default()
    };
    assert_eq!(check(sql, &each_row), BTreeSet::from(["epsilon", "keys", "bounds"]));
    let limited = Asked {
        units: vec!["user".into()],
        max_rows: Some("4".into()),
        max_groups: Some("16".into()),
        ..each_row.clone()
    };
    assert_eq!(check(sql, &limited), BTreeSet::from(["epsilon", "keys", "bounds", "max-rows", "max-groups"]));
    let pure = Asked { delta: None, keys: keys(), bounds: Vec::new(), ..limited.clone() };
    let counts = "SELECT k, COUNT(*) AS n FROM t GROUP BY k";
    assert_eq!(check(counts, &pure), BTreeSet::from(["epsilon", "delta", "max-rows", "max-groups"]));
    let found = Asked { bounds: pairs(&[("x", "auto")]), keys: keys(), ..each_row.clone() };
    let sums = "SELECT k, COUNT(*) AS n, SUM(x) AS total, AVG(x) AS mean, VARIANCE(x) AS v FROM t GROUP BY k";
    assert_eq!(check(sums, &found), BTreeSet::from(["epsilon", "bounds"]));
    let zcdp = Asked { epsilon: None, delta: None, rho: Some("0.1".into()), ..found.clone() };
    assert_eq!(check(counts, &Asked { bounds: Vec::new(), ..zcdp }), BTreeSet::from(["rho"]));
    let weighed = Asked { units: vec!["user".into()], ..each_row };
    assert_eq!(
        check("SELECT k, COUNT(*) AS n, AVG(x) AS mean FROM t GROUP BY k", &weighed),
        BTreeSet::from(["epsilon", "bounds", "keys"])
    );
}

#[test]
fn what_does_not_help_is_not_advised() {
    // More noise needs confirmation, and one count in one group needs neither δ nor keys nor limits.
    let asked = Asked { epsilon: Some("8".into()), ..Asked::default() };
    assert_eq!(check("SELECT COUNT(*) AS n FROM t", &asked), BTreeSet::new());
    // The mean of a single row is unknown, whatever its noise.
    let asked = Asked { epsilon: Some("0.001".into()), bounds: pairs(&[("x", "0..100")]), ..Asked::default() };
    let dry = prepared(&folder(), "SELECT AVG(x) AS mean FROM t", &asked).dry_run(Some(1)).unwrap();
    let names: Vec<&str> = dry.advice.iter().flat_map(|advice| &advice.settings).map(|setting| setting.name).collect();
    assert_eq!(names, ["bounds"]);
}

/// The forecast for as many rows as there are is what comes out: bars vary little with the noise, and intervals of
/// quantiles, whose ends are drawn, are as wide on average.
#[test]
fn errors_are_as_predicted() {
    const RUNS: u64 = 20;
    let sql = "SELECT k, COUNT(*) AS n, SUM(x) AS total, AVG(x) AS mean, STDDEV(x) AS s, SUM(x) / COUNT(*) AS ratio, \
               HISTOGRAM(x, 4) AS h, MEDIAN(x) AS m FROM t GROUP BY k";
    let asked =
        Asked { epsilon: Some("8".into()), bounds: pairs(&[("x", "0..100")]), keys: keys(), ..Asked::default() };
    let folder = folder();
    let query = prepared(&folder, sql, &asked);
    let forecast = query.dry_run(Some(ROWS as u64)).unwrap().forecast;
    let mut shown = vec![0.0; forecast.columns.len()];
    for seed in 0..RUNS {
        let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
        for row in &answer.rows {
            for (entry, shown) in row[1..].iter().zip(&mut shown) {
                *shown += match entry {
                    Entry::Released { half_width, .. } => *half_width,
                    Entry::Within { lower, upper, .. } => (upper.as_f64().unwrap() - lower.as_f64().unwrap()) / 2.0,
                    other => panic!("{other:?}"),
                };
            }
        }
    }
    for (shown, expected) in shown.into_iter().zip(&forecast.columns) {
        let ratio = shown / (3 * RUNS) as f64 / expected.half_width.unwrap();
        let near = if expected.column == "m" { 0.6..1.6 } else { 0.9..1.1 };
        assert!(near.contains(&ratio), "{expected:?}: {ratio} times as wide");
    }
}

#[test]
fn causes_are_told_by_size() {
    let asked = Asked {
        epsilon: Some("1".into()),
        units: vec!["user".into()],
        max_rows: Some("2".into()),
        max_groups: Some("3".into()),
        bounds: pairs(&[("x", "0..100")]),
        keys: keys(),
        ..Asked::default()
    };
    let causes = |asked_for: &str| -> Vec<String> {
        let sql = format!("SELECT k, {asked_for} FROM t GROUP BY k");
        let dry = prepared(&folder(), &sql, &asked).dry_run(None).unwrap();
        dry.forecast.columns.iter().map(|column| column.causes_words()).collect()
    };
    // A histogram has noise of its own; count and mean share one draw of noise, for all of ε.
    let shared = "contribution limits, 2 rows × 3 groups (× 6); ε shared by 2 releases (× 2); noise that ε = 1 needs";
    assert_eq!(causes("COUNT(*) AS n, HISTOGRAM(x, 5) AS h"), [shared; 2]);
    assert_eq!(
        causes("COUNT(*) AS n, AVG(x) AS mean"),
        [
            "contribution limits, 2 rows × 3 groups (× 6.2); noise that ε = 1 needs",
            "contribution limits, 2 rows × 3 groups (× 6.1); width of the bounds 0..100",
        ]
    );
}

#[test]
fn numbers_of_rows_are_checked() {
    let asked = Asked { epsilon: Some("1".into()), ..Asked::default() };
    let query = prepared(&folder(), "SELECT COUNT(*) AS n FROM t", &asked);
    assert!(query.dry_run(Some(0)).unwrap_err().to_string().contains("`expect-rows` is 0"));
    assert!(query.dry_run(Some(u64::MAX)).is_err());
}
