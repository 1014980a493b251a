//! The counters by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::any::{AnyCounter, AnyStrategy};
use super::blt::Blt;
use super::bridged::Bridged;
use super::honaker::Honaker;
use super::hybrid::Hybrid;
use super::k_ary::KAry;
use super::p_sums::PSums;
use super::pan_private::{Design, PanPrivate, PanPrivateSurviving};
use super::strategy::Strategy;
use super::stream::Stream;
use super::toeplitz::Toeplitz;
use crate::error::{Error, Result};
use crate::permit::Permit;
use crate::privacy::Guarantee;

/// A counter's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CounterKind {
    /// The counter with the least average error that the stream and the guarantee allow; for an (ε, δ) guarantee, those
    /// with pure ε are candidates, too.
    Auto,
    /// Fresh noise on every answer.
    OutputNoise,
    /// Fresh noise on every input.
    InputNoise,
    /// Noise on blocks and on single steps.
    TwoLevel,
    /// Noise on dyadic blocks.
    Binary,
    /// Noise on dyadic blocks, each improved by the blocks inside it.
    Honaker,
    /// Noise on blocks of k, k², … steps, some of them subtracted.
    KAry,
    /// Noise bridged between the boundaries of a tree.
    Bridged,
    /// Noise on doubling blocks, and on dyadic blocks inside.
    Hybrid,
    /// Gaussian noise by the square root of the prefix sums.
    Toeplitz,
    /// Gaussian noise that decaying buffers cancel.
    Blt,
    /// Noisy in memory, too: the memory may be seized once, if counting ends there.
    PanPrivate,
    /// Noisy in memory, too: the memory may be seized once, unnoticed.
    PanPrivateSurviving,
}

impl CounterKind {
    /// Every counter but [`CounterKind::Auto`], the simplest first.
    pub const ALL: &[Self] = &[
        Self::OutputNoise,
        Self::InputNoise,
        Self::TwoLevel,
        Self::Binary,
        Self::Honaker,
        Self::KAry,
        Self::Bridged,
        Self::Hybrid,
        Self::Toeplitz,
        Self::Blt,
        Self::PanPrivate,
        Self::PanPrivateSurviving,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::OutputNoise => "output-noise",
            Self::InputNoise => "input-noise",
            Self::TwoLevel => "two-level",
            Self::Binary => "binary",
            Self::Honaker => "honaker",
            Self::KAry => "k-ary",
            Self::Bridged => "bridged",
            Self::Hybrid => "hybrid",
            Self::Toeplitz => "toeplitz",
            Self::Blt => "blt",
            Self::PanPrivate => "pan-private",
            Self::PanPrivateSurviving => "pan-private-surviving",
        }
    }

    /// May its memory be seized? See [`pan_private`](super::pan_private).
    pub fn is_pan_private(self) -> bool {
        matches!(self, Self::PanPrivate | Self::PanPrivateSurviving)
    }

    /// The strategy of this counter; nothing is charged.
    ///
    /// # Errors
    /// If the counter does not support the stream and the guarantee.
    pub fn plan(self, stream: Stream, guarantee: Guarantee) -> Result<AnyStrategy> {
        match self {
            Self::Auto => Self::least_error(&stream, &guarantee),
            Self::OutputNoise | Self::InputNoise | Self::TwoLevel | Self::Binary => {
                let parameters = PSums::named(self, &stream)?;
                Ok(PSums::new(stream, guarantee, parameters)?.into())
            }
            Self::Honaker => best::<Honaker>(stream, guarantee),
            Self::KAry => best::<KAry>(stream, guarantee),
            Self::Bridged => best::<Bridged>(stream, guarantee),
            Self::Hybrid => best::<Hybrid>(stream, guarantee),
            Self::Toeplitz => best::<Toeplitz>(stream, guarantee),
            Self::Blt => best::<Blt>(stream, guarantee),
            Self::PanPrivate => Ok(PanPrivate::new(stream, guarantee)?.into()),
            Self::PanPrivateSurviving => Ok(PanPrivateSurviving::new(stream, guarantee)?.into()),
        }
    }

    /// Charges the whole stream to the permit and starts counting.
    ///
    /// # Errors
    /// If the counter does not support the stream and the guarantee, or the permit does not cover it.
    pub fn start(self, stream: Stream, guarantee: Guarantee, permit: Permit) -> Result<AnyCounter> {
        self.plan(stream, guarantee)?.start(permit)
    }

    /// The counter with the least mean square error over the horizon (over the first 2^20 steps if the stream has no
    /// end).
    fn least_error(stream: &Stream, guarantee: &Guarantee) -> Result<AnyStrategy> {
        let steps = stream.steps().unwrap_or(1 << 20);
        // A counter that cannot be saved must be asked for by name.
        let kinds = Self::ALL.iter().filter(|kind| !kind.is_pan_private());
        // Pure ε satisfies an (ε, δ) guarantee, too.
        let pure = match guarantee {
            Guarantee::Approx(epsilon, _) => Some(Guarantee::Pure(epsilon.clone())),
            Guarantee::Pure(_) | Guarantee::Zcdp(_) => None,
        };
        let guarantees = || [Some(guarantee), pure.as_ref()].into_iter().flatten();
        let plans =
            kinds.flat_map(|kind| guarantees().filter_map(|promise| kind.plan(stream.clone(), promise.clone()).ok()));
        let error = |plan: &AnyStrategy| plan.average_variance(steps);
        match plans.min_by(|a, b| error(a).total_cmp(&error(b))) {
            Some(plan) => Ok(plan),
            // No counter fits: input-noise, which supports all streams, reports why.
            None => Self::InputNoise.plan(stream.clone(), guarantee.clone()),
        }
    }
}

/// A strategy with the parameters that it chooses itself.
fn best<S: Strategy + Into<AnyStrategy>>(stream: Stream, guarantee: Guarantee) -> Result<AnyStrategy> {
    let parameters = S::choose(&stream, &guarantee)?;
    Ok(S::new(stream, guarantee, parameters)?.into())
}

impl fmt::Display for CounterKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

impl FromStr for CounterKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::parameter("counter", text, "auto or a counter that `reticent plan count` lists");
        [Self::Auto].iter().chain(Self::ALL).find(|kind| kind.name() == text).copied().ok_or_else(unknown)
    }
}
