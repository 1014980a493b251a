//! Private SQL over tables: read, bound, then noise.
//!
//! | module | contents |
//! |---|---|
//! | [`query`] | [`Query`]: from text to answer |
//! | [`algebra`] | what can be asked, and why the answer is private |
//! | [`resolve`] | from SQL text to the algebra |
//! | [`engine`] | from files to exact statistics |
//! | [`release`] | what is released, how the budget is split, and the noise |
//! | [`answer`] | [`Answer`]: released rows, and their cost |
//! | `shown` | an answer as text, for people and spreadsheets |
//! | [`outcome`] | [`Outcome`]: the result of a charged query |
//! | [`limits`] | [`RunLimits`]: memory, time and threads of a run |
//! | [`options`] | [`Options`]: privacy unit, budget, clamping bounds |
//! | [`settings`] | options from arguments, policies and the SQL itself, combined |
//! | [`dialect`] | BigQuery's syntax |
//! | [`usage`] | which columns of text files are numbers |
//! | [`joint`] | a query that several parties answer together: its exact statistic, and the answer from their sum |
//! | [`scalar`] | a query with a single value, over rows that the caller protects |
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
mod shown;
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
