//! The predicted accuracy of every counter, side by side.

use std::collections::BTreeMap;
use std::thread;

use serde::{Serialize, Serializer};

use super::any::AnyStrategy;
use super::bounds;
use super::kind::CounterKind;
use super::stream::Stream;
use super::usefulness::{MaxError, max_error};
use crate::error::Result;
use crate::noise::Entropy;
use crate::privacy::{Guarantee, Rho};

/// Without a horizon, errors are those of this many first steps.
const UNBOUNDED_STEPS: u64 = 1 << 20;
/// The confidence level of the largest error of a run.
const LEVEL: f64 = 0.95;

/// One counter under one guarantee.
#[derive(Debug, Clone)]
pub struct Prediction {
    /// The counter.
    pub counter: CounterKind,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// The number of steps the errors are for.
    pub steps: u64,
    /// The root mean square error at the last step.
    pub last: f64,
    /// The root mean square error over all steps.
    pub average: f64,
    /// The root mean square error at the worst step.
    pub worst: f64,
    /// The 95 % quantile of the largest error of a whole run.
    pub largest: MaxError,
    /// The size of the counter's state.
    pub state_bytes: usize,
    /// How its noise is produced.
    pub strategy: AnyStrategy,
}

/// For programs: the numbers, and what the largest error rests on.
impl Serialize for Prediction {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            counter: &'static str,
            guarantee: String,
            steps: u64,
            rmse_last: f64,
            rmse_average: f64,
            rmse_worst: f64,
            max_error_95: f64,
            max_error_95_is: &'static str,
            state_bytes: usize,
        }
        Shown {
            counter: self.counter.name(),
            guarantee: self.guarantee.to_string(),
            steps: self.steps,
            rmse_last: self.last,
            rmse_average: self.average,
            rmse_worst: self.worst,
            max_error_95: self.largest.value,
            max_error_95_is: self.largest.is.name(),
            state_bytes: self.state_bytes,
        }
        .serialize(serializer)
    }
}

/// A lower bound for all counters.
#[derive(Debug, Clone)]
pub struct LowerBound {
    /// The bound.
    pub value: f64,
    /// What it bounds, and for which counters; the value goes in place of `{}`.
    pub words: String,
}

/// All counters that support the stream, by average error; and why the others do not.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The stream.
    pub stream: Stream,
    /// The guarantees under which counters are compared.
    pub guarantees: Vec<Guarantee>,
    /// The number of steps the errors are for.
    pub steps: u64,
    /// One for each counter and guarantee, the smallest average error first.
    pub predictions: Vec<Prediction>,
    /// Reasons, with the counters they apply to.
    pub left_out: BTreeMap<String, Vec<&'static str>>,
    /// What no counter can beat.
    pub lower_bounds: Vec<LowerBound>,
}

/// Predicts the error of every counter for a stream, under each of these guarantees. Nothing is spent.
///
/// # Errors
/// If no counter supports the stream, or the system has no randomness to simulate with.
///
/// # Example
/// ```
/// use reticent::continual::{Stream, compare};
/// use reticent::privacy::Guarantee;
///
/// let comparison = compare(&Stream::bits().until(1024)?, &[Guarantee::Pure("1".parse()?)])?;
/// let best = &comparison.predictions[0];
/// assert!(best.average < 20.0, "{} has {}", best.counter, best.average);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn compare(stream: &Stream, guarantees: &[Guarantee]) -> Result<Comparison> {
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
    Ok(Comparison {
        stream: stream.clone(),
        guarantees: guarantees.to_vec(),
        steps,
        predictions,
        left_out,
        lower_bounds,
    })
}

fn prediction(strategy: AnyStrategy, steps: u64) -> Result<Prediction> {
    Ok(Prediction {
        counter: strategy.kind(),
        guarantee: strategy.guarantee().clone(),
        steps,
        last: strategy.variance(steps).sqrt(),
        average: strategy.average_variance(steps).sqrt(),
        worst: strategy.worst_variance(steps).sqrt(),
        largest: max_error(&strategy, steps, LEVEL, &mut Entropy::from_os()?)?,
        state_bytes: strategy.state_bytes(),
        strategy,
    })
}

/// For Gaussian noise: the mean square error of every factorisation. For Laplace noise: the largest error, where [`bounds::lower_bound_pure`] proves a bound.
fn lower_bounds(stream: &Stream, guarantees: &[Guarantee], steps: u64) -> Vec<LowerBound> {
    let bound = |guarantee: &Guarantee| {
        let (rho, implied) = match guarantee {
            Guarantee::Pure(epsilon) => {
                let value = bounds::lower_bound_pure(steps);
                let proved = epsilon.to_f64() == 1.0 && value > 0.0;
                let words = "any counter at ε = 1 has a largest error of at least {} with probability 1/2";
                return proved.then(|| LowerBound { value, words: words.into() });
            }
            Guarantee::Zcdp(rho) => (rho.clone(), String::new()),
            Guarantee::Approx(epsilon, delta) => (Rho::within(epsilon, delta).ok()?, format!(" (for {guarantee})")),
        };
        // A unit that touches several steps can at least touch one, by its whole size.
        let value = bounds::lower_bound(steps, &rho) * stream.max_change() as f64;
        let words = format!(
            "any linear (matrix-mechanism) counter at this ρ{implied} has a root mean square error of at least {{}}"
        );
        Some(LowerBound { value, words })
    };
    guarantees.iter().filter_map(bound).collect()
}
