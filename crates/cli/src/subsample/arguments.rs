//! The arguments of `reticent subsample`.

use std::ffi::OsString;
use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use reticent_sql::limits::{bytes, duration};

use crate::output::Format;

/// The arguments of `reticent subsample`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// The table: a file of CSV or TSV, also as .gz or .zst, Parquet or Arrow
    pub data: PathBuf,

    /// SQL that returns one value; the table is called data
    #[arg(
        long,
        value_name = "QUERY",
        required_unless_present = "program",
        conflicts_with = "program",
        help_heading = "Statistic"
    )]
    pub sql: Option<String>,
    /// A program that reads CSV on standard input and prints one line
    #[arg(long, value_name = "FILE", help_heading = "Statistic")]
    pub program: Option<PathBuf>,
    /// Arguments for the program
    #[arg(last = true, value_name = "ARGUMENT", help_heading = "Statistic")]
    pub program_arguments: Vec<OsString>,
    /// The statistic is a number: release the noisy mean of the blocks' answers, clamped to these bounds
    #[arg(long, value_name = "LO..HI", allow_hyphen_values = true, help_heading = "Statistic")]
    pub numeric: Option<String>,
    /// The value that counts for a block without an answer, such as --default 0 [default: none; such a block is left
    /// out, and the outcome is a refusal if most are]
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true, help_heading = "Statistic")]
    pub default: Option<String>,
    /// Made-up rows, as CSV with the table's columns, on which the program must give an answer before anything is
    /// charged [default: rows of integers; no trial with --default]
    #[arg(long, value_name = "FILE", requires = "program", conflicts_with = "default", help_heading = "Statistic")]
    pub trial: Option<PathBuf>,

    /// Privacy guarantee of the release: epsilon
    #[arg(long, allow_hyphen_values = true, value_name = "E", help_heading = "Privacy")]
    pub epsilon: String,
    /// With --epsilon: guarantee (epsilon, delta); needed without --numeric
    #[arg(long, allow_hyphen_values = true, value_name = "D", help_heading = "Privacy")]
    pub delta: Option<String>,
    /// Confirm an epsilon above 10 or a delta above 0.001, which protect next to nothing
    #[arg(long, help_heading = "Privacy")]
    pub allow_large_epsilon: bool,
    /// The privacy unit: row, or the column that identifies the person [default: row]
    #[arg(long, value_name = "COLUMN", help_heading = "Privacy")]
    pub unit: Option<String>,
    /// Which datasets are neighbours: add-remove or replace
    #[arg(long, value_name = "WHICH", default_value = "add-remove", help_heading = "Privacy")]
    pub adjacency: String,
    /// Number of blocks that the units are split into; choose it without looking at the rows
    #[arg(long, value_name = "K", default_value_t = 200, help_heading = "Privacy")]
    pub blocks: u64,
    /// Instead of blocks: this many samples of --sample-size rows, drawn with repetition from the --rows rows of the
    /// table; with --adjacency replace
    #[arg(long, value_name = "K", conflicts_with = "blocks", help_heading = "Privacy")]
    pub samples: Option<u64>,
    /// With --samples: rows in a sample
    #[arg(long, value_name = "M", help_heading = "Privacy")]
    pub sample_size: Option<u64>,
    /// With --samples: rows in the table, which are public under --adjacency replace
    #[arg(long, value_name = "N", help_heading = "Privacy")]
    pub rows: Option<u64>,
    /// Instead of blocks: one run on the whole table, which prints "DISTANCE ANSWER". You promise that the distance
    /// changes by at most C between neighbours, and is at most C where their answers differ; nothing checks it
    #[arg(long, value_name = "C", conflicts_with = "blocks", help_heading = "Privacy")]
    pub distance: Option<u64>,

    /// Time limit of a run; a block whose run exceeds it has no answer
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration, help_heading = "Runs")]
    pub time_limit: Duration,
    /// Address space limit of a run [default: none]
    #[arg(long, value_name = "SIZE", value_parser = bytes, help_heading = "Runs")]
    pub memory: Option<u64>,
    /// Number of parallel runs; a greedy run can spoil the others, so the noise is that of a unit that changes N
    /// answers
    #[arg(long, value_name = "N", default_value = "1", help_heading = "Runs")]
    pub jobs: NonZero<u64>,
    /// Start the next run as soon as one ends; the total time then depends on the rows
    #[arg(long, help_heading = "Runs")]
    pub unpadded: bool,

    /// How to print the release
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: Format,
    /// Spend nothing; show the cost, the probability of a refusal and the duration, and run the statistic on an empty
    /// table
    #[arg(long, help_heading = "Output")]
    pub dry_run: bool,

    /// Whose budget is charged, and where.
    #[command(flatten)]
    pub accounting: crate::accounting::Arguments,
}

/// The arguments of `reticent block-sql`.
#[derive(Debug, clap::Args)]
pub struct BlockArguments {
    /// What is asked
    pub sql: String,
}

const AFTER_HELP: &str = "How it works:
  The units are split at random into --blocks disjoint blocks, and the statistic is computed on each. One unit changes one answer \
(two with --unit COLUMN --adjacency replace; --jobs times as many), whatever the statistic is, so the statistic itself need not be private. \
The most frequent answer is released unchanged if no single unit could have made the difference; otherwise the outcome is a refusal. \
With --numeric the noisy mean of the answers is released; its error bar is about that mean, not about the statistic of the whole \
table. Blocks are small: a statistic is only as good as it is on rows/K rows.
  The number of runs without an answer is released with noise beside every outcome. If it is more than half, the outcome is a \
refusal, unless --default says what such a run counts as. With --default and without --numeric the number has a tenth of epsilon; \
otherwise it costs nothing.
  With --samples the statistic runs on samples that overlap; a row is in several, and the noise is made for that. With --distance it \
runs once, on the whole table, and the answer is released if the distance it prints, with noise, is large enough.

Runs:
  Each run is a process of its own. It reads its block as CSV, with a header, from standard input. Its answer is the first line \
it prints, trimmed. There is no answer if it prints nothing, prints more than 4096 bytes, exits with a code other than 0, or \
exceeds --time-limit; in that case it and its child processes are killed. Its standard error is discarded, its environment is \
PATH, LANG, LC_ALL, TZ, HOME and TMPDIR, and its directory is empty and removed afterwards. Where the system allows it, a run \
has no network and cannot see other processes; the output says what applies.
  An answer must be computed from its block alone. A program that passes information between runs voids the guarantee.
  With --jobs N, one greedy run can push the N − 1 others over their limits. The noise, and the agreement required, therefore \
allow for a unit that changes N answers. Runs start in rounds of N.
  Before anything is charged, the program is tried on invented rows. If it gives no answer, nothing is charged.
  Every run is padded to --time-limit, so that the total time reveals nothing.

SQL:
  A column is text unless the query computes with it, aggregates it (AVG, SUM, …) or compares it with a number; use CAST \
elsewhere. What cannot be read or cast is NULL. A query that fails or does not return exactly one row gives no answer.

Input:
  The first line of CSV names the columns. One line is one row: quotes protect commas, not line ends. Missing cells are empty; \
extra cells are dropped. TSV, Parquet, Arrow and compressed files are read as `reticent query` reads them; a run always gets CSV. Rows without a \
unit are dropped.

Accounting:
  The charge is made before any row is read, and a refusal costs as much as an answer. Repeating --request ID prints the stored \
outcome; nothing is charged or run again.

Example:
  seq 5000 | awk 'BEGIN {print \"age\"} {print 20 + $1 % 50}' > ages.csv
  reticent subsample ages.csv --sql 'SELECT FLOOR(MEDIAN(age) / 10) * 10 FROM data' --epsilon 1 --delta 1e-8 --dry-run
  reticent subsample ages.csv --program /usr/bin/awk --epsilon 1 --numeric 0..100 --time-limit 200ms -- \\
      'NR > 1 {sum += $1} END {print sum / (NR - 1)}'
  reticent subsample ages.csv --program /usr/bin/awk --epsilon 1 --numeric 0..100 --time-limit 200ms --default 0 -- \\
      'NR > 60 {sum += $1} END {print sum / (NR - 60)}'
  reticent subsample ages.csv --program /usr/bin/awk --epsilon 1 --delta 1e-8 --distance 1 -- \\
      'NR > 1 {n[$1 > 40]++} END {d = n[1] - n[0]; print (d < 0 ? -d : d) (d < 0 ? \" young\" : \" old\")}'

Exit codes: 0 released, 2 usage (nothing was charged), 3 refused (it was charged), 4 not enough budget left (nothing was \
charged), 1 anything else (reading failed, the ledger failed).";
