//! One counter per key.
//!
//! Events have a key (a page, a region, an error code) and a value; after every step each key's running sum is released.
//! All counters share one [`Strategy`], one generator and one charge.
//!
//! | module | holds |
//! |---|---|
//! | [`plan`] | [`KeyedPlan`]: what one event can change when there are keys, and how the noise is made |
//! | [`counter`] | [`KeyedCounter`]: the sums, the noise and the releases |
//! | [`admission`] | [`Admission`]: the threshold that admits keys not known in advance |
//! | [`crowd`] | [`Crowd`]: when keys that were not admitted are forgotten |
//! | [`saved`] | [`KeyedSaving`], [`KeyedSaved`]: saving and restoring |
//!
//! [`Strategy`]: super::Strategy

pub mod admission;
pub(super) mod any;
pub mod counter;
pub mod crowd;
pub mod plan;
pub mod saved;
mod table;
#[cfg(test)]
mod tests;

pub use admission::Admission;
pub use counter::KeyedCounter;
pub use crowd::Crowd;
pub use plan::{KeyedPlan, each_key};
pub use saved::{KeyedSaved, KeyedSaving};
