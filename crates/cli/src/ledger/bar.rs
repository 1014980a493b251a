//! A budget as a bar: `ε ████████░░░░ 62 %`.

use super::component::Component;

/// How long a bar is, in characters.
const LENGTH: usize = 20;
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// One bar for each component, each on a line of its own. Full means full, and empty means empty.
pub fn bars(components: &[Component]) -> String {
    let plain = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let lines = components.iter().filter_map(|component| {
        let part = component.part()?.to_f64_down();
        let exhausted = component.left()?.is_zero();
        let bar = if plain { plain_bar(part, exhausted) } else { bar(part, exhausted) };
        Some(format!("{} {bar} {} %", component.symbol, percent(part, exhausted)))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// How many of `all` pieces are filled: all only if nothing is left, none only if nothing was spent.
fn filled(part: f64, exhausted: bool, all: usize) -> usize {
    match part {
        _ if exhausted => all,
        0.0 => 0,
        part => ((part * all as f64).floor() as usize).clamp(1, all - 1),
    }
}

fn bar(part: f64, exhausted: bool) -> String {
    let eighths = filled(part, exhausted, LENGTH * 8);
    let (whole, rest) = (eighths / 8, PARTS[eighths % 8]);
    let empty = LENGTH - whole - usize::from(!rest.is_empty());
    "█".repeat(whole) + rest + &"░".repeat(empty)
}

/// For terminals that have letters only.
fn plain_bar(part: f64, exhausted: bool) -> String {
    let whole = filled(part, exhausted, LENGTH);
    "#".repeat(whole) + &".".repeat(LENGTH - whole)
}

fn percent(part: f64, exhausted: bool) -> usize {
    filled(part, exhausted, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_means_full_and_empty_means_empty() {
        let bars = |part: f64| (bar(part, part >= 1.0), percent(part, part >= 1.0));
        assert_eq!(bars(0.0), ("░".repeat(20), 0));
        assert_eq!(bars(1.0), ("█".repeat(20), 100));
        assert_eq!(bars(0.5), ("█".repeat(10) + &"░".repeat(10), 50));
        assert_eq!(bars(1e-300), ("▏".to_owned() + &"░".repeat(19), 1));
        // Something is left, but no float below 1 is nearer.
        assert_eq!((bar(1.0, false), percent(1.0, false)), ("█".repeat(19) + "▉", 99));
        assert!([0.0, 0.001, 0.33, 0.62, 0.999].iter().all(|part| bars(*part).0.chars().count() == LENGTH));
        assert_eq!(plain_bar(0.5, false), "##########..........");
    }
}
