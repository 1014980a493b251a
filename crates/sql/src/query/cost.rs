//! What a query takes whatever the rows: known before the charge, and compared with limits in one place.
//!
//! A run that fails suspends its dataset. So nobody must be able to write a query that fails with certainty, and one that
//! takes too much is refused before it is charged. Refusals depend on the query, its options, the public tables and the
//! limits alone.

use reticent_bounding::BYTES_PER_BIN;

use super::Query;
use crate::algebra::{Limits, Plain, Statistic, TooLarge};
use crate::answer::Entry;
use crate::error::{Error, Result};
use crate::keys::KnownKeys;
use crate::limits::RunLimits;
use crate::options::Range;
use crate::outcome::QueryOutcome;
use crate::release::{Cell, Design, derived, draw};
use crate::resolve::{Origin, Resolved};

/// The most numbers that are drawn, and the most that are shown: an answer with more would be too long for a ledger.
const MOST_NUMBERS: usize = 1 << 24;

/// The most parts of an answer for each number of bars that must hold at once: with up to seven half-widths of 80 µs each,
/// nine seconds.
const MOST_HALF_WIDTHS: usize = 1 << 14;
/// The most error bars of computed values, in all steps: about as many as are derived in the time that there is for them.
const MOST_STEPS: usize = 1 << 26;

/// The bytes of a key in a hash table: 33 bytes for each place, of which 7 in 16 are used after it has grown, and the value
/// in a list that may be half empty.
const KEY_BYTES: usize = 33 * 16 / 7 + 2 * size_of::<u64>();
/// The bytes of a group beside its keys and numbers: what decides which units it keeps, its place in the order, its
/// counts and the list of its numbers.
const GROUP_BYTES: usize = 128;
/// The bytes of a key in the tables from which the answer is computed.
const RESULT_KEY_BYTES: usize = 2 * size_of::<u128>();
/// The bytes of an aggregate's value: its cell, and the number in such a table.
const CELL_BYTES: usize = size_of::<Cell>() + size_of::<u128>();
/// The bytes of an error bar, of which there is one for each number of bars that must hold at once.
const BAR_BYTES: usize = 24;
/// The bytes of a value of the answer: the entry, and its text as it is written and stored.
const SHOWN_BYTES: usize = size_of::<Entry>() + 2 * 64;
/// How often the text of a key is copied from the tables of keys until it is shown.
const TEXT_COPIES: usize = 5;

/// The least bytes of a value in the text of an answer, `"refused",`; of a number with its error bar,
/// `{"released":{"value":0,"half_width":0.0}},`; of any other value, `{"plain":0},`; and of one more bin, `0,`.
const LEAST_REFUSED: usize = 10;
const LEAST_RELEASED: usize = 42;
const LEAST_PLAIN: usize = 12;
const LEAST_BIN: usize = 2;

/// What a query takes, as far as it is known before rows are read. Where keys come from the data there is at least one
/// group.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cost {
    /// The groups of public keys.
    groups: usize,
    /// The columns of keys.
    keys: usize,
    /// The bytes of all groups' keys.
    key_texts: usize,
    /// The numbers that are measured in each group, with one for each quantile.
    numbers: usize,
    /// The values of aggregates in each group; a histogram has as many as bins.
    cells: usize,
    /// The error bars in each group that hold for several values at once.
    bars: usize,
    /// The values in each row of the answer.
    shown: usize,
    /// The half-widths of noise that error bars are computed from, for all groups together.
    half_widths: usize,
    /// The steps in which error bars of computed values are derived.
    steps: usize,
    /// The least bytes that the answer's text takes.
    text: usize,
    /// Rows that operators process for each private row.
    work: u64,
}

impl Cost {
    /// The cost of a query with this design. `together` is how many different numbers of bars must hold at once.
    pub fn of(resolved: &Resolved, design: &Design, keys: Option<&KnownKeys>, together: usize) -> Self {
        let statistics = &resolved.measured.statistics;
        let width = |statistic: &Statistic| match statistic {
            Statistic::Histogram { bins, .. } => *bins as usize,
            _ => 1,
        };
        let drawn: usize = design.additive.iter().map(|paid| draw::width(&paid.part)).sum();
        let ranked: usize = design.ranks.iter().map(|ranks| ranks.shares.len()).sum();
        let groups = keys.map_or(1, KnownKeys::len);
        let key_texts = keys.map_or(0, KnownKeys::text_bytes);
        let columns = resolved.columns.iter().map(|(_, origin)| match origin {
            Origin::Asked(asked) => width(&statistics[*asked]),
            Origin::Key(_) | Origin::Derived => 1,
        });
        let least = resolved.columns.iter().map(|(_, origin)| match origin {
            Origin::Asked(asked) if resolved.asked[*asked].range == Some(Range::Auto) => LEAST_REFUSED,
            Origin::Asked(asked) => match &statistics[*asked] {
                Statistic::StableMedian(_) | Statistic::StableMode(_) => LEAST_REFUSED,
                statistic => LEAST_RELEASED + LEAST_BIN * (width(statistic) - 1),
            },
            Origin::Key(_) | Origin::Derived => LEAST_PLAIN,
        });
        let rows = least_rows(&resolved.above, groups);
        let shown_keys = resolved.columns.iter().filter(|(_, origin)| matches!(origin, Origin::Key(_))).count();
        // All groups are shown, or it is not known which.
        let texts = if rows == groups && shown_keys == resolved.keys.len() { key_texts } else { 0 };
        Self {
            groups,
            keys: resolved.keys.len(),
            key_texts,
            numbers: drawn + ranked + design.medians.len() + design.modes.len(),
            cells: statistics.iter().map(width).sum(),
            bars: together.saturating_mul(statistics.len()),
            half_widths: (1 + together).saturating_mul(design.additive.len()),
            steps: together.saturating_mul(groups).saturating_mul(derived::computed_columns(&resolved.above)),
            shown: columns.sum(),
            text: rows.saturating_mul(least.sum()).saturating_add(texts),
            work: resolved.measured.rows.work(),
        }
    }

    /// Checks what depends on the query and the public tables alone.
    ///
    /// # Errors
    /// If it takes too much.
    pub fn check(&self, limits: &Limits) -> Result<()> {
        let Self { groups, numbers, cells, shown, half_widths, steps, text, work, .. } = *self;
        if work > limits.work as u64 {
            let what = format!("its UNIONs and its joins with public tables make {work} rows of 1");
            return Err(TooLarge::new(what, limits.work).into());
        }
        let most = numbers.max(cells).max(shown);
        if groups.checked_mul(most).is_none_or(|all| all > MOST_NUMBERS) {
            return Err(Error::option(format!(
                "the answer would have {groups} × {most} numbers (groups of public keys × numbers in each), but the limit is \
                 {MOST_NUMBERS}; list fewer keys, or ask for fewer columns or bins"
            )));
        }
        for (many, most) in [(half_widths, MOST_HALF_WIDTHS), (steps, MOST_STEPS)] {
            if many > most {
                let what = format!("the error bars of computed columns take {many} steps");
                return Err(TooLarge::new(what, most).into());
            }
        }
        if text > QueryOutcome::LONGEST {
            return Err(Error::option(format!(
                "the text of the answer would take at least {} MiB, but the limit is {} MiB; list fewer keys, or ask for \
                 fewer columns or bins",
                mebibytes(text),
                QueryOutcome::LONGEST >> 20
            )));
        }
        Ok(())
    }

    /// The bytes that all groups take: while rows are read, when each of this many threads has its own table of keys and its
    /// own sums, or afterwards, when the answer is made, whichever is more.
    fn bytes(&self, threads: usize) -> usize {
        let sum = |parts: &[(usize, usize)]| {
            parts.iter().fold(0usize, |sum, (many, bytes)| sum.saturating_add(many.saturating_mul(*bytes)))
        };
        let copies = threads.saturating_add(1);
        // The first two columns of keys are numbered as pairs, then these with the third column, and so on.
        let tables = if self.keys == 0 { 0 } else { (self.keys - 1).max(1) };
        // Rows and units are counted, too.
        let numbers = self.numbers + 2;
        let reading = sum(&[
            (1, GROUP_BYTES),
            (tables, KEY_BYTES.saturating_mul(copies)),
            (numbers, size_of::<i64>().saturating_mul(copies).saturating_add(BYTES_PER_BIN)),
        ]);
        let answering = sum(&[
            (1, GROUP_BYTES),
            (self.keys, RESULT_KEY_BYTES),
            (numbers, BYTES_PER_BIN),
            (self.cells, CELL_BYTES),
            (self.bars, BAR_BYTES),
            (self.shown, SHOWN_BYTES),
        ]);
        let texts = self.key_texts.saturating_mul(copies.saturating_add(TEXT_COPIES));
        self.groups.saturating_mul(reading.max(answering)).saturating_add(texts)
    }
}

/// The least number of rows that a relation of released values has, for this many groups.
fn least_rows(plain: &Plain, groups: usize) -> usize {
    match plain {
        Plain::Table(data) => data.rows(),
        Plain::Given => groups,
        Plain::Project(input, _) | Plain::Reorder(input, _) | Plain::Sort(input, _) => least_rows(input, groups),
        Plain::Limit(input, skip, most) => {
            let rows = least_rows(input, groups).saturating_sub(*skip);
            most.map_or(rows, |most| rows.min(most))
        }
        Plain::Aggregate { keys, .. } if keys.is_empty() => 1,
        Plain::Filter(..) | Plain::Join { .. } | Plain::Aggregate { .. } | Plain::Distinct(_) | Plain::Union(_) => 0,
    }
}

fn mebibytes(bytes: usize) -> usize {
    bytes.div_ceil(1 << 20)
}

impl Query {
    /// Checks that there is memory for all groups, as far as they are known before rows are read.
    ///
    /// # Errors
    /// [`Error::Option`] if a run within these limits might fail whatever the rows.
    pub fn check_memory(&self, limits: &RunLimits) -> Result<()> {
        let (needed, most) = (self.cost.bytes(limits.threads()), limits.memory());
        if needed > most {
            let Cost { groups, numbers, shown, .. } = self.cost;
            return Err(Error::option(format!(
                "{groups} groups with {numbers} numbers and {shown} columns each take {} MiB, more than the memory limit of \
                 {} MiB; ask for fewer columns or bins, list fewer keys, or raise the limit",
                mebibytes(needed),
                most >> 20
            )));
        }
        Ok(())
    }
}
