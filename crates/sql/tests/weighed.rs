//! Units with many rows, without caps: contribution limits chosen privately, answers corrected, bars that cover.

use std::collections::BTreeMap;
use std::fs;

use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::{Adjacency, Guarantee};
use reticent_sql::answer::Entry;
use reticent_sql::{Input, Options, Query, Range, Table, Unit};
use serde_json::Value as Json;

const RUNS: u64 = 28;

/// A person, a group and a value.
type Row = (u32, u32, f64);
/// An aggregate, and how to compute it.
type Asked = (&'static str, fn(&[Row]) -> f64);

/// A table in which some people have hundreds of rows: unit u has about 400/√u of them, spread over the groups. If
/// `active` is not 0, values grow with a unit's number of rows.
fn skewed(units: u32, groups: u32, active: f64) -> Vec<Row> {
    gathered(units, groups, active, u32::MAX)
}

/// The same, where units with more than `light` rows have them in a sixth of the groups.
fn gathered(units: u32, groups: u32, active: f64, light: u32) -> Vec<Row> {
    let mut state = 1u32;
    let mut random = move |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((u64::from(state) * u64::from(below)) >> 32) as u32
    };
    let mut rows = Vec::new();
    for unit in 1..=units {
        let number = (400.0 / f64::from(unit).sqrt()).ceil() as u32;
        for _ in 0..number {
            let value = f64::from(random(60)) + active * f64::from(number).sqrt();
            let among = if number > light { groups.div_ceil(6) } else { groups };
            rows.push((unit, random(among), value.min(100.0)));
        }
    }
    rows
}

fn table(rows: &[Row]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let line = |text: String, (unit, group, value): &Row| text + &format!("{unit},{group},{value}\n");
    fs::write(&path, rows.iter().fold("person,k,x\n".to_owned(), line)).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn options(guarantee: Guarantee, groups: Option<u32>) -> Options {
    let mut options = Options::new(guarantee);
    options.unit = Unit::Column("person".into());
    options.bounds.insert("x".into(), Range::Public("0..100".parse().unwrap()));
    if let Some(groups) = groups {
        options.keys.insert("k".into(), (0..groups).map(|group| group.to_string()).collect());
    }
    options
}

fn prepared(path: &str, sql: &str, options: Options) -> Query {
    let table = Table::open("t", path).unwrap();
    Query::prepare(sql, vec![Input { table, public: false }], options).unwrap()
}

/// The bars of an aggregate, over all groups and runs.
#[derive(Debug, Clone, Default)]
struct Seen {
    covered: u64,
    number: u64,
    /// Relative errors, and half-widths, ascending.
    errors: Vec<f64>,
    half_widths: Vec<f64>,
}

impl Seen {
    fn median_error(&self) -> f64 {
        self.errors[self.errors.len() / 2]
    }

    /// The median half-width, as a multiple of the error that 5 % exceed.
    fn width(&self) -> f64 {
        self.half_widths[self.half_widths.len() / 2] / self.errors[self.errors.len() * 95 / 100]
    }
}

/// The bars of each aggregate.
fn coverage(rows: &[Row], groups: u32, epsilon: &str, list: &[Asked]) -> Vec<Seen> {
    let (_folder, path) = table(rows);
    let names: Vec<&str> = list.iter().map(|(sql, _)| *sql).collect();
    let sql = format!("SELECT k, {} FROM t GROUP BY k", names.join(", "));
    let query = prepared(&path, &sql, options(Guarantee::Pure(epsilon.parse().unwrap()), Some(groups)));
    let of_group = |group: u32| rows.iter().copied().filter(|row| row.1 == group).collect::<Vec<_>>();
    let exact: BTreeMap<String, Vec<f64>> = (0..groups)
        .map(|group| (group.to_string(), list.iter().map(|(_, of)| of(&of_group(group))).collect()))
        .collect();
    let mut all = vec![Seen::default(); list.len()];
    for seed in 0..RUNS {
        let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
        for row in &answer.rows {
            let Entry::Plain(key) = &row[0] else { panic!("{row:?}") };
            let key = key.as_str().map_or_else(|| key.to_string(), str::to_owned);
            for ((entry, exact), seen) in row[1..].iter().zip(&exact[&key]).zip(&mut all) {
                let Entry::Released { value, half_width } = entry else { panic!("{entry:?}") };
                let error = (value.as_f64().unwrap() - exact).abs();
                seen.covered += u64::from(error <= *half_width);
                seen.number += 1;
                seen.errors.push(error / exact);
                seen.half_widths.push(half_width / exact);
            }
        }
    }
    for seen in &mut all {
        seen.errors.sort_by(f64::total_cmp);
        seen.half_widths.sort_by(f64::total_cmp);
    }
    all
}

fn count(rows: &[Row]) -> f64 {
    rows.len() as f64
}

fn sum(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.2).sum()
}

fn mean(rows: &[Row]) -> f64 {
    sum(rows) / count(rows)
}

fn people(rows: &[Row]) -> f64 {
    rows.iter().map(|row| row.0).collect::<std::collections::BTreeSet<_>>().len() as f64
}

const ALL: [Asked; 4] = [("COUNT(*)", count), ("SUM(x)", sum), ("AVG(x)", mean), ("COUNT(DISTINCT person)", people)];

/// Bars cover in at least 94 of 100 cases, also where values go with activity, where there are few units, and where the most
/// active ones gather in few groups; and they are not much wider than the errors.
#[test]
fn bars_cover_noise_and_contribution_limits() {
    for (rows, groups, epsilon) in [
        (skewed(3000, 12, 0.0), 12, "1"),
        (skewed(3000, 3, 2.0), 3, "1"),
        (skewed(3000, 12, 2.0), 12, "0.3"),
        (skewed(200, 4, 0.0), 4, "1"),
        (skewed(10_000, 1, 1.0), 1, "0.1"),
        (gathered(3000, 12, 0.0, 40), 12, "1"),
    ] {
        for ((sql, _), seen) in ALL.iter().zip(coverage(&rows, groups, epsilon, &ALL)) {
            let (covered, number, rows) = (seen.covered, seen.number, rows.len());
            let (error, width) = (seen.median_error(), seen.width());
            println!("{rows} {groups} {epsilon} {sql}: {covered} of {number}, error {error:.3}, width {width:.2}");
            assert!(width < 3.0, "{sql}: {width}; {rows} {groups} {epsilon}");
            assert!(covered * 100 >= number * 94, "{sql}: {covered} of {number}; {rows} {groups} {epsilon}");
        }
    }
}

/// The answer is worth having: with caps of 1 row in 1 group, counts were 98 % too low.
#[test]
fn counts_and_means_are_close_without_any_cap_given() {
    let rows = skewed(10_000, 12, 0.0);
    let found = coverage(&rows, 12, "1", &ALL[..3]);
    let [count, sum, mean] = [0, 1, 2].map(|aggregate: usize| found[aggregate].median_error());
    assert!(count < 0.04 && sum < 0.06 && mean < 0.04, "{count} {sum} {mean}");
}

/// Keys that one person alone has do not appear; common ones do.
#[test]
fn keys_from_the_data_are_selected_by_weight() {
    let mut rows = skewed(20_000, 5, 0.0);
    // One person with a thousand rows in a group of their own, and a thousand groups of their own.
    rows.extend((0..1000).flat_map(|row| [(1, 777, 1.0), (2, 1000 + row, 1.0)]));
    let (_folder, path) = table(&rows);
    let budget = Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap());
    for sql in [
        "SELECT k, COUNT(*) FROM t GROUP BY k",
        "SELECT k, AVG(x), COUNT(DISTINCT person) FROM t GROUP BY k",
        "SELECT k, AVG(x) FROM t GROUP BY k",
    ] {
        let query = prepared(&path, sql, options(budget.clone(), None));
        assert_eq!(query.guarantee().to_string(), "ε = 1, δ = 1e-6");
        for seed in 0..20 {
            let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
            let keys: Vec<&Json> =
                answer.rows.iter().map(|row| if let Entry::Plain(key) = &row[0] { key } else { panic!() }).collect();
            assert_eq!(keys, ["0", "1", "2", "3", "4"], "{sql}");
            assert!(!answer.summary.limits.is_empty());
        }
    }
}

/// Every kind of budget pays for the choice of limits, and its parts add up to it.
#[test]
fn the_cost_is_the_budget() {
    let (_folder, path) = table(&skewed(300, 3, 0.0));
    for budget in [
        Guarantee::Pure("0.7".parse().unwrap()),
        Guarantee::Approx("0.7".parse().unwrap(), "1e-9".parse().unwrap()),
        Guarantee::Zcdp("0.1".parse().unwrap()),
    ] {
        for adjacency in [Adjacency::AddRemove, Adjacency::Replace] {
            let options = Options { adjacency, ..options(budget.clone(), Some(3)) };
            let query =
                prepared(&path, "SELECT k, COUNT(*), SUM(x), STDDEV(x), HISTOGRAM(x, 4) FROM t GROUP BY k", options);
            assert_eq!(query.guarantee(), &budget);
            query.answer(&mut Permit::unaccounted_from(Entropy::seeded(1))).unwrap();
        }
    }
}

/// A quantile has no weights: its caps must be given, and the error says so.
#[test]
fn quantiles_need_caps() {
    let (_folder, path) = table(&skewed(30, 3, 0.0));
    let table = Table::open("t", &path).unwrap();
    let options = options(Guarantee::Pure("1".parse().unwrap()), Some(3));
    let refused =
        Query::prepare("SELECT k, MEDIAN(x) FROM t GROUP BY k", vec![Input { table, public: false }], options);
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("contribution limits for MEDIAN(x) cannot be chosen automatically"), "{error}");
}
