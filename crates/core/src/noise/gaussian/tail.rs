//! How much of the discrete Gaussian law lies far out.

/// Up to this σ tails are summed term by term.
const SUMMED_UP_TO: f64 = 1000.0;
/// Relative margin for sums of positive terms in `f64`: at most 40,000 terms, each good to 8 units in the last place.
const MARGIN: f64 = 1e-10;

/// An upper bound on P(|K| > t).
pub(super) fn two_sided(sigma_squared: f64, t: u64) -> f64 {
    let sigma = sigma_squared.sqrt();
    if sigma > SUMMED_UP_TO {
        return libm::erfc(t as f64 / (sigma * std::f64::consts::SQRT_2)) * (1.0 + MARGIN);
    }
    let weight = |k: u64| libm::exp(-(k as f64) * (k as f64) / (2.0 * sigma_squared));
    // Beyond 39σ a weight is below 2^−1000; what is left of the tail is less than the margin adds.
    let end = (39.0 * sigma).ceil() as u64 + 2;
    // From the smallest term on, so that none is lost.
    let sum = |range: std::ops::Range<u64>| range.rev().map(weight).sum::<f64>();
    let outside = 2.0 * sum(t + 1..end.max(t + 2)) + f64::MIN_POSITIVE;
    outside / (1.0 + 2.0 * sum(1..end)) * (1.0 + MARGIN)
}
