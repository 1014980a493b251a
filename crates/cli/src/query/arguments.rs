//! The arguments of `reticent query`.

use std::path::PathBuf;
use std::time::Duration;

use crate::numbers;
use crate::output::Format;

/// The arguments of `reticent query`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The query
    pub sql: String,

    /// A private table: a file, a folder or a glob, as in people=people.csv (CSV, NDJSON, JSON, Parquet, Arrow)
    #[arg(long = "table", value_name = "NAME=FILE", help_heading = "Tables")]
    pub tables: Vec<String>,
    /// A table that is nobody's secret, to join with
    #[arg(long = "public-table", value_name = "NAME=FILE", help_heading = "Tables")]
    pub public_tables: Vec<String>,
    /// What is known of a table, in a TOML file: its unit, bounds, keys, caps and budget
    #[arg(long = "policy", value_name = "FILE", help_heading = "Tables")]
    pub policies: Vec<PathBuf>,

    /// What the answer promises: epsilon
    #[arg(long, allow_hyphen_values = true, value_name = "E", help_heading = "Privacy")]
    pub epsilon: Option<String>,
    /// With --epsilon: the promise is (epsilon, delta), which keys that only the data knows need
    #[arg(long, allow_hyphen_values = true, value_name = "D", help_heading = "Privacy")]
    pub delta: Option<String>,
    /// What the answer promises: rho, in zero-concentrated differential privacy
    #[arg(long, allow_hyphen_values = true, value_name = "R", conflicts_with_all = ["epsilon", "delta"], help_heading = "Privacy")]
    pub rho: Option<String>,
    /// Confirms an epsilon above 10 or a delta above 0.001, which promise next to nothing
    #[arg(long, help_heading = "Privacy")]
    pub allow_large_epsilon: bool,
    /// Whose privacy is protected: row, or the column that tells whose a row is (TABLE.COLUMN for one table only) [default:
    /// row]
    #[arg(long = "unit", value_name = "UNIT", help_heading = "Privacy")]
    pub units: Vec<String>,
    /// Which tables are neighbours: add-remove or replace [default: add-remove]
    #[arg(long, value_name = "WHICH", help_heading = "Privacy")]
    pub adjacency: Option<String>,
    /// In how many groups a unit counts; others of its groups are left out at random. Needed with --unit COLUMN and GROUP BY
    #[arg(long, value_name = "N", help_heading = "Privacy")]
    pub max_groups: Option<String>,
    /// With how many rows a unit counts in each group; others are left out at random. Needed with --unit COLUMN
    #[arg(long, value_name = "N", help_heading = "Privacy")]
    pub max_rows: Option<String>,
    /// The range of a column, chosen without looking at the data: age=0..120; values outside are clamped. `age=auto` finds it
    /// privately, for a tenth of the budget, and refuses if too few rows show it
    #[arg(long = "bounds", value_name = "COLUMN=LO..HI", help_heading = "Privacy")]
    pub bounds: Vec<String>,
    /// Keys that are public: COLUMN=FILE (a CSV with that column, or one key a line) or COLUMN=a,b,c. All of them appear in
    /// the answer, and no others
    #[arg(long = "keys", value_name = "COLUMN=KEYS", help_heading = "Privacy")]
    pub keys: Vec<String>,
    /// The share of the budget for an aggregate, by its name in the answer [default: 1 each]
    #[arg(long = "weight", value_name = "NAME=W", help_heading = "Privacy")]
    pub weights: Vec<String>,

    /// Whose budget is charged, and where.
    #[command(flatten)]
    pub accounting: crate::accounting::Arguments,

    /// How much memory the query may use, as in 4GiB; what does not fit is written to --temp-dir [default: half of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = numbers::bytes, help_heading = "Run")]
    pub memory_limit: Option<u64>,
    /// How long it may take, as in 10m; a query that is not done then fails, and stays charged [default: as long as it takes]
    #[arg(long, value_name = "TIME", value_parser = numbers::duration, help_heading = "Run")]
    pub time_limit: Option<Duration>,
    /// Where rows are written that do not fit in memory; removed at the end [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER", help_heading = "Run")]
    pub temp_dir: Option<PathBuf>,

    /// Spends nothing, and says what would be released, with which noise, at what cost
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: Format,
}

const AFTER_HELP: &str = "The language:
  SELECT … FROM … [JOIN on the unit, or with a public table] [WHERE …] [GROUP BY …] [HAVING, ORDER BY, LIMIT on released \
values]. Aggregates: COUNT(*), COUNT(x), COUNT(DISTINCT unit), SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE(x, p), \
STABLE_MEDIAN(x), MODE(x), HISTOGRAM(x, bins). A sub-query may aggregate one unit's rows (GROUP BY the unit). Also: SELECT WITH \
DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-8, privacy_unit_column=user_id, max_groups_contributed=4, max_rows_contributed=2) ….
  Names are written as in the table's header. A column of a text file is a number if the query uses it as one or it has bounds; \
what cannot be read as a number is NULL. NDJSON has one object a line: other lines, such as those of an object that goes over several, are \
dropped, and it is not told how many (jq -c . writes one a line). An expression that fails for a row (a division by zero, a cast) is NULL there.

Privacy:
  One query, one budget, split evenly over what is released (count and sum of a column are one; so are the keys that only the data \
knows); --weight changes the shares. Keys that are not given with --keys appear if so many units have them that no single one \
decides (this needs --delta). A unit counts with at most --max-rows rows in each of at most --max-groups groups, chosen at \
random: what is left out is a bias that no error bar shows.

Half-widths (±) are at 95 % and speak of the noise only. Where groups are shown because their own noisy number reached a threshold, \
95 % holds before that selection; it is said beside the answer. For quantiles they are ranks: how many rows away from the exact one.

Examples:
  reticent query \"SELECT department, COUNT(*) AS people, AVG(salary) AS mean FROM staff GROUP BY department\" \\
    --table staff=examples/staff.csv --epsilon 1 --delta 1e-8 --bounds salary=0..200000
  reticent query \"SELECT MEDIAN(age) FROM staff WHERE department = 'Care'\" --table staff=examples/staff.csv --epsilon 0.5 \\
    --bounds age=18..70 --dry-run

Exit codes: 0 released, 2 usage (nothing was charged), 3 every answer was refused (charged), 4 not enough budget left \
(nothing was charged), 1 anything else. A query that fails after it was charged stays charged, \
and the same --request fails again: it is not tried a second time.";
