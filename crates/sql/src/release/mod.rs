//! From exact statistics to released values.
//!
//! | module | holds |
//! |---|---|
//! | [`design`] | what is measured for a query, and how each measurement is paid for |
//! | [`contribution`] | how far one unit can move each of them |
//! | [`search`] | bounds that are found privately |
//! | [`values`] | released numbers, and what is computed from them, with half-widths |
//! | [`draw`] | the noise |
//! | `exact` | what is measured before noise, for tests |
//! | [`explain`] | what is released for which part of the budget, in words |

pub mod contribution;
pub mod design;
pub mod draw;
#[cfg(feature = "test-util")]
pub mod exact;
pub mod explain;
pub mod search;
pub mod values;

pub use design::Design;
pub use reticent_bounding::MOST_BINS;
pub use values::{Cell, Released};
