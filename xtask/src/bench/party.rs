//! Many parties on one machine, each in its own process.

use super::Format;
use super::layout::{measured, show};
use super::program::built;
use crate::process::Invocation;

const HEADER: [&str; 4] = ["task", "numbers each", "seconds", "to verify"];

/// Builds and runs the benchmark, on all cores.
pub fn run(format: Format) -> Result<(), String> {
    let printed = Invocation::program(built("reticent-party", "parties", "")?).output()?;
    format.show(&printed, table)
}

fn table(printed: &str) -> Result<String, String> {
    measured(HEADER, printed, |value| {
        let number = |name: &str| value.get(name)?.as_f64();
        let task = value.get("task")?.as_str()?.to_owned();
        Some([task, format!("{:.0}", number("cells")?), show(number("seconds")?), show(number("verify_seconds")?)])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stand_under_each_other() {
        let printed = r#"{"task":"3 parties","cells":1000,"seconds":0.25,"verify_seconds":0.01}
{"task":"50 parties","cells":1000,"seconds":4.5,"verify_seconds":0.125}
"#;
        let expected = "\
task        numbers each  seconds  to verify
3 parties           1000    0.250     0.0100
50 parties          1000     4.50      0.125
";
        assert_eq!(table(printed).unwrap(), expected);
        assert!(table("no measurement").is_err());
    }
}
