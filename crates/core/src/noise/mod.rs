//! Exact sources of randomness.
//!
//! | module | holds |
//! |---|---|
//! | [`entropy`] | [`Entropy`]: a cryptographic generator, seeded by the system, reseeded, safe across `fork` |
//! | [`uniform`] | [`uniform_below`]: whole numbers, each equally likely |
//! | [`bernoulli`] | [`Coin`]: heads with probability p/q, e^−γ or 1/(1+e^ε) |
//! | [`geometric`] | [`Geometric`]: 0, 1, 2, … with ratio e^−1/scale |
//! | [`laplace`] | [`DiscreteLaplace`]: two-sided geometric noise, for pure ε |
//! | [`negative_binomial`] | [`NegativeBinomial`]: one party's share of geometric noise |
//! | [`gaussian`] | [`DiscreteGaussian`]: for zCDP |
//! | [`rounded`] | [`RoundedGaussian`]: normal noise rounded to whole numbers, for (ε, δ) |
//! | [`discrete_box`] | [`DiscreteBox`]: one draw for several numbers, for pure ε |
//! | [`law`] | [`Law`]: noise on single numbers, of any kind |
//!
//! Every draw is exact: integer arithmetic on random bits, with more bits drawn where a comparison is undecided. The
//! parameters are exact fractions. See the module sources for the derivations: `table` (one word, one look-up), `digits`
//! (any scale from small tables), `gaussian/blocks` and `gaussian/normal`.

pub mod bernoulli;
pub(crate) mod bits;
mod digits;
pub mod discrete_box;
#[cfg(feature = "rand")]
mod distribution;
pub mod entropy;
pub mod gaussian;
pub mod geometric;
pub mod laplace;
pub mod law;
pub mod negative_binomial;
pub mod rounded;
mod scale;
pub(crate) mod table;
pub mod uniform;

pub use bernoulli::Coin;
pub use discrete_box::DiscreteBox;
#[cfg(feature = "os-entropy")]
pub use entropy::OsEntropy;
pub use entropy::{Draw, Entropy, EntropySource};
pub use gaussian::DiscreteGaussian;
pub use geometric::Geometric;
pub use laplace::DiscreteLaplace;
pub use law::Law;
pub use negative_binomial::NegativeBinomial;
pub use rounded::RoundedGaussian;
pub use uniform::uniform_below;
