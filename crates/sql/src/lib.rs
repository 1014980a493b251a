//! Private SQL over tables: parse, check, bound, then noise.
//!
//! | module | holds |
//! |---|---|
//! | [`table`] | tables from files: CSV, NDJSON, Parquet, Arrow |
//! | [`query`] | [`Query`]: from its text to its answer |
//! | [`options`] | [`Options`]: whose privacy, how much, within which bounds |
//! | [`settings`] | what arguments, policies and the SQL itself say, together |
//! | [`dialect`] | BigQuery's way to ask |
//! | [`statement`] | from text to one statement |
//! | `walk` | one walk through a statement |
//! | [`usage`] | which columns of text files are numbers |
//! | [`check`] | can it be answered privately? |
//! | [`bound`] | from rows to exact statistics of bounded sensitivity |
//! | [`release`] | what is released, how it is paid for, and the noise |
//! | [`answer`] | [`Answer`]: released rows, and what they cost |
//! | [`joint`] | a query that several parties answer together: its exact statistic, and what their sum says |
//! | [`scalar`] | a query that gives one value, asked of rows that someone else protects |
//! | [`runner`] | [`Runner`]: where plans run |
//! | [`session`] | the query engine, set up so that nothing else looks at rows |
//! | [`functions`] | aggregates that the query engine has not |
//! | [`error`] | the one error type |

pub mod answer;
pub mod check;
pub mod dialect;
pub mod error;
pub mod functions;
pub mod joint;
pub mod options;
pub mod query;
pub mod release;
pub mod runner;
pub mod scalar;
pub mod session;
pub mod settings;
pub mod statement;
pub mod table;
pub mod usage;
mod walk;

pub use answer::Answer;
pub use error::{Error, Result};
pub use joint::JointQuery;
pub use options::{Options, Range, Unit};
pub use query::{Input, Query};
pub use reticent_bound as bound;
pub use runner::Runner;
pub use settings::{Asked, Settings};
pub use table::Table;
