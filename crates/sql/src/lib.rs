//! Private SQL over tables.

pub mod bound;
