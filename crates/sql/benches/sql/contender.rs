//! The contenders.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use reticent::Permit;
use reticent::privacy::Guarantee;
use reticent_sql::answer::Entry;
use reticent_sql::bounding::ContributionCaps;
use reticent_sql::{Answer, Input, Options, Query, Range, Table, Unit};
use reticent_table::{Request, Type};
use serde_json::{Value, json};

use crate::Outcome;
use crate::table::{CATEGORIES, LARGEST};

/// A way to answer the question: the whole path of a private query, from the SQL to released rows.
pub struct Contender {
    /// The name in the table.
    pub name: &'static str,
    /// The number of processes.
    pub rounds: usize,
    /// The number of repetitions in each, after one warm-up.
    repetitions: usize,
    /// Groups and rows per user; if missing, the unit is the row.
    caps: Option<ContributionCaps>,
}

const CAPS: ContributionCaps = ContributionCaps { groups: 4, rows: 4 };

/// The query that all of them answer.
const QUESTION: &str =
    "SELECT category, COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM visits GROUP BY category";

/// All of them.
pub const CONTENDERS: [Contender; 2] = [
    Contender { name: "reticent query, unit = row", rounds: 3, repetitions: 5, caps: None },
    Contender {
        name: "reticent query, unit = user_id, 4 groups × 4 rows",
        rounds: 3,
        repetitions: 3,
        caps: Some(CAPS),
    },
];

/// Prints the seconds of every repetition and this process's peak memory.
pub fn measure(contender: &Contender, file: &Path) -> Outcome<()> {
    let mut seconds = Vec::new();
    for repetition in 0..=contender.repetitions {
        let start = Instant::now();
        black_box(private(contender.caps, file)?);
        if repetition > 0 {
            seconds.push(start.elapsed().as_secs_f64());
        }
    }
    let mebibytes = peak_memory();
    let mean_error = mean_error(contender.caps, file)?;
    println!("{}", json!({"seconds": seconds, "mebibytes": mebibytes, "mean_error": mean_error}));
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
            black_box(prepared(sql, Some(CAPS), file)?);
            times.push(1e3 * start.elapsed().as_secs_f64());
        }
        times.sort_unstable_by(f64::total_cmp);
        slowest = slowest.max(times[times.len() / 2]);
    }
    Ok(slowest)
}

fn private(caps: Option<ContributionCaps>, file: &Path) -> Outcome<Answer> {
    Ok(prepared(QUESTION, caps, file)?.answer(&mut Permit::unaccounted()?)?)
}

/// ε = 1, δ = 10^−8, all categories public.
fn prepared(sql: &str, caps: Option<ContributionCaps>, file: &Path) -> Outcome<Query> {
    let guarantee = Guarantee::Approx("1".parse()?, "1e-8".parse()?);
    let mut options = Options::new(guarantee);
    options.bounds.insert("value".into(), Range::Public(format!("0..{LARGEST}").parse()?));
    if sql.contains("GROUP BY category") {
        options.keys.insert("category".into(), (0..CATEGORIES).map(|category| category.to_string()).collect());
    }
    if let Some(ContributionCaps { groups, rows }) = caps {
        options.unit = Unit::Column("user_id".into());
        (options.max_groups, options.max_rows) = (Some(groups), Some(rows));
    }
    Ok(Query::prepare(sql, vec![Input { table: open(file)?, public: false }], options)?)
}

fn open(file: &Path) -> Outcome<Table> {
    Ok(Table::open("visits", file.to_str().ok_or("the path is not UTF-8")?)?)
}

/// The error of the released means: the median over all categories.
fn mean_error(caps: Option<ContributionCaps>, file: &Path) -> Outcome<f64> {
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
    let mut errors = Vec::new();
    for row in private(caps, file)?.rows {
        let json = |entry: &Entry| serde_json::from_str::<Value>(&entry.to_json());
        let (category, mean) = (json(&row[0])?.as_u64(), json(&row[3])?["value"].as_f64());
        let (category, mean) = category.zip(mean).ok_or("a category and its mean")?;
        let (sum, count) = exact[usize::try_from(category)?];
        errors.push((sum / count - mean).abs());
    }
    errors.sort_unstable_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().ok_or_else(|| "no category is there".into())
}

/// The peak memory of this process, in MiB, where the system reports it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}
