//! Tick labels.

/// A number on a linear axis, given the largest number on the axis and the distance between ticks, 1, 2 or 5 times a
/// power of ten, so that all have the same unit and as many decimals as needed: 0, 500k, 1000k; 1.5M; 1,000,002;
/// 3.5×10¹⁸.
pub fn linear(value: f64, largest: f64, step: f64) -> String {
    // A tick computed as 1e-17 instead of 0.
    if value.abs() < step * 1e-6 {
        return "0".into();
    }
    let step_exponent = exponent(step);
    if !(1e-4..1e15).contains(&largest) {
        let power = exponent(largest);
        let decimals = (power - step_exponent).clamp(0, 6) as usize;
        let mantissa = value / 10f64.powi(power.clamp(-300, 300));
        return format!("{}×10{}", signed(format!("{mantissa:.decimals$}")), superscript(power));
    }
    let (unit, suffix) = unit(largest);
    let decimals = unit - step_exponent;
    if decimals <= 2 {
        let decimals = decimals.max(0) as usize;
        return signed(format!("{:.decimals$}{suffix}", value / 10f64.powi(unit)));
    }
    let decimals = (-step_exponent).clamp(0, 17) as usize;
    signed(grouped(&format!("{value:.decimals$}")))
}

/// digit · 10^exponent on a logarithmic axis: 0.05, 1, 200, 10k, 5M, 10¹⁸.
pub fn logarithmic(digit: u32, exponent: i32) -> String {
    match exponent {
        -3..=-1 => format!("{:.*}", -exponent as usize, f64::from(digit) * 10f64.powi(exponent)),
        0..=14 => {
            let suffix = ["", "k", "M", "G", "T"][exponent as usize / 3];
            format!("{}{suffix}", digit * 10u32.pow(exponent as u32 % 3))
        }
        _ if digit == 1 => format!("10{}", superscript(exponent)),
        _ => format!("{digit}×10{}", superscript(exponent)),
    }
}

/// A power of two: 2¹⁰.
pub fn power_of_two(exponent: i32) -> String {
    format!("2{}", superscript(exponent))
}

fn exponent(value: f64) -> i32 {
    // 1000 has the exponent 3 however its logarithm was rounded.
    (value.abs().log10() + 1e-9).floor() as i32
}

fn unit(largest: f64) -> (i32, &'static str) {
    match largest {
        _ if largest >= 1e12 => (12, "T"),
        _ if largest >= 1e9 => (9, "G"),
        _ if largest >= 1e6 => (6, "M"),
        _ if largest >= 1e4 => (3, "k"),
        _ => (0, ""),
    }
}

/// A true minus sign.
fn signed(text: String) -> String {
    text.replace('-', "−")
}

fn grouped(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, ""), |(whole, fraction)| (whole, fraction));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = String::from(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if fraction.is_empty() { text } else { format!("{text}.{fraction}") }
}

fn superscript(number: i32) -> String {
    let digit = |digit: char| match digit {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        other => char::from_u32('⁰' as u32 + other.to_digit(10).unwrap_or(0)).unwrap_or(other),
    };
    number.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_tell_ticks_apart() {
        for (value, largest, step, text) in [
            (0.0, 10.0, 2.0, "0"),
            (1e-17, 10.0, 2.0, "0"),
            (4.0, 10.0, 2.0, "4"),
            (-0.5, 1.0, 0.5, "−0.5"),
            (5000.0, 8000.0, 1000.0, "5000"),
            (12_500.0, 14_000.0, 500.0, "12.5k"),
            (2e6, 4e6, 1e6, "2M"),
            (1_500_000.0, 4e6, 5e5, "1.5M"),
            (1_000_002.0, 1_000_010.0, 2.0, "1,000,002"),
            (3.5e18, 4e18, 5e17, "3.5×10¹⁸"),
            (2e-9, 4e-9, 1e-9, "2×10⁻⁹"),
        ] {
            assert_eq!(linear(value, largest, step), text);
        }
    }

    #[test]
    fn powers_have_units() {
        let texts = [(1, -3), (5, -1), (1, 0), (2, 2), (1, 3), (5, 4), (1, 6), (1, 13), (1, 15), (5, 20), (1, -7)];
        let texts = texts.map(|(digit, exponent)| logarithmic(digit, exponent));
        assert_eq!(
            texts,
            ["0.001", "0.5", "1", "200", "1k", "50k", "1M", "10T", "10¹⁵", "5×10²⁰", "10⁻⁷"].map(String::from)
        );
        assert_eq!((power_of_two(10), power_of_two(-4)), ("2¹⁰".into(), "2⁻⁴".into()));
    }
}
