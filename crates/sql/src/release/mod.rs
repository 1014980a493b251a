//! From exact statistics to released values.
//!
//! | module | contents |
//! |---|---|
//! | [`design`] | what is measured for a query, and how the budget is split |
//! | [`contribution`] | how far one unit can move each statistic |
//! | [`top`] | the groups with the highest counts, selected before their numbers get noise |
//! | [`search`] | private search for bounds |
//! | [`weights`] | contribution limits chosen privately |
//! | [`correction`] | correction of an answer for what contribution limits left out |
//! | [`box_noise`] | one draw of noise for several numbers of a group |
//! | `numbers` | the exact numbers of a design's parts |
//! | [`values`] | released numbers, and values computed from them |
//! | [`widths`] | their half-widths |
//! | [`draw`] | the noise |
//! | `exact` | the measurements before noise, for tests |
//! | [`derived`], [`interval`] | error bars of values computed from released ones |
//! | `typical` | the error bars of a group of a given size, before anything is spent |
//! | [`explain`] | a description of what is released for which part of the budget |

pub mod box_noise;
pub mod contribution;
pub mod correction;
pub mod derived;
pub mod design;
pub mod draw;
#[cfg(feature = "test-util")]
pub mod exact;
pub mod explain;
pub mod interval;
pub(crate) mod numbers;
pub mod search;
pub mod top;
pub(crate) mod typical;
pub mod values;
pub mod weights;
pub mod widths;

pub use design::Design;
pub use reticent_bounding::MOST_BINS;
pub use values::{Cell, Released};
