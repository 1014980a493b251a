//! From rows to exact integers per group, after contribution bounding.
//!
//! This is where private rows are reduced to counts, sums on a grid and the like: exact, not yet private, and of
//! bounded sensitivity.
//!
//! ```
//! # use std::sync::Arc;
//! # use arrow_array::{Int64Array, RecordBatch};
//! # use arrow_schema::{DataType, Field, Schema};
//! # use reticent::noise::Entropy;
//! use reticent_bounding::{Bounding, ContributionCaps, ChoiceKey, Job, Layout, Memory};
//!
//! // Who visited which city.
//! let schema = Schema::new(vec![Field::new("person", DataType::Int64, true), Field::new("city", DataType::Int64, true)]);
//! let batch = RecordBatch::try_new(
//!     Arc::new(schema),
//!     vec![Arc::new(Int64Array::from(vec![1, 1, 1, 2])), Arc::new(Int64Array::from(vec![10, 10, 10, 10]))],
//! )?;
//! let job = Job {
//!     schema: batch.schema(),
//!     layout: Layout { unit: true, keys: 1, measures: vec![] },
//!     caps: Some(ContributionCaps { groups: 1, rows: 2 }),
//!     keys: None,
//!     choice: ChoiceKey::draw(&mut Entropy::from_os()?.draw()?),
//! };
//! let bounding = Bounding::new(&job, &Memory::new(1 << 30).spilling_to(std::env::temp_dir()))?;
//! let mut workers = vec![bounding.worker(), bounding.worker()]; // one per thread
//! workers[0].add(&batch.slice(0, 2))?;
//! workers[1].add(&batch.slice(2, 2))?; // any row may go to any worker
//! let groups = bounding.finish(workers)?;
//! assert_eq!((groups.groups[0].units, groups.groups[0].rows), (2, 3)); // two rows of person 1, one of person 2
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Privacy
//! Let a unit's *contribution* be what is kept of its rows: up to `rows` of them in each of up to `groups` groups
//! ([`ContributionCaps`]). What is kept of one unit depends on the set of this unit's own rows and on the [`ChoiceKey`], and on
//! nothing else: not on other units, nor on the order in which rows arrive, the number of workers or batches, or what
//! was spilled to disk. So for every fixed key, adding or removing a unit adds or removes its contribution and leaves
//! all others unchanged, and the sensitivities of [`reticent::statistic::Contribution`] hold. They hold for every key
//! that was chosen without looking at the rows, so privacy does not depend on the quality of the hash. The hash makes
//! the choice unpredictable and uniform.
//!
//! - Rows without a unit (NULL) are dropped. So are, *before* anything is chosen, rows whose key is not among the
//!   public ones.
//! - Two units are the same only if their values are equal: hashes locate, comparisons decide. For float keys and
//!   items, all NaN are equal, and −0 is 0.
//! - Values never become errors. NULL and NaN are dropped from a statistic, everything else is clamped to its grid.
//!
//! Not promised: that time and memory are independent of the rows. The running time, whether the work is interrupted
//! and whether memory suffices ([`Memory`]) all depend on them.
//!
//! # Accuracy
//! A unit's groups are chosen uniformly, and so are its rows within each chosen group. Only the values themselves are
//! rounded, to the grid: sums are sums of integers, in 128 bits, which no number of rows overflows.
//!
//! # Algorithm
//! A worker numbers its group keys, converts each input to a 32-bit number, and partitions rows into 256 buckets by a
//! hash of the unit. When all rows have arrived, the workers' tables of keys are merged. Then the buckets, each small
//! enough for the processor's cache, are taken from all workers one after the other, sorted by unit, bounded and added
//! up, on several threads. When memory runs out, buckets are written to temporary files and read back one by one. If
//! the unit is the row there is nothing to choose: rows are added up as they arrive.
//!
//! | module | contents |
//! |---|---|
//! | `job` | [`Job`]: what to do |
//! | `layout` | [`Layout`], [`Measure`], [`ContributionCaps`]: what to measure, and whether the columns match |
//! | `bounding` | [`Bounding`]: from the first batch to the result |
//! | `worker` | [`Worker`]: the work of one thread |
//! | `scatter` | partitioning of rows into buckets by unit |
//! | `bucket`, `spill` | records in memory and on disk |
//! | `merge` | all workers' buckets, one after the other |
//! | `gather` | grouping of a bucket's records by unit |
//! | `keep` | what is kept of each unit |
//! | `weigh` | [`Weighing`]: weights instead of caps |
//! | `choice` | [`ChoiceKey`]: which groups and rows of a unit are kept |
//! | `unit` | a unit as words that can be compared |
//! | `kind` | supported column types |
//! | `words`, `texts`, `values` | distinct values, numbered |
//! | `keys` | [`PublicKeys`]; group keys, numbered |
//! | `feature` | what is kept of a row's inputs: one 32-bit number each |
//! | `measure` | per-group accumulators of every measure |
//! | `cells` | numbers whose memory is reserved before it is allocated |
//! | `totals` | all accumulators together |
//! | `part` | [`Part`]: statistics of some of the units, to be merged with others |
//! | `groups` | [`Groups`]: the result |
//! | `memory`, `interrupt` | [`Memory`], [`Interrupt`]: limits |
//! | [`wire`] | jobs and parts as bytes |
//! | `error` | the one error type |

mod bounding;
mod bucket;
mod cells;
mod choice;
mod error;
mod feature;
mod gather;
mod groups;
mod growth;
mod interrupt;
mod job;
mod keep;
mod keys;
mod kind;
mod layout;
mod measure;
mod memory;
mod merge;
mod part;
mod scatter;
mod spill;
#[cfg(test)]
mod tests;
mod texts;
mod totals;
mod unit;
mod values;
mod weigh;
pub mod wire;
mod words;
mod worker;

pub use bounding::Bounding;
pub use choice::ChoiceKey;
pub use error::{Error, Result};
pub use groups::{Group, Groups};
pub use interrupt::Interrupt;
pub use job::Job;
pub use keys::PublicKeys;
pub use layout::{ContributionCaps, Layout, MOST_BINS, Measure};
pub use measure::Measured;
pub use memory::{Memory, Reservation};
pub use part::{BYTES_PER_BIN, Part};
pub use weigh::{Activity, WEIGHT_BITS, Weighing, WeightCaps, Weighted};
pub use worker::Worker;
