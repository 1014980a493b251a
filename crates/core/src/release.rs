//! What leaves the engine: a value with its error bar and its guarantee, or a refusal.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::ledger::Accounting;
use crate::privacy::Guarantee;

/// The level of the error bars that mechanisms put on their releases.
pub const LEVEL: f64 = 0.95;

/// The level at which each of `parts` numbers must hold individually for all of them to hold together at `level`: the
/// probability of being outside is divided evenly (union bound).
///
/// ```
/// use reticent::release::joint_level;
///
/// assert_eq!(joint_level(&"0.95".parse()?, 2), "0.975".parse()?);
/// # Ok::<(), reticent::Error>(())
/// ```
pub fn joint_level(level: &Rational, parts: u64) -> Rational {
    let outside = Rational::ONE - level.clone();
    Rational::ONE - outside / Rational::from(parts.max(1))
}

/// How far the noise may have moved a value: |noise| ≤ half-width with probability at least `level`.
///
/// Computed from the exact noise law. It covers noise only, not bias from clamping or contribution bounding.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ErrorBar {
    half_width: f64,
    level: f64,
}

impl ErrorBar {
    /// An error bar at the given level.
    ///
    /// # Errors
    /// If the half-width is negative or NaN, or the level lies outside 0 < level < 1.
    pub fn new(half_width: f64, level: f64) -> Result<Self> {
        if half_width.is_nan() || half_width < 0.0 {
            return Err(Error::parameter("half-width", half_width, "at least 0"));
        }
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::parameter("level", level, "greater than 0 and less than 1; write for example 0.95"));
        }
        Ok(Self { half_width, level })
    }

    /// Half the width of the interval around the value.
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// The probability that the noise stays within it.
    pub fn level(&self) -> f64 {
        self.level
    }

    /// The error bar of a value that was multiplied by `factor`.
    pub fn scaled(self, factor: f64) -> Self {
        let half_width = self.half_width * factor.abs();
        // An undefined width is covered by no finite bar.
        Self { half_width: if half_width.is_nan() { f64::INFINITY } else { half_width }, level: self.level }
    }
}

/// A released value.
///
/// Only mechanisms make releases, each from the [draw](crate::permit::PermittedDraw) that a [`Permit`](crate::Permit)
/// gave: so every release was charged, or says that it was not.
///
/// # Privacy
/// Anything computed from a release alone is covered by the release's guarantee; [`Release::map`] does this, and the
/// type keeps the guarantee with the value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Release<T> {
    value: T,
    error: ErrorBar,
    guarantee: Guarantee,
    accounting: Accounting,
}

impl<T> Release<T> {
    pub(crate) fn new(value: T, error: ErrorBar, guarantee: Guarantee, accounting: Accounting) -> Self {
        Self { value, error, guarantee, accounting }
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value alone.
    pub fn into_value(self) -> T {
        self.value
    }

    /// How far the noise may have moved it.
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }

    /// Its privacy guarantee.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Where it was charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }

    /// Post-processing: applies one function to the value and another to its error bar. The guarantee is unchanged.
    ///
    /// # Example
    /// ```
    /// use reticent::Permit;
    /// use reticent::mechanism::Laplace;
    ///
    /// let mut permit = Permit::unaccounted()?;
    /// let count = Laplace::new(1, &"1".parse()?)?.release(1234, &mut permit)?;
    /// let thousands = count.clone().map(|count| count as f64 / 1000.0, |bar| bar.scaled(0.001));
    /// assert_eq!(thousands.guarantee(), count.guarantee());
    /// # Ok::<(), reticent::Error>(())
    /// ```
    pub fn map<U>(self, value: impl FnOnce(T) -> U, error: impl FnOnce(ErrorBar) -> ErrorBar) -> Release<U> {
        Release {
            value: value(self.value),
            error: error(self.error),
            guarantee: self.guarantee,
            accounting: self.accounting,
        }
    }
}

/// The result of a mechanism that may refuse. Both cases cost the same: the decision to refuse is drawn with noise,
/// too, and reveals something about the data.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome<T> {
    /// The value was released.
    Released(Release<T>),
    /// The mechanism refused.
    Refused(Refusal),
}

/// A refusal, with what it cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    guarantee: Guarantee,
    accounting: Accounting,
}

impl Refusal {
    pub(crate) fn new(guarantee: Guarantee, accounting: Accounting) -> Self {
        Self { guarantee, accounting }
    }

    /// The guarantee that was spent.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// Where it was charged.
    pub fn accounting(&self) -> &Accounting {
        &self.accounting
    }
}

impl<T> Outcome<T> {
    /// The release, if there is one.
    pub fn released(self) -> Option<Release<T>> {
        match self {
            Self::Released(release) => Some(release),
            Self::Refused(_) => None,
        }
    }

    /// The guarantee that was spent, in either case.
    pub fn guarantee(&self) -> &Guarantee {
        match self {
            Self::Released(release) => &release.guarantee,
            Self::Refused(refusal) => &refusal.guarantee,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(value: i64) -> Release<i64> {
        let guarantee = Guarantee::Pure("1".parse().unwrap());
        Release::new(value, ErrorBar::new(3.0, 0.95).unwrap(), guarantee, Accounting::Unaccounted)
    }

    #[test]
    fn post_processing_keeps_the_guarantee_and_scales_the_error() {
        let half = release(10).map(|value| value as f64 / 2.0, |bar| bar.scaled(-0.5));
        assert_eq!((*half.value(), half.error_bar().half_width(), half.error_bar().level()), (5.0, 1.5, 0.95));
        assert_eq!(half.guarantee(), release(0).guarantee());
    }

    #[test]
    fn error_bars_are_checked() {
        for (half_width, level) in [(-1.0, 0.95), (f64::NAN, 0.95), (1.0, 0.0), (1.0, 1.0), (1.0, f64::NAN)] {
            assert!(ErrorBar::new(half_width, level).is_err());
        }
    }

    #[test]
    fn refusals_cost_what_answers_cost() {
        let (guarantee, accounting) = (release(0).guarantee().clone(), Accounting::Unaccounted);
        let refused: Outcome<i64> = Outcome::Refused(Refusal::new(guarantee, accounting));
        assert_eq!(refused.guarantee(), Outcome::Released(release(1)).guarantee());
        assert!(refused.released().is_none());
    }
}
