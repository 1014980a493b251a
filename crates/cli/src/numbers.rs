//! Numbers on the command line.

/// A number of steps, possibly written as a power.
pub fn steps(text: &str) -> Result<u64, String> {
    let number = match text.split_once('^') {
        Some((base, power)) => {
            base.parse::<u64>().ok().zip(power.parse().ok()).and_then(|(base, power)| base.checked_pow(power))
        }
        None => text.parse().ok(),
    };
    number.ok_or_else(|| "write a number of steps from 1 to 2^40, for example 1048576 or 2^20".into())
}

/// The smallest and the largest value, as `LO..HI` or `LO..=HI`.
pub fn range(text: &str) -> Result<(i64, i64), String> {
    let ends = text.split_once("..").and_then(|(low, high)| {
        let high = high.strip_prefix('=').unwrap_or(high);
        low.trim().parse().ok().zip(high.trim().parse().ok())
    });
    ends.ok_or_else(|| "write two whole numbers, for example 0..1 or -10..10".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_written() {
        assert_eq!((steps("2^20"), steps("1048576")), (Ok(1 << 20), Ok(1 << 20)));
        for text in ["", "x", "-1", "2^64", "2^", "^2", "1e6"] {
            assert!(steps(text).is_err(), "{text}");
        }
    }

    #[test]
    fn ranges_are_read_as_written() {
        assert_eq!((range("-1..1"), range("0 .. 5"), range("0..=5")), (Ok((-1, 1)), Ok((0, 5)), Ok((0, 5))));
        for text in ["", "1", "..", "1..", "a..b", "0..1.5"] {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
