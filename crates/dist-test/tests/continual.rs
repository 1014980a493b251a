//! Counters have the predicted errors, and no more than the reference figures.
//!
//! The figures (`crates/core/tests/data/continual_errors.csv`) were computed independently: variances in closed form with
//! discrete or continuous noise, maxima by simulation.

use dist_test::{samples, seed};
use reticent::Permit;
use reticent::continual::{AnyStrategy, Counter, CounterKind, Stream};
use reticent::noise::Entropy;
use reticent::privacy::Guarantee;

const FIGURES: &str = include_str!("../../core/tests/data/continual_errors.csv");

/// Streams simulated to compare variances.
const RUNS: u64 = 20_000;
const LONG_RUNS: u64 = 200_000;
/// The normal quantile at 10⁻⁶ shared by 2¹⁴ comparisons.
const QUANTILE: f64 = 6.6;
/// E X⁴/(E X²)² of one Laplace draw, the largest of all noises here.
const KURTOSIS: f64 = 6.0;

/// Streams simulated to compare maxima: this determines the 95 % quantile to about 1 %.
const MAXIMA_RUNS: u64 = 4000;
/// The figures' maxima are simulated, too.
const MAXIMA_TOLERANCE: f64 = 0.05;

/// One row of the reference figures.
#[derive(Debug)]
struct Figure {
    steps: u64,
    guarantee: Guarantee,
    kind: CounterKind,
    is_discrete: bool,
    last: f64,
    average: f64,
    worst: f64,
    maximum: f64,
    /// Whether the parameters were chosen freely: ours may differ and should be no worse.
    is_tuned: bool,
}

/// All rows whose counter we have with the same parameters.
fn figures() -> Vec<Figure> {
    let read = |line: &str| {
        // The mechanism may be quoted; the other fields are not.
        let fields: Vec<&str> = line.splitn(3, ',').collect();
        let (name, rest) = match fields[2].strip_prefix('"') {
            Some(quoted) => quoted.split_once("\",")?,
            None => fields[2].split_once(',')?,
        };
        let rest: Vec<&str> = rest.split(',').collect();
        let number = |place: usize| rest[place].parse::<f64>().ok();
        let name = match name {
            "k-ary with subtraction" => "k-ary",
            "blt, 5 buffers" => "blt",
            name => name,
        };
        let guarantee = match fields[1].split_once('=')? {
            ("pure eps", epsilon) => Guarantee::Pure(epsilon.parse().ok()?),
            (_, rho) => Guarantee::Zcdp(rho.parse().ok()?),
        };
        Some(Figure {
            steps: fields[0].parse().ok()?,
            guarantee,
            kind: name.parse().ok()?,
            is_discrete: rest[0] == "discrete",
            last: number(1)?,
            average: number(2)?,
            worst: number(3)?,
            maximum: number(4)?,
            is_tuned: matches!(name, "k-ary" | "bridged" | "blt"),
        })
    };
    FIGURES.lines().skip(1).filter_map(read).collect()
}

fn plan(figure: &Figure) -> Option<AnyStrategy> {
    // Toeplitz ends at 2^22 steps.
    figure.kind.plan(Stream::bits().until(figure.steps).unwrap(), figure.guarantee.clone()).ok()
}

#[test]
fn predictions_agree_with_the_figures() {
    let mut compared = 0;
    for figure in figures() {
        let Some(plan) = plan(&figure) else {
            assert!(figure.kind == CounterKind::Toeplitz && figure.steps > 1 << 22, "{figure:?}");
            continue;
        };
        compared += 1;
        let tolerance = if figure.is_discrete { 0.002 } else { 0.02 };
        let average = plan.average_variance(figure.steps).sqrt();
        if figure.is_tuned {
            assert!(average <= figure.average * 1.002, "{average} {figure:?}");
            continue;
        }
        let (last, worst) = (plan.variance(figure.steps).sqrt(), plan.worst_variance(figure.steps).sqrt());
        for (ours, theirs) in [(last, figure.last), (average, figure.average), (worst, figure.worst)] {
            assert!((ours / theirs - 1.0).abs() < tolerance, "{ours} against {theirs}: {figure:?}");
        }
    }
    assert_eq!(compared, 43, "rows of the figures");
}

#[test]
fn simulated_variances_agree_with_the_predicted() {
    let steps = 300;
    let guarantees = [Guarantee::Pure("1".parse().unwrap()), Guarantee::Zcdp("0.1".parse().unwrap())];
    let runs = samples(RUNS, LONG_RUNS);
    let tolerance = QUANTILE * ((KURTOSIS - 1.0) / runs as f64).sqrt();
    for (kind, guarantee) in
        CounterKind::ALL.iter().flat_map(|kind| guarantees.iter().map(move |guarantee| (kind, guarantee)))
    {
        let Ok(plan) = kind.plan(Stream::bits().until(steps).unwrap(), guarantee.clone()) else { continue };
        let squares =
            in_parallel(runs, &format!("variances {kind} {guarantee}"), vec![0.0; steps as usize], |seed, squares| {
                let mut counter = plan.clone().start(Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
                for (step, square) in squares.iter_mut().enumerate() {
                    let noise = counter.advance(1).unwrap() as f64 - (step + 1) as f64;
                    *square += noise * noise;
                }
            });
        for (step, place) in (1..=steps).zip(0..) {
            let simulated: f64 = squares.iter().map(|squares| squares[place]).sum::<f64>() / runs as f64;
            let ratio = simulated / plan.variance(step);
            assert!((ratio - 1.0).abs() < tolerance, "{kind} {guarantee} step {step}: {ratio}");
        }
    }
}

#[test]
fn simulated_maxima_agree_with_the_figures() {
    for figure in figures() {
        let affordable =
            figure.steps <= if figure.kind == CounterKind::Toeplitz { 1 << 10 } else { samples(1 << 10, 1 << 16) };
        let Some(plan) = plan(&figure).filter(|_| affordable) else { continue };
        let name = format!("maxima {} {}", figure.kind, figure.steps);
        let maxima = in_parallel(MAXIMA_RUNS, &name, Vec::new(), |seed, maxima| {
            let mut counter = plan.clone().start(Permit::unaccounted_from(Entropy::seeded(seed))).unwrap();
            let noise = (1..=figure.steps).map(|_| counter.advance(0).unwrap().unsigned_abs());
            maxima.push(noise.max().unwrap());
        });
        let mut maxima = maxima.concat();
        maxima.sort_unstable();
        let quantile = maxima[maxima.len() * 95 / 100] as f64;
        // Ours may be better where parameters were chosen freely.
        let least = if figure.is_tuned { 0.0 } else { figure.maximum * (1.0 - MAXIMA_TOLERANCE) };
        assert!((least..=figure.maximum * (1.0 + MAXIMA_TOLERANCE)).contains(&quantile), "{quantile} {figure:?}");
    }
}

/// Distributes runs over the cores; each core has its own accumulator.
fn in_parallel<A: Clone + Send>(runs: u64, name: &str, empty: A, run: impl Fn(u64, &mut A) + Sync) -> Vec<A> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let first = seed(name);
    std::thread::scope(|scope| {
        let share = |core: u64| {
            let (run, mut sums) = (&run, empty.clone());
            move || {
                (core..runs).step_by(cores as usize).for_each(|number| run(first.wrapping_add(number), &mut sums));
                sums
            }
        };
        let workers: Vec<_> = (0..cores).map(|core| scope.spawn(share(core))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}
