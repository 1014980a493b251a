//! Integers, parsed from bytes without copying.

/// Parses an integer, clamped to 64 bits; `None` if the text is not an integer.
///
/// Surrounding whitespace is ignored. The function is total (it fails for no text) and keeps no copy of what it reads.
pub fn parse(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    // Counts downwards, because there is one more negative number than there are positive ones.
    let mut value = 0i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.saturating_mul(10).saturating_sub(i64::from(digit));
    }
    Some(if negative { value } else { value.saturating_neg() })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn whole_numbers_are_read_and_nothing_else() {
        for (text, value) in [
            ("0", Some(0)),
            (" 12\r", Some(12)),
            ("+7", Some(7)),
            ("-7", Some(-7)),
            ("007", Some(7)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", Some(i64::MAX)),
            ("-99999999999999999999999", Some(i64::MIN)),
            ("", None),
            ("-", None),
            ("--1", None),
            ("1.0", None),
            ("1e3", None),
            ("1 2", None),
            ("x", None),
            ("٣", None),
        ] {
            assert_eq!(parse(text.as_bytes()), value, "{text:?}");
        }
    }
}
