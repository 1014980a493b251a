//! The closed algebra of private SQL: whatever is not in it cannot be asked.
//!
//! A query is translated into this algebra, by position, before any row is read, and what runs is built from the algebra alone. No text
//! of the user's names anything here; nothing here can fail on a value, depend on other people's rows, read a clock or grow without
//! bound. The argument that an answer is private is made in this folder and needs no other:
//!
//! 1. [`Rows`] are private relations. Their operators are a closed list, each with its proof of stability; the unit is a part of every
//!    row that no expression reaches.
//! 2. [`Expr`] are expressions over one row. Their functions are a closed list ([`function`]): total, row-local, deterministic, bounded.
//! 3. [`Plain`] relations are nobody's secret: public tables and released values. They are computed in memory, public ones before the
//!    charge; nothing private can be in them, because no operator of theirs takes [`Rows`].
//! 4. [`Measured`] is the one way from private rows to anything else: what is counted and summed, after bounding, with noise.
//!
//! | module | holds |
//! |---|---|
//! | [`rows`] | private relations and their stability |
//! | [`expr`] | expressions |
//! | [`mod@function`] | the functions that they can have |
//! | [`mod@column`] | functions of one row lifted to columns |
//! | [`value`] | constants |
//! | [`calendar`] | dates and spans of time |
//! | [`measured`] | what is released of private rows |
//! | [`plain`] | relations that are nobody's secret |
//! | [`data`] | tables in memory |
//! | [`lookup`] | rows matched with those of a table in memory |
//! | [`aggregate`] | aggregates of one unit's rows, or of nobody's |
//! | [`groups`], [`order`] | equal values together, and in order |
//! | [`limits`] | how large a request may be |

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
