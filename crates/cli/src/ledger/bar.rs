//! A budget as a bar: `ε ████████░░░░ 62 %`.

use reticent::exact::Rational;
use reticent_ledger::Component;
use reticent_plot::terminal::bar_of;

use crate::output::no_blocks;

/// The length of a bar, in characters.
const LENGTH: u32 = 20;

/// One bar per component, each on its own line.
pub fn bars(components: &[Component]) -> String {
    let lines = components.iter().filter_map(|component| {
        let part = component.part()?;
        let bar = if no_blocks() { plain_bar(&part) } else { bar(&part) };
        Some(format!("{} {bar} {} %", component.symbol, filled(&part, 100)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How many of `all` pieces are filled, rounded up; but all of them only if nothing is left.
fn filled(part: &Rational, all: u32) -> u32 {
    if *part >= Rational::ONE {
        return all;
    }
    let pieces = part * &Rational::from(u64::from(all));
    (0..all - 1).find(|count| Rational::from(u64::from(*count)) >= pieces).unwrap_or(all - 1)
}

fn bar(part: &Rational) -> String {
    let eighths = filled(part, LENGTH * 8);
    bar_of(eighths as usize) + &"░".repeat((LENGTH - eighths.div_ceil(8)) as usize)
}

/// For terminals without block characters.
fn plain_bar(part: &Rational) -> String {
    let whole = filled(part, LENGTH);
    "#".repeat(whole as usize) + &".".repeat((LENGTH - whole) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(part: &str) -> (String, u32) {
        let part = part.parse().unwrap();
        (bar(&part), filled(&part, 100))
    }

    #[test]
    fn full_means_full_and_empty_means_empty() {
        assert_eq!(drawn("0"), ("░".repeat(20), 0));
        assert_eq!(drawn("1"), ("█".repeat(20), 100));
        assert_eq!(drawn("0.5"), ("█".repeat(10) + &"░".repeat(10), 50));
        assert_eq!(drawn("1e-300"), ("▏".to_owned() + &"░".repeat(19), 1));
        assert_eq!(drawn("0.9999999999999999999999"), ("█".repeat(19) + "▉", 99));
        // As floats, 0.07 of 100 is a little more than 7.
        assert_eq!(drawn("0.07").1, 7);
        for part in ["0", "0.001", "1/3", "0.62", "0.999", "1"] {
            assert_eq!(drawn(part).0.chars().count(), 20, "{part}");
            let plain = plain_bar(&part.parse().unwrap());
            assert!(plain.len() == 20 && plain.is_ascii(), "{part}");
        }
    }
}
