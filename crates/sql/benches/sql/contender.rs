//! The contenders.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use reticent::Permit;
use reticent::privacy::Guarantee;
use reticent_sql::{Answer, Input, Options, Query, Range, Table, Unit};
use reticent_table::{Request, Type};
use serde_json::{Value, json};

use crate::table::{CATEGORIES, LARGEST};
use crate::{Outcome, median};

/// A way to answer the question: the whole path of a private query, from the SQL to released rows.
pub struct Contender {
    /// The name in the table.
    pub name: &'static str,
    /// The number of processes.
    pub rounds: usize,
    /// The number of repetitions in each, after one warm-up.
    repetitions: usize,
    protected: Protected,
}

/// Who is protected, and how contributions are bounded.
#[derive(Clone, Copy)]
enum Protected {
    Row,
    /// By at most four groups of four rows.
    User,
    /// By limits that are chosen privately.
    UserWithoutLimits,
}

/// The query that all of them answer.
const QUESTION: &str =
    "SELECT category, COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM visits GROUP BY category";

/// All of them.
pub const CONTENDERS: [Contender; 3] = [
    Contender { name: "reticent query, unit = row", rounds: 3, repetitions: 5, protected: Protected::Row },
    Contender {
        name: "reticent query, unit = user_id, 4 groups × 4 rows",
        rounds: 3,
        repetitions: 3,
        protected: Protected::User,
    },
    Contender {
        name: "reticent query, unit = user_id, no limits given",
        rounds: 3,
        repetitions: 3,
        protected: Protected::UserWithoutLimits,
    },
];

/// Prints the seconds of every repetition and this process's peak memory.
pub fn measure(contender: &Contender, file: &Path) -> Outcome<()> {
    let mut seconds = Vec::new();
    for repetition in 0..=contender.repetitions {
        let start = Instant::now();
        black_box(private(contender.protected, file)?);
        if repetition > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    let mebibytes = peak_memory();
    let [count_error, mean_error] = errors(contender.protected, file)?;
    println!(
        "{}",
        json!({"seconds": seconds, "mebibytes": mebibytes, "count_error": count_error, "mean_error": mean_error})
    );
    Ok(())
}

/// Ordinary queries, each prepared without reading a row.
const PLANNED: [&str; 5] = [
    QUESTION,
    "SELECT COUNT(*) FROM visits",
    "SELECT category, MEDIAN(value) FROM visits WHERE value > 10 AND category IN (1, 2, 3) GROUP BY category",
    "WITH large AS (SELECT category, CASE WHEN value > 50 THEN 1 ELSE 0 END AS is_large, value FROM visits) \
     SELECT category, COUNT(*) AS n, SUM(value * is_large) AS total FROM large GROUP BY category ORDER BY n DESC LIMIT 10",
    "SELECT category, COUNT(DISTINCT user_id) AS people, STDDEV(value) AS spread FROM visits GROUP BY category",
];

/// The milliseconds from SQL to a query that is ready to be charged, the slowest of a few; each a median.
pub fn planning(file: &Path) -> Outcome<f64> {
    let mut slowest = 0f64;
    for sql in PLANNED {
        let mut times = Vec::new();
        for _ in 0..21 {
            let start = Instant::now();
            black_box(prepared(sql, Protected::User, file)?);
            times.push(1e3 * start.elapsed().as_secs_f64());
        }
        times.sort_unstable_by(f64::total_cmp);
        slowest = slowest.max(times[times.len() / 2]);
    }
    Ok(slowest)
}

fn private(protected: Protected, file: &Path) -> Outcome<Answer> {
    Ok(prepared(QUESTION, protected, file)?.answer(&mut Permit::unaccounted()?)?)
}

/// ε = 1, δ = 10^−8, all categories public.
fn prepared(sql: &str, protected: Protected, file: &Path) -> Outcome<Query> {
    let guarantee = Guarantee::Approx("1".parse()?, "1e-8".parse()?);
    let mut options = Options::new(guarantee);
    options.bounds.insert("value".into(), Range::Public(format!("0..{LARGEST}").parse()?));
    if sql.contains("GROUP BY category") {
        options.keys.insert("category".into(), (0..CATEGORIES).map(|category| category.to_string()).collect());
    }
    if !matches!(protected, Protected::Row) {
        options.unit = Unit::Column("user_id".into());
    }
    if matches!(protected, Protected::User) {
        (options.max_groups, options.max_rows) = (Some(4), Some(4));
    }
    Ok(Query::prepare(sql, vec![Input { table: open(file)?, public: false }], options)?)
}

fn open(file: &Path) -> Outcome<Table> {
    Ok(Table::open("visits", file.to_str().ok_or("the path is not UTF-8")?)?)
}

/// The errors of one answer, each a median over all categories: of counts, relative, and of means.
fn errors(protected: Protected, file: &Path) -> Outcome<[f64; 2]> {
    let columns = vec![("category".to_owned(), Type::Integer), ("value".to_owned(), Type::Number)];
    let scan = open(file)?.scan(&Request { unit: None, columns }, 1)?;
    let mut exact = vec![(0.0, 0.0); CATEGORIES];
    for batch in (0..scan.parts()).flat_map(|part| scan.read(part)) {
        let batch = batch?;
        let categories = batch.column(0).as_primitive::<Int64Type>().values();
        let values = batch.column(1).as_primitive::<Float64Type>().values();
        for (&category, &value) in categories.iter().zip(values) {
            let (sum, count) = &mut exact[usize::try_from(category)?];
            (*sum, *count) = (*sum + value, *count + 1.0);
        }
    }
    let mut errors = [Vec::new(), Vec::new()];
    for row in private(protected, file)?.rows {
        let json = |place: usize| serde_json::from_str::<Value>(&row[place].to_json());
        let number = |place: usize| -> Outcome<f64> { Ok(json(place)?["value"].as_f64().ok_or("a number")?) };
        let (sum, count) = exact[usize::try_from(json(0)?.as_u64().ok_or("a category")?)?];
        errors[0].push((number(1)? / count - 1.0).abs());
        errors[1].push((number(3)? - sum / count).abs());
    }
    Ok(errors.map(|errors| median(errors).unwrap_or(f64::NAN)))
}

/// The peak memory of this process, in MiB, where the system reports it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}
