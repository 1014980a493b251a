//! Who is measured.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::{Float64Type, Int64Type};
use datafusion::physical_plan::collect;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use reticent::Permit;
use reticent::noise::Entropy;
use reticent::privacy::Guarantee;
use reticent::statistic::{Bounds, Grid, Moments};
use reticent_sql::answer::Entry;
use reticent_sql::bounding::{Caps, ChoiceKey, Layout, Measure, Measured, aggregate};
use reticent_sql::{Answer, Input, Options, Query, Range, Table, Unit};
use serde_json::{Value, json};

use crate::Outcome;
use crate::table::{CATEGORIES, LARGEST};

/// Somebody who answers the question.
pub struct Contender {
    /// What the table shows.
    pub name: &'static str,
    /// The slow have fewer turns.
    pub rounds: usize,
    /// How often it answers in one turn, after once that does not count if there is more than one.
    repetitions: usize,
    how: How,
}

enum How {
    Sql(&'static str),
    /// Our operator, with these groups and rows per user; without, the unit is the row.
    Bounded(Option<Caps>),
    /// The whole way of a private query, from the SQL to released rows.
    Query(Option<Caps>),
}

const CAPS: Caps = Caps { groups: 4, rows: 4 };

/// What everybody answers.
const QUESTION: &str =
    "SELECT category, COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM visits GROUP BY category";

/// The first is what all others are compared with.
pub const CONTENDERS: [Contender; 7] = [
    Contender { name: "our build of DataFusion, no privacy", rounds: 3, repetitions: 5, how: How::Sql(QUESTION) },
    Contender { name: "reticent query, unit = row", rounds: 3, repetitions: 5, how: How::Query(None) },
    Contender {
        name: "reticent query, unit = user_id, 4 groups × 4 rows",
        rounds: 3,
        repetitions: 3,
        how: How::Query(Some(CAPS)),
    },
    Contender { name: "our operator, unit = row", rounds: 3, repetitions: 5, how: How::Bounded(None) },
    Contender {
        name: "our operator, unit = user_id, 4 groups × 4 rows",
        rounds: 3,
        repetitions: 3,
        how: How::Bounded(Some(CAPS)),
    },
    Contender {
        name: "our build of DataFusion, bounding in SQL: pre-aggregated per user, 4 groups",
        rounds: 2,
        repetitions: 1,
        how: How::Sql(PRE_AGGREGATED),
    },
    Contender {
        name: "our build of DataFusion, bounding in SQL: window functions, 4 groups × 4 rows",
        rounds: 1,
        repetitions: 1,
        how: How::Sql(WINDOWS),
    },
];

/// Rows of a user and category are first added up and then scaled down to four: less than the same bounding, and faster.
const PRE_AGGREGATED: &str = "
    SELECT category, SUM(n), SUM(s), SUM(s) / SUM(n) FROM (
        SELECT category, LEAST(c, 4) AS n, s * LEAST(c, 4) / c AS s,
               ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY place) AS chosen
        FROM (SELECT user_id, category, COUNT(*) AS c, SUM(value) AS s, random() AS place
              FROM visits GROUP BY user_id, category)
    ) WHERE chosen <= 4 GROUP BY category";

const WINDOWS: &str = "
    SELECT category, COUNT(*), SUM(value), AVG(value) FROM (
        SELECT user_id, category, value,
               ROW_NUMBER() OVER (PARTITION BY user_id, category ORDER BY place) AS chosen
        FROM (SELECT user_id, category, value, random() AS place FROM visits)
    ) AS few
    JOIN (
        SELECT user_id AS who, category AS what, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY place) AS chosen_group
        FROM (SELECT user_id, category, random() AS place FROM visits GROUP BY user_id, category)
    ) AS groups ON few.user_id = groups.who AND few.category = groups.what
    WHERE chosen <= 4 AND chosen_group <= 4 GROUP BY category";

/// Prints the seconds of every repetition and the most memory this process ever had.
pub fn measure(contender: &Contender, file: &Path) -> Outcome<()> {
    async {
        let mut seconds = Vec::new();
        let unmeasured = usize::from(contender.repetitions > 1);
        for repetition in 0..contender.repetitions + unmeasured {
            let start = Instant::now();
            answer(&contender.how, file)?;
            if repetition >= unmeasured {
                seconds.push(start.elapsed().as_secs_f64());
            }
        }
        let mebibytes = peak_memory();
        let mean_error = match &contender.how {
            How::Query(caps) => Some(mean_error(*caps, file)?),
            _ => None,
        };
        println!("{}", json!({"seconds": seconds, "mebibytes": mebibytes, "mean_error": mean_error}));
        Ok(())
    }
}

fn answer(how: &How, file: &Path) -> Outcome<()> {
    let context = SessionContext::new_with_config(SessionConfig::new());
    let path = file.to_str().ok_or("the path is not UTF-8")?;
    context.register_parquet("visits", path, ParquetReadOptions::default())?;
    match how {
        How::Sql(query) => {
            let plan = context.sql(query)?.create_physical_plan()?;
            black_box(collect(plan, context.task_ctx())?);
        }
        How::Bounded(caps) => {
            let columns = if caps.is_some() { "user_id, category, value" } else { "category, value" };
            let plan = context.sql(&format!("SELECT {columns} FROM visits"))?.create_physical_plan()?;
            let grid = Grid::new(&format!("0..{LARGEST}").parse::<Bounds>()?);
            let sums = Measure::Moments { column: 0, grid: grid.clone(), squares: false };
            let layout = Layout { unit: caps.is_some(), keys: 1, measures: vec![sums] };
            let key = ChoiceKey::draw(&mut Entropy::from_os()?.draw()?);
            let groups = aggregate(plan, &layout, *caps, None, key, context.task_ctx())?;
            let sums = groups.groups.iter().flat_map(|group| &group.measured).map(|measured| match measured {
                Measured::Moments(moments) => Moments::total(&grid, moments.count, moments.sum),
                _ => f64::NAN,
            });
            let total: f64 = sums.sum();
            black_box(total);
        }
        How::Query(caps) => {
            black_box(private(*caps, file)?);
        }
    }
    Ok(())
}

/// ε = 1, δ = 10^−8, all categories public.
fn private(caps: Option<Caps>, file: &Path) -> Outcome<Answer> {
    let guarantee = Guarantee::Approx("1".parse()?, "1e-8".parse()?);
    let mut options = Options::new(guarantee);
    options.bounds.insert("value".into(), Range::Public(format!("0..{LARGEST}").parse()?));
    options.keys.insert("category".into(), (0..CATEGORIES).map(|category| category.to_string()).collect());
    if let Some(Caps { groups, rows }) = caps {
        options.unit = Unit::Column("user_id".into());
        (options.max_groups, options.max_rows) = (groups, rows);
    }
    let table = Table::open("visits", file.to_str().ok_or("the path is not UTF-8")?)?;
    let query = Query::prepare(QUESTION, vec![Input { table, public: false }], options)?;
    let key = ChoiceKey::draw(&mut Entropy::from_os()?.draw()?);
    Ok(query.answer(&mut Permit::unaccounted()?, key)?)
}

/// How far the released means are from the exact ones: the median over all categories.
fn mean_error(caps: Option<Caps>, file: &Path) -> Outcome<f64> {
    let context = SessionContext::new_with_config(SessionConfig::new());
    let path = file.to_str().ok_or("the path is not UTF-8")?;
    context.register_parquet("visits", path, ParquetReadOptions::default())?;
    let mut exact = BTreeMap::new();
    for batch in context.sql(QUESTION)?.collect()? {
        let (categories, means) =
            (batch.column(0).as_primitive::<Int64Type>(), batch.column(3).as_primitive::<Float64Type>());
        exact.extend((0..batch.num_rows()).map(|row| (categories.value(row), means.value(row))));
    }
    let mut errors = Vec::new();
    for row in private(caps, file)?.rows {
        let json = |entry: &Entry| serde_json::from_str::<Value>(&entry.to_json());
        let (category, mean) = (json(&row[0])?.as_i64(), json(&row[3])?["value"].as_f64());
        let (category, mean) = category.zip(mean).ok_or("a category and its mean")?;
        errors.extend(exact.get(&category).map(|exact| (exact - mean).abs()));
    }
    errors.sort_unstable_by(f64::total_cmp);
    errors.get(errors.len() / 2).copied().ok_or_else(|| "no category is there".into())
}

/// The high-water mark of this process's memory, in MiB, where the system tells.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? / 1024.0)
}
