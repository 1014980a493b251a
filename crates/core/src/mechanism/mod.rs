//! Mechanisms that release a statistic once.
//!
//! | module | holds |
//! |---|---|
//! | [`laplace`] | [`Laplace`]: whole numbers with discrete Laplace noise, for pure ε |
//! | [`gaussian`] | [`Gaussian`]: whole numbers with discrete Gaussian noise, for ρ or (ε, δ) |
//! | [`analytic_gaussian`] | [`AnalyticGaussian`]: vectors of whole numbers with rounded Gaussian noise, for (ε, δ) |
//! | [`max_norm`] | [`MaxNorm`]: several whole numbers for each group with one draw for all, for pure ε |
//! | [`moments`] | [`BoundedMean`], [`BoundedVariance`]: sums, means, variances, standard deviations |
//! | [`batch`] | [`Batch`]: several statistics of the same groups under one guarantee |
//! | [`range`] | [`ApproxBounds`]: bounds found from the data, for pure ε |
//! | [`quantile`] | [`Quantile`], [`Quantiles`]: values of a given rank with intervals, for pure ε |
//! | [`threshold`] | [`Threshold`]: keys from the data with counts above a threshold |
//! | [`selection`] | [`Selection`]: keys from the data, as many as privacy allows, without counts |
//! | [`top`] | [`Top`]: the candidates with the highest scores, for pure ε |
//! | [`stable`] | medians, modes and any answer with a distance: exact if stable, refused if not |
//! | [`per_group`] | [`PerGroup`]: quantiles, stable medians and modes of every group, for units with many rows |
//! | [`subsample`] | any query, asked of many parts of the data |
//!
//! Every mechanism states a [`Guarantee`](crate::privacy::Guarantee): several guarantees about the same people add up,
//! and a guarantee for one person implies a weaker one for a household.
//!
//! ```
//! use reticent::mechanism::{Laplace, Threshold, stable::StableMedian};
//! use reticent::privacy::{Adjacency, Guarantee};
//!
//! let (epsilon, delta) = ("0.1".parse()?, "1e-9".parse()?);
//! let count = Laplace::new(1, &epsilon)?;
//! let cities = Threshold::new(2, Adjacency::AddRemove, &epsilon, &delta)?;
//! let median = StableMedian::new(Adjacency::AddRemove, &epsilon, &delta)?;
//!
//! let parts = [count.guarantee(), cities.guarantee(), median.guarantee()].map(Clone::clone);
//! let all = Guarantee::sequential(parts)?.expect("three parts");
//! assert_eq!(all.to_string(), "ε = 0.3, δ = 2e-9");
//! assert_eq!(all.group(2)?.epsilon(), Some(&"0.6".parse()?)); // a couple
//! # Ok::<(), reticent::Error>(())
//! ```

pub mod analytic_gaussian;
pub mod batch;
#[cfg(test)]
pub(crate) mod divergence;
pub mod gaussian;
pub mod laplace;
pub mod max_norm;
pub mod moments;
pub mod per_group;
pub mod quantile;
pub mod range;
pub mod selection;
pub mod stable;
pub mod subsample;
pub mod threshold;
pub mod top;

pub use analytic_gaussian::AnalyticGaussian;
pub use batch::{Batch, Part};
pub use gaussian::Gaussian;
pub use laplace::Laplace;
pub use max_norm::MaxNorm;
pub use moments::{BoundedMean, BoundedVariance};
pub use per_group::PerGroup;
pub use quantile::{Estimate, Quantile, Quantiles};
pub use range::{ApproxBounds, ClampingBounds};
pub use selection::Selection;
pub use threshold::Threshold;
pub use top::{Moves, Top};

/// Adds noise to every value, drawn in blocks that stay in the cache. Saturation is post-processing: it depends only on
/// the noisy sum.
fn add_noise(values: &mut [i64], mut fill: impl FnMut(&mut [i64])) {
    const BLOCK: usize = 1024;
    let mut noise = [0; BLOCK];
    for block in values.chunks_mut(BLOCK) {
        let noise = &mut noise[..block.len()];
        fill(noise);
        block.iter_mut().zip(noise).for_each(|(value, noise)| *value = value.saturating_add(*noise));
    }
}
