//! Private SQL over tables.

mod error;
pub mod table;

pub use error::{Error, Result};
