//! The closed algebra of private SQL: what it cannot express cannot be asked.
//!
//! A query is translated into this algebra, with columns by position, before any row is read, and execution is built
//! from the algebra alone. No user-supplied name reaches it. Nothing in it can fail on a value, depend on other
//! people's rows, read a clock or grow without bound. The whole privacy argument is made in this folder:
//!
//! 1. [`Rows`] are private relations. Their operators are a closed list, each with a proof of stability; every row
//!    carries its privacy unit, which no expression can reach.
//! 2. [`Expr`] are expressions over one row. Their functions are a closed list ([`function`]): total, row-local,
//!    deterministic, bounded.
//! 3. [`Plain`] relations are not private: public tables and released values. They are computed in memory, public ones
//!    before the charge. They cannot contain anything private, because none of their operators takes [`Rows`].
//! 4. [`Measured`] is the only way out of private rows: counts and sums, after contribution bounding, with noise.
//!
//! | module | contents |
//! |---|---|
//! | [`rows`] | private relations and their stability |
//! | [`expr`] | expressions |
//! | [`mod@function`] | the functions in expressions |
//! | [`mod@column`] | functions of one row lifted to columns |
//! | [`value`] | constants |
//! | [`calendar`] | dates and spans of time |
//! | [`measured`] | statistics released from private rows |
//! | [`plain`] | relations that are not private |
//! | [`data`] | in-memory tables |
//! | [`lookup`] | matching rows against an in-memory table |
//! | [`aggregate`] | aggregates of one unit's rows, or of rows that are not private |
//! | [`groups`], [`order`] | grouping and sorting |
//! | [`limits`] | how large a request may be |
//! | [`stop`] | when to give up |

pub mod aggregate;
pub mod calendar;
pub mod column;
pub mod data;
pub mod expr;
pub mod function;
pub mod groups;
pub mod limits;
pub mod lookup;
pub mod measured;
pub mod order;
pub mod plain;
pub mod rows;
pub mod stop;
pub mod value;

pub use aggregate::Aggregate;
pub use data::Data;
pub use expr::{Expr, Node};
pub use function::Function;
pub use limits::{Limits, TooLarge};
pub use lookup::Lookup;
pub use measured::{Measured, Statistic};
pub use plain::Plain;
pub use reticent_table::Type;
pub use rows::{Operator, Rows, Stability};
pub use value::Value;
