//! Differential privacy with exact noise and honest accounting.
//!
//! Reticent publishes statistics about groups of people while protecting each individual. This crate is its core: no
//! input or output, no async, no unsafe code; it builds for WebAssembly.
//!
//! ```
//! use reticent::Permit;
//! use reticent::mechanism::Laplace;
//! use reticent::privacy::Epsilon;
//!
//! let epsilon: Epsilon = "0.5".parse()?; // an exact fraction, not a float
//! let mut permit = Permit::unaccounted()?; // a ledger gives accounted ones
//! let visitors = Laplace::new(1, &epsilon)?.release(1234, &mut permit)?;
//!
//! // Within ±6 of the truth, 95 times in 100.
//! println!("{} ± {}", visitors.value(), visitors.error_bar().half_width());
//! # Ok::<(), reticent::Error>(())
//! ```
//!
//! # Data flow
//! raw rows → bounded → exact integer statistic → mechanism → [`Release`] (a value, its error bar, its guarantee) or a
//! refusal. A [`Release`] is made only with a [`Permit`], which a ledger issues for a durable charge.
//!
//! | module | holds |
//! |---|---|
//! | [`privacy`] | what is promised: ε, δ, ρ, guarantees, how they compose and convert, privacy-loss distributions |
//! | [`noise`] | where randomness comes from: entropy, exact coins, discrete Laplace and Gaussian, negative binomial |
//! | [`statistic`] | what is measured, as exact whole numbers, and how far one unit can move it |
//! | [`mechanism`] | how a statistic is released once |
//! | [`continual`] | how a statistic is released repeatedly: counters over streams |
//! | [`local`] | what a person's own device sends: randomised answers, tasks, reports, and estimates from many reports |
//! | [`multiparty`] | what parties send to each other: plans, noise shares, masks, transcripts, views |
//! | [`release`] | what leaves the engine: [`Release`], [`ErrorBar`], [`Outcome`] |
//! | [`permit`] | [`Permit`]: no release without a charge |
//! | [`ledger`] | the interface to a budget keeper: charges, receipts, the [`Ledger`] trait |
//! | [`audit`] | evidence: empirical bounds on ε, goodness of fit |
//! | [`numeric`] | tails, intervals and laws of sums: the numbers behind statements |
//! | [`exact`] | fractions that are never rounded behind your back |
//! | [`hexadecimal`] | bytes as text, for hashes and ids |
//! | [`keys`] | public keys as users write them |
//! | [`secrets`] | keys, tokens and passwords, masked in text that people see |
//! | [`text`] | text from outside on a terminal, in JSON and in CSV |
//! | [`error`] | the one error type, and the classes of errors that exit codes and HTTP statuses follow |
//! | [`mod@message`] | messages that name settings, which every interface spells its own way |
//!
//! # What is not promised
//! Noise protects against what can be learned from the releases. It does not protect the machine's memory, and a call
//! runs in constant time only where its sampler says so. A library user can still print raw data: the types make the
//! private way the easy one, but cannot make it the only one.
//!
//! # Features
//! - `os-entropy` (default): seeds from the operating system. Without it, supply a [`noise::EntropySource`].
//! - `rand`: the samplers as distributions of the `rand` crate.
//! - `test-util`: seeded generators for tests. A known seed gives no privacy.

pub mod audit;
pub mod continual;
pub mod error;
pub mod exact;
pub mod hexadecimal;
pub mod keys;
pub mod ledger;
pub mod local;
pub mod mechanism;
pub mod message;
pub mod multiparty;
pub mod noise;
pub mod numeric;
pub mod permit;
pub mod privacy;
pub mod release;
pub mod secrets;
pub mod statistic;
pub mod text;

pub use error::{Error, Result};
pub use ledger::Ledger;
pub use permit::Permit;
pub use release::{ErrorBar, Outcome, Release};

/// Public types can be shared between threads; otherwise this does not compile.
#[cfg(test)]
mod send_and_sync {
    fn check<T: Send + Sync>() {}

    #[test]
    fn public_types_can_be_shared_between_threads() {
        check::<crate::Error>();
        check::<crate::Permit>();
        check::<crate::Release<i64>>();
        check::<crate::Outcome<i64>>();
        check::<crate::continual::AnyCounter>();
        check::<crate::continual::AnyStrategy>();
        check::<crate::exact::Rational>();
        check::<crate::local::RandomisedResponse>();
        check::<crate::local::Response<bool>>();
        check::<crate::local::Collection>();
        check::<crate::local::Device<crate::local::ShortMemory>>();
        check::<crate::local::FrequencyOracle>();
        check::<crate::local::PrefixExtension>();
        check::<crate::local::Task>();
        check::<crate::mechanism::stable::StableMedian>();
        check::<crate::mechanism::stable::StableMode>();
        check::<crate::mechanism::stable::StableRelease>();
        check::<crate::mechanism::subsample::ResampledMode>();
        check::<crate::mechanism::subsample::SubsampleMean>();
        check::<crate::mechanism::subsample::SubsampleMode>();
        check::<crate::mechanism::Batch>();
        check::<crate::mechanism::Gaussian>();
        check::<crate::mechanism::Laplace>();
        check::<crate::mechanism::BoundedMean>();
        check::<crate::mechanism::BoundedVariance>();
        check::<crate::mechanism::PerGroup<crate::mechanism::stable::StableMode>>();
        check::<crate::mechanism::Quantiles>();
        check::<crate::mechanism::ApproxBounds>();
        check::<crate::mechanism::Selection>();
        check::<crate::mechanism::Threshold>();
        check::<crate::multiparty::MaskSeed>();
        check::<crate::multiparty::Plan>();
        check::<crate::multiparty::Share>();
        check::<crate::multiparty::Simulation>();
        check::<crate::multiparty::View>();
        check::<crate::noise::Coin>();
        check::<crate::noise::DiscreteGaussian>();
        check::<crate::noise::DiscreteLaplace>();
        check::<crate::noise::Entropy>();
        check::<crate::noise::Geometric>();
        check::<crate::noise::Law>();
        check::<crate::noise::NegativeBinomial>();
        check::<crate::audit::catalogue::Report>();
        check::<crate::privacy::Guarantee>();
        check::<crate::privacy::pld::Accountant>();
        check::<crate::privacy::pld::Mechanism>();
        check::<crate::statistic::Bounds>();
        check::<crate::statistic::Contribution>();
        check::<crate::statistic::Ends>();
        check::<crate::statistic::Grid>();
        check::<crate::statistic::MomentsOf>();
    }
}
