//! How long bounding takes, without reading files: `cargo bench -p reticent-bounding`.
//! Words after `--` select measurements by name.
//!
//! Ten million visits of a million users to a thousand categories, skewed as in the private SQL benchmark, added up on
//! two threads: with every row as a unit, and bounded to four rows in each of four categories per user.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use rand_core::Rng;
use reticent::noise::Entropy;
use reticent::statistic::Grid;
use reticent_bounding::{Bounding, ChoiceKey, ContributionCaps, Groups, Job, Layout, Measure, Memory};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const ROWS: usize = 10_000_000;
const USERS: usize = ROWS / 10;
const CATEGORIES: usize = 1000;
/// The n-th most active user's share of visits is proportional to n to the minus this.
const USER_SKEW: f64 = 0.6;
const CATEGORY_SKEW: f64 = 1.05;
/// Values are sums of two exponentials of this mean, up to [`LARGEST`].
const MEAN: f64 = 15.0;
const LARGEST: f64 = 100.0;
const BATCH: usize = 8192;
const SEED: u64 = 20_240_601;
const THREADS: usize = 2;
const RUNS: usize = 5;

/// What to measure; cargo adds a word of its own.
fn words() -> impl Iterator<Item = String> {
    std::env::args().skip(1).filter(|word| word != "--bench")
}

fn main() -> Outcome<()> {
    let texts = words().count() == 0 || words().any(|word| word == "texts");
    let batches = visits(texts)?;
    let columns = |columns: &[usize]| -> Outcome<Vec<RecordBatch>> {
        batches.iter().map(|batch| Ok(batch.project(columns)?)).collect()
    };
    let caps = Some(ContributionCaps { groups: 4, rows: 4 });
    println!("{ROWS} rows, {THREADS} threads, best of {RUNS}: adding batches, and finishing");
    report("unit is the row", &columns(&[1, 2])?, None)?;
    report("unit is the user", &columns(&[0, 1, 2])?, caps)?;
    report("users are texts", &columns(&[3, 1, 2])?, caps)?;
    report("keys are texts", &columns(&[0, 4, 2])?, caps)?;
    report("rows, keys are texts", &columns(&[4, 2])?, None)?;
    report("rows, two keys", &columns(&[1, 4, 2])?, None)
}

fn report(what: &str, batches: &[RecordBatch], caps: Option<ContributionCaps>) -> Outcome<()> {
    if words().count() > 0 && !words().any(|word| what.contains(&word)) {
        return Ok(());
    }
    let (before, mut times) = (cpu_seconds(), Vec::new());
    for _ in 0..RUNS {
        let (adding, finishing, groups) = run(batches, caps)?;
        times.push((adding + finishing, adding, finishing, groups.groups.len()));
    }
    let cpu = cpu_seconds().zip(before).map(|(after, before)| (after - before) / RUNS as f64);
    let (all, adding, finishing, groups) = times.into_iter().min().ok_or("no run")?;
    let seconds = |time: Duration| time.as_secs_f64();
    println!(
        "{what:<22} {:.3} s = {:.3} s + {:.3} s, {:.2} s of processor time, {groups} groups",
        seconds(all),
        seconds(adding),
        seconds(finishing),
        cpu.unwrap_or(f64::NAN)
    );
    Ok(())
}

/// Processor time of all threads so far, on Linux: meaningful even on a busy machine.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = stat.rsplit(')').next()?.split_whitespace().skip(11).take(2);
    Some(ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

fn run(batches: &[RecordBatch], caps: Option<ContributionCaps>) -> Outcome<(Duration, Duration, Groups)> {
    let unit = caps.is_some();
    let schema = batches[0].schema();
    let grid = Grid::new(&format!("0..{LARGEST}").parse()?);
    let measures = vec![Measure::Moments { column: 0, grid, squares: false }];
    let keys = schema.fields().len() - usize::from(unit) - 1;
    let choice = ChoiceKey::draw(&mut Entropy::seeded(SEED).draw()?);
    let job = Job { schema, layout: Layout { unit, keys, measures }, caps, keys: None, choice };
    let bounding = Bounding::new(&job, &Memory::unlimited())?;
    let start = Instant::now();
    let workers = std::thread::scope(|scope| {
        let work = |share: &[RecordBatch]| {
            let mut worker = bounding.worker();
            share.iter().try_for_each(|batch| worker.add(batch)).map(|()| worker)
        };
        let shares = batches.chunks(batches.len().div_ceil(THREADS));
        let threads: Vec<_> = shares.map(|share| scope.spawn(move || work(share))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Result<Vec<_>, _>>()
    })?;
    let added = start.elapsed();
    let groups = bounding.finish(workers)?;
    Ok((added, start.elapsed() - added, groups))
}

/// User, category, value, and both as texts, if wanted.
fn visits(texts: bool) -> Outcome<Vec<RecordBatch>> {
    let mut entropy = Entropy::seeded(SEED);
    let mut rng = entropy.draw()?;
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    // How active a user is does not follow from the number.
    let mut users: Vec<i64> = (0..USERS as i64).collect();
    for place in (1..USERS).rev() {
        users.swap(place, (uniform() * (place + 1) as f64) as usize);
    }
    let (activity, popularity) = (cumulated(USERS, USER_SKEW), cumulated(CATEGORIES, CATEGORY_SKEW));
    let mut batches = Vec::new();
    for from in (0..ROWS).step_by(BATCH) {
        let rows = BATCH.min(ROWS - from);
        let user: Vec<i64> = (0..rows).map(|_| users[draw(&activity, uniform())]).collect();
        let category: Vec<i64> = (0..rows).map(|_| draw(&popularity, uniform()) as i64).collect();
        let value = |_| -MEAN * ((1.0 - uniform()) * (1.0 - uniform())).ln();
        let value =
            Float64Array::from_iter_values((0..rows).map(value).map(|value| (value.min(LARGEST) * 1e4).round() / 1e4));
        let text = |text: String| texts.then_some(text);
        let user_name = StringViewArray::from_iter(user.iter().map(|user| text(format!("user-{user:016x}"))));
        let category_name = StringViewArray::from_iter(category.iter().map(|number| text(format!("kind {number}"))));
        let columns: [(&str, ArrayRef); 5] = [
            ("user", Arc::new(Int64Array::from(user))),
            ("category", Arc::new(Int64Array::from(category))),
            ("value", Arc::new(value)),
            ("user name", Arc::new(user_name)),
            ("category name", Arc::new(category_name)),
        ];
        batches.push(RecordBatch::try_from_iter(columns)?);
    }
    Ok(batches)
}

/// Cumulative shares: of the first, of the first two, …
fn cumulated(number: usize, skew: f64) -> Vec<f64> {
    let weights = (1..=number).map(|rank| (rank as f64).powf(-skew));
    let total: f64 = weights.clone().sum();
    let shares = weights.scan(0.0, |sum, weight| {
        *sum += weight / total;
        Some(*sum)
    });
    shares.collect()
}

fn draw(cumulated: &[f64], uniform: f64) -> usize {
    cumulated.partition_point(|&share| share < uniform).min(cumulated.len() - 1)
}
