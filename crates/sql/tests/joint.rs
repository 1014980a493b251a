//! Queries that parties answer together: shape, numbers, refusals and answers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use reticent::Permit;
use reticent::error::Explained;
use reticent::exact::Rational;
use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent_sql::answer::Entry;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::joint::{Noise, Shape, tables};
use reticent_sql::{Answer, Error, Input, JointQuery, Options, Query, Range, Result, Table, Unit};

/// So large that counts have no noise left, and sums little.
const NEARLY_WITHOUT_NOISE: &str = "900";
/// The noise left on sums, means and spreads of ages: they are within this except with probability e^−20.
const LITTLE: f64 = 10.0;

const ROWS: &str = "patient,ward,age\np1,A,30\np2,A,50\np3,B,70\np4,C,10\np5,B,\np6,A,200\n";

fn options(epsilon: &str) -> Options {
    let mut options = Options::new(Guarantee::Pure(epsilon.parse().expect("a number")));
    options.bounds.insert("age".into(), Range::Public("0..100".parse().expect("a range")));
    options.keys.insert("ward".into(), ["B", "A", "Z"].map(String::from).into());
    options
}

fn by_patient() -> Options {
    Options { unit: Unit::Column("patient".into()), max_groups: Some(1), max_rows: Some(1), ..options("1") }
}

fn input(path: &Path) -> Vec<Input> {
    vec![Input { table: Table::open("visits", path.to_str().expect("text")).expect("a table"), public: false }]
}

fn written(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).expect("written");
    path
}

fn key() -> ChoiceKey {
    ChoiceKey::draw(&mut Entropy::seeded(1).draw().expect("seeded"))
}

fn permit() -> Permit {
    Permit::unaccounted_from(Entropy::seeded(2))
}

fn measured(sql: &str, path: &Path, options: Options) -> (JointQuery, Vec<i64>) {
    let query = JointQuery::prepare(sql, input(path), options).expect("it can be asked");
    let exact = query.measure(key()).expect("it can be read");
    assert_eq!(format!("{exact:?}"), format!("Exact({} numbers)", query.shape().cells()));
    (query, exact.for_noise().to_vec())
}

fn shape(sql: &str, options: Options) -> Result<Shape> {
    JointQuery::imagined(sql, options).map(|query| query.shape().clone())
}

fn answered(query: &JointQuery, sum: &[i64], half_width: u64) -> Answer {
    let half_width = |_: &Rational| Ok(half_width);
    let noise = Noise { guarantee: "ε = 1".into(), words: "none".into(), parties: 1, half_width: &half_width };
    query.answer(sum, &noise).expect("an answer")
}

fn values(answer: &Answer) -> Vec<Vec<serde_json::Value>> {
    let value = |entry: &Entry| match entry {
        Entry::Plain(value) | Entry::Stable(value) => value.clone(),
        Entry::Released { value, .. } | Entry::NoiseOnly { value, .. } | Entry::Within { value, .. } => value.clone(),
        Entry::Refused => serde_json::Value::Null,
    };
    answer.rows.iter().map(|row| row.iter().map(value).collect()).collect()
}

#[test]
fn counts_in_groups_stand_in_the_order_of_the_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(folder.path(), "visits.csv", ROWS);
    let sql = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward";
    let (query, numbers) = measured(sql, &path, options("1"));
    assert_eq!(numbers, [3, 2, 0], "A, B and Z; C is not public");
    let shape = query.shape();
    assert_eq!(shape.keys, [["A"], ["B"], ["Z"]]);
    assert_eq!(shape.labels(), ["rows, ward = A", "rows, ward = B", "rows, ward = Z"]);
    assert_eq!((shape.cells(), shape.sensitivity()), (3, Ok(1)));
    assert_eq!((shape.unit.as_str(), shape.adjacency.as_str()), ("row", "add-remove"));
    assert_eq!(*shape, self::shape(sql, options("1")).expect("a shape"));
    assert_eq!(tables(sql).expect("SQL").into_iter().collect::<Vec<_>>(), ["visits"]);
    // Without a table, the answer is the same.
    let imagined = JointQuery::imagined(sql, options("1")).expect("it can be asked");
    let answer = answered(&imagined, &[13, -2, 7], 4);
    assert_eq!(answer, answered(&query, &[13, -2, 7], 4));
    assert_eq!(answer.columns, ["ward", "visits"]);
    assert_eq!(serde_json::json!(values(&answer)), serde_json::json!([["A", 13], ["B", -2], ["Z", 7]]));
    assert!(matches!(answer.rows[0][1], Entry::Released { half_width: 4.0, .. }));
}

#[test]
fn a_table_without_rows_gives_zeros() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = written(folder.path(), "visits.csv", "patient,ward,age\n");
    for sql in [
        "SELECT COUNT(*), AVG(age), STDDEV(age), HISTOGRAM(age, 4) FROM visits",
        "SELECT ward, SUM(age), COUNT(*) FROM visits GROUP BY ward",
    ] {
        let (query, numbers) = measured(sql, &path, options("1"));
        assert_eq!(numbers, vec![0; query.shape().cells()], "{sql}");
    }
}

#[test]
fn kinds_of_numbers_share_the_budget_by_weight() {
    let sql = "SELECT COUNT(*) AS n, AVG(age) AS mean FROM visits";
    let even = shape(sql, options("1")).expect("a shape");
    let [rows, ends] = &even.parts[..] else { panic!("{even:?}") };
    assert_eq!((rows.sensitivity, rows.numbers), (1, 1));
    assert_eq!((ends.numbers, ends.moves), (2, 64 + 2), "two numbers are rounded");
    assert_eq!((rows.times, rows.over, rows.moves), (64, 1, 64), "a count is not");
    assert_eq!(even.sensitivity(), Ok(130));
    // 1/64 of the largest value in 0..100.
    assert_eq!((&rows.step, &ends.step), (&"1/64".parse().expect("a step"), &"100/64".parse().expect("a step")));
    let mut weighted = options("1");
    weighted.weights.insert("n".into(), 3);
    let weighted = shape(sql, weighted).expect("a shape");
    assert_eq!((weighted.parts[0].moves, weighted.parts[1].moves), (192, 66));
    // By itself, a count is not scaled.
    let alone = shape("SELECT COUNT(*), COUNT(age) FROM visits", by_patient()).expect("a shape");
    assert!(alone.parts.iter().all(|part| (part.times, part.over, part.moves) == (1, 1, 1)));
    // A unit with many rows in many groups.
    let mut capped = by_patient();
    (capped.max_groups, capped.max_rows) = (Some(2), Some(5));
    let capped = shape("SELECT ward, COUNT(*) FROM visits GROUP BY ward", capped).expect("a shape");
    assert_eq!(
        (capped.sensitivity(), capped.unit.as_str(), capped.max_groups, capped.max_rows),
        (Ok(10), "patient", 2, 5)
    );
}

/// The parties' sum without noise equals what a curator with all their rows would release with hardly any noise.
#[test]
fn without_noise_parties_and_curators_agree() {
    let folder = tempfile::tempdir().expect("a folder");
    let halves = [ROWS, "patient,ward,age\nq1,A,18\nq2,B,-7\nq3,Z,99.5\nq4,Z,nan\n"];
    let paths: Vec<_> =
        halves.iter().enumerate().map(|(n, text)| written(folder.path(), &format!("{n}.csv"), text)).collect();
    let both = halves[0].to_owned() + halves[1].split_once('\n').expect("a header").1;
    let all = written(folder.path(), "all.csv", &both);
    for sql in [
        "SELECT COUNT(*) AS n, COUNT(age) AS ages, SUM(age) AS total, AVG(age) AS mean FROM visits",
        "SELECT ward, COUNT(*) AS n, AVG(age) AS mean, STDDEV(age) AS spread FROM visits WHERE age > 5 GROUP BY ward",
        "SELECT ward, HISTOGRAM(age, 5) AS ages FROM visits GROUP BY ward ORDER BY ward DESC LIMIT 2",
        "SELECT ward, SUM(age) / COUNT(*) AS mine FROM visits GROUP BY ward HAVING COUNT(*) > 1",
    ] {
        let parts: Vec<(JointQuery, Vec<i64>)> =
            paths.iter().map(|path| measured(sql, path, options(NEARLY_WITHOUT_NOISE))).collect();
        let sum: Vec<i64> = parts[0].1.iter().zip(&parts[1].1).map(|(one, other)| one + other).collect();
        let ours = answered(&parts[0].0, &sum, 0);
        let query = Query::prepare(sql, input(&all), options(NEARLY_WITHOUT_NOISE)).expect("it is private");
        let curator = query.answer(&mut permit()).expect("an answer");
        assert_eq!((&ours.columns, ours.rows.len()), (&curator.columns, curator.rows.len()), "{sql}");
        for (one, other) in values(&ours).iter().flatten().zip(values(&curator).iter().flatten()) {
            match (one.as_f64(), other.as_f64()) {
                (Some(one), Some(other)) if one != other => {
                    assert!((one - other).abs() <= LITTLE && other.fract() != 0.0, "{sql}: {one} {other}");
                }
                _ => assert_eq!(one, other, "{sql}"),
            }
        }
    }
    // Eight ages within 0..100, whose sum is rounded to 100/64: 30, 50, 70, 10, 100, 18, 0 and 99.5; and two NULLs.
    let sql = "SELECT COUNT(*) AS n, COUNT(age) AS ages, SUM(age) AS total, AVG(age) AS mean FROM visits";
    let (query, numbers) = measured(sql, &all, options("1"));
    let answer = values(&answered(&query, &numbers, 0));
    let off = |place: usize, expected: f64| (answer[0][place].as_f64().expect("a number") - expected).abs();
    assert_eq!((off(0, 10.0), off(1, 8.0)), (0.0, 0.0));
    assert!(off(2, 377.5) <= 50.0 / 64.0 && off(3, 377.5 / 8.0) <= 100.0 / 64.0 / 8.0, "{answer:?}");
}

/// In a numeric column the keys sort differently than as text; the cells do not.
#[test]
fn the_order_of_cells_does_not_depend_on_a_partys_types() {
    let folder = tempfile::tempdir().expect("a folder");
    let sql = "SELECT ward, COUNT(*) FROM visits GROUP BY ward";
    let mut options = options("1");
    options.keys.insert("ward".into(), ["9", "10", "100", "-1"].map(String::from).into());
    let text = written(folder.path(), "visits.csv", "ward\n9\n9\n10\n100\n9\n-1\n10\n7\n");
    let wards: ArrayRef = Arc::new(Int64Array::from(vec![9, 9, 10, 100, 9, -1, 10, 7]));
    let batch = RecordBatch::try_from_iter([("ward", wards)]).expect("a batch");
    let typed = folder.path().join("visits.parquet");
    let mut writer =
        ArrowWriter::try_new(fs::File::create(&typed).expect("a file"), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    let (of_text, of_numbers) = (measured(sql, &text, options.clone()), measured(sql, &typed, options.clone()));
    assert_eq!(of_text.0.shape(), of_numbers.0.shape());
    assert_eq!(of_text.0.shape().keys, [["-1"], ["10"], ["100"], ["9"]]);
    assert_eq!((of_text.1, of_numbers.1), (vec![1, 2, 1, 3], vec![1, 2, 1, 3]));
    // Two texts that denote one number would count a row twice, or leave a cell out.
    options.keys.insert("ward".into(), ["1", "01"].map(String::from).into());
    assert_eq!(shape(sql, options.clone()).expect("as text they differ").cells(), 2);
    let refused = JointQuery::prepare(sql, input(&typed), options).expect_err("as numbers they do not");
    assert!(refused.to_string().contains("two of the public keys are the same value"), "{refused}");
}

#[test]
fn what_has_no_public_shape_is_refused_by_its_name() {
    let pure = || options("1");
    let mut keyless = pure();
    keyless.keys.clear();
    let mut found = pure();
    found.bounds.insert("age".into(), Range::Auto);
    let approximate = Options { guarantee: Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap()), ..pure() };
    let concentrated = Options { guarantee: Guarantee::Zcdp("1".parse().unwrap()), ..pure() };
    let count = "SELECT ward, COUNT(*) FROM visits GROUP BY ward";
    let cases = [
        (count, keyless.clone(), "GROUP BY ward", "`keys` ward=a,b,c"),
        ("SELECT ward, age, COUNT(*) FROM visits GROUP BY ward, age", pure(), "GROUP BY age", "`keys` age="),
        ("SELECT MEDIAN(age) FROM visits", pure(), "median(age)", "use AVG(age)"),
        ("SELECT QUANTILE(age, 0.9) FROM visits", pure(), "quantile(age", "HISTOGRAM(age, 20)"),
        ("SELECT STABLE_MEDIAN(age) FROM visits", pure(), "stable_median(age)", "use AVG(age)"),
        ("SELECT MODE(ward) FROM visits", pure(), "mode(ward)", "GROUP BY ward"),
        ("SELECT AVG(age) FROM visits", found, "`bounds` age=auto", "`bounds` age=0..100"),
        (count, approximate, "`delta`", "leave `delta` out"),
        (count, concentrated, "`rho`", "`epsilon` 1"),
    ];
    for (sql, options, what, instead) in cases {
        let error = shape(sql, options).expect_err(sql);
        assert!(matches!(error, Error::NotJoint { .. }) && error.is_usage(), "{sql}: {error}");
        let text = error.to_string();
        assert!(text.to_lowercase().starts_with(&what.to_lowercase()) && text.contains(instead), "{sql}: {text}");
    }
    // What a curator cannot answer, parties cannot answer either.
    let error = shape("SELECT patient FROM visits", pure()).expect_err("rows");
    assert!(matches!(error, Error::NotPrivate { .. }), "{error}");
    keyless.bounds.clear();
    assert!(matches!(shape("SELECT SUM(age) FROM visits", keyless), Err(Error::Bounds { .. })));
}

#[test]
fn sums_of_another_shape_are_no_answer() {
    let query = JointQuery::imagined("SELECT COUNT(*) FROM visits", options("1")).expect("it can be asked");
    let half_width = |_: &Rational| Ok(0);
    let noise = Noise { guarantee: String::new(), words: String::new(), parties: 1, half_width: &half_width };
    for sum in [&[][..], &[1, 2]] {
        assert!(query.answer(sum, &noise).is_err());
    }
}
