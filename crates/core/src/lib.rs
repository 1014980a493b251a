//! Reticent.
pub mod audit;
pub mod error;
pub mod exact;
pub mod privacy;
pub use error::{Error, Result};
