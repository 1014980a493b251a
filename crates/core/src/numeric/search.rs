//! The smallest number for which a condition holds, and the minimum of a function.

/// The smallest number from 1 on for which a monotone condition holds: double, then bisect.
pub(crate) fn smallest(holds: impl Fn(u64) -> bool) -> u64 {
    let mut high = 1u64;
    while !holds(high) {
        high *= 2;
    }
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The same if the answer is nearly known: `near` is a guess, in floats, which is tried first. A wrong guess only costs
/// time; NaN counts as 1.
pub(crate) fn smallest_near(near: f64, holds: impl Fn(u64) -> bool) -> u64 {
    /// The limit up to which floats count exactly, and nothing added to it overflows.
    const FARTHEST: f64 = (1u64 << 53) as f64;
    // NaN becomes 0 as a whole number.
    let near = (near.clamp(1.0, FARTHEST) as u64).max(1);
    // Doubling steps from here, towards the answer.
    let mut step = 1u64;
    let (mut low, mut high) = if holds(near) {
        let mut high = near;
        loop {
            let low = high.saturating_sub(step);
            if low == 0 || !holds(low) {
                break (low, high);
            }
            (high, step) = (low, step * 2);
        }
    } else {
        let mut low = near;
        loop {
            let high = low + step;
            if holds(high) {
                break (low, high);
            }
            (low, step) = (high, step * 2);
        }
    };
    // Invariant: the condition holds at `high`, and does not at `low` unless that is 0.
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if holds(middle) { high = middle } else { low = middle }
    }
    high
}

/// The position of the minimum of a function with one valley on [left, right], by golden section.
pub(crate) fn valley(mut left: f64, mut right: f64, rounds: u32, function: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (mut low, mut high) = (right - GOLDEN * (right - left), left + GOLDEN * (right - left));
    let (mut at_low, mut at_high) = (function(low), function(high));
    for _ in 0..rounds {
        if at_low < at_high {
            (right, high, at_high) = (high, low, at_low);
            low = right - GOLDEN * (right - left);
            at_low = function(low);
        } else {
            (left, low, at_low) = (low, high, at_high);
            high = left + GOLDEN * (right - left);
            at_high = function(high);
        }
    }
    if at_low < at_high { low } else { high }
}

#[cfg(test)]
mod tests {
    use super::{smallest, smallest_near, valley};

    #[test]
    fn a_guess_changes_nothing() {
        for answer in [1u64, 2, 3, 7, 64, 65, 1000, 1 << 40] {
            let holds = |n: u64| n >= answer;
            assert_eq!(smallest(holds), answer);
            let exact = answer as f64;
            for near in [exact, exact - 1.0, exact + 1.0, exact / 3.0, exact * 5.0, 0.0, -1.0, 1e300] {
                assert_eq!(smallest_near(near, holds), answer, "{near}");
            }
            for near in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert_eq!(smallest_near(near, holds), answer, "{near}");
            }
        }
    }

    #[test]
    fn a_valley_is_found() {
        assert!((valley(-10.0, 10.0, 60, |x| (x - 3.0) * (x - 3.0)) - 3.0).abs() < 1e-6);
    }
}
