//! How a counter produces its noise.

use std::fmt;

use rand_core::CryptoRng;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::kind::CounterKind;
use super::shape::Shape;
use super::stream::Stream;
use crate::error::Result;
use crate::privacy::Guarantee;

/// Which sums of steps are perturbed, and how answers are combined from them: a factorisation L·R = A of the prefix
/// sums A, with noise z on R·x and answers S + L·z.
///
/// A strategy knows nothing of the data: it produces one number per step, and [`StreamCounter`](super::StreamCounter)
/// adds it to the exact sum. What must be shown for each strategy is that these answers are a function of y = R·x + z
/// alone, so that the guarantee of y carries over. For that, L·z must change by exactly the data's share when z does:
/// every rounding must be either of something in which the data cancel, or a floor of something to which the data
/// contribute whole numbers.
pub trait Strategy: fmt::Debug + Clone + Send + Sync + Sized {
    /// Parameters chosen beforehand besides stream and guarantee; saved with a counter, so that it continues unchanged.
    type Parameters: fmt::Debug + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync;
    /// The state carried from step to step.
    type State: fmt::Debug + Clone + Serialize + DeserializeOwned + Send + Sync;

    /// The best parameters for a stream and a guarantee.
    ///
    /// # Errors
    /// If this strategy does not support them.
    fn choose(stream: &Stream, guarantee: &Guarantee) -> Result<Self::Parameters>;

    /// With given parameters.
    ///
    /// # Errors
    /// If the parameters are invalid or do not support the stream and the guarantee.
    fn new(stream: Stream, guarantee: Guarantee, parameters: Self::Parameters) -> Result<Self>;

    /// The counter's name.
    fn kind(&self) -> CounterKind;

    /// The stream it is for.
    fn stream(&self) -> &Stream;

    /// The guarantee of all answers together.
    fn guarantee(&self) -> &Guarantee;

    /// The parameters chosen beforehand.
    fn parameters(&self) -> Self::Parameters;

    /// The state before the first step.
    fn begin(&self) -> Self::State;

    /// Could this be the state after this many steps? Checked for every state that comes from outside.
    fn fits(&self, state: &Self::State, steps: u64) -> bool;

    /// The noise of step `step`, counted from 1; called once for each step, in order, never beyond the horizon.
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Self::State, step: u64, rng: &mut R) -> i128;

    /// From the state before the first step to one after `steps` steps whose noise was never released: the same law of
    /// all noise to come as `steps` calls of [`Strategy::next`], perhaps in less time.
    fn skip<R: CryptoRng + ?Sized>(&self, state: &mut Self::State, steps: u64, rng: &mut R) {
        for step in 1..=steps {
            self.next(state, step, rng);
        }
    }

    /// The exact variance of the noise at a step; where noise is rounded to whole numbers, the rounding counts as 1/12,
    /// as for a uniform error.
    fn variance(&self, step: u64) -> f64;

    /// The mean of the variances of steps 1 to `steps`.
    fn average_variance(&self, steps: u64) -> f64;

    /// The largest of the variances of steps 1 to `steps`.
    fn worst_variance(&self, steps: u64) -> f64;

    /// What error bars need to know about a step.
    fn shape(&self, step: u64) -> Shape<'_>;

    /// The maximum size of the state, in bytes.
    fn state_bytes(&self) -> usize;
}
