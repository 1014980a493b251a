//! Numbers as people write them on the command line.

/// A number of steps, also written as a power.
pub fn steps(text: &str) -> Result<u64, String> {
    let number = match text.split_once('^') {
        Some((base, power)) => {
            base.parse::<u64>().ok().zip(power.parse().ok()).and_then(|(base, power)| base.checked_pow(power))
        }
        None => text.parse().ok(),
    };
    number.ok_or_else(|| "write a number of steps from 1 to 2^40, for example 1048576 or 2^20".into())
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
}
