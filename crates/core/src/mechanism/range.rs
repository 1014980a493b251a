//! Bounds found from the data.

pub(crate) mod end;
pub(crate) mod ladder;
#[cfg(test)]
mod tests;

use super::add_noise;
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::noise::{DiscreteLaplace, Law};
use crate::permit::Permit;
use crate::privacy::{Epsilon, Guarantee};
use crate::release::{ErrorBar, LEVEL, Outcome, Refusal, Release, joint_level};
use crate::statistic::{Bounds, Contribution};
use end::EndChoice;
pub use ladder::{BINS, bin};
use ladder::{PER_POWER, PLACES, edge, sides};

/// At least ln(100·768): the probability that some of 768 places wins without support is at most 1 %.
const FALSE_ALARM: &str = "11.25";
/// At least ln 200: a side with 2t rows is missed with probability at most 0.5 %.
const MISS: &str = "5.3";
/// At least ln 20: the same for 5 %.
const MISS_1_IN_20: &str = "3";
/// The share of ε with which places are chosen; the remaining ¼ is for the rows beyond them.
const CHOICE: (i64, u64) = (3, 4);

/// Bounds, and how much they clamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClampingBounds {
    /// The bounds; 0 is one of them or lies between them.
    pub bounds: Bounds,
    /// At most this many rows lie below them.
    pub most_below: u64,
    /// At most this many rows lie above them; both hold at once with probability at least 95 %.
    pub most_above: u64,
}

/// Finds clamping bounds for a column from the column itself, such that few rows lie outside. If too few rows show
/// where they should be, it refuses.
///
/// The bounds contain 0: they are found from the magnitudes of the values. Where values lie far from 0 and close to each
/// other, as years do, bounds of your own are better.
///
/// # Privacy
/// ε-differential privacy. The rows are counted in [`BINS`] bins that are fixed beforehand ([`bin`]); a unit changes
/// S = [`Contribution::of_histogram`] of them. ¾·ε pays for choosing a place on either side of 0, of the 384 on each
/// that begin at 1, 1¼, 1½ and 1¾ times a power of two, or none: a row is on one side only, so the two choices cost
/// this together (see below). ¼·ε pays for six counts of rows, in ranges that do not overlap and that the choices
/// determine: an L1 sensitivity of S, discrete Laplace noise of scale b = 4S/ε. All else is post-processing, the refusal
/// too.
///
/// One side's places have scores. Let place i have nᵢ rows from 0 up to it, Nᵢ from it on, and Bᵢ beyond it:
///
/// > qᵢ = 19·min(nᵢ, Nᵢ, t) − max(0, Bᵢ − t).
///
/// The score of *none* is a constant. The best is selected by report noisy max ([`Top`](super::Top)). One more row moves
/// each score by at least −1 and at most 19, as it adds 1 to some of n, N and B. So the moves of two scores differ by at
/// most 20·r if r rows on this side change, and exponential noise of rate γ = ¾ε/20S changes probabilities by a factor
/// of at most e^(¾ε·r/S): Top's proof needs nothing else, as only differences of scores matter. The rows of both sides
/// add up to S.
///
/// # Accuracy
/// - *Nothing learned, nothing claimed.* Without rows at or beyond a place, or without any at or before it, its score is
///   at most 0; none has 11.25/γ. All 768 places together win against that with probability at most 768·e^−11.25 < 1 %,
///   whatever the table.
/// - *Enough rows.* t is such that 19t exceeds the score of none by 5.3/γ. With m ≥ 2t rows on a side, the place of the
///   t-th row from the outside has the score 19t, and none wins with probability at most e^−5.3 < 0.5 %. With fewer, the
///   place of the median has a score of at least 19·m/2. The error bar counts rows: a side with more than its
///   half-width, about 40·S/ε, is found with probability at least 95 %.
/// - *Tails.* About t = 23·S/ε rows lie beyond the place that is chosen. The noisy counts tell whether that is so; if
///   they do, the bounds go two powers of two farther than where the place ends, or three if there are rows beyond even
///   the first: a tail that has been seen goes on. If fewer than b rows are counted, the place ends the range. Without a
///   tail, noise alone counts b rows in three of eight runs.
/// - *Clamped rows.* The noisy counts bound the rows beyond the bounds, with the exact tail of the noise. By how much
///   clamping moved a mean is unknown, since nothing bounds the values out there.
///
/// # Algorithm
/// 1. On either side, select a place or none.
/// 2. Count the rows up to twice as far as it ends, up to four times, and beyond that; if none was selected, all rows on
///    this side. Add noise.
/// 3. Refuse if none was selected on both sides, or if it was on one on which 4b rows or more are counted: where they end
///    is not known. (Without rows there, this has probability ½·e^−4 < 1 %.)
/// 4. Otherwise each end is 0 or ±1, 4 or 8 times where its place ends, as above.
///
/// A histogram with a threshold for each bin needs several times as many rows, because it must see the outermost bin,
/// which has few, on its own; n, N and B count rows of many bins together.
///
/// # Errors
/// If the noise's scale 4S/ε lies outside 0.001 to 2^50, or (when releasing) if there are not [`BINS`] counts or the
/// permit does not cover ε.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::mechanism::ApproxBounds;
/// use reticent::privacy::Adjacency;
/// use reticent::statistic::{Contribution, Rows};
///
/// let one_row = Contribution::overall(Adjacency::AddRemove, Rows::AtMost(1))?;
/// let mechanism = ApproxBounds::new(&one_row, &"0.5".parse()?)?;
/// let salaries = (0..10_000).map(|i| Some(20_000.0 + 9.0 * f64::from(i)));
/// let counts = ApproxBounds::count(salaries);
/// // One time in fifty it refuses.
/// if let Some(found) = mechanism.release(&counts, &mut Permit::unaccounted()?)?.released() {
///     let found = found.into_value();
///     println!("{}, at most {} rows above", found.bounds, found.most_above); // 0..114688, most often
///     assert!(*found.bounds.lower() <= "20000".parse()? && *found.bounds.upper() >= "98304".parse()?);
/// }
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ApproxBounds {
    guarantee: Guarantee,
    choice: EndChoice,
    noise: Law,
    /// b, rounded up: this many rows beyond a place are a tail.
    tail: i64,
    /// 4b, rounded up: this many rows on a side without a place are too many.
    many: i64,
    /// What a noisy count, and a sum of three, may be too low by.
    low: [i64; 2],
    error: ErrorBar,
}

impl ApproxBounds {
    /// For a column to which a unit can contribute `contribution`.
    ///
    /// # Errors
    /// If the noise would be out of range.
    pub fn new(contribution: &Contribution, epsilon: &Epsilon) -> Result<Self> {
        let changed = contribution.of_histogram()?.l1()?;
        let share = epsilon.value() * &Rational::new(CHOICE.0, CHOICE.1)?;
        let rest = epsilon.value() - &share;
        let noise = DiscreteLaplace::new(&(&Rational::from(changed) / &rest))?;
        let choice = EndChoice::calibrated(changed, &Epsilon::new(share)?, &FALSE_ALARM.parse()?, &MISS.parse()?)?;
        // A scale is at most 2^50.
        let scales = |number: u64| i64::try_from(&(noise.scale() * &Rational::from(number)).ceil()).unwrap_or(i64::MAX);
        let (tail, many) = (scales(1), scales(4));
        let error = ErrorBar::new((choice.enough(&MISS_1_IN_20.parse()?) - 1) as f64, LEVEL)?;
        let noise = Law::Laplace(noise);
        // Whichever of the two sums is used, on either side: four one-sided bounds, each at 1 − 5 %/4.
        let level = joint_level(&Rational::try_from(LEVEL)?, 2);
        let low = |counts: u64| Ok(i64::try_from(noise.half_width_of_sum(counts, &level)?).unwrap_or(i64::MAX));
        let low = [low(1)?, low(3)?];
        Ok(Self { guarantee: Guarantee::Pure(epsilon.clone()), choice, noise, tail, many, low, error })
    }

    /// The guarantee of a release, and its cost.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The fewest rows, with values of one sign other than 0, for which bounds are found with probability at least 95 %.
    pub fn enough(&self) -> u64 {
        self.error.half_width() as u64 + 1
    }

    /// The rows per bin. Exact, and **not private**: for [`ApproxBounds::release`].
    pub fn count(values: impl IntoIterator<Item = Option<f64>>) -> Vec<i64> {
        let mut counts = vec![0i64; BINS];
        for place in values.into_iter().flatten().filter_map(bin) {
            counts[place] += 1;
        }
        counts
    }

    /// Releases bounds, from the rows per bin, or refuses.
    ///
    /// # Errors
    /// If there are not [`BINS`] counts, or the permit does not cover ε.
    pub fn release(&self, counts: &[i64], permit: &mut Permit) -> Result<Outcome<ClampingBounds>> {
        if counts.len() != BINS {
            return Err(Error::parameter("number of bins", counts.len(), "769, one for each place that bin() gives"));
        }
        let mut draw = permit.spend(&self.guarantee)?;
        let sides = sides(counts);
        let chosen = sides.each_ref().map(|side| self.choice.choose(side, &mut draw));
        let mut ends = Vec::new();
        for (side, place) in sides.iter().zip(chosen) {
            let mut beyond = tail(side, place);
            add_noise(&mut beyond, |block| self.noise.fill(&mut draw, block));
            ends.push(self.end(place, beyond));
        }
        let (guarantee, accounting) = (self.guarantee.clone(), draw.accounting().clone());
        let [Some(below), Some(above)] = ends[..] else {
            return Ok(Outcome::Refused(Refusal::new(guarantee, accounting)));
        };
        if (below.places, above.places) == (0, 0) {
            return Ok(Outcome::Refused(Refusal::new(guarantee, accounting)));
        }
        let bounds = Bounds::new(Rational::ZERO - edge(below.places), edge(above.places))?;
        let found = ClampingBounds { bounds, most_below: below.most, most_above: above.most };
        Ok(Outcome::Released(Release::new(found, self.error, guarantee, accounting)))
    }

    /// Where the range ends on a side with this place and these noisy counts; `None` if that is not known.
    fn end(&self, place: Option<usize>, tail: [i64; 3]) -> Option<End> {
        let [twice, four_times, farther] = tail;
        let beyond_twice = four_times.saturating_add(farther);
        let beyond = twice.saturating_add(beyond_twice);
        let [of_one, of_three] = self.low;
        let (places, most) = match place {
            None if farther >= self.many => return None,
            None => (0, farther.saturating_add(of_one)),
            Some(place) if beyond_twice >= self.tail => (place + 1 + 3 * PER_POWER, farther.saturating_add(of_one)),
            Some(place) if beyond >= self.tail => (place + 1 + 2 * PER_POWER, farther.saturating_add(of_one)),
            Some(place) => (place + 1, beyond.saturating_add(of_three)),
        };
        Some(End { places: places.min(PLACES), most: u64::try_from(most).unwrap_or(0) })
    }
}

/// Where a range ends.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End {
    /// The number of places that it contains.
    places: usize,
    /// The most rows beyond it.
    most: u64,
}

/// The rows beyond a place: up to twice as far as it ends, up to four times, and farther. Without a place, all rows are
/// far beyond it.
fn tail(side: &[i64], place: Option<usize>) -> [i64; 3] {
    let rows = |from: usize, to: usize| -> i64 {
        let part = &side[from.min(side.len())..to.min(side.len())];
        part.iter().fold(0, |sum: i64, rows| sum.saturating_add(*rows))
    };
    match place {
        None => [0, 0, rows(0, side.len())],
        Some(place) => {
            let [first, second, third] = [1, 1 + PER_POWER, 1 + 2 * PER_POWER].map(|more| place + more);
            [rows(first, second), rows(second, third), rows(third, side.len())]
        }
    }
}
