//! Reports per second that a client makes, an aggregator receives, and aggregators verify; one JSON object per line.
//!
//! Run it with `cargo bench -p reticent-aggregators --features test-util --bench aggregators`.

use std::time::Instant;

use reticent_aggregators::{Draft, Report, Simulated};
use reticent_party::PrivateKey;

/// Reports in each collection.
const REPORTS: usize = 20_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let buckets = (0..100).map(|bucket| format!("\"{bucket}\"")).collect::<Vec<_>>().join(", ");
    let histogram = format!("statistic = \"histogram\"\nbuckets = [{buckets}]");
    let sum = "statistic = \"sum\"\nlower = 0\nupper = 1440".to_owned();
    for (name, statistic) in
        [("count", "statistic = \"count\"".to_owned()), ("sum to 1440", sum), ("histogram of 100", histogram)]
    {
        for aggregators in [2, 3] {
            let mut simulated = Simulated::new(draft(&statistic, aggregators)?)?;
            let statistic = simulated.task().statistic().clone();
            let answer = |client: usize| statistic.number(client as i64 % 100);
            let begun = Instant::now();
            let reports: Vec<Report> =
                (0..REPORTS).map(|client| Report::new(simulated.task(), answer(client))).collect::<Result<_, _>>()?;
            let made = begun.elapsed().as_secs_f64();
            let begun = Instant::now();
            for place in 0..aggregators {
                simulated.store(place).receive(reports.iter().map(|report| report.shares()[place].as_slice()))?;
            }
            let kept = begun.elapsed().as_secs_f64() / aggregators as f64;
            let begun = Instant::now();
            for outcome in simulated.collect()? {
                outcome?;
            }
            let collected = begun.elapsed().as_secs_f64();
            let rate = |seconds: f64| (REPORTS as f64 / seconds).round();
            let bytes: Vec<usize> = reports[0].shares().iter().map(|share| share.len()).collect();
            println!(
                "{{\"statistic\": \"{name}\", \"aggregators\": {aggregators}, \"share_bytes\": {bytes:?}, \"made_per_second\": {}, \
                 \"kept_per_second\": {}, \"collected_per_second\": {}}}",
                rate(made),
                rate(kept),
                rate(collected)
            );
        }
    }
    Ok(())
}

fn draft(statistic: &str, aggregators: usize) -> Result<Draft, Box<dyn std::error::Error>> {
    let mut text = format!("title = \"b\"\n{statistic}\nepsilon = 1\ncolluders = 1\nminimum_reports = 1\n");
    for place in 0..aggregators {
        let key = PrivateKey::generate()?.public();
        text += &format!("[[aggregator]]\nname = \"a{place}\"\nkey = \"{key}\"\n");
        text += &format!("address = \"a:{}\"\nreports = \"b:{}\"\n", 1 + place, 1 + place);
    }
    Ok(toml::from_str(&text)?)
}
