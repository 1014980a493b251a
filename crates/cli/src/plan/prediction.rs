//! The predicted accuracy of every counter.

use std::collections::BTreeMap;
use std::thread;

use anyhow::Result;
use reticent::continual::usefulness::Basis;
use reticent::continual::{AnyStrategy, CounterKind, MaxError, Stream, bounds, max_error};
use reticent::noise::Entropy;
use reticent::privacy::{Guarantee, Rho};

/// Without a horizon, errors are those of this many first steps.
const UNBOUNDED_STEPS: u64 = 1 << 20;
/// The confidence level of the largest error of a run.
const LEVEL: f64 = 0.95;

/// One counter under one guarantee.
#[derive(Debug, Clone)]
pub struct Prediction {
    pub counter: CounterKind,
    pub guarantee: Guarantee,
    /// The number of steps the errors are for.
    pub steps: u64,
    /// Root mean square errors: at the last step, over all steps, at the worst step.
    pub last: f64,
    pub average: f64,
    pub worst: f64,
    pub largest: Largest,
    pub state_bytes: usize,
    pub strategy: AnyStrategy,
}

/// A bound on the largest error of a whole run, at [`LEVEL`].
#[derive(Debug, Clone, Copy)]
pub struct Largest {
    pub value: f64,
    /// `exact`, `simulated` or `bound`.
    pub is: &'static str,
}

/// A lower bound for all counters.
#[derive(Debug, Clone)]
pub struct LowerBound {
    pub value: f64,
    /// What it bounds, and for which counters.
    pub on: String,
}

/// All counters that support the stream, by average error; and why the others do not.
#[derive(Debug, Clone)]
pub struct Plan {
    pub stream: Stream,
    pub guarantees: Vec<Guarantee>,
    pub steps: u64,
    pub predictions: Vec<Prediction>,
    /// Reasons, with the counters they apply to.
    pub left_out: BTreeMap<String, Vec<&'static str>>,
    pub lower_bounds: Vec<LowerBound>,
}

/// # Errors
/// If no counter supports the stream.
pub fn predict(stream: &Stream, guarantees: &[Guarantee]) -> Result<Plan> {
    let steps = stream.steps().unwrap_or(UNBOUNDED_STEPS);
    let jobs: Vec<(CounterKind, &Guarantee)> =
        CounterKind::ALL.iter().flat_map(|kind| guarantees.iter().map(|guarantee| (*kind, guarantee))).collect();
    // A few dozen at most: a thread for each.
    let served = thread::scope(|scope| {
        let threads = jobs.into_iter().map(|(kind, guarantee)| {
            scope.spawn(move || match kind.plan(stream.clone(), guarantee.clone()) {
                Ok(strategy) => prediction(strategy, steps).map(Ok),
                Err(reason) => Ok(Err((kind, reason.to_string()))),
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().expect("a prediction ends")).collect::<Result<Vec<_>>>()
    })?;
    let (predictions, refusals): (Vec<_>, Vec<_>) = served.into_iter().partition(Result::is_ok);
    let mut predictions: Vec<Prediction> = predictions.into_iter().flatten().collect();
    let mut left_out: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    // Prefer a reason that is not about the guarantee: another guarantee fitted.
    let mut refusals: Vec<_> = refusals.into_iter().filter_map(Result::err).collect();
    refusals.sort_by_key(|(_, reason)| reason.starts_with("guarantee"));
    for (kind, reason) in refusals {
        let named = left_out.values().any(|names| names.contains(&kind.name()));
        // A counter that supports one of several guarantees is not left out.
        if !named && predictions.iter().all(|prediction| prediction.counter != kind) {
            left_out.entry(reason).or_default().push(kind.name());
        }
    }
    if predictions.is_empty() {
        // `auto` says why the counter that supports the most streams does not support this one.
        for guarantee in guarantees {
            CounterKind::Auto.plan(stream.clone(), guarantee.clone())?;
        }
    }
    predictions.sort_by(|a, b| a.average.total_cmp(&b.average));
    let lower_bounds = lower_bounds(stream, guarantees, steps);
    Ok(Plan { stream: stream.clone(), guarantees: guarantees.to_vec(), steps, predictions, left_out, lower_bounds })
}

fn prediction(strategy: AnyStrategy, steps: u64) -> Result<Prediction> {
    Ok(Prediction {
        counter: strategy.kind(),
        guarantee: strategy.guarantee().clone(),
        steps,
        last: strategy.variance(steps).sqrt(),
        average: strategy.average_variance(steps).sqrt(),
        worst: strategy.worst_variance(steps).sqrt(),
        largest: largest(&strategy, steps)?,
        state_bytes: strategy.state_bytes(),
        strategy,
    })
}

fn largest(strategy: &AnyStrategy, steps: u64) -> Result<Largest> {
    let MaxError { value, is } = max_error(strategy, steps, LEVEL, &mut Entropy::from_os()?)?;
    let is = match is {
        Basis::Exact => "exact",
        Basis::Simulated { .. } => "simulated",
        Basis::Bound => "bound",
    };
    Ok(Largest { value, is })
}

/// For Gaussian noise: the mean square error of every factorisation. For Laplace noise: the largest error, where a
/// bound is proved in the notes.
fn lower_bounds(stream: &Stream, guarantees: &[Guarantee], steps: u64) -> Vec<LowerBound> {
    let bound = |guarantee: &Guarantee| {
        let (rho, implied) = match guarantee {
            Guarantee::Pure(epsilon) => {
                let value = bounds::lower_bound_pure(steps);
                let proved = epsilon.to_f64() == 1.0 && value > 0.0;
                let on = "on the largest error of a run, with probability 1/2, for any counter whatever at ε = 1";
                return proved.then(|| LowerBound { value, on: on.into() });
            }
            Guarantee::Zcdp(rho) => (rho.clone(), String::new()),
            Guarantee::Approx(epsilon, delta) => (Rho::within(epsilon, delta).ok()?, format!(" (for {guarantee})")),
        };
        // A unit that touches several steps can at least touch one, by its whole size.
        let value = bounds::lower_bound(steps, &rho) * stream.size() as f64;
        let on = format!("on the average error of any linear counter with noise by ρ{implied}");
        Some(LowerBound { value, on })
    };
    guarantees.iter().filter_map(bound).collect()
}
