//! What is promised.
//!
//! | module | holds |
//! |---|---|
//! | [`parameter`] | [`Epsilon`], [`Delta`], [`Rho`]: exact, validated |
//! | [`adjacency`] | [`Adjacency`]: which tables are neighbours |
//! | [`guarantee`] | [`Guarantee`] and its sequential, parallel and group composition |
//! | [`conversion`] | between pure, approximate and zero-concentrated promises |
//! | [`calibration`] | the σ of Gaussian and discrete Gaussian noise for an (ε, δ) promise |
//! | [`pld`] | [`Accountant`](pld::Accountant): many fixed mechanisms together, by their privacy loss distributions |
//! | [`weak`] | promises that say little about anyone, and that must be asked for twice |

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
