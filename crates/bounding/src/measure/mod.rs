//! Per-group accumulators of every measure.
//!
//! Each adds up the features of rows, absorbs other accumulators of its kind, and ends as a [`Measured`] per group.
//!
//! | module | contents |
//! |---|---|
//! | `present` | how many rows have a value |
//! | `bins` | counts per bin, of the grid or of magnitudes |
//! | `moments` | count, sum and squares |
//! | `steps` | all values on the grid |
//! | `frequencies` | all items and how often each occurs |

mod bins;
mod frequencies;
mod moments;
mod present;
mod steps;

use arrow_array::ArrayRef;
use reticent::statistic::Moments;
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::layout::Measure;
use crate::memory::Memory;
use crate::values::Values;

/// One measure of one group: exact, not yet private.
#[derive(Debug, Clone, PartialEq)]
pub enum Measured {
    /// Of [`Measure::Present`].
    Count(i64),
    /// Of [`Measure::Moments`].
    Moments(Moments),
    /// Of [`Measure::Bins`] and [`Measure::Magnitudes`].
    Bins(Vec<i64>),
    /// Of [`Measure::Values`], in grid steps, ascending.
    Values(Vec<i64>),
    /// Of [`Measure::Items`].
    Items {
        /// Distinct, ascending.
        values: ArrayRef,
        /// How often each occurs.
        counts: Vec<u64>,
    },
}

/// Adds up one measure in all groups.
pub(crate) enum Accumulator {
    Present(present::Present),
    Bins(bins::Bins),
    Moments(moments::Sums),
    Steps(steps::Steps),
    Frequencies(frequencies::Frequencies),
}

/// The serialised form of an accumulator.
#[derive(Serialize, Deserialize)]
pub(crate) enum State {
    Present(Vec<i64>),
    /// The counts of each of these groups.
    Bins {
        groups: Vec<u32>,
        counts: Vec<i64>,
    },
    Moments {
        counts: Vec<i64>,
        sums: Vec<i128>,
        squares: Vec<i128>,
    },
    /// Group and steps.
    Steps(Vec<(u32, i32)>),
    /// Group, item and frequency.
    Frequencies(Vec<(u32, u32, u64)>),
}

impl Accumulator {
    pub fn new(measure: &Measure, memory: &Memory) -> Self {
        match measure {
            Measure::Present { .. } => Self::Present(present::Present::new(memory)),
            Measure::Bins { grid, bins, .. } => Self::Bins(bins::Bins::of_grid(grid, *bins, memory)),
            Measure::Magnitudes { .. } => Self::Bins(bins::Bins::of_magnitudes(memory)),
            Measure::Moments { grid, squares, .. } => Self::Moments(moments::Sums::new(grid, *squares, memory)),
            Measure::Values { .. } => Self::Steps(steps::Steps::new(memory)),
            Measure::Items { .. } => Self::Frequencies(frequencies::Frequencies::new(memory)),
        }
    }

    /// Makes room for this many groups.
    pub fn resize(&mut self, groups: usize) -> Result<()> {
        match self {
            Self::Present(present) => present.resize(groups)?,
            Self::Bins(bins) => bins.resize(groups)?,
            Self::Moments(sums) => sums.resize(groups)?,
            Self::Steps(steps) => steps.resize(groups),
            Self::Frequencies(frequencies) => frequencies.resize(groups),
        }
        Ok(())
    }

    /// Makes room for these rows, and for what only groups with values have, before rows are added.
    pub fn prepare(&mut self, groups: &[u32], feature: &[i32]) -> Result<()> {
        match self {
            Self::Bins(bins) => bins.prepare(groups, feature),
            Self::Steps(steps) => steps.prepare(groups.len()),
            Self::Frequencies(frequencies) => frequencies.prepare(groups.len()),
            Self::Present(_) | Self::Moments(_) => Ok(()),
        }
    }

    /// Whether it adds up values rather than counting rows.
    pub fn adds_values(&self) -> bool {
        matches!(self, Self::Moments(_))
    }

    /// Adds rows: the group, the feature and the weight of each. Values and items have no weights.
    pub fn add(&mut self, groups: &[u32], feature: &[i32], weights: impl Iterator<Item = i64> + Clone) {
        match self {
            Self::Present(present) => present.add(groups, feature, weights),
            Self::Bins(bins) => bins.add(groups, feature, weights),
            Self::Moments(sums) => sums.add(groups, feature, weights),
            Self::Steps(steps) => steps.add(groups, feature),
            Self::Frequencies(frequencies) => frequencies.add(groups, feature),
        }
    }

    /// Adds the sums of another accumulator of the same measure; `groups` and `items` map its numbers to these.
    pub fn absorb(&mut self, other: Self, groups: &[u32], items: Option<&[u32]>) -> Result<()> {
        match (self, other) {
            (Self::Present(present), Self::Present(other)) => present.absorb(&other, groups),
            (Self::Bins(bins), Self::Bins(other)) => bins.absorb(&other, groups)?,
            (Self::Moments(sums), Self::Moments(other)) => sums.absorb(&other, groups),
            (Self::Steps(steps), Self::Steps(other)) => steps.absorb(&other, groups)?,
            (Self::Frequencies(frequencies), Self::Frequencies(other)) => {
                frequencies.absorb(&other, groups, items.unwrap_or_default())?;
            }
            _ => unreachable!("accumulators of one measure are of one kind"),
        }
        Ok(())
    }

    /// The measurements of these groups, in their order. `items` is the feature's table, if it has one.
    pub fn finish(self, items: Option<&Values>, groups: &[u32]) -> Vec<Measured> {
        match self {
            Self::Present(present) => present.finish(groups),
            Self::Bins(bins) => bins.finish(groups),
            Self::Moments(sums) => sums.finish(groups),
            Self::Steps(steps) => steps.finish(groups),
            Self::Frequencies(frequencies) => items.map_or_else(Vec::new, |items| frequencies.finish(items, groups)),
        }
    }

    pub fn state(&self) -> State {
        match self {
            Self::Present(present) => present.state(),
            Self::Bins(bins) => bins.state(),
            Self::Moments(sums) => sums.state(),
            Self::Steps(steps) => steps.state(),
            Self::Frequencies(frequencies) => frequencies.state(),
        }
    }

    /// Replaces empty sums by a state; `false` if it does not match this many groups and items.
    pub fn restore(&mut self, state: State, items: usize) -> Result<bool> {
        Ok(match (self, state) {
            (Self::Present(present), State::Present(counts)) => present.restore(&counts),
            (Self::Bins(bins), State::Bins { groups, counts }) => bins.restore(&groups, &counts)?,
            (Self::Moments(sums), State::Moments { counts, sums: wide, squares }) => {
                sums.restore(&counts, &wide, &squares)
            }
            (Self::Steps(steps), State::Steps(rows)) => steps.restore(&rows)?,
            (Self::Frequencies(frequencies), State::Frequencies(counts)) => frequencies.restore(counts, items)?,
            _ => false,
        })
    }

    /// What this many groups reserve, if all of them have values.
    pub fn most_bytes(&self, groups: usize) -> usize {
        match self {
            Self::Present(_) => groups.saturating_mul(size_of::<i64>()),
            Self::Bins(bins) => bins.most_bytes(groups),
            Self::Moments(sums) => sums.most_bytes(groups),
            Self::Steps(_) | Self::Frequencies(_) => 0,
        }
    }

    /// The bytes of texts in the result.
    pub fn text_bytes(&self, items: Option<&Values>) -> usize {
        match (self, items) {
            (Self::Frequencies(frequencies), Some(items)) => frequencies.text_bytes(items),
            _ => 0,
        }
    }

    /// How many numbers the result has for each group, where the query determines it.
    pub fn width(&self) -> usize {
        match self {
            Self::Bins(bins) => bins.bins(),
            Self::Moments(_) => 3,
            Self::Present(_) | Self::Steps(_) | Self::Frequencies(_) => 1,
        }
    }
}

/// Where the first group's entries start and where each group's end, from the number of entries per group.
fn offsets(counts: &[usize]) -> Vec<usize> {
    let ends = counts.iter().scan(0, |sum, count| {
        *sum += count;
        Some(*sum)
    });
    std::iter::once(0).chain(ends).collect()
}
