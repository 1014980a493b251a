//! COUNT, SUM and AVG by category over ten million rows, with and without privacy.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::layout::{aligned, show};
use super::program::built;
use super::{Format, peers};
use crate::process::{Invocation, target};

const HEADER: [&str; 6] = ["contender", "seconds", "of no privacy", "MiB", "error of COUNT", "of AVG"];
/// The name that the benchmark gives it.
const FILE: &str = "visits-10000000.parquet";
/// A table so small that starting up is most of the work.
const FEW_ROWS: usize = 1000;
/// How often the command is run on it; the median counts.
const STARTS: usize = 21;

/// Builds and runs the benchmark on all cores, then the peers on the table that it wrote.
pub fn run(format: Format) -> Result<(), String> {
    let folder = target().join("bench-sql");
    // Together with the command, so that what both need is built once.
    let program = built("reticent-sql", "sql", "-p reticent-cli --bin reticent")?;
    let ours = Invocation::program(program).argument(folder.to_string_lossy()).output()?;
    eprintln!("measuring the peers …");
    let file = folder.join(FILE).to_string_lossy().into_owned();
    // The peers come first: all others are compared with the first of them.
    let peers = Invocation::program(peers::python()?).and("-B").argument(peers::SQL).argument(file).output()?;
    let (planning, ours): (Vec<&str>, Vec<&str>) = ours.lines().partition(|line| line.starts_with("{\"planning\""));
    let planning: Value = serde_json::from_str(planning.first().ok_or("planning was not measured")?)
        .map_err(|error| error.to_string())?;
    let measured = read(&(peers + &ours.join("\n")))?;
    let seconds = start_up(&folder)?;
    match format {
        Format::Json => {
            measured.iter().for_each(|measured| println!("{measured}"));
            println!("{planning}");
            println!("{}", json!({"start_up": {"rows": FEW_ROWS, "seconds": seconds}}));
        }
        Format::Table => {
            print!("{}", table(&measured));
            let milliseconds = planning["planning"]["milliseconds"].as_f64().unwrap_or(f64::NAN);
            println!("from SQL to a query that can be charged, the slowest of five: {} ms", show(milliseconds));
            println!("`reticent query` from start to end, {FEW_ROWS} rows of CSV: {} s", show(seconds));
        }
    }
    Ok(())
}

/// How long the whole command takes, including its charge to a ledger.
fn start_up(folder: &Path) -> Result<f64, String> {
    let folder = folder.join("start-up");
    // From an earlier run: its ledger would grow from run to run.
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let (file, ledger) = (folder.join("few.csv"), folder.join("few.ledger"));
    let mut rows = String::from("category,value\n");
    (0..FEW_ROWS).for_each(|row| writeln!(rows, "c{},{}", row % 10, row % 101).expect("a string grows"));
    std::fs::write(&file, rows).map_err(|error| format!("{}: {error}", file.display()))?;
    let reticent = || Invocation::program(target().join("release/reticent"));
    let (file, ledger) = (file.to_string_lossy(), ledger.to_string_lossy());
    let created = reticent()
        .and("ledger create few --unit row --epsilon 1000 --allow-large-epsilon --delta 1e-3 --ledger")
        .argument(ledger.as_ref());
    created.output()?;
    let query = reticent()
        .and("query --epsilon 1 --delta 1e-8 --bounds value=0..100 --dataset few --ledger")
        .argument(ledger.as_ref())
        .argument("--table")
        .argument(format!("few={file}"))
        .argument("SELECT category, COUNT(*), SUM(value), AVG(value) FROM few GROUP BY category")
        .silently();
    let mut seconds = Vec::new();
    for _ in 0..STARTS {
        let start = Instant::now();
        if !query.succeeds() {
            return Err(format!("{query}\nfailed"));
        }
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_unstable_by(f64::total_cmp);
    Ok(seconds[STARTS / 2])
}

/// One object per contender; all are compared with the first.
fn read(printed: &str) -> Result<Vec<Value>, String> {
    let object = |line: &str| {
        let value: Value = serde_json::from_str(line).ok()?;
        value.get("contender")?.is_string().then_some(value)
    };
    let objects = printed.lines().map(|line| object(line).ok_or_else(|| format!("this is not a measurement: {line}")));
    let mut all = objects.collect::<Result<Vec<_>, _>>()?;
    let plain = all.first().and_then(|first| first["seconds"].as_f64());
    for value in &mut all {
        if let Some((seconds, plain)) = value["seconds"].as_f64().zip(plain) {
            value["of_plain"] = (seconds / plain).into();
        }
    }
    Ok(all)
}

fn table(measured: &[Value]) -> String {
    let rows: Vec<_> = measured
        .iter()
        .map(|value| {
            let number =
                |name: &str, unit: &str| value[name].as_f64().map_or("–".into(), |number| show(number) + unit);
            let name = value["contender"].as_str().unwrap_or_default().to_owned();
            let count = value["count_error"].as_f64().map_or("–".into(), |share| show(100.0 * share) + " %");
            [
                name,
                number("seconds", ""),
                number("of_plain", " ×"),
                number("mebibytes", ""),
                count,
                number("mean_error", ""),
            ]
        })
        .collect();
    String::from("COUNT, SUM, AVG by 1,000 categories of 10 million rows of 1 million users; median of several runs\n")
        + &aligned(HEADER, &rows, &[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybody_stands_beside_the_query_without_privacy() {
        let printed = r#"{"contender":"plain","seconds":0.25,"of_plain":1,"mebibytes":120.4}
{"contender":"ours","seconds":0.5,"of_plain":null,"mebibytes":300,"count_error":0.06,"mean_error":0.7}
{"contender":"stopped","seconds":null,"of_plain":null,"mebibytes":null}
"#;
        let expected = "\
COUNT, SUM, AVG by 1,000 categories of 10 million rows of 1 million users; median of several runs
contender  seconds  of no privacy  MiB  error of COUNT  of AVG
plain        0.250         1.00 ×  120               –       –
ours         0.500         2.00 ×  300          6.00 %   0.700
stopped          –              –    –               –       –
";
        assert_eq!(table(&read(printed).unwrap()), expected);
        assert!(read("no measurement").is_err());
    }
}
