//! Private SQL over tables: read, bound, then noise.
//!
//! | module | holds |
//! |---|---|
//! | [`query`] | [`Query`]: from its text to its answer |
//! | [`algebra`] | what can be asked, and why the answer is private |
//! | [`resolve`] | from SQL text to the algebra |
//! | [`engine`] | from files to exact statistics |
//! | [`release`] | what is released, how it is paid for, and the noise |
//! | [`answer`] | [`Answer`]: released rows, and what they cost |
//! | [`outcome`] | [`Outcome`]: what came of a query that was charged |
//! | [`limits`] | [`RunLimits`]: memory, time and threads of a run |
//! | [`options`] | [`Options`]: whose privacy, how much, within which bounds |
//! | [`settings`] | what arguments, policies and the SQL itself say, together |
//! | [`dialect`] | BigQuery's way to ask |
//! | [`usage`] | which columns of text files are numbers |
//! | [`joint`] | a query that several parties answer together: its exact statistic, and what their sum says |
//! | [`scalar`] | a query that gives one value, asked of rows that someone else protects |
//! | [`error`] | the one error type |

pub mod algebra;
pub mod answer;
mod caps;
pub mod dialect;
pub mod engine;
pub mod error;
pub mod joint;
mod keys;
pub mod limits;
pub mod options;
pub mod outcome;
pub mod query;
pub mod release;
pub mod resolve;
pub mod scalar;
pub mod settings;
pub mod usage;
mod walk;

pub use answer::Answer;
pub use error::{Error, Result};
pub use joint::JointQuery;
pub use limits::RunLimits;
pub use options::{Options, Range, Unit};
pub use outcome::Outcome;
pub use query::{Input, Query};
pub use reticent_bounding as bounding;
pub use reticent_table::{Table, foreign_format};
pub use settings::{Asked, Settings};
