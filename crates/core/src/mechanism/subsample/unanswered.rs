//! How many parts of the data gave no answer.

use serde::Serialize;

use crate::error::Result;
use crate::exact::Rational;
use crate::noise::DiscreteLaplace;
use crate::permit::PermittedDraw;
use crate::privacy::Guarantee;
use crate::release::{ErrorBar, LEVEL, Outcome, Release};

/// The noisy number of blocks, or of samples, that gave no answer: released beside every outcome, refusals too.
///
/// # Privacy
/// Part of the guarantee of the mechanism that releases it, whose documentation says how it is paid for.
///
/// # Accuracy
/// The number is within its error bar with probability 95 %. (Cutting it off at 0 and at the number of blocks only
/// brings it nearer.)
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Unanswered {
    number: u64,
    of: u64,
    error: ErrorBar,
}

impl Unanswered {
    /// The noisy number, from 0 to [`Unanswered::of`].
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The number of all blocks or samples, which is public.
    pub fn of(&self) -> u64 {
        self.of
    }

    /// How far noise may have moved the number.
    pub fn error_bar(&self) -> ErrorBar {
        self.error
    }

    /// Whether more than half gave no answer, as far as the noisy number tells.
    pub fn is_most(&self) -> bool {
        self.number > self.of / 2
    }
}

/// An outcome, with the noisy number of blocks that gave no answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Counted<T> {
    outcome: Outcome<T>,
    unanswered: Unanswered,
}

impl<T> Counted<T> {
    pub(super) fn new(outcome: Outcome<T>, unanswered: Unanswered) -> Self {
        Self { outcome, unanswered }
    }

    /// The outcome alone.
    pub fn outcome(self) -> Outcome<T> {
        self.outcome
    }

    /// The release, if there is one.
    pub fn released(self) -> Option<Release<T>> {
        self.outcome.released()
    }

    /// The noisy number of blocks that gave no answer.
    pub fn unanswered(&self) -> Unanswered {
        self.unanswered
    }

    /// The guarantee that was spent on outcome and number together.
    pub fn guarantee(&self) -> &Guarantee {
        self.outcome.guarantee()
    }
}

/// Counts parts without an answer, with noise.
#[derive(Debug, Clone)]
pub(super) struct Count {
    noise: DiscreteLaplace,
    of: u64,
    error: ErrorBar,
}

impl Count {
    /// Out of `of` parts, with noise of this scale; of 1/1000 if it is smaller, since none narrower can be drawn.
    ///
    /// # Errors
    /// If the scale is above 2^50.
    pub(super) fn new(of: u64, scale: Rational) -> Result<Self> {
        let noise = DiscreteLaplace::new(&scale.max(&Rational::ONE / &Rational::from(1000)))?;
        let half_width = noise.half_width(&Rational::try_from(LEVEL)?)?;
        let error = ErrorBar::new(half_width as f64, LEVEL)?;
        Ok(Self { noise, of, error })
    }

    pub(super) fn noise(&self) -> &DiscreteLaplace {
        &self.noise
    }

    pub(super) fn error_bar(&self) -> ErrorBar {
        self.error
    }

    /// The noisy number, if the exact one is `number`.
    pub(super) fn draw(&self, number: u64, draw: &mut PermittedDraw<'_>) -> Unanswered {
        let noisy = i128::from(number) + i128::from(self.noise.sample(draw));
        Unanswered { number: noisy.clamp(0, self.of.into()) as u64, of: self.of, error: self.error }
    }

    /// The probability that noise alone makes most parts seem to have no answer, if all have one.
    pub(super) fn false_alarm(&self) -> f64 {
        self.noise.upper_tail(self.of / 2 + 1).to_f64()
    }
}
