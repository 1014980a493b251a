//! How much of the discrete Gaussian law lies far out.

/// Up to this σ tails are summed term by term.
const SUMMED_UP_TO: f64 = 1000.0;
/// Relative margin for sums of positive terms in `f64`: at most 40,000 terms, each good to 8 units in the last place.
const MARGIN: f64 = 1e-10;

/// An upper bound on P(|K| > t).
pub(super) fn two_sided(sigma_squared: f64, t: u64) -> f64 {
    let sigma = sigma_squared.sqrt();
    if sigma > SUMMED_UP_TO {
        return libm::erfc(t as f64 / (sigma * std::f64::consts::SQRT_2)) * (1.0 + MARGIN) + f64::MIN_POSITIVE;
    }
    let weight = |k: u64| libm::exp(-(k as f64) * (k as f64) / (2.0 * sigma_squared));
    // Beyond 39σ a weight is below 2^−1000; what is left of the tail is less than the margin adds.
    let end = (39.0 * sigma).ceil() as u64 + 2;
    // The tail falls with t, so that of a smaller t is an upper bound, too.
    let t = t.min(end);
    // From the smallest term on, so that none is lost.
    let sum = |range: std::ops::Range<u64>| range.rev().map(weight).sum::<f64>();
    let outside = 2.0 * sum(t + 1..end.max(t + 2)) + f64::MIN_POSITIVE;
    outside / (1.0 + 2.0 * sum(1..end)) * (1.0 + MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_too_far_out() {
        for sigma_squared in [1e-6, 1.0, 1e6, 1e7, 1e30] {
            for t in [u64::MAX - 1, u64::MAX] {
                let tail = two_sided(sigma_squared, t);
                assert!(tail > 0.0 && tail < 1e-290, "{sigma_squared} {t}: {tail}");
            }
        }
    }
}
