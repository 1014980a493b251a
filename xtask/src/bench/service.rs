//! The whole service under load, on loopback.

use serde_json::Value;

use super::Format;
use super::layout::{measured, show};
use super::program::built;
use crate::process::{Invocation, target};

const HEADER: [&str; 3] = ["figure", "measured", "aim"];
const LONG_SECONDS: u32 = 600;
const SHORT_SECONDS: u32 = 60;

/// Builds the service and its loader, and runs both for ten minutes, or for one.
pub fn run(format: Format, short: bool) -> Result<(), String> {
    let program = built("reticent-server", "service", "-p reticent-cli --bin reticent")?;
    let seconds = if short { SHORT_SECONDS } else { LONG_SECONDS };
    eprintln!("measuring for {seconds} s …");
    let printed = Invocation::program(program)
        .argument(target().join("release/reticent").to_string_lossy())
        .argument(target().join("bench-service").to_string_lossy())
        .argument(seconds.to_string())
        .output()?;
    format.show(&printed, table)
}

fn table(printed: &str) -> Result<String, String> {
    measured(HEADER, printed, |value| {
        let unit = value.get("unit")?.as_str()?;
        let with_unit =
            |number: f64| format!("{} {unit}", if number >= 1000.0 { format!("{number:.0}") } else { show(number) });
        let aim = value.get("target").and_then(Value::as_f64).map(with_unit).unwrap_or_default();
        Some([value.get("figure")?.as_str()?.to_owned(), with_unit(value.get("value")?.as_f64()?), aim])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_beside_their_aims() {
        let printed = r#"{"figure":"events acknowledged","value":99998.4,"unit":"a second","target":100000.0}
{"figure":"memory, last fifth","value":87.5,"unit":"MiB","target":null}
"#;
        let expected = "\
figure                     measured              aim
events acknowledged  99998 a second  100000 a second
memory, last fifth         87.5 MiB
";
        let trimmed = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
        assert_eq!(trimmed(&table(printed).unwrap()), trimmed(expected));
        assert!(table("no measurement").is_err());
    }
}
