//! The arguments of `reticent query`.

use std::path::PathBuf;
use std::time::Duration;

use reticent_sql::limits::{bytes, duration};
use reticent_sql::{Delimiter, Encoding, Format};

/// The arguments of `reticent query`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// What is asked.
    #[command(flatten)]
    pub question: Question,

    /// The budget to charge.
    #[command(flatten)]
    pub accounting: crate::accounting::Arguments,

    /// Memory limit, such as 4GiB; what does not fit is spilled to --temp-dir [default: half of the machine's memory]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Run")]
    pub memory_limit: Option<u64>,
    /// Time limit, such as 10m; a query that exceeds it fails and stays charged [default: none]
    #[arg(long, value_name = "TIME", value_parser = duration, help_heading = "Run")]
    pub time_limit: Option<Duration>,
    /// Where to spill rows that do not fit in memory; removed at the end [default: the system's temporary folder]
    #[arg(long, value_name = "FOLDER", help_heading = "Run")]
    pub temp_dir: Option<PathBuf>,

    /// Spend nothing and read no rows; show what would be released, the errors to expect, what they come from, and what would make
    /// them smaller
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,
    /// How to print the answer
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: crate::output::Format,
}

/// What is asked, of which tables, and with which guarantee.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub struct Question {
    /// The query
    pub sql: String,

    /// A private table: a file, a folder or a glob, such as people=people.csv (CSV, TSV, NDJSON or JSON, each also as .gz or .zst;
    /// Parquet, Arrow), - for standard input, or a table of a PostgreSQL database, such as
    /// people=postgresql://USER@HOST/DATABASE?table=SCHEMA.TABLE (password in PGPASSWORD or ~/.pgpass)
    #[arg(long = "table", value_name = "NAME=FILE", help_heading = "Tables")]
    pub tables: Vec<String>,
    /// A public table to join with
    #[arg(long = "public-table", value_name = "NAME=FILE", help_heading = "Tables")]
    pub public_tables: Vec<String>,
    /// What separates the values of CSV tables: , ; | or tab [default: the one that is most frequent in the header]
    #[arg(long, value_name = "CHARACTER", help_heading = "Tables")]
    pub delimiter: Option<Delimiter>,
    /// Encoding of all text tables: latin1, windows-1252 or utf-16 [default: UTF-8; a cell that is not UTF-8 is read as
    /// Windows-1252]
    #[arg(long, value_name = "NAME", help_heading = "Tables")]
    pub encoding: Option<Encoding>,
    /// Format of standard input, which is a table with --table NAME=-: csv, tsv, ndjson, json, parquet or arrow [default: by
    /// the name of the file that it is, or csv]
    #[arg(long, value_name = "FORM", help_heading = "Tables")]
    pub input: Option<Format>,
    /// A TOML file with a table's privacy unit, clamping bounds, public keys, contribution limits and budget
    #[arg(long = "policy", value_name = "FILE", help_heading = "Tables")]
    pub policies: Vec<PathBuf>,

    /// Privacy guarantee of the answer: epsilon
    #[arg(long, allow_hyphen_values = true, value_name = "E", help_heading = "Privacy")]
    pub epsilon: Option<String>,
    /// With --epsilon: guarantee (epsilon, delta); needed for groups that are not listed with --keys
    #[arg(long, allow_hyphen_values = true, value_name = "D", help_heading = "Privacy")]
    pub delta: Option<String>,
    /// Privacy guarantee of the answer: rho, in zero-concentrated differential privacy
    #[arg(long, allow_hyphen_values = true, value_name = "R", conflicts_with_all = ["epsilon", "delta"], help_heading = "Privacy")]
    pub rho: Option<String>,
    /// Confirm an epsilon above 10 or a delta above 0.001, which protect next to nothing
    #[arg(long, help_heading = "Privacy")]
    pub allow_large_epsilon: bool,
    /// The privacy unit: row, or the column that identifies the person (TABLE.COLUMN for one table only) [default: row]
    #[arg(long = "unit", value_name = "UNIT", help_heading = "Privacy")]
    pub units: Vec<String>,
    /// Which datasets are neighbours: add-remove or replace [default: add-remove]
    #[arg(long, value_name = "WHICH", help_heading = "Privacy")]
    pub adjacency: Option<String>,
    /// Groups that one unit contributes to at most, chosen at random [default: auto]
    #[arg(long, value_name = "N", help_heading = "Privacy")]
    pub max_groups: Option<String>,
    /// Rows that one unit contributes to each group at most, chosen at random. With `auto`, all rows of a unit count, with less weight
    /// the more there are; how much a unit weighs at most is chosen privately for 10 to 30 % of the budget [default: auto]
    #[arg(long, value_name = "N", help_heading = "Privacy")]
    pub max_rows: Option<String>,
    /// Clamping bounds of a column, chosen without looking at the data: age=0..120. `age=auto` finds them privately for two
    /// fifths of the budget, and refuses if there are too few rows
    #[arg(long = "bounds", value_name = "COLUMN=LO..HI", help_heading = "Privacy")]
    pub bounds: Vec<String>,
    /// Public group keys: COLUMN=FILE (a CSV with that column, or one key per line) or COLUMN=a,b,c. The answer has exactly these
    /// groups
    #[arg(long = "keys", value_name = "COLUMN=KEYS", help_heading = "Privacy")]
    pub keys: Vec<String>,
    /// Relative share of the budget for an aggregate, by its name in the answer [default: 1 each]
    #[arg(long = "weight", value_name = "NAME=W", help_heading = "Privacy")]
    pub weights: Vec<String>,
    /// How many rows a group is expected to have, for the errors that --dry-run predicts; what you know without this data
    /// [default: 1000]
    #[arg(long, value_name = "N", help_heading = "Output")]
    pub expect_rows: Option<u64>,
}

const AFTER_HELP: &str = "The language:
  SELECT … FROM … [JOIN on the unit, or with a public table] [WHERE …] [GROUP BY …] [HAVING, ORDER BY, LIMIT on released \
values]. Aggregates: COUNT(*), COUNT(x), COUNT(DISTINCT unit), SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE(x, p), \
STABLE_MEDIAN(x), MODE(x), HISTOGRAM(x, bins). A sub-query may aggregate one unit's rows (GROUP BY the unit). Also: SELECT WITH \
DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-8, privacy_unit_column=user_id, max_groups_contributed=4, max_rows_contributed=2) ….
  Write column names as in the table's header. A column of a text file is numeric if the query uses it as a number or it has \
bounds; values that are not numbers are NULL. NDJSON has one object per line: other lines, such as those of an object that spans several, are \
dropped without a count (jq -c . writes one object per line). An expression that fails for a row (division by zero, a cast) is NULL there.

Privacy:
  The query's budget is split evenly over its releases (count and sum of a column are one release; so is group selection); --weight \
changes the shares. Without --keys, groups with too few units are withheld (this needs --delta). With --unit COLUMN, each unit's contribution \
is limited: by weights that are chosen privately, with an answer that is corrected for what they leave out and error bars that allow for \
it; or by --max-rows and --max-groups, chosen at random, whose bias error bars do not cover. Quantiles, medians and modes need the latter.

Half-widths (±) are at 95 % and cover noise only. Where groups are shown because their own noisy count reached a threshold, the level \
holds before that selection; a note beside the answer says so.

A quantile is shown with an interval, value (from..to), that contains the exact one at 95 %. It comes from the same share of the budget, \
half of which pays for it. Where it is the whole range that the bounds allow, nothing was learned, and the answer says so.

Examples:
  reticent query \"SELECT department, COUNT(*) AS people, AVG(salary) AS mean FROM staff GROUP BY department\" \\
    --table staff=examples/staff.csv --epsilon 1 --delta 1e-8 --bounds salary=0..200000
  reticent query \"SELECT MEDIAN(age) FROM staff WHERE department = 'Care'\" --table staff=examples/staff.csv --epsilon 0.5 \\
    --bounds age=18..70 --dry-run

Exit codes: 0 released, 2 usage (nothing was charged), 3 every answer was refused (charged), 4 not enough budget left \
(nothing was charged), 1 anything else. A query that fails after it was charged stays charged, \
and the same --request fails again: it is not run a second time.";
