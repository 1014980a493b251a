//! Private SQL over tables: read, bound, then noise.
//!
//! ```
//! use reticent::Permit;
//! use reticent_sql::{Asked, Input, Query, Settings, Table};
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let path = folder.path().join("people.csv");
//! std::fs::write(&path, "city,age\n".to_owned() + &"Oslo,36\n".repeat(600)).unwrap();
//! let people = Input { table: Table::open("people", path.to_str().unwrap())?, public: false };
//! let asked = Asked {
//!     epsilon: Some("1".into()),
//!     bounds: vec![("age".into(), "0..120".into())],
//!     keys: vec![("city".into(), vec!["Oslo".into(), "Rome".into()])],
//!     ..Asked::default()
//! };
//! let sql = "SELECT city, COUNT(*) AS people, AVG(age) AS age FROM people GROUP BY city";
//! let settings = Settings::new(sql, &asked, vec![people], &[])?;
//! let query = Query::prepare(&settings.sql, settings.inputs, settings.options)?; // no row has been read yet
//! let answer = query.answer(&mut Permit::unaccounted()?)?;
//! assert_eq!(answer.rows.len(), 2);
//! # Ok::<(), reticent_sql::Error>(())
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `query` | [`Query`]: from text to answer |
//! | `algebra` | what can be asked, and why the answer is private |
//! | `resolve` | from SQL text to the algebra; [`text`], its parser |
//! | `engine` | [`Engine`]: from files to exact statistics |
//! | `release` | what is released, how the budget is split, and the noise |
//! | [`answer`] | [`Answer`]: released rows, and their cost |
//! | [`advice`] | the errors to expect, and what would make them smaller |
//! | `shown` | an answer as text, for people and spreadsheets |
//! | `outcome` | [`QueryOutcome`]: the result of a charged query |
//! | [`limits`] | [`RunLimits`]: memory, time and threads of a run |
//! | `options` | [`Options`]: privacy unit, budget, clamping bounds |
//! | [`settings`] | options from arguments, policies and the SQL itself, combined |
//! | [`dialect`] | BigQuery's syntax |
//! | `usage` | which columns of text files are numbers |
//! | [`joint`] | a query that several parties answer together: its exact statistic, and the answer from their sum |
//! | [`scalar`] | a query with a single value, over rows that the caller protects |
//! | `bounded`, `keys` | contribution limits and public keys of a query |
//! | `walk` | visiting the parts of a statement |
//! | `error` | [`Error`]: the one error type |
//!
//! # What is not promised
//! How long a query takes and how much memory it uses depend on the rows. Whether a run fails can depend on them, too: use
//! [`Query::run`] with a ledger, which charges first and records a failure like an answer. Error bars cover noise only,
//! not bias from clamping or contribution limits.

pub mod advice;
mod algebra;
pub mod answer;
mod bounded;
pub mod dialect;
mod engine;
mod error;
pub mod joint;
mod keys;
pub mod limits;
mod options;
mod outcome;
mod query;
mod release;
mod resolve;
pub mod scalar;
pub mod settings;
mod shown;
mod usage;
mod walk;

pub use algebra::Limits;
pub use answer::Answer;
pub use engine::Engine;
pub use error::{Error, Result};
pub use joint::JointQuery;
pub use limits::RunLimits;
pub use options::{Options, Range, Unit};
pub use outcome::QueryOutcome;
pub use query::{Input, Query};
#[cfg(feature = "test-util")]
pub use release::exact::Exact;
pub use resolve::text;
pub use reticent_bounding as bounding;
pub use reticent_table::{Delimiter, Encoding, Format, Packing, Table, TextOptions, foreign_format};
pub use settings::{Asked, Settings};
