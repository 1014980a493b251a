//! The sum of the last w steps.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::counter::{check_horizon, reachable, saturated};
use super::error_bar;
use super::kind::CounterKind;
use super::p_sums::{Accumulators, Named, PSums};
use super::schedule::Schedule;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;
use crate::release::{LEVEL, Release};

/// The longest window: every step of it is stored.
pub const LONGEST_WINDOW: u64 = 1 << 26;

/// The sum of the last w steps, released after every step (of all steps while there are fewer than w).
///
/// # Privacy
/// The window at step t is y_t − y_(t−w), where y are the running sums of a counter of p-sums before they are saturated: a
/// function of the p-sums' noisy values alone, so the guarantee is that of the schedule, for all steps together.
///
/// # Accuracy
/// The blocks' longest length L repeats without end, so α does not grow with time, and p-sums that are in both y_t and
/// y_(t−w) cancel: the error depends on w, not on t, and streams without end are served like others. With blocks of lengths
/// 1 = ℓ₀, ℓ₁, …, ℓ_h = L ≤ w the variance at step t > w is that of one p-sum times
///
/// > γ(t) = ⌊t/L⌋ − ⌊(t−w)/L⌋ + Σ_j (d_j(t) + d_j(t−w)),
///
/// where d_j(t) = ⌊(t mod ℓ_(j+1))/ℓ_j⌋ are the lower digits of t. (Nothing else cancels: t and t − w never lie in the same
/// block of a length ≤ w.) Over a period of L steps each d_j averages (k_j − 1)/2 with k_j = ℓ_(j+1)/ℓ_j, and the first two
/// terms average w/L, so that γ averages Σ(k_j − 1) + w/L exactly.
///
/// # Algorithm
/// The lengths are those with the least average variance: α = h + 1, and a p-sum's variance grows as α² (pure ε) or α (ρ),
/// so α²·(Σ(k_j − 1) + w/L) is minimised over all products of factors k and k + 1. The last w running sums are stored,
/// 16 bytes each.
///
/// # Errors
/// If the window is 0 or longer than 2^26 steps, or the guarantee calls for noise that cannot be drawn.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{SlidingWindow, Stream};
/// use reticent::privacy::Guarantee;
///
/// // Visitors of the last 60 minutes, minute by minute, without end.
/// let mut visitors = SlidingWindow::start(60, Stream::bits(), Guarantee::Pure("1".parse()?), Permit::unaccounted()?)?;
/// for minute in 0..200 {
///     let last_hour = visitors.step(3)?;
///     println!("{} ± {}", last_hour.value(), last_hour.error_bar().half_width());
/// }
/// assert!(visitors.variance(1_000_000_000) <= visitors.worst_variance()); // it does not grow with time
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug)]
pub struct SlidingWindow {
    window: u64,
    strategy: PSums,
    permit: StreamPermit,
    epoch: u64,
    steps: u64,
    /// The exact sum of all steps so far.
    sum: i128,
    state: Accumulators,
    /// The running sums with their noise, of up to w steps, the last one last.
    running: VecDeque<i128>,
    value: i64,
}

/// A saved sliding window; as secret as the data. See [`Saved`](super::Saved) for the purpose of the epoch.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedWindow {
    epoch: u64,
    window: u64,
    stream: Stream,
    guarantee: Guarantee,
    accounting: Accounting,
    parameters: Named,
    steps: u64,
    sum: i128,
    state: Accumulators,
    running: VecDeque<i128>,
    value: i64,
}

impl SavedWindow {
    /// Larger than those of all earlier saved states of the same window.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// The block lengths with the least average variance for a window; `power` is the exponent with which a p-sum's
/// variance grows with α.
fn best_lengths(window: u64, power: i32) -> Vec<u64> {
    let mut best = (window as f64, vec![1]);
    for levels in 1..=window.max(1).ilog2() {
        let weight = f64::from(levels + 1).powi(power);
        // Each level adds at least 1, and the longest blocks add at least 1: more levels cannot win.
        if weight * f64::from(levels + 1) >= best.0 {
            break;
        }
        for radix in 2.. {
            if u64::checked_pow(radix, levels).is_none_or(|longest| longest > window) {
                break;
            }
            for larger in 0..levels {
                let mut lengths = vec![1u64];
                for level in 0..levels {
                    let factor = if level < larger { radix + 1 } else { radix };
                    lengths.push(lengths[lengths.len() - 1].saturating_mul(factor));
                }
                let longest = lengths[levels as usize];
                if longest > window {
                    break;
                }
                let digits = u64::from(levels) * (radix - 1) + u64::from(larger);
                let cost = weight * (digits as f64 + window as f64 / longest as f64);
                if cost < best.0 {
                    best = (cost, lengths);
                }
            }
        }
    }
    best.1
}

impl SlidingWindow {
    /// Charges the whole stream to the permit and starts.
    ///
    /// # Errors
    /// If the window is 0 or longer than 2^26 steps, the noise cannot be drawn, or the permit does not cover the guarantee.
    pub fn start(window: u64, stream: Stream, guarantee: Guarantee, permit: Permit) -> Result<Self> {
        let power = if matches!(guarantee, Guarantee::Pure(_)) { 2 } else { 1 };
        check(window)?;
        let schedule = Schedule::blocks(best_lengths(window, power))?;
        let strategy = PSums::new(stream, guarantee, Named { kind: CounterKind::Binary, schedule })?;
        let permit = permit.into_stream(strategy.guarantee())?;
        let state = strategy.begin();
        Ok(Self { window, strategy, permit, epoch: 0, steps: 0, sum: 0, state, running: VecDeque::new(), value: 0 })
    }

    /// Closes a step with the sum of its values and returns the window's value, without its error bar: the fast way.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] at the horizon; [`Error::Entropy`] if fresh entropy is due and not available. The step
    /// is not taken then.
    pub fn advance(&mut self, value: i64) -> Result<i64> {
        check_horizon(self.strategy.stream(), self.steps, 1)?;
        let mut draw = self.permit.draw()?;
        self.steps += 1;
        self.sum += i128::from(self.strategy.stream().admit(value));
        let now = self.sum + self.strategy.next(&mut self.state, self.steps, &mut draw);
        // y_(t−w); before the window is full it is y_0 = 0.
        let full = self.running.len() as u64 == self.window;
        let then = if full { self.running.pop_front().unwrap_or(0) } else { 0 };
        self.running.push_back(now);
        self.value = saturated(now - then);
        Ok(self.value)
    }

    /// Closes a step with the sum of its values and releases the sum of the last w steps.
    ///
    /// # Errors
    /// As [`SlidingWindow::advance`].
    pub fn step(&mut self, value: i64) -> Result<Release<i64>> {
        self.advance(value)?;
        Ok(self.release().expect("a step was just closed"))
    }

    /// The last release again, without new noise; `None` before the first step.
    pub fn release(&self) -> Option<Release<i64>> {
        let value = self.value()?;
        let error = error_bar::of_release(self.half_width(self.steps, LEVEL));
        Some(Release::new(value, error, self.guarantee().clone(), self.permit.accounting().clone()))
    }

    /// The last value again, without new noise; `None` before the first step.
    pub fn value(&self) -> Option<i64> {
        (self.steps > 0).then_some(self.value)
    }

    /// γ: the number of p-sums that are in exactly one of y_t and y_(t−w).
    fn sums(&self, step: u64) -> u64 {
        let schedule = self.strategy.schedule();
        let Some(earlier) = step.checked_sub(self.window) else { return schedule.sums_per_answer(step) };
        let longest = schedule.lengths().and_then(<[u64]>::last).copied().unwrap_or(1);
        let lower = |step: u64| schedule.sums_per_answer(step % longest);
        step / longest - earlier / longest + lower(step) + lower(earlier)
    }

    /// The exact variance of the noise at any step, past or future.
    pub fn variance(&self, step: u64) -> f64 {
        // The answer at step 1 is a single p-sum.
        self.sums(step) as f64 * self.strategy.variance(1)
    }

    /// The mean of the variances over any L consecutive steps from the first full window on.
    pub fn average_variance(&self) -> f64 {
        let lengths = self.strategy.schedule().lengths().unwrap_or(&[1]);
        let digits: u64 = lengths.windows(2).map(|pair| pair[1] / pair[0] - 1).sum();
        let longest = lengths[lengths.len() - 1];
        (digits as f64 + self.window as f64 / longest as f64) * self.strategy.variance(1)
    }

    /// An upper bound on every step's variance: all lower digits as large as possible, in both sums.
    pub fn worst_variance(&self) -> f64 {
        let lengths = self.strategy.schedule().lengths().unwrap_or(&[1]);
        let digits: u64 = lengths.windows(2).map(|pair| pair[1] / pair[0] - 1).sum();
        let longest = lengths[lengths.len() - 1];
        (2 * digits + self.window.div_ceil(longest)) as f64 * self.strategy.variance(1)
    }

    /// |noise| at a step stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or the step is 0.
    pub fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        // Differences of symmetric draws have the law of their sums.
        let shape = match self.strategy.shape(1) {
            Shape::Sum { law, .. } => Shape::Sum { law, terms: self.sums(step) },
            _ => Shape::Gaussian { variance: self.variance(step) },
        };
        error_bar::half_width(shape, level)
    }

    /// w.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// The p-sums.
    pub fn schedule(&self) -> &Schedule {
        self.strategy.schedule()
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        self.strategy.stream()
    }

    /// The guarantee of all releases together.
    pub fn guarantee(&self) -> &Guarantee {
        self.strategy.guarantee()
    }

    /// Where the stream was charged.
    pub fn accounting(&self) -> &Accounting {
        self.permit.accounting()
    }

    /// The number of steps released so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Saves it, in a new epoch.
    pub fn save(&mut self) -> SavedWindow {
        self.epoch += 1;
        SavedWindow {
            epoch: self.epoch,
            window: self.window,
            stream: self.stream().clone(),
            guarantee: self.guarantee().clone(),
            accounting: self.permit.accounting().clone(),
            parameters: self.strategy.parameters(),
            steps: self.steps,
            sum: self.sum,
            state: self.state.clone(),
            running: self.running.clone(),
            value: self.value,
        }
    }

    /// Continues from a saved state. The permit must belong to the same charge; nothing is deducted from it.
    ///
    /// # Errors
    /// As [`StreamCounter::restore`](super::StreamCounter::restore).
    pub fn restore(saved: SavedWindow, newest_epoch: u64, permit: Permit) -> Result<Self> {
        let SavedWindow { epoch, window, stream, guarantee, accounting, parameters, steps, sum, state, running, value } =
            saved;
        if epoch < newest_epoch {
            return Err(Error::StaleState { found: epoch, newest: newest_epoch });
        }
        check(window)?;
        let strategy = PSums::new(stream, guarantee, parameters)?;
        let sums = running.iter().copied().chain([sum]);
        let within = reachable(strategy.stream(), steps, sums);
        let blocks = strategy.schedule().lengths().and_then(<[u64]>::last).is_some_and(|&longest| longest <= window);
        let full = running.len() as u64 == steps.min(window);
        if !within || !blocks || !full || !strategy.fits(&state, steps) {
            return Err(Error::DamagedState);
        }
        let permit = permit.resume_stream(&accounting)?;
        Ok(Self { window, strategy, permit, epoch, steps, sum, state, running, value })
    }
}

fn check(window: u64) -> Result<()> {
    if (1..=LONGEST_WINDOW).contains(&window) {
        return Ok(());
    }
    Err(Error::parameter("window", window, "from 1 to 2^26 steps"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use std::collections::BTreeSet;

    fn start(window: u64, stream: Stream, epsilon: &str, seed: u64) -> SlidingWindow {
        let guarantee = Guarantee::Pure(epsilon.parse().unwrap());
        SlidingWindow::start(window, stream, guarantee, Permit::unaccounted_from(Entropy::seeded(seed))).unwrap()
    }

    #[test]
    fn values_are_the_sums_of_the_last_steps() {
        let mut window = start(5, Stream::new(0..=10).unwrap(), "9000", 1);
        let values: Vec<i64> = (0..100).map(|step| step * step % 11).collect();
        for step in 0..values.len() {
            let exact: i64 = values[step.saturating_sub(4)..=step].iter().sum();
            assert_eq!(window.advance(values[step]).unwrap(), exact);
        }
    }

    /// By listing the p-sums of both running sums and removing those they share.
    #[test]
    fn variances_count_the_sums_that_do_not_cancel() {
        for length in [1, 2, 3, 7, 12, 50, 64, 100, 1000] {
            let window = start(length, Stream::bits(), "1", 1);
            let one = window.strategy.variance(1);
            let longest = *window.schedule().lengths().unwrap().last().unwrap();
            let (mut total, mut worst) = (0, 0);
            for step in 1..=3 * length {
                let sums = |step: u64| window.schedule().answer(step).into_iter().collect::<Vec<_>>();
                let now: BTreeSet<_> = sums(step).iter().map(|sum| (*sum.start(), *sum.end())).collect();
                let then = sums(step.saturating_sub(length)).iter().map(|sum| (*sum.start(), *sum.end())).collect();
                let count = now.symmetric_difference(&then).count() as u64;
                assert!((window.variance(step) / one - count as f64).abs() < 1e-9, "{length} {step}");
                worst = worst.max(count);
                if (length + 1..=length + longest).contains(&step) {
                    total += count;
                }
            }
            assert!((window.average_variance() / one - total as f64 / longest as f64).abs() < 1e-9, "{length}");
            assert!(window.worst_variance() >= worst as f64 * one * (1.0 - 1e-12));
        }
    }

    #[test]
    fn lengths_are_the_best_of_all_that_there_are() {
        /// Every chain of lengths, each a multiple of the one before, up to the window.
        fn least(window: u64, lengths: &mut Vec<u64>, digits: u64) -> f64 {
            let longest = lengths[lengths.len() - 1];
            let alpha = lengths.len() as f64;
            let mut best = alpha * alpha * (digits as f64 + window as f64 / longest as f64);
            for factor in 2..=window / longest {
                lengths.push(longest * factor);
                best = best.min(least(window, lengths, digits + factor - 1));
                lengths.pop();
            }
            best
        }
        for length in [1, 2, 5, 10, 30, 60, 100, 365, 1440] {
            let window = start(length, Stream::bits(), "1", 1);
            let alpha = window.schedule().sums_per_step() as f64;
            let found = alpha * alpha * window.average_variance() / window.strategy.variance(1);
            let best = least(length, &mut vec![1], 0);
            assert!(found <= best * 1.02, "{length}: {found} {best} {:?}", window.schedule());
        }
    }

    #[test]
    fn simulated_variances_are_as_predicted() {
        const RUNS: u64 = 4000;
        let length = 30;
        for step in [1, 17, 30, 31, 59, 77] {
            let mut squares = 0.0;
            for seed in 0..RUNS {
                let mut window = start(length, Stream::bits(), "1", seed);
                for _ in 0..step {
                    window.advance(1).unwrap();
                }
                squares += (window.value().unwrap() as f64 - step.min(length) as f64).powi(2) / RUNS as f64;
            }
            // 4.9·√(5/RUNS) = 0.17, and room for the skewness of squares.
            let ratio = squares / start(length, Stream::bits(), "1", 1).variance(step);
            assert!((ratio - 1.0).abs() < 0.24, "{step}: {ratio}");
        }
    }

    #[test]
    fn a_restored_window_goes_on() {
        let mut window = start(6, Stream::bits().until(20).unwrap(), "1", 1);
        for step in 0..20 {
            let text = serde_json::to_string(&window.save()).unwrap();
            let saved: SavedWindow = serde_json::from_str(&text).unwrap();
            let permit = || Permit::unaccounted_from(Entropy::seeded(step));
            assert!(SlidingWindow::restore(saved.clone(), step + 2, permit()).is_err());
            let damaged: SavedWindow = serde_json::from_str(&text.replace("\"window\":6", "\"window\":60")).unwrap();
            assert_eq!(SlidingWindow::restore(damaged, 0, permit()).is_err(), step > 6);
            let [mut left, mut right] =
                [permit(), permit()].map(|permit| SlidingWindow::restore(saved.clone(), step + 1, permit).unwrap());
            assert_eq!(left.value(), window.value());
            assert_eq!(left.advance(1).unwrap(), right.advance(1).unwrap());
            window = left;
        }
        assert!(matches!(window.advance(1), Err(Error::HorizonReached { horizon: 20 })));
        for length in [0, LONGEST_WINDOW + 1] {
            assert!(check(length).is_err());
        }
    }
}
