//! Private SQL over tables.
//!
//! | module | holds |
//! |---|---|
//! | [`scalar`] | a query that gives one value, asked of rows that someone else protects |

pub mod scalar;
