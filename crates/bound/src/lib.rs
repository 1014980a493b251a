//! From rows to exact whole numbers per group, after bounding what each unit contributes.
//!
//! This is the only place where private rows are looked at. What leaves it are counts, sums on a grid and the like: exact,
//! not yet private, and of bounded sensitivity.
//!
//! # Privacy
//! Let a unit's *contribution* be what is kept of its rows: up to `rows` of them in each of up to `groups` groups
//! ([`Caps`]). What is kept of one unit depends on the set of this unit's own rows and on the [`ChoiceKey`], and on nothing
//! else: not on other units, nor on the order in which rows arrive, the number of partitions, batches, or what was spilled
//! to disk. So for every fixed key, adding or removing a unit adds or removes its contribution and leaves those of all others
//! as they were, and the sensitivities of [`reticent::statistic::Contribution`] hold. As they hold for every key that was
//! chosen without looking at the rows, privacy does not rest on the quality of the hash; that nobody can foresee or
//! steer which rows of a unit count, and that each is as likely as the others, does.
//!
//! - Rows without a unit (NULL) are dropped. So are, *before* anything is chosen, rows whose key is not among the public ones.
//! - Two units are the same only if their values are equal: hashes find, comparisons decide. For floats, all NaN are one
//!   unit (or key, or item), and −0 is 0.
//! - Values never become errors. NULL and NaN are dropped from a statistic, everything else is clamped to its grid.
//!
//! # Accuracy
//! A unit's groups are chosen uniformly, and so are its rows within each chosen group. Nothing is rounded but the values
//! themselves, to the grid: sums are sums of whole numbers, in 128 bits, which no number of rows overflows.
//!
//! # Algorithm
//! [`BoundExec`] is an operator of the physical plan. Its input is partitioned by a hash of the unit. A partition numbers its
//! group keys, turns inputs into one 32-bit number each and scatters rows into buckets by another hash of the unit; when the
//! input is at its end, one bucket after the other, small enough for the processor's cache, is grouped by unit, chosen from
//! and added up. If the memory pool is exhausted, buckets are written to temporary files and read back one by one. The
//! partial statistics of all partitions are merged by [`aggregate`].
//! If the unit is the row there is nothing to choose: rows are added up as they come.
//!
//! | module | holds |
//! |---|---|
//! | `layout` | [`Layout`], [`Measure`], [`Caps`]: what is asked for, and whether the columns suit it |
//! | `choice` | [`ChoiceKey`]: which groups and rows of a unit count |
//! | `canonical` | values that mean the same made the same; numbers out of columns |
//! | `keys` | group keys numbered, those known beforehand or all |
//! | `feature` | what is kept of a row's inputs: one 32-bit number each |
//! | `items` | values of any type numbered |
//! | `unit` | a unit as words that can be compared |
//! | `bucket` | rows scattered by unit, in memory and on disk |
//! | `gather` | the rows of a bucket brought together by unit |
//! | `keep` | what is kept of each unit |
//! | `measure` | per-group accumulators of every measure |
//! | `totals` | all accumulators together, and their partial state as a batch |
//! | `exec` | [`BoundExec`] |
//! | `aggregate` | [`aggregate()`]: runs the operator and merges its partitions |
//! | [`wire`] | what the operator knows, as bytes |

mod aggregate;
mod bucket;
mod canonical;
mod choice;
mod exec;
mod feature;
mod gather;
mod items;
mod keep;
mod keys;
mod layout;
mod measure;
#[cfg(test)]
mod tests;
mod totals;
mod unit;
pub mod wire;

pub use aggregate::{Group, Groups, aggregate, merge, plan};
pub use choice::ChoiceKey;
pub use exec::BoundExec;
pub use keys::PublicKeys;
pub use layout::{Caps, Layout, MOST_BINS, Measure};
pub use measure::Measured;
