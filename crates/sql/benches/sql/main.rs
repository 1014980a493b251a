//! COUNT, SUM and AVG by category over ten million rows, as private SQL.
//!
//! ```text
//! sql FOLDER              writes the table if it is missing, measures all contenders, prints JSON lines
//! sql run CONTENDER FILE  measures one, in this process: seconds of each repetition, and the peak memory
//! ```
//!
//! Every contender runs in its own process, in turns with the others, and the median of all repetitions counts.
//! `cargo xtask bench sql` turns the output into a table.

mod contender;
mod table;

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use contender::{CONTENDERS, Contender};
use serde_json::{Value, json};

/// The number of turns of each contender.
const ROUNDS: usize = 3;
/// A contender that takes longer than this is stopped, which is its result.
const PATIENCE: Duration = Duration::from_secs(240);

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["run", name, file] => {
            let found = CONTENDERS.iter().find(|contender| contender.name == name);
            contender::measure(found.ok_or("there is no such contender")?, Path::new(file))
        }
        [folder] => everybody(Path::new(folder)),
        _ => Err("usage: sql FOLDER".into()),
    }
}

fn everybody(folder: &Path) -> Outcome<()> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(format!("visits-{}.parquet", table::ROWS));
    if !file.exists() {
        eprintln!("writing {} …", file.display());
        table::write(&file)?;
    }
    let mut seconds = vec![Vec::new(); CONTENDERS.len()];
    let mut mebibytes = vec![0f64; CONTENDERS.len()];
    let mut errors = vec![[Vec::new(), Vec::new()]; CONTENDERS.len()];
    for round in 0..ROUNDS {
        for (place, contender) in CONTENDERS.iter().enumerate() {
            if round >= contender.rounds {
                continue;
            }
            eprintln!("round {} of {ROUNDS}: {}", round + 1, contender.name);
            if let Some(result) = in_a_process(contender, &file)? {
                let numbers = result["seconds"].as_array().into_iter().flatten();
                seconds[place].extend(numbers.filter_map(Value::as_f64));
                errors[place][0].extend(result["count_error"].as_f64());
                errors[place][1].extend(result["mean_error"].as_f64());
                mebibytes[place] = mebibytes[place].max(result["mebibytes"].as_f64().unwrap_or_default());
            }
        }
    }
    let medians: Vec<Option<f64>> = seconds.into_iter().map(median).collect();
    for (((contender, median), mebibytes), errors) in CONTENDERS.iter().zip(&medians).zip(mebibytes).zip(errors) {
        let [count_error, mean_error] = errors.map(self::median);
        println!(
            "{}",
            json!({"contender": contender.name, "seconds": median, "mebibytes": mebibytes,
                   "count_error": count_error, "mean_error": mean_error})
        );
    }
    println!("{}", json!({"planning": {"milliseconds": contender::planning(&file)?}}));
    Ok(())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// The contender's output; `None` if it was stopped or failed.
fn in_a_process(contender: &Contender, file: &Path) -> Outcome<Option<Value>> {
    let mut child =
        Command::new(env::current_exe()?).args(["run", contender.name]).arg(file).stdout(Stdio::piped()).spawn()?;
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > PATIENCE {
            eprintln!("stopped after {PATIENCE:?}");
            child.kill()?;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output()?;
    Ok(serde_json::from_slice(&output.stdout).ok())
}
