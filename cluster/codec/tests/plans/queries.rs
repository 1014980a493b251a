//! What is asked, here and elsewhere.

use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent_sql::bound::ChoiceKey;
use reticent_sql::{Input, Options, Query, Range, Table, Unit};

use crate::stages::{Elsewhere, Scans};
use crate::tables::Tables;

const SEED: u64 = 7;
/// Two files.
const PARQUET: &str = "visits-?.parquet";

fn options() -> Options {
    let mut options = Options::new(Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap()));
    for (column, range) in [("spent", "0..100"), ("minutes", "-10..120"), ("x", "0..50")] {
        options.bounds.insert(column.to_owned(), Range::Public(range.parse().unwrap()));
    }
    options
}

fn by_person() -> Options {
    let mut options = options();
    options.unit = Unit::Column("person".to_owned());
    options.max_groups = 2;
    options.max_rows = 3;
    options
}

fn key() -> ChoiceKey {
    ChoiceKey::draw(&mut Entropy::seeded(SEED).draw().unwrap())
}

/// Asks here and elsewhere, and gives the plan that ran elsewhere as text.
fn same(tables: &Tables, file: &str, sql: &str, options: Options) -> String {
    let open = |name: &str, file: &str| Table::open(name, tables.path(file).to_str().unwrap()).unwrap();
    let mut inputs = vec![Input { table: open("visits", file), public: false }];
    if sql.contains("places") {
        inputs.push(Input { table: open("places", "places.csv"), public: true });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        let query = Query::prepare(sql, inputs, options).await.unwrap();
        let elsewhere = Elsewhere::new(Scans::Whole);
        let (one, other) = (query.exact(key()).await.unwrap(), query.exact_on(&elsewhere, key()).await.unwrap());
        assert!(!one.keys.is_empty(), "the control: there is something to compare in {sql}");
        assert_eq!(one, other, "{sql} of {file}");
        // The answer, too, for the search for bounds makes a pass of its own.
        let elsewhere = Elsewhere::new(Scans::Cut);
        let permit = || Permit::unaccounted_from(Entropy::seeded(SEED));
        let (here, there) =
            (query.answer(&mut permit(), key()).await, { query.answer_on(&elsewhere, &mut permit(), key()).await });
        assert_eq!(here.unwrap(), there.unwrap(), "{sql} of {file}");
        elsewhere.plans.into_inner().unwrap()
    })
}

#[test]
fn every_format_with_unknown_keys() {
    let tables = Tables::small();
    for (file, scan) in [
        ("visits.csv", "file_type=CSV"),
        ("visits.ndjson", "file_type=NDJSON"),
        ("visits.arrow", "file_type=Arrow"),
        (PARQUET, "file_type=parquet"),
    ] {
        let sql = "SELECT place, COUNT(*), SUM(spent), MEDIAN(minutes), MODE(note) FROM visits GROUP BY place";
        let plan = same(&tables, file, sql, by_person());
        assert!(plan.contains(scan) && plan.contains("RepartitionExec"), "{file}: {plan}");
        let plan = same(&tables, file, "SELECT COUNT(*), VARIANCE(spent) FROM visits", options());
        assert!(plan.contains(scan) && plan.contains("unit=row"), "{file}: {plan}");
    }
}

#[test]
fn public_keys_of_two_columns() {
    let tables = Tables::small();
    let mut options = by_person();
    options.keys.insert("place".to_owned(), ["north", "south", "nowhere"].map(String::from).to_vec());
    options.keys.insert("minutes".to_owned(), ["10", "11", "12", "500"].map(String::from).to_vec());
    for file in ["visits.csv", PARQUET] {
        let sql =
            "SELECT place, minutes, COUNT(*), AVG(spent), HISTOGRAM(spent, 4) FROM visits GROUP BY place, minutes";
        same(&tables, file, sql, options.clone());
    }
    // Of one key only: rows with others are dropped by a filter.
    options.keys.remove("minutes");
    let sql = "SELECT place, minutes, COUNT(*) FROM visits GROUP BY place, minutes";
    let plan = same(&tables, "visits.arrow", sql, options);
    assert!(plan.contains("FilterExec"), "{plan}");
}

#[test]
fn operations_that_fail_on_some_rows() {
    let tables = Tables::small();
    let sql = "SELECT date_trunc('month', CAST(note AS TIMESTAMP)) AS month, COUNT(*), SUM(x) FROM (SELECT person, note, \
               CAST(minutes AS BIGINT) / CAST(note AS BIGINT) AS x FROM visits WHERE regexp_like(note, '^[0-9]') \
               AND upper(substr(place, 1, 2)) <> 'WE' AND CAST(spent AS DECIMAL(5, 2)) > 1) AS v GROUP BY month";
    for file in ["visits.csv", PARQUET] {
        same(&tables, file, sql, by_person());
        same(&tables, file, sql, options());
    }
    let sql = "SELECT extract(year FROM at) AS y, COUNT(*), AVG(abs(minutes) % 7) FROM visits WHERE place NOT LIKE '%st' \
               OR at + INTERVAL '1 month' > TIMESTAMP '1970-03-01T00:00:00' GROUP BY y";
    let mut options = by_person();
    options.bounds.insert("abs(minutes) % 7".to_owned(), Range::Public("0..7".parse().unwrap()));
    same(&tables, PARQUET, &sql.replace("AVG(abs(minutes) % 7)", "COUNT(at)"), options);
}

#[test]
fn sub_queries_with_sums_of_floats() {
    let tables = Tables::small();
    let sql = "SELECT place, COUNT(*), SUM(x) FROM (SELECT person, max(place) AS place, sum(spent) AS x, avg(spent) AS y, \
               min(spent) AS z FROM visits GROUP BY person) AS v WHERE y > 3 OR z < 1 GROUP BY place";
    for file in ["visits.csv", PARQUET] {
        let plan = same(&tables, file, sql, by_person());
        assert!(plan.contains("unordered_sum") && plan.contains("unordered_mean"), "{plan}");
    }
}

#[test]
fn joins() {
    let tables = Tables::small();
    let sql = "SELECT places.name, COUNT(*), SUM(visits.spent) FROM visits JOIN places ON visits.place = places.name \
               WHERE places.size > 1 GROUP BY places.name";
    for file in ["visits.csv", "visits.ndjson"] {
        let plan = same(&tables, file, sql, by_person());
        assert!(plan.contains("Join"), "{plan}");
    }
    same(&tables, "visits.arrow", &sql.replace("JOIN", "LEFT JOIN").replace("WHERE places.size > 1", ""), options());
}

#[test]
fn bounds_that_are_found() {
    let tables = Tables::small();
    let mut options = by_person();
    options.bounds.insert("spent".to_owned(), Range::Auto);
    options.bounds.insert("minutes".to_owned(), Range::Auto);
    let sql = "SELECT place, SUM(spent), AVG(minutes) FROM visits GROUP BY place";
    same(&tables, "visits.csv", sql, options.clone());
    options.unit = Unit::Row;
    same(&tables, PARQUET, sql, options);
}

/// A text file that is cut: each part is read by a process that finds its beginning by itself.
#[test]
fn parts_of_a_file() {
    let tables = Tables::large();
    let sql = "SELECT place, COUNT(*), SUM(spent) FROM visits GROUP BY place";
    for options in [by_person(), options()] {
        let plan = same(&tables, "visits.csv", sql, options);
        let parts = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(2));
        assert!(plan.contains(&format!("file_groups={{{parts} group")), "{plan}");
    }
}
