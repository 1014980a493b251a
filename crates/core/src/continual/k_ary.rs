//! `k-ary`: sums of few blocks, some of them subtracted.

use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::kind::CounterKind;
use super::law::Law;
use super::shape::Shape;
use super::strategy::Strategy;
use super::stream::Stream;
use crate::error::{Error, Result};
use crate::privacy::Guarantee;

/// The largest fan-out: a counter stores half of it for each level.
const LARGEST_FAN_OUT: u64 = 1025;
/// (3^26 − 1)/2 exceeds 2^40, the longest horizon.
const MOST_LEVELS: u32 = 26;
/// No stored noise is larger: it would take 2^37 draws of 63 bits.
const LARGEST: u128 = 1 << 100;

/// Blocks of 1, k, k², … steps; answers add and subtract the fewest of them.
///
/// # Privacy
/// ε-differential privacy: R is the 0/1 matrix of the blocks, each step is in α = h of them, one of each length
/// ([`Law::new`]), and answers are sums and differences of entries of y = R·x + z. They may use blocks that reach into
/// the future; with pure ε this costs nothing even for inputs that depend on earlier answers (as shown for
/// [`Bridged`](super::Bridged)); ρ is refused.
///
/// # Accuracy
/// With t = Σ d_i·k^i in balanced digits, |d_i| ≤ (k−1)/2, the answer at t adds |d_i| blocks of each length k^i; its variance
/// is σ²·Σ|d_i|. h lengths reach to (k^h − 1)/2 steps. k and h are chosen for the least average variance.
///
/// # Algorithm
/// \[APST24\]. t_i, the multiple of k^i that is nearest to t, moves from left to right past the multiple t_{i+1}: the
/// blocks left of it are drawn when t_i first arrives there and subtracted as long as t_i has not passed them, the blocks
/// right of it are drawn when t_i passes them.
///
/// # Errors
/// Streams without end and guarantees other than pure ε are refused.
///
/// # Example
/// ```
/// use reticent::continual::{CounterKind, Stream};
/// use reticent::privacy::Guarantee;
///
/// let plan = |kind: CounterKind| kind.plan(Stream::bits().until(1 << 20)?, Guarantee::Pure("1".parse()?));
/// let gain = plan(CounterKind::KAry)?.average_variance(1 << 20) / plan(CounterKind::Binary)?.average_variance(1 << 20);
/// assert!(gain < 0.13);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct KAry {
    stream: Stream,
    guarantee: Guarantee,
    shape: Digits,
    law: Law,
}

/// Balanced digits: fan-out and number of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digits {
    /// k, odd.
    pub fan_out: u64,
    /// h.
    pub levels: u32,
}

/// For each length, from the shortest: the position of t_i relative to t_{i+1}.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Positions(Vec<Position>);

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Position {
    /// The number of blocks right of t_{i+1} that were passed; 0 if t_i is left of it.
    right: u64,
    /// The noise on the blocks between t_i and t_{i+1} if t_i is left of it, the nearest to t_i last.
    left: Vec<i64>,
    /// The noise that this length adds to the answer.
    noise: i128,
}

impl Digits {
    fn half(self) -> u64 {
        (self.fan_out - 1) / 2
    }

    /// (k^h − 1)/2, or more than any horizon.
    fn reach(self) -> u64 {
        self.fan_out.checked_pow(self.levels).map_or(u64::MAX, |power| (power - 1) / 2)
    }

    /// The digit of k^i, from −(k−1)/2 to (k−1)/2: adding (k−1)/2 to every digit up to it makes them ordinary digits.
    fn digit(self, level: u32, step: u64) -> i64 {
        let length = u128::from(self.fan_out).pow(level);
        let shifted = u128::from(step) + (length * u128::from(self.fan_out) - 1) / 2;
        (shifted / length % u128::from(self.fan_out)) as i64 - self.half() as i64
    }

    fn blocks(self, step: u64) -> u64 {
        (0..self.levels).map(|level| self.digit(level, step).unsigned_abs()).sum()
    }

    /// Σ of [`Digits::blocks`] over the steps 1 to `steps`.
    fn total_blocks(self, steps: u64) -> u128 {
        let (k, half) = (u128::from(self.fan_out), u128::from(self.half()));
        // Σ |d − half| over d < digits.
        let ramp = |digits: u128| {
            let below = digits.min(half + 1);
            let above = digits - below;
            below * half - below * below.saturating_sub(1) / 2 + above * (above + 1) / 2
        };
        let level = |level: u32| {
            let length = k.pow(level);
            // Over shifted numbers below `end`.
            let until = |end: u128| {
                let (rounds, rest) = (end / (length * k), end % (length * k));
                let (digits, within) = (rest / length, rest % length);
                rounds * length * ramp(k) + length * ramp(digits) + within * digits.abs_diff(half)
            };
            let shift = (length * k - 1) / 2;
            until(shift + u128::from(steps) + 1) - until(shift)
        };
        (0..self.levels).map(level).sum()
    }

    /// The largest of [`Digits::blocks`] over the steps 1 to `steps`: at `steps`, or where one digit is lowered and
    /// those below are as large as possible; the first digit that is not 0 stays at least 0.
    fn most_blocks(self, steps: u64) -> u64 {
        let mut above = 0;
        let mut most = self.blocks(steps);
        for level in (0..self.levels).rev() {
            let digit = self.digit(level, steps);
            let below = u64::from(level) * self.half();
            if above > 0 && digit > -(self.half() as i64) {
                most = most.max(above + self.half() + below);
            } else if above == 0 && digit > 0 {
                most = most.max(digit as u64 - 1 + below);
            }
            above += digit.unsigned_abs();
        }
        most
    }

    /// The fewest blocks on average for each number of lengths.
    fn candidates(steps: u64) -> impl Iterator<Item = Self> {
        (1..=MOST_LEVELS).filter_map(move |levels| {
            let reaches = |fan_out: &u64| Self { fan_out: *fan_out, levels }.reach() >= steps;
            let fan_out = (3..=LARGEST_FAN_OUT).step_by(2).find(reaches)?;
            Some(Self { fan_out, levels })
        })
    }
}

impl KAry {
    #[inline]
    fn draw_next(&self, state: &mut Positions, mut fill: impl FnMut(&mut [i64])) -> i128 {
        let half = self.shape.half();
        // Lengths at their right end start over; the one after them moves on.
        let moving = state.0.iter().position(|position| position.right < half).unwrap_or(state.0.len() - 1);
        for position in &mut state.0[..moving] {
            position.right = 0;
            position.left.resize(half as usize, 0);
            fill(&mut position.left);
            position.noise = -position.left.iter().map(|&noise| i128::from(noise)).sum::<i128>();
        }
        let position = &mut state.0[moving];
        let passed = position.left.pop().unwrap_or_else(|| {
            position.right += 1;
            let mut draw = [0];
            fill(&mut draw);
            draw[0]
        });
        position.noise += i128::from(passed);
        state.0.iter().map(|position| position.noise).sum()
    }
}

impl Strategy for KAry {
    type Parameters = Digits;
    type State = Positions;

    fn choose(stream: &Stream, guarantee: &Guarantee) -> Result<Digits> {
        let Some(steps) = stream.steps() else {
            let allowed = "a number of steps for this counter; without one use input-noise, hybrid or bridged";
            return Err(Error::parameter("horizon", "unbounded", allowed));
        };
        let epsilon = guarantee.epsilon().map_or(1.0, |epsilon| epsilon.value().to_f64());
        let error = |digits: &Digits| {
            let rate = epsilon / (stream.max_steps() as f64 * stream.max_change() as f64 * f64::from(digits.levels));
            let sinh = libm::sinh(rate / 2.0);
            digits.total_blocks(steps) as f64 / (sinh * sinh)
        };
        let best = Digits::candidates(steps).min_by(|a, b| error(a).total_cmp(&error(b)));
        Ok(best.expect("26 lengths reach 2^40 steps"))
    }

    fn new(stream: Stream, guarantee: Guarantee, parameters: Digits) -> Result<Self> {
        if !matches!(guarantee, Guarantee::Pure(_)) {
            return Err(Error::parameter("guarantee", guarantee, "given as epsilon alone for this counter"));
        }
        let Digits { fan_out, levels } = parameters;
        let sound = fan_out % 2 == 1 && (3..=LARGEST_FAN_OUT).contains(&fan_out) && (1..=MOST_LEVELS).contains(&levels);
        // Longer than needed by at most one length, so that no power overflows.
        let excessive = levels > 1 && fan_out.checked_pow(levels - 1).is_none();
        if !sound || excessive || stream.steps().is_none_or(|steps| steps > parameters.reach()) {
            let allowed = "an odd fan-out from 3 to 1025 and levels that reach the horizon";
            return Err(Error::parameter("fan-out and levels", format!("{fan_out}, {levels}"), allowed));
        }
        let law = Law::new(&stream, &guarantee, levels.into())?;
        Ok(Self { stream, guarantee, shape: parameters, law })
    }

    fn kind(&self) -> CounterKind {
        CounterKind::KAry
    }

    fn stream(&self) -> &Stream {
        &self.stream
    }

    fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    fn parameters(&self) -> Digits {
        self.shape
    }

    fn begin(&self) -> Positions {
        Positions(vec![Position::default(); self.shape.levels as usize])
    }

    fn fits(&self, state: &Positions, steps: u64) -> bool {
        let fits = |(level, position): (u32, &Position)| {
            let digit = self.shape.digit(level, steps);
            let left = position.left.iter().map(|&noise| i128::from(noise)).sum::<i128>();
            position.right == digit.max(0).unsigned_abs()
                && position.left.len() as u64 == digit.min(0).unsigned_abs()
                && position.noise.unsigned_abs() <= LARGEST
                && (digit > 0 || position.noise == -left)
        };
        state.0.len() == self.shape.levels as usize && (0..).zip(&state.0).all(fits)
    }

    #[inline]
    fn next<R: CryptoRng + ?Sized>(&self, state: &mut Positions, _: u64, rng: &mut R) -> i128 {
        self.draw_next(state, |draws| self.law.fill(rng, draws))
    }

    fn variance(&self, step: u64) -> f64 {
        self.shape.blocks(step) as f64 * self.law.variance()
    }

    fn average_variance(&self, steps: u64) -> f64 {
        self.shape.total_blocks(steps) as f64 / steps as f64 * self.law.variance()
    }

    fn worst_variance(&self, steps: u64) -> f64 {
        self.shape.most_blocks(steps) as f64 * self.law.variance()
    }

    fn shape(&self, step: u64) -> Shape<'_> {
        match &self.law {
            // The law is symmetric: a subtracted draw counts like an added one.
            Law::Laplace(law) => Shape::Sum { law, terms: self.shape.blocks(step) },
            Law::Gaussian(_) | Law::Rounded(_) => Shape::Gaussian { variance: self.variance(step) },
        }
    }

    fn state_bytes(&self) -> usize {
        let left = self.shape.half() as usize * size_of::<i64>();
        self.shape.levels as usize * (size_of::<Position>() + left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Entropy;
    use rand_core::Rng;
    use std::collections::BTreeMap;

    fn strategy(steps: u64, digits: Option<Digits>) -> KAry {
        let (stream, guarantee) = (Stream::bits().until(steps).unwrap(), Guarantee::Pure("1".parse().unwrap()));
        let digits = digits.unwrap_or_else(|| KAry::choose(&stream, &guarantee).unwrap());
        KAry::new(stream, guarantee, digits).unwrap()
    }

    #[test]
    fn reference_parameters_are_chosen_and_reference_errors_met() {
        for (steps, fan_out, levels, last, average, worst) in [
            (1u64 << 10, 13, 3, 13.3545, 12.9976, 17.9169),
            (1 << 16, 21, 4, 26.4640, 24.7272, 34.3199),
            (1 << 20, 19, 5, 33.1110, 33.8174, 46.8261),
            (1 << 24, 19, 6, 44.8480, 44.1674, 61.1175),
        ] {
            let strategy = strategy(steps, None);
            assert_eq!(strategy.parameters(), Digits { fan_out, levels });
            let found = [strategy.variance(steps), strategy.average_variance(steps), strategy.worst_variance(steps)];
            for (variance, rmse) in found.into_iter().zip([last, average, worst]) {
                assert!((variance.sqrt() / rmse - 1.0).abs() < 0.002, "{steps}: {} {rmse}", variance.sqrt());
            }
        }
    }

    /// Blocks by their first step and length, with the sign with which the answer uses them: from the balanced digits,
    /// found by trial.
    fn answer(digits: Digits, step: u64) -> Vec<(i128, i128, i64)> {
        let (k, half) = (i128::from(digits.fan_out), i128::from(digits.half()));
        let (mut at, mut found) = (0i128, Vec::new());
        for level in (0..digits.levels).rev() {
            let length = k.pow(level);
            // The distance that the shorter lengths can still cover.
            let near = (-half..=half).find(|d| (i128::from(step) - at - d * length).abs() <= (length - 1) / 2).unwrap();
            for index in 0..near.abs() {
                let from = if near > 0 { at + index * length } else { at - (index + 1) * length };
                found.push((from, length, near.signum() as i64));
            }
            at += near * length;
        }
        assert_eq!(at, i128::from(step));
        found
    }

    /// Each answer is a signed sum of the noise of its blocks, and every block's noise is the same in all answers:
    /// replayed with noise that identifies each block, and blocks that tile the steps so far.
    #[test]
    fn answers_use_the_blocks_that_digits_name() {
        for (steps, digits) in [(62, Digits { fan_out: 5, levels: 3 }), (40, Digits { fan_out: 3, levels: 4 })] {
            let strategy = strategy(steps, Some(digits));
            let mut entropy = Entropy::seeded(9);
            let mut rng = entropy.draw().unwrap();
            let mut known: BTreeMap<(i128, i128), i64> = BTreeMap::new();
            let mut state = strategy.begin();
            for step in 1..=steps {
                let mut fresh = Vec::new();
                let noise = strategy.draw_next(&mut state, |draws| {
                    for draw in draws {
                        *draw = (rng.next_u64() % 1_000_003) as i64;
                        fresh.push(*draw);
                    }
                });
                assert!(strategy.fits(&state, step) && !strategy.fits(&state, step - 1));
                let answer = answer(digits, step);
                assert_eq!(digits.blocks(step), answer.len() as u64);
                // Draws come in this order: lengths from the shortest, blocks left of a multiple from right to left.
                let mut unknown: Vec<_> =
                    answer.iter().filter(|block| !known.contains_key(&(block.0, block.1))).collect();
                unknown.sort_by_key(|(from, length, _)| (*length, -from));
                assert_eq!(unknown.len(), fresh.len());
                known.extend(unknown.iter().zip(fresh).map(|((from, length, _), draw)| ((*from, *length), draw)));
                let sum: i128 =
                    answer.iter().map(|(from, length, sign)| i128::from(sign * known[&(*from, *length)])).sum();
                assert_eq!(noise, sum, "step {step}");
                // L·R = A: every step up to this one is counted once, no other.
                for x in 0..i128::from(steps) {
                    let counted: i64 = answer
                        .iter()
                        .filter(|(from, length, _)| (*from..from + length).contains(&x))
                        .map(|block| block.2)
                        .sum();
                    assert_eq!(counted, i64::from(x < i128::from(step)));
                }
            }
            // α: blocks of one length are disjoint, as multiples of it.
            assert!(known.keys().all(|(from, length)| from % length == 0 && *from >= 0));
        }
    }

    #[test]
    fn totals_and_maxima_are_those_of_the_steps() {
        for (fan_out, levels) in [(3, 6), (5, 4), (21, 2), (801, 1)] {
            let digits = Digits { fan_out, levels };
            let (mut total, mut most) = (0, 0);
            for step in 1..=digits.reach().min(400) {
                total += u128::from(digits.blocks(step));
                most = most.max(digits.blocks(step));
                assert_eq!((digits.total_blocks(step), digits.most_blocks(step)), (total, most), "{digits:?} {step}");
            }
        }
    }

    #[test]
    fn unsound_parameters_are_refused() {
        let guarantee = || Guarantee::Pure("1".parse().unwrap());
        for (fan_out, levels) in [(4, 5), (1, 5), (3, 3), (1027, 2), (3, 27), (1025, 26), (5, 0)] {
            assert!(KAry::new(Stream::bits().until(14).unwrap(), guarantee(), Digits { fan_out, levels }).is_err());
        }
        let longest = strategy(1 << 40, None);
        assert!(longest.state_bytes() < 4096);
        assert!(KAry::choose(&Stream::bits(), &guarantee()).is_err());
    }
}
