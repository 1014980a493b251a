//! The tails of the discrete Gaussian law.

/// Up to this σ tails are summed term by term.
const SUMMED_UP_TO: f64 = 1000.0;
/// Relative margin for sums of positive terms in `f64`: at most 40,000 terms, each good to 8 units in the last place.
const MARGIN: f64 = 1e-10;

/// Upper bounds on P(|K| > t) for one σ.
pub(super) struct TwoSided {
    sigma_squared: f64,
    /// Where the sum ends, and the sum of all weights; `None` where tails are not summed.
    summed: Option<(u64, f64)>,
}

impl TwoSided {
    pub fn new(sigma_squared: f64) -> Self {
        let sigma = sigma_squared.sqrt();
        // Beyond 39σ a weight is below 2^−1000; the rest of the tail is less than what the margin adds.
        let end = (39.0 * sigma).ceil() as u64 + 2;
        let all = || 1.0 + 2.0 * sum(sigma_squared, 1..end);
        Self { sigma_squared, summed: (sigma <= SUMMED_UP_TO).then(|| (end, all())) }
    }

    /// An upper bound on P(|K| > t): exact up to rounding where tails are summed, and beyond that by comparison with the
    /// continuous law, P(K ≥ t+1) ≤ P(N ≥ t) \[CKS20\].
    pub fn beyond(&self, t: u64) -> f64 {
        let Some((end, all)) = self.summed else {
            let scaled = t as f64 / (self.sigma_squared.sqrt() * std::f64::consts::SQRT_2);
            return libm::erfc(scaled) * (1.0 + MARGIN) + f64::MIN_POSITIVE;
        };
        // The tail falls with t, so the tail at a smaller t is an upper bound, too.
        let t = t.min(end);
        let outside = 2.0 * sum(self.sigma_squared, t + 1..end.max(t + 2)) + f64::MIN_POSITIVE;
        outside / all * (1.0 + MARGIN)
    }

    /// About 1 + the t beyond which this much lies: where the law is as smooth as a normal one, to the next whole
    /// number.
    pub fn near(&self, allowed: f64) -> f64 {
        let (mut low, mut high) = (0.0, 40.0);
        for _ in 0..52 {
            let middle = f64::midpoint(low, high);
            if libm::erfc(middle) <= allowed { high = middle } else { low = middle }
        }
        let t = high * (2.0 * self.sigma_squared).sqrt();
        // A whole number stands for what is up to half a step away from it.
        1.0 + if self.summed.is_some() { (t - 0.5).ceil() } else { t.ceil() }
    }
}

/// Starting with the smallest term, so that none is lost.
fn sum(sigma_squared: f64, range: std::ops::Range<u64>) -> f64 {
    let weight = |k: u64| libm::exp(-(k as f64) * (k as f64) / (2.0 * sigma_squared));
    range.rev().map(weight).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_too_far_out() {
        for sigma_squared in [1e-6, 1.0, 1e6, 1e7, 1e30] {
            for t in [u64::MAX - 1, u64::MAX] {
                let tail = TwoSided::new(sigma_squared).beyond(t);
                assert!(tail > 0.0 && tail < 1e-290, "{sigma_squared} {t}: {tail}");
            }
        }
    }
}
