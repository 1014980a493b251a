//! Bars and short numbers for a terminal.

/// The length of the longest bar, in characters.
const BAR: f64 = 20.0;
/// If values differ by more than this factor, bars are logarithmic: linear ones would show only the largest.
const LINEAR_UP_TO: f64 = 20.0;

/// A bar of this many eighths of a character, so that small differences show.
pub fn bar_of(eighths: usize) -> String {
    "█".repeat(eighths / 8) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
}

/// A bar in a frame `length` characters long, of which this many eighths of a character are filled.
pub fn framed_bar(eighths: u32, length: u32) -> String {
    bar_of(eighths as usize) + &"░".repeat(length.saturating_sub(eighths.div_ceil(8)) as usize)
}

/// [`framed_bar`] for terminals without block characters, of which this many whole characters are filled.
pub fn plain_bar(filled: u32, length: u32) -> String {
    "#".repeat(filled as usize) + &".".repeat(length.saturating_sub(filled) as usize)
}

/// The heading of a column of bars for errors from `least` to `most`, and the bars.
pub fn bars_between(least: f64, most: f64) -> (&'static str, impl Fn(f64) -> String) {
    let logarithmic = most > least * LINEAR_UP_TO;
    let part = move |error: f64| match logarithmic {
        true => (2.0 * error / least).ln() / (2.0 * most / least).ln(),
        false => error / most,
    };
    (if logarithmic { "(log scale)" } else { "" }, move |error| bar(part(error)))
}

fn bar(part: f64) -> String {
    bar_of((part.clamp(0.0, 1.0) * BAR * 8.0).round() as usize)
}

/// Three digits are enough to compare.
pub fn short(value: f64) -> String {
    match value {
        _ if !value.is_finite() => "–".into(),
        _ if value >= 1e7 => format!("{value:.2e}"),
        _ if value >= 100.0 => grouped(value.round() as u64),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 0.01 || value == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A size in bytes, in one or two digits of the right unit.
pub fn bytes(number: usize) -> String {
    match number {
        0..10_000 => format!("{number} B"),
        10_000..10_000_000 => format!("{} KiB", number / 1024),
        _ => format!("{} MiB", number >> 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bars_are_short() {
        let values = [0.0, 0.001, 0.5, 9.876, 28.19, 123.6, 1_482_910.4, 1.5e18, f64::INFINITY].map(short);
        assert_eq!(
            values,
            ["0.00", "1.0e-3", "0.50", "9.88", "28.2", "124", "1 482 910", "1.50e18", "–"].map(String::from)
        );
        assert_eq!([bar(0.0), bar(0.5), bar(1.0 / 160.0)], ["".into(), "█".repeat(10), "▏".into()]);
        assert_eq!(bar(7.0), "█".repeat(20));
        assert_eq!([framed_bar(0, 2), framed_bar(9, 3), framed_bar(24, 3)], ["░░", "█▏░", "███"].map(String::from));
        assert_eq!([plain_bar(0, 2), plain_bar(1, 2), plain_bar(2, 2)], ["..", "#.", "##"].map(String::from));
        assert_eq!([bytes(96), bytes(20_480), bytes(33 << 20)], ["96 B", "20 KiB", "33 MiB"].map(String::from));
    }
}
