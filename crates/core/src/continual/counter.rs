//! A statistic that is released repeatedly.

use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

use super::error_bar;
use super::kind::CounterKind;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;
use crate::release::{LEVEL, Release};

/// A running sum, released after every step.
///
/// # Privacy
/// All releases together, however many there are and whatever the inputs depend on, satisfy the one guarantee that was
/// charged when the counter started.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{AnyCounter, Counter, Stream};
/// use reticent::privacy::Guarantee;
///
/// let stream = Stream::bits().until(1000)?;
/// let mut visitors = AnyCounter::start(stream, Guarantee::Pure("1".parse()?), Permit::unaccounted()?)?;
/// for arrived in [1, 0, 1, 1] {
///     let total = visitors.step(arrived)?;
///     println!("{} ± {}", total.value(), total.error_bar().half_width());
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
pub trait Counter {
    /// The counter's name.
    fn kind(&self) -> CounterKind;

    /// The stream that it counts.
    fn stream(&self) -> &Stream;

    /// The guarantee of all releases together.
    fn guarantee(&self) -> &Guarantee;

    /// Where the stream was charged.
    fn accounting(&self) -> &Accounting;

    /// The number of steps released so far.
    fn steps(&self) -> u64;

    /// Closes a step with the sum of its values and returns the value to release, without its error bar: the fast way.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] at the horizon; [`Error::Entropy`] if fresh entropy is due and not available. The step
    /// is not taken then.
    fn advance(&mut self, value: i64) -> Result<i64>;

    /// [`Counter::advance`] with a value that is overwritten once it is counted.
    ///
    /// # Errors
    /// As [`Counter::advance`]; the value is left unchanged then.
    fn advance_erasing(&mut self, value: &mut i64) -> Result<i64> {
        let released = self.advance(*value)?;
        value.zeroize();
        Ok(released)
    }

    /// The last value again, without new noise; `None` before the first step.
    fn value(&self) -> Option<i64>;

    /// The variance of the noise at any step, past or future, as [`Strategy::variance`].
    fn variance(&self, step: u64) -> f64;

    /// |noise| at a step stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or the step is 0.
    fn half_width(&self, step: u64, level: f64) -> Result<f64>;

    /// Closes a step with the sum of its values and releases the sum of all steps so far.
    ///
    /// # Errors
    /// As [`Counter::advance`].
    fn step(&mut self, value: i64) -> Result<Release<i64>> {
        self.advance(value)?;
        Ok(self.release().expect("a step was just closed"))
    }

    /// The last release again, without new noise; `None` before the first step.
    ///
    /// # Panics
    /// If an implementation of [`Counter::half_width`] fails at level 0.95 for a step that was closed.
    fn release(&self) -> Option<Release<i64>> {
        let value = self.value()?;
        let error = error_bar::of_release(self.half_width(self.steps(), LEVEL));
        Some(Release::new(value, error, self.guarantee().clone(), self.accounting().clone()))
    }
}

/// The exact sum of a stream, plus the noise that a [`Strategy`] produces for it.
///
/// # Privacy
/// That of the strategy; values are released as S + noise, saturated to 64 bits (post-processing). The memory holds S
/// itself: this is the curator's counter. If the memory may be seized, see [`PanPrivate`](super::PanPrivate).
#[derive(Debug)]
pub struct StreamCounter<S: Strategy> {
    strategy: S,
    permit: StreamPermit,
    epoch: u64,
    steps: u64,
    sum: i128,
    value: i64,
    state: S::State,
}

/// A saved counter: everything but the generator, which starts anew, so that noise already drawn is kept and noise
/// still to come is never drawn twice.
///
/// # Privacy
/// It holds the exact sum and the noise: as secret as the data. Two counters restored from one saved state would
/// release different noise about the same sums; so every saved state has a larger *epoch* than the one before, and
/// restoring asks for the largest known epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Saved<S: Strategy> {
    epoch: u64,
    stream: Stream,
    guarantee: Guarantee,
    accounting: Accounting,
    parameters: S::Parameters,
    steps: u64,
    sum: i128,
    value: i64,
    state: S::State,
}

impl<S: Strategy> Saved<S> {
    /// Larger than those of all earlier saved states of the same counter.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Where the counter was charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

/// The nearest 64-bit number.
#[inline]
pub(super) fn saturated(value: i128) -> i64 {
    value.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl<S: Strategy> StreamCounter<S> {
    /// Charges the whole stream to the permit and starts.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee.
    pub fn start(strategy: S, permit: Permit) -> Result<Self> {
        let permit = permit.into_stream(strategy.guarantee())?;
        Ok(Self::begin(strategy, permit))
    }

    /// Starts on a charge that was made before.
    ///
    /// # Privacy
    /// The caller must ensure that nothing was released on this charge, or that each event enters only one of the
    /// counters that share it.
    pub fn begin(strategy: S, permit: StreamPermit) -> Self {
        let state = strategy.begin();
        Self { strategy, permit, epoch: 0, steps: 0, sum: 0, value: 0, state }
    }

    /// The strategy that produces its noise.
    pub fn strategy(&self) -> &S {
        &self.strategy
    }

    /// [`Counter::advance`] for many steps at once, the fastest way: fresh entropy is requested once.
    ///
    /// # Errors
    /// As [`Counter::advance`]; if the horizon leaves too few steps for all of them, none is taken.
    pub fn advance_all(&mut self, values: &[i64], mut released: impl FnMut(i64)) -> Result<()> {
        check_horizon(self.strategy.stream(), self.steps, values.len() as u64)?;
        let mut draw = self.permit.draw()?;
        let stream = self.strategy.stream();
        for &value in values {
            self.steps += 1;
            self.sum += i128::from(stream.admit(value));
            let noise = self.strategy.next(&mut self.state, self.steps, &mut draw);
            // Saturation is post-processing: it depends only on the noisy sum.
            self.value = saturated(self.sum + noise);
            released(self.value);
        }
        Ok(())
    }

    /// Starts over on the same permit: for audits, which release nothing.
    pub(crate) fn restart(&mut self) {
        (self.steps, self.sum, self.value) = (0, 0, 0);
        self.state = self.strategy.begin();
    }

    /// Saves the counter, in a new epoch.
    pub fn save(&mut self) -> Saved<S> {
        self.epoch += 1;
        Saved {
            epoch: self.epoch,
            stream: self.strategy.stream().clone(),
            guarantee: self.strategy.guarantee().clone(),
            accounting: self.permit.accounting().clone(),
            parameters: self.strategy.parameters(),
            steps: self.steps,
            sum: self.sum,
            value: self.value,
            state: self.state.clone(),
        }
    }

    /// Continues from a saved state. The permit must belong to the same charge; nothing is deducted from it.
    ///
    /// # Errors
    /// [`Error::StaleState`] if the state is older than `newest_epoch`, the largest that the caller knows of (0 if
    /// none); [`Error::DamagedState`] if it cannot be the state of such a counter; [`Error::OtherCharge`] if the permit
    /// belongs to another charge.
    pub fn restore(saved: Saved<S>, newest_epoch: u64, permit: Permit) -> Result<Self> {
        if saved.epoch < newest_epoch {
            return Err(Error::StaleState { found: saved.epoch, newest: newest_epoch });
        }
        let strategy = S::new(saved.stream, saved.guarantee, saved.parameters)?;
        let sound = reachable(strategy.stream(), saved.steps, [saved.sum]) && saved.epoch < u64::MAX / 2;
        if !sound || !strategy.fits(&saved.state, saved.steps) {
            return Err(Error::DamagedState);
        }
        let permit = permit.resume_stream(&saved.accounting)?;
        let Saved { epoch, steps, sum, value, state, .. } = saved;
        Ok(Self { strategy, permit, epoch, steps, sum, value, state })
    }
}

/// Can a counter have taken this many steps and have these sums? 2^62 steps without a horizon are out of reach, and
/// their 64-bit values add up to less than 2^126; half of that leaves room for everything still to come.
pub(super) fn reachable(stream: &Stream, steps: u64, sums: impl IntoIterator<Item = i128>) -> bool {
    steps <= stream.steps().unwrap_or(1 << 62) && sums.into_iter().all(|sum| sum.unsigned_abs() <= 1 << 125)
}

/// # Errors
/// [`Error::HorizonReached`] if there are not `more` steps left.
pub(super) fn check_horizon(stream: &Stream, steps: u64, more: u64) -> Result<()> {
    match stream.steps() {
        Some(horizon) if more > horizon - steps => Err(Error::HorizonReached { horizon }),
        _ => Ok(()),
    }
}

impl<S: Strategy> Counter for StreamCounter<S> {
    fn kind(&self) -> CounterKind {
        self.strategy.kind()
    }

    fn stream(&self) -> &Stream {
        self.strategy.stream()
    }

    fn guarantee(&self) -> &Guarantee {
        self.strategy.guarantee()
    }

    fn accounting(&self) -> &Accounting {
        self.permit.accounting()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn advance(&mut self, value: i64) -> Result<i64> {
        self.advance_all(&[value], |_| ())?;
        Ok(self.value)
    }

    fn value(&self) -> Option<i64> {
        (self.steps > 0).then_some(self.value)
    }

    fn variance(&self, step: u64) -> f64 {
        self.strategy.variance(step)
    }

    fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        error_bar::half_width(self.strategy.shape(step), level)
    }
}
