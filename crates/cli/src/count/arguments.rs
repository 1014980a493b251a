//! The arguments of `reticent count`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use reticent_stream::count::{Draft, Input};

use crate::output::Format;

/// The arguments of `reticent count`.
#[derive(Debug, clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// What to read: a file (numbers, CSV or NDJSON, each also as .gz or .zst; Parquet, Arrow), or - for standard input
    #[arg(default_value = "-")]
    pub file: PathBuf,

    /// Privacy guarantee of all releases together: epsilon
    #[arg(long, allow_hyphen_values = true, value_name = "E", help_heading = "Privacy")]
    pub epsilon: Option<String>,
    /// With --epsilon: guarantee (epsilon, delta)
    #[arg(long, allow_hyphen_values = true, value_name = "D", requires = "epsilon", help_heading = "Privacy")]
    pub delta: Option<String>,
    /// Privacy guarantee of all releases together: rho, in zero-concentrated differential privacy
    #[arg(long, allow_hyphen_values = true, value_name = "R", conflicts_with_all = ["epsilon", "delta"], help_heading = "Privacy")]
    pub rho: Option<String>,
    /// Confirm an epsilon above 10 or a delta above 0.001, which protect next to nothing
    #[arg(long, help_heading = "Privacy")]
    pub allow_large_epsilon: bool,
    /// The privacy unit: event, step, or events:N for a person with at most N events [default: step; event with --step
    /// or --key]
    #[arg(long, value_name = "UNIT", help_heading = "Privacy")]
    pub unit: Option<String>,
    /// Which streams are neighbours: add-remove or replace [default: replace; add-remove with --step]
    #[arg(long, value_name = "WHICH", help_heading = "Privacy")]
    pub adjacency: Option<String>,
    /// Clamping bounds of one unit's value [default: 0..1]
    #[arg(long, value_parser = crate::numbers::range, allow_hyphen_values = true, value_name = "LO..HI",
          help_heading = "Privacy")]
    pub range: Option<(i64, i64)>,

    /// Maximum number of steps; may be written as a power, 2^20
    #[arg(long, value_name = "T", value_parser = crate::numbers::steps, allow_hyphen_values = true, conflicts_with = "unbounded", help_heading = "Counter")]
    pub horizon: Option<u64>,
    /// Allow any number of steps (larger errors)
    #[arg(long, help_heading = "Counter")]
    pub unbounded: bool,
    /// Which counter to use; auto picks the one with the smallest expected error [default: auto]
    #[arg(long, value_name = "NAME", help_heading = "Counter")]
    pub counter: Option<String>,

    /// Input format [default: by the file's name, or csv with --column or --time, else text]
    #[arg(long, value_parser = PossibleValuesParser::new(Input::ALL.map(Input::name)).try_map(|name| name.parse::<Input>()),
          value_name = "FORM", help_heading = "Input")]
    pub input: Option<Input>,
    /// The column, or JSON field, with the value
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub column: Option<String>,
    /// Count 1 for every non-empty line (or cell, with --column)
    #[arg(long, help_heading = "Input")]
    pub events: bool,
    /// The column, or JSON field, with the key: one counter per key
    #[arg(long, value_name = "NAME", help_heading = "Input")]
    pub key: Option<String>,
    /// The public keys: a comma-separated list, or a file with one per line. Without them, a key appears once its noisy
    /// count reaches a threshold (needs --delta)
    #[arg(long, value_name = "LIST", requires = "key", help_heading = "Input")]
    pub keys: Option<String>,
    /// The column, or JSON field, with the time of the event
    #[arg(long, value_name = "NAME", requires = "step", help_heading = "Input")]
    pub time: Option<String>,
    /// Length of a time step, such as 1m (ms, s, m, h, d), instead of one step per line
    #[arg(long, value_name = "LENGTH", help_heading = "Input")]
    pub step: Option<String>,
    /// Start of the first step; earlier events are ignored [default: now, for a live stream]
    #[arg(long, value_name = "TIME", requires = "step", allow_hyphen_values = true, help_heading = "Input")]
    pub from: Option<String>,
    /// End of the last step, instead of --horizon; later events are ignored
    #[arg(long, value_name = "TIME", requires = "step", conflicts_with_all = ["horizon", "unbounded"],
          allow_hyphen_values = true, help_heading = "Input")]
    pub to: Option<String>,

    /// How to print the releases
    #[arg(long, value_enum, default_value = "table", help_heading = "Output")]
    pub format: Format,
    /// Confidence level of the half-widths
    #[arg(long, default_value_t = reticent::release::LEVEL, help_heading = "Output")]
    pub level: f64,
    /// Print negative values as 0
    #[arg(long, help_heading = "Output")]
    pub non_negative: bool,
    /// Never print less than before
    #[arg(long, help_heading = "Output")]
    pub monotone: bool,

    /// Plot the releases with their error band to an SVG file, at the end
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub plot: Option<PathBuf>,

    /// Whose budget is charged, and where.
    #[command(flatten)]
    pub accounting: crate::accounting::Arguments,

    /// Save the counter to this file, always before its releases are shown
    #[arg(long, value_name = "FILE", conflicts_with = "request", help_heading = "State")]
    pub save: Option<PathBuf>,
    /// Continue the counter that --save names, with its original parameters
    #[arg(long, requires = "save", help_heading = "State")]
    pub resume: bool,
    /// With --resume: the input starts from the first line again; skip the lines that were counted
    #[arg(long, requires = "resume", help_heading = "State")]
    pub skip_counted: bool,
}

impl Arguments {
    /// What is to be counted, apart from the keys.
    pub fn draft(&self) -> Draft {
        Draft {
            epsilon: self.epsilon.clone(),
            delta: self.delta.clone(),
            rho: self.rho.clone(),
            allow_large_epsilon: self.allow_large_epsilon,
            unit: self.unit.clone(),
            adjacency: self.adjacency.clone(),
            range: self.range,
            horizon: self.horizon,
            unbounded: self.unbounded,
            counter: self.counter.clone(),
            input: self.input,
            column: self.column.clone(),
            events: self.events,
            key: self.key.clone(),
            time: self.time.clone(),
            step: self.step.clone(),
            from: self.from.clone(),
            to: self.to.clone(),
        }
    }
}

const AFTER_HELP: &str = "Steps:
  Without --step, each line is a step: after each line, the sum of all lines so far is released with noise. That a line \
arrives is public; what it says is protected (unit step, adjacency replace: a line may say anything else in the range). With \
--adjacency add-remove (unit event) a line is the sum of any number of events, each within the range, and whether any one of \
them is part of it is protected. The line itself is not clamped then: you must make sure that no event exceeds the range.
  With --step, --time sorts events into steps of time, between --from and --to (or for --horizon steps); whether any one event \
happened is protected (unit event, adjacency add-remove). Empty steps are released too. A file, or a period that is over, is \
read to its end first. In a live stream (standard input, and the period is not over) the clock closes the steps, never the \
data. Without --time an event belongs to the step in which it arrives. An event that arrives after its step was closed counts \
in the current step.

Input:
  A line that cannot be read, or a missing cell or field, counts 0; how many there were is not reported. Numbers are whole. A \
line of CSV is one record: quotes protect commas, not line ends. A line of NDJSON is an object, or a number that counts by \
itself; \"3\" is 3 and true is 1. Times are RFC 3339, \"YYYY-MM-DD HH:MM:SS\" (UTC) or seconds since 1970. A row of Parquet or Arrow \
is read like a line of NDJSON: 3.0 is 3, a number with a fraction counts 0, true is 1. A date is its midnight in UTC.

Keys:
  With --key every key is released after every step, even if nothing happened: an event changes one key only, so all keys \
together cost as much as one (twice that with --adjacency replace, where an event may change its key). An empty key is no key. \
Events without a key, or with one that is not in --keys, are ignored.

Accounting:
  The whole stream is charged once, before its first row is counted. Without --ledger (and $RETICENT_LEDGER) it is charged to \
your own ledger, under the file's full path (a copy or another name is another dataset) and without a limit, unless you set \
one with `reticent ledger create --file FILE`. With --request ID all releases are kept in the ledger and printed at the end. \
Repeating the request prints the same releases and charges nothing. For ongoing streams, use --save.

State:
  The FILE of --save is as secret as the data. After a crash, --resume prints the last saved releases again (the same values) \
and treats its input as the continuation. Beside it are FILE.epoch, which detects a restored older copy, and FILE.lock.

Examples:
  seq 0 9 | reticent count - --epsilon 1 --horizon 10 --range 0..9
  printf 'n\\n3\\n4\\n' | reticent count - --column n --epsilon 1 --unbounded --range 0..9
  printf 'at\\n60\\n61\\n' | reticent count - --time at --step 1m --from 0 --to 180 --epsilon 1
  printf 'page\\nhome\\nhelp\\n' | reticent count - --key page --keys home,help --epsilon 1 --horizon 9
  tail -n 0 -f access.log | reticent count - --events --step 1m --horizon 1440 --epsilon 1

Exit codes: 0 released, 2 usage (nothing was charged), 4 not enough budget left (nothing was charged), 1 anything else \
(reading failed, the horizon is reached, the ledger failed).";
