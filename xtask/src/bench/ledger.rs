//! Durable charges beside what the disk allows. No other library has a ledger to compare with.

use super::Format;
use super::layout::{measured, show};
use super::program::built;
use crate::process::{Invocation, target};

const HEADER: [&str; 3] = ["task", "a second", "of fdatasync alone"];

/// Builds and runs the measuring program, on all cores and on the disk that holds the build.
pub fn run(format: Format) -> Result<(), String> {
    let folder = target().join("bench-ledger").to_string_lossy().into_owned();
    let program = built("reticent-ledger", "charges", "")?;
    let printed = Invocation::program(program).argument(folder).output()?;
    format.show(&printed, table)
}

fn table(printed: &str) -> Result<String, String> {
    measured(HEADER, printed, |value| {
        let number = |name: &str| value.get(name)?.as_f64();
        let task = value.get("task")?.as_str()?.to_owned();
        Some([task, format!("{:.0}", number("per_second")?), show(number("of_raw")?) + " ×"])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_stand_beside_the_disk() {
        let printed = r#"{"task":"fdatasync","per_second":6000.4,"of_raw":1}
{"task":"charges, 1 writer","per_second":4500,"of_raw":0.75}
"#;
        let expected = "\
task               a second  of fdatasync alone
fdatasync              6000              1.00 ×
charges, 1 writer      4500             0.750 ×
";
        assert_eq!(table(printed).unwrap(), expected);
        assert!(table("no measurement").is_err());
    }
}
