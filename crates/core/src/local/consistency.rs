//! Estimates that could be true.

/// The fractions nearest to the estimated ones (in the sum of squares) that are not negative and add up to 1.
///
/// # Privacy
/// Post-processing of reports: free.
///
/// # Accuracy
/// The true fractions form such a point, and a projection onto a convex set moves no point further away from it: the
/// sum of the squared errors never grows, and is usually far smaller when many values are rare. But the estimates are
/// no longer unbiased, and their error bars are those of the raw ones: use the raw ones to add up parts of the domain.
///
/// # Algorithm
/// \[WLLS20\], Norm-Sub: the amount to subtract from all of them, so that those that stay positive add up to 1, is
/// found by sorting.
///
/// # Example
/// ```
/// use reticent::local::consistent;
///
/// assert_eq!(consistent(&[0.75, 0.5, -0.125]), [0.625, 0.375, 0.0]);
/// ```
pub fn consistent(fractions: &[f64]) -> Vec<f64> {
    let mut sorted = fractions.to_vec();
    sorted.sort_unstable_by(|one, other| other.total_cmp(one));
    let (mut sum, mut shift) = (0.0, 0.0);
    for (index, &fraction) in sorted.iter().enumerate() {
        sum += fraction;
        let candidate = (sum - 1.0) / (index + 1) as f64;
        if fraction <= candidate {
            break;
        }
        shift = candidate;
    }
    fractions.iter().map(|fraction| (fraction - shift).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_projection_is_consistent_and_no_worse(
            raw in prop::collection::vec(-0.5f64..1.5, 1..40),
            weights in prop::collection::vec(0.01f64..1.0, 40),
        ) {
            let found = consistent(&raw);
            prop_assert!(found.iter().all(|&fraction| fraction >= 0.0));
            prop_assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let total: f64 = weights[..raw.len()].iter().sum();
            let truth: Vec<f64> = weights[..raw.len()].iter().map(|weight| weight / total).collect();
            let error = |fractions: &[f64]| -> f64 {
                fractions.iter().zip(&truth).map(|(one, other)| (one - other).powi(2)).sum()
            };
            prop_assert!(error(&found) <= error(&raw) + 1e-12);
        }

        #[test]
        fn what_is_consistent_stays(weights in prop::collection::vec(0.01f64..1.0, 1..20)) {
            let total: f64 = weights.iter().sum();
            let fractions: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
            for (before, after) in fractions.iter().zip(consistent(&fractions)) {
                prop_assert!((before - after).abs() < 1e-12);
            }
        }
    }
}
