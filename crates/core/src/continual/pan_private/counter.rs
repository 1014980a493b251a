//! A running counter whose memory may be seized.

use std::fmt;

use zeroize::Zeroizing;

use super::super::counter::{Counter, check_horizon};
use super::super::error_bar;
use super::super::kind::CounterKind;
use super::super::stream::Stream;
use super::design::Design;
use super::lanes::Lanes;
use super::seized::Seized;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;

/// A running [`Design`].
///
/// A step has one value ([`Counter::advance`]), or events that are added one by one ([`SeizableCounter::add`]).
///
/// # Privacy
/// That of the design, for the memory of this counter at any moment: between two steps, and between two events of an
/// open step, whose values are added to cells that already hold their noise. It can neither be cloned nor saved: its
/// memory may be seen only once.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::pan_private::Design;
/// use reticent::continual::{PanPrivate, SeizableCounter, Stream};
/// use reticent::privacy::Guarantee;
///
/// let design = PanPrivate::new(Stream::bits().until(1000)?, Guarantee::Pure("1".parse()?))?;
/// let mut visitors = SeizableCounter::start(design, Permit::unaccounted()?)?;
/// visitors.open_step()?;
/// for mut arrived in [1, 0, 1] {
///     visitors.add(&mut arrived)?; // and nothing of it is left
/// }
/// println!("{}", visitors.close_step()?);
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct SeizableCounter<D: Design> {
    lanes: Lanes<D>,
    value: i64,
}

impl<D: Design> SeizableCounter<D> {
    /// Charges the whole stream to the permit and starts.
    ///
    /// # Errors
    /// If the permit does not cover the guarantee.
    pub fn start(design: D, permit: Permit) -> Result<Self> {
        let permit = permit.into_stream(design.guarantee())?;
        Ok(Self::begin(design, permit))
    }

    /// Starts on a charge that was made before: see [`StreamCounter::begin`](crate::continual::StreamCounter::begin).
    pub fn begin(design: D, permit: StreamPermit) -> Self {
        Self { lanes: Lanes::new(design, 1, permit), value: 0 }
    }

    /// The design that stores its numbers.
    pub fn design(&self) -> &D {
        &self.lanes.design
    }

    /// What an intruder would find now. For audits: looking counts as the intrusion, of which there may be only one.
    pub fn state_after(&self) -> Seized {
        self.lanes.seized(0)
    }

    /// Opens the next step, so that events can be added to it. Does nothing if it is already open.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] at the horizon; [`Error::Entropy`] if no fresh entropy is available.
    pub fn open_step(&mut self) -> Result<()> {
        self.lanes.open_step()
    }

    /// Adds the value of an event to the open step, clamped, and overwrites it. Opens the step if none is open.
    ///
    /// # Errors
    /// As [`SeizableCounter::open_step`]; a parameter error if the unit is a whole step, which cannot be clamped in pieces.
    pub fn add(&mut self, value: &mut i64) -> Result<()> {
        self.lanes.add(0, value)
    }

    /// Closes the open step, or one without events, and returns the value to release.
    ///
    /// # Errors
    /// As [`SeizableCounter::open_step`]. The step is not taken then.
    pub fn close_step(&mut self) -> Result<i64> {
        let value = &mut self.value;
        self.lanes.close_step(|_, released| *value = released)?;
        Ok(self.value)
    }

    /// [`Counter::advance`] for many steps.
    ///
    /// # Errors
    /// As [`Counter::advance`]; if the horizon leaves too few steps for all of them, none is taken.
    pub fn advance_all(&mut self, values: &[i64], mut released: impl FnMut(i64)) -> Result<()> {
        check_horizon(self.lanes.design.stream(), self.lanes.steps, values.len() as u64)?;
        values.iter().try_for_each(|&value| self.advance(value).map(&mut released))
    }

    /// Starts over on the same permit: for audits, which release nothing.
    pub(crate) fn restart(&mut self) {
        self.lanes.restart();
        self.value = 0;
    }
}

impl<D: Design> Counter for SeizableCounter<D> {
    fn kind(&self) -> CounterKind {
        self.lanes.design.kind()
    }

    fn stream(&self) -> &Stream {
        self.lanes.design.stream()
    }

    fn guarantee(&self) -> &Guarantee {
        self.lanes.design.guarantee()
    }

    fn accounting(&self) -> &Accounting {
        self.lanes.permit.accounting()
    }

    fn steps(&self) -> u64 {
        self.lanes.steps
    }

    fn advance(&mut self, value: i64) -> Result<i64> {
        self.advance_erasing(&mut Zeroizing::new(value))
    }

    fn advance_erasing(&mut self, value: &mut i64) -> Result<i64> {
        self.value = self.lanes.advance(value)?;
        Ok(self.value)
    }

    fn value(&self) -> Option<i64> {
        (self.lanes.steps > 0).then_some(self.value)
    }

    fn variance(&self, step: u64) -> f64 {
        self.lanes.design.variance(step)
    }

    fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        error_bar::half_width(self.lanes.design.shape(step), level)
    }
}

/// Omits the cells.
impl<D: Design> fmt::Debug for SeizableCounter<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("SeizableCounter");
        fields.field("kind", &self.kind()).field("steps", &self.lanes.steps).finish_non_exhaustive()
    }
}
