//! Privacy guarantees: parameters, composition, conversion and accounting.
//!
//! | module | holds |
//! |---|---|
//! | [`parameter`] | [`Epsilon`], [`Delta`], [`Rho`]: exact, validated |
//! | [`adjacency`] | [`Adjacency`]: which datasets are neighbours |
//! | [`guarantee`] | [`Guarantee`] and its sequential, parallel and group composition |
//! | [`conversion`] | between pure, approximate and zero-concentrated guarantees |
//! | [`calibration`] | the σ of Gaussian and discrete Gaussian noise for an (ε, δ) guarantee |
//! | [`pld`] | [`Accountant`](pld::Accountant): composition of many fixed mechanisms, by privacy loss distributions |
//! | [`weak`] | guarantees that protect little, and need explicit confirmation |

pub mod adjacency;
pub mod calibration;
pub mod conversion;
pub mod guarantee;
pub mod parameter;
pub mod pld;
pub mod weak;

pub use adjacency::Adjacency;
pub use guarantee::Guarantee;
pub use parameter::{Delta, Epsilon, Rho};
