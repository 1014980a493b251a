//! Counters that add up noisy p-sums: `output-noise`, `input-noise`, `two-level`, `binary`.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::kind::CounterKind;
use super::law::Law;
use super::schedule::{Schedule, digits};
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::privacy::Guarantee;

/// No noise in memory is this large: it would take 2^62 draws of 64 bits.
const LARGEST: u128 = 1 << 122;

/// Any [`Schedule`] as a counter, its guarantee derived from α.
///
/// # Privacy
/// R is the 0/1 matrix of the schedule's p-sums and z whole numbers, so y = R·x + z is private as [`Law::new`] shows, and
/// every answer is a sum of entries of y. A p-sum that no answer uses need not be drawn.
///
/// # Accuracy
/// The variance at step t is β(t) times the variance on one p-sum.
///
/// # Algorithm
/// One accumulator for each block length holds the noise of the blocks used by the current answer. When blocks of
/// several lengths end together, the longest replaces all shorter ones \[CSS11\].
#[derive(Debug, Clone)]
pub struct PSums {
    kind: CounterKind,
    stream: Stream,
    guarantee: Guarantee,
    schedule: Schedule,
    law: Law,
}

/// The noise of the blocks in the current answer, by length, and its sum.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Accumulators {
    by_length: Vec<i128>,
    sum: i128,
}

/// A schedule with the counter's name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named {
    pub(super) kind: CounterKind,
    pub(super) schedule: Schedule,
}

impl PSums {
    /// The schedule of a counter, by name, for a stream.
    pub(super) fn named(kind: CounterKind, stream: &Stream) -> Result<Named> {
        let needs_an_end = || {
            Error::parameter(
                "horizon",
                "unbounded",
                "a number of steps for this counter; without one use input-noise, hybrid or bridged",
            )
        };
        let horizon = stream.steps();
        let schedule = match kind {
            CounterKind::OutputNoise => Schedule::prefixes(horizon.ok_or_else(needs_an_end)?),
            CounterKind::InputNoise => Schedule::steps(),
            CounterKind::TwoLevel => Schedule::two_level(horizon.ok_or_else(needs_an_end)?),
            _ => Schedule::binary(horizon.ok_or_else(needs_an_end)?),
        };
        Ok(Named { kind, schedule })
    }

    /// The schedule.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }
}

impl Strategy for PSums {
    type Parameters = Named;
    type State = Accumulators;

    fn choose(stream: &Stream, _: &Guarantee) -> Result<Named> {
        Self::named(CounterKind::Binary, stream)
    }

    fn new(stream: Stream, guarantee: Guarantee, parameters: Named) -> Result<Self> {
        let Named { kind, schedule } = parameters;
        // Blocks support a stream of any length; prefixes only as many steps as their α counts.
        if schedule.lengths().is_none() && stream.steps().is_none_or(|steps| steps > schedule.sums_per_step()) {
            return Err(Error::parameter("horizon", stream.horizon(), "no longer than the schedule's"));
        }
        let law = Law::new(&stream, &guarantee, schedule.sums_per_step())?;
        Ok(Self { kind, stream, guarantee, schedule, law })
    }

    fn kind(&self) -> CounterKind {
        self.kind
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> Named {
        Named { kind: self.kind, schedule: self.schedule.clone() }
    }

    fn begin(&self) -> Accumulators {
        Accumulators { by_length: vec![0; self.schedule.lengths().map_or(0, <[u64]>::len)], sum: 0 }
    }

    fn fits(&self, state: &Accumulators, _: u64) -> bool {
        let lengths = self.schedule.lengths().map_or(0, <[u64]>::len);
        let small = |noise: &i128| noise.unsigned_abs() <= LARGEST;
        let sum = state.by_length.iter().try_fold(0i128, |sum, noise| small(noise).then(|| sum + noise));
        // Prefixes have no accumulators: the state is the last answer's noise.
        state.by_length.len() == lengths && small(&state.sum) && (lengths == 0 || sum == Some(state.sum))
    }

    #[inline]
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Accumulators, step: u64, rng: &mut R) -> i128 {
        let noise = i128::from(self.law.sample(rng));
        let Some(lengths) = self.schedule.lengths() else {
            state.sum = noise;
            return noise;
        };
        state.sum += noise;
        let last = lengths.len() - 1;
        for (index, accumulator) in state.by_length.iter_mut().enumerate() {
            if index == last || !step.is_multiple_of(lengths[index + 1]) {
                *accumulator += noise;
                break;
            }
            state.sum -= *accumulator;
            *accumulator = 0;
        }
        state.sum
    }

    /// Draws only the p-sums of the answer at the last skipped step: no other enters a later answer.
    fn skip<R: CryptoRng + ?Sized>(&self, state: &mut Accumulators, steps: u64, rng: &mut R) {
        // Prefixes carry nothing from one answer to the next.
        let lengths = self.schedule.lengths().unwrap_or_default();
        let from_the_longest = state.by_length.iter_mut().rev();
        for (accumulator, (_, digit)) in from_the_longest.zip(digits(lengths, steps)) {
            *accumulator = (0..digit).map(|_| i128::from(self.law.sample(rng))).sum();
            state.sum += *accumulator;
        }
    }

    fn variance(&self, step: u64) -> f64 {
        self.schedule.sums_per_answer(step) as f64 * self.law.variance()
    }

    fn average_variance(&self, steps: u64) -> f64 {
        self.schedule.total_sums(steps) as f64 / steps as f64 * self.law.variance()
    }

    fn worst_variance(&self, steps: u64) -> f64 {
        self.schedule.most_sums(steps) as f64 * self.law.variance()
    }

    fn shape(&self, step: u64) -> Shape<'_> {
        match &self.law {
            Law::Laplace(law) => Shape::Sum { law, terms: self.schedule.sums_per_answer(step) },
            Law::Gaussian(_) | Law::Rounded(_) => Shape::Gaussian { variance: self.variance(step) },
        }
    }

    fn state_bytes(&self) -> usize {
        (self.schedule.lengths().map_or(0, <[u64]>::len) + 1) * size_of::<i128>()
    }
}
