//! The common interface of the pan-private counters.

use std::fmt;

use super::super::kind::CounterKind;
use super::super::law::Law;
use super::super::shape::Shape;
use super::super::stream::Stream;
use super::seized::Seized;
use crate::error::{Error, Result};
use crate::noise::DiscreteLaplace;
use crate::privacy::Guarantee;

/// The purpose of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// The running sum, before the first step.
    Sum,
    /// A block of this level that begins.
    Beginning(u32),
    /// A block of this level that ends.
    Ending(u32),
}

/// How a counter whose memory may be seized stores its numbers.
///
/// Unlike a [`Strategy`](super::super::Strategy) it sees the data, because there is no exact sum to which noise could
/// be added. It holds only whole numbers in cells, each a sum of values and noise; all noise follows one discrete
/// Laplace law, each draw independent. What must be proved is that releases and cells *together* satisfy the guarantee.
pub trait Design: fmt::Debug + Clone + Send + Sync + Sized {
    /// For a stream and a guarantee.
    ///
    /// # Errors
    /// If the stream has no end, the guarantee is not a pure ε, or noise of such a scale cannot be drawn.
    fn new(stream: Stream, guarantee: Guarantee) -> Result<Self>;

    /// The counter's name.
    fn kind(&self) -> CounterKind;

    /// The stream it is for.
    fn stream(&self) -> &Stream;

    /// The guarantee of all releases and the memory together.
    fn guarantee(&self) -> &Guarantee;

    /// The law of every draw.
    fn law(&self) -> &DiscreteLaplace;

    /// The number of draws in the release of a step.
    fn terms(&self, step: u64) -> u64;

    /// The sum of [`Design::terms`] over steps 1 to `steps`.
    fn total_terms(&self, steps: u64) -> u128;

    /// The largest of [`Design::terms`] over steps 1 to `steps`.
    fn most_terms(&self, steps: u64) -> u64;

    /// The number of cells.
    fn cells(&self) -> usize;

    /// Begins step `step`, counted from 1: puts the noise into the cells that values of this step will be added to.
    /// `draw` is called once for each independent draw.
    fn open(&self, cells: &mut [i128], step: u64, draw: impl FnMut(Noise) -> i64);

    /// Adds a value to the cells of the open step.
    fn add(&self, cells: &mut [i128], step: u64, value: &i64);

    /// Ends the open step: returns what is released and overwrites what is no longer needed.
    fn close(&self, cells: &mut [i128], step: u64, draw: impl FnMut(Noise) -> i64) -> i128;

    /// A whole step with one value.
    fn take(&self, cells: &mut [i128], step: u64, value: &i64, mut draw: impl FnMut(Noise) -> i64) -> i128 {
        self.open(cells, step, &mut draw);
        self.add(cells, step, value);
        self.close(cells, step, &mut draw)
    }

    /// The cells in use after this many steps.
    fn seized(&self, cells: &[i128], steps: u64) -> Seized;

    /// The cells in use while a step is open.
    fn seized_within(&self, cells: &[i128], step: u64) -> Seized;

    /// The exact variance of the noise at a step.
    fn variance(&self, step: u64) -> f64 {
        self.terms(step) as f64 * self.law().variance()
    }

    /// The mean of the variances of steps 1 to `steps`.
    fn average_variance(&self, steps: u64) -> f64 {
        self.total_terms(steps) as f64 / steps as f64 * self.law().variance()
    }

    /// The largest of the variances of steps 1 to `steps`.
    fn worst_variance(&self, steps: u64) -> f64 {
        self.most_terms(steps) as f64 * self.law().variance()
    }

    /// What error bars need to know about a step.
    fn shape(&self, step: u64) -> Shape<'_> {
        Shape::Sum { law: self.law(), terms: self.terms(step) }
    }

    /// The size of the state, in bytes.
    fn state_bytes(&self) -> usize {
        self.cells() * size_of::<i128>()
    }
}

/// The number of steps.
///
/// # Errors
/// If the stream has no end.
pub(super) fn horizon(stream: &Stream) -> Result<u64> {
    stream.steps().ok_or_else(|| {
        Error::parameter(
            "horizon",
            "unbounded",
            "a number of steps for a pan-private counter: the noise that guards its memory from the first step on is set by it",
        )
    })
}

/// Discrete Laplace noise of scale c·r·α/ε.
///
/// # Errors
/// If the guarantee is not a pure ε, or the scale cannot be drawn.
pub(super) fn law(stream: &Stream, guarantee: &Guarantee, alpha: u64) -> Result<DiscreteLaplace> {
    match (guarantee, Law::new(stream, guarantee, alpha)?) {
        (Guarantee::Pure(_), Law::Laplace(law)) => Ok(law),
        _ => Err(Error::parameter("guarantee", guarantee, "given as epsilon alone for a pan-private counter")),
    }
}
