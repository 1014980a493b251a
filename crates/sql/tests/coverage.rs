//! Error bars hold as often as they claim, even where the noise is as large as the data.

use std::fs;

use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent_sql::answer::Entry;
use reticent_sql::{Input, Options, Query, Range, Table};

const RUNS: u64 = 300;

/// The number of runs in which each aggregate's bar covers the exact value.
fn covered(values: &[f64], epsilon: &str, asked: &[(&str, f64)]) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    // NaN stands for a missing value.
    let cell = |value: &f64| if value.is_nan() { String::new() } else { value.to_string() };
    fs::write(&path, values.iter().fold("k,x\n".to_owned(), |text, value| text + &format!("a,{}\n", cell(value))))
        .unwrap();
    let mut options = Options::new(Guarantee::Pure(epsilon.parse().unwrap()));
    options.bounds.insert("x".into(), Range::Public("0..100".parse().unwrap()));
    let list: Vec<&str> = asked.iter().map(|(sql, _)| *sql).collect();
    let table = Table::open("t", path.to_str().unwrap()).unwrap();
    let sql = format!("SELECT {} FROM t", list.join(", "));
    let query = Query::prepare(&sql, vec![Input { table, public: false }], options).unwrap();
    let mut covered = vec![0; asked.len()];
    for seed in 0..RUNS {
        let answer = query.answer(&mut Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
        for ((entry, (sql, exact)), covered) in answer.rows[0].iter().zip(asked).zip(&mut covered) {
            let (value, half_width) = match entry {
                Entry::Released { value, half_width } => (value, half_width),
                Entry::Within { lower, upper, .. } => {
                    let (lower, upper) = (lower.as_f64().unwrap(), upper.as_f64().unwrap());
                    *covered += u64::from(lower <= *exact && *exact <= upper);
                    continue;
                }
                // Divided by a count that came out as 0: nothing is claimed.
                Entry::Plain(serde_json::Value::Null) => {
                    *covered += 1;
                    continue;
                }
                other => panic!("{sql}: {other:?}"),
            };
            // Values are rounded to a grid before they are squared.
            *covered += u64::from((value.as_f64().unwrap() - exact).abs() <= half_width + 1e-6 * exact);
        }
    }
    covered
}

/// The count that a variance is divided by is noisy, too: with few rows that dominates. At least 95 % of the bars
/// cover; three standard errors below that is 91 %.
#[test]
fn bars_of_variances_cover_also_where_the_count_is_uncertain() {
    for (rows, epsilon) in [(4, "1"), (40, "0.1")] {
        let values: Vec<f64> = (0..rows).map(|row| f64::from(row * 37 % 100)).collect();
        let n = f64::from(rows);
        let mean = values.iter().sum::<f64>() / n;
        let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        let (sample, all) = (squares / (n - 1.0), squares / n);
        let asked =
            [("VARIANCE(x)", sample), ("STDDEV(x)", sample.sqrt()), ("VAR_POP(x)", all), ("STDDEV_POP(x)", all.sqrt())];
        for ((sql, _), covered) in asked.iter().zip(covered(&values, epsilon, &asked)) {
            assert!(covered >= RUNS * 91 / 100, "{sql} of {rows} rows at ε = {epsilon}: {covered} of {RUNS}");
        }
    }
}

/// With one draw of noise for several numbers, whose bars come from its law: counts and sums are covered no more often than
/// they say. Three standard errors are 3.8 %.
#[test]
fn bars_of_numbers_with_one_draw_cover() {
    for (rows, epsilon) in [(2000, "1"), (50, "0.3")] {
        let values: Vec<f64> =
            (0..rows).map(|row| if row % 4 == 0 { f64::NAN } else { f64::from(row * row % 97) }).collect();
        let present: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        let (n, sum) = (present.len() as f64, present.iter().sum::<f64>());
        let variance = present.iter().map(|value| (value - sum / n).powi(2)).sum::<f64>() / n;
        let asked = [
            ("COUNT(*)", f64::from(rows)),
            ("COUNT(x)", n),
            ("SUM(x)", sum),
            ("AVG(x)", sum / n),
            ("VAR_POP(x)", variance),
            ("STDDEV_POP(x)", variance.sqrt()),
        ];
        let covered = covered(&values, epsilon, &asked);
        for ((sql, _), covered) in asked.iter().zip(&covered) {
            assert!(*covered >= RUNS * 91 / 100, "{sql} of {rows} rows at ε = {epsilon}: {covered} of {RUNS}");
        }
        assert!(covered[..3].iter().all(|covered| *covered <= RUNS * 99 / 100), "{covered:?} of {RUNS}");
    }
}

/// What is computed from released numbers has a bar, too, and it covers; a multiple has exactly the multiple of the bar.
#[test]
fn bars_of_computed_values_cover() {
    for (rows, epsilon) in [(30, "1"), (400, "0.1")] {
        let values: Vec<f64> = (0..rows).map(|row| f64::from(row * 37 % 100)).collect();
        let (n, sum) = (f64::from(rows), values.iter().sum::<f64>());
        let high = values.iter().filter(|value| **value > 50.0).count() as f64;
        let asked = [
            ("SUM(x) * 1.6", sum * 1.6),
            ("100.0 * SUM(x) / COUNT(*)", 100.0 * sum / n),
            ("ROUND(AVG(x))", (sum / n).round()),
            ("AVG(x) - 50", sum / n - 50.0),
            ("100.0 * COUNT(CASE WHEN x > 50 THEN 1 END) / COUNT(*)", 100.0 * high / n),
            ("SQRT(VAR_POP(x)) / GREATEST(AVG(x), 1.0)", {
                let mean = sum / n;
                (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt() / mean
            }),
            ("CASE WHEN COUNT(*) > 0 THEN -SUM(x) ELSE 0 END", -sum),
        ];
        for ((sql, _), covered) in asked.iter().zip(covered(&values, epsilon, &asked)) {
            assert!(covered >= RUNS * 91 / 100, "{sql} of {rows} rows at ε = {epsilon}: {covered} of {RUNS}");
        }
    }
}

/// Quantiles, alone and in formulas together with others; half of the values are equal.
#[test]
fn intervals_of_quantiles_cover_also_in_formulas() {
    for (rows, epsilon) in [(400, "2"), (60, "1"), (30, "0.3")] {
        let values: Vec<f64> =
            (0..rows).map(|row| if row % 2 == 0 { 7.0 } else { f64::from(row * row % 97) }).collect();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        // With an even number of rows per part, the exact quantile is any number between two values: the upper one.
        let at = |p: f64| sorted[(p * f64::from(rows)) as usize];
        let sum: f64 = values.iter().sum();
        let asked = [
            ("MEDIAN(x)", at(0.5)),
            ("QUANTILE(x, 0.9)", at(0.9)),
            ("QUANTILE(x, 0.9) - MEDIAN(x)", at(0.9) - at(0.5)),
            ("SUM(x) / (MEDIAN(x) + 1.0)", sum / (at(0.5) + 1.0)),
        ];
        for ((sql, _), covered) in asked.iter().zip(covered(&values, epsilon, &asked)) {
            assert!(covered >= RUNS * 91 / 100, "{sql} of {rows} rows at ε = {epsilon}: {covered} of {RUNS}");
        }
    }
}

/// A number without a bar is not shown in silence.
#[test]
fn what_has_no_bar_is_said_beside_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, "k,x\na,1\nb,2\n").unwrap();
    let said = |sql: &str| {
        let mut options = Options::new(Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap()));
        options.bounds.insert("x".into(), Range::Public("0..100".parse().unwrap()));
        let table = Table::open("t", path.to_str().unwrap()).unwrap();
        let query = Query::prepare(sql, vec![Input { table, public: false }], options).unwrap();
        query.summary().half_widths.contains("have an unknown error")
    };
    assert!(!said("SELECT UPPER(k) AS k, SUM(x) * 2, COUNT(*) FROM t GROUP BY k"));
    assert!(said("SELECT SIN(SUM(x)) FROM t"));
    assert!(!said("SELECT MEDIAN(x) * 2 FROM t"));
    assert!(said("SELECT CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END FROM t"));
    assert!(said("SELECT SUM(n) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS q"));
}

/// Noise that is too wide for whole numbers is refused before the charge, with one draw for several numbers, too.
#[test]
fn noise_beyond_all_numbers_is_refused_before_the_charge() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    fs::write(&path, "id,x\n").unwrap();
    let mut refused = 0;
    for sql in ["SELECT COUNT(*), SUM(x) FROM t", "SELECT VARIANCE(x), AVG(x) FROM t"] {
        for rows in (0..40).step_by(4) {
            let mut options = Options::new(Guarantee::Pure("0.001".parse().unwrap()));
            options.unit = reticent_sql::Unit::Column("id".into());
            (options.max_groups, options.max_rows) = (Some(1), Some(1 << rows));
            options.bounds.insert("x".into(), Range::Public("0..100".parse().unwrap()));
            let table = Table::open("t", path.to_str().unwrap()).unwrap();
            match Query::prepare(sql, vec![Input { table, public: false }], options) {
                Ok(query) => drop(query.answer(&mut Permit::unaccounted_from(Entropy::seeded(1))).unwrap()),
                Err(_) => refused += 1,
            }
        }
    }
    assert!((4..16).contains(&refused), "{refused}");
}
