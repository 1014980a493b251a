//! A counter for each key, whose memory may be seized.

use std::fmt;

use super::super::error_bar;
use super::super::keyed::each_key;
use super::super::stream::Stream;
use super::design::Design;
use super::lanes::Lanes;
use super::seized::Seized;
use crate::error::{Error, Result};
use crate::ledger::Accounting;
use crate::permit::{Permit, StreamPermit};
use crate::privacy::Guarantee;

/// A running [`Design`] for each of several keys that are known beforehand; keys are identified by their indices.
///
/// # Privacy
/// That of the design, for the memory of all keys at any one moment and the releases together: each key has its own
/// draws, so the view of all keys consists of independent parts. An event that is added or removed changes the part of
/// one key; one that is replaced may leave one key and enter another, which is why the design is made for the stream
/// that [`each_key`] gives. Whether a key had any event is protected like the events themselves: all cells of all keys
/// hold noise from the first step on.
///
/// All keys take their noise from one generator, with a fresh seed mixed in before each step is opened and closed, and
/// replaced after it.
///
/// # Example
/// ```
/// use reticent::Permit;
/// use reticent::continual::{PanPrivate, SeizableKeyedCounter, Stream};
/// use reticent::privacy::Guarantee;
///
/// let stream = Stream::bits().until(1000)?;
/// let guarantee = Guarantee::Pure("1".parse()?);
/// let mut doors = SeizableKeyedCounter::<PanPrivate>::start(stream, guarantee, 2, Permit::unaccounted()?)?;
/// doors.add(1, &mut 1)?;
/// doors.close_step(|door, total| println!("door {door}: {total}"))?;
/// # Ok::<(), reticent::Error>(())
/// ```
pub struct SeizableKeyedCounter<D: Design> {
    stream: Stream,
    keys: usize,
    lanes: Lanes<D>,
}

impl<D: Design> SeizableKeyedCounter<D> {
    /// Charges the whole stream to the permit and starts, with this many keys.
    ///
    /// # Errors
    /// If there is no key, the unit is a whole step, the design does not support the stream, or the permit does not
    /// cover the guarantee.
    pub fn start(stream: Stream, guarantee: Guarantee, keys: usize, permit: Permit) -> Result<Self> {
        Self::check(&stream, keys)?;
        let permit = permit.into_stream(&guarantee)?;
        Self::begin(stream, guarantee, keys, permit)
    }

    /// Starts on a charge that was made before: see [`StreamCounter::begin`](crate::continual::StreamCounter::begin).
    ///
    /// # Errors
    /// If there is no key, the unit is a whole step, or the design does not support the stream.
    pub fn begin(stream: Stream, guarantee: Guarantee, keys: usize, permit: StreamPermit) -> Result<Self> {
        let design = D::new(Self::check(&stream, keys)?, guarantee)?;
        Ok(Self { stream, keys, lanes: Lanes::new(design, keys, permit) })
    }

    fn check(stream: &Stream, keys: usize) -> Result<Stream> {
        if keys == 0 {
            return Err(Error::parameter("keys", keys, "at least one"));
        }
        each_key(stream)
    }

    /// The design that stores the numbers of one key.
    pub fn design(&self) -> &D {
        &self.lanes.design
    }

    /// The stream as its user sees it.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Where the stream was charged.
    pub fn accounting(&self) -> &Accounting {
        self.lanes.permit.accounting()
    }

    /// The number of keys.
    pub fn keys(&self) -> usize {
        self.keys
    }

    /// The number of steps released so far.
    pub fn steps(&self) -> u64 {
        self.lanes.steps
    }

    /// What an intruder would find now for a key. For audits: looking counts as the intrusion, of which there may be
    /// only one.
    pub fn state_after(&self, key: usize) -> Seized {
        self.lanes.seized(key)
    }

    /// Opens the next step, so that events can be added to it. Does nothing if it is already open.
    ///
    /// # Errors
    /// [`Error::HorizonReached`] at the horizon; [`Error::Entropy`] if no fresh entropy is available.
    pub fn open_step(&mut self) -> Result<()> {
        self.lanes.open_step()
    }

    /// Adds the value of an event of a key to the open step, clamped, and overwrites it. Opens the step if none is
    /// open. Unknown keys are ignored.
    ///
    /// # Errors
    /// As [`SeizableKeyedCounter::open_step`].
    pub fn add(&mut self, key: usize, value: &mut i64) -> Result<()> {
        if key < self.keys { self.lanes.add(key, value) } else { Ok(()) }
    }

    /// Closes the open step, or one without events; `released` is called with every key and its value.
    ///
    /// # Errors
    /// As [`SeizableKeyedCounter::open_step`]. The step is not taken then.
    pub fn close_step(&mut self, released: impl FnMut(usize, i64)) -> Result<()> {
        self.lanes.close_step(released)
    }

    /// The exact variance of the noise of one key at any step, past or future.
    pub fn variance(&self, step: u64) -> f64 {
        self.lanes.design.variance(step)
    }

    /// |noise| of one key at a step stays within this with probability at least `level`.
    ///
    /// # Errors
    /// If the level lies outside 0 < level < 1 or the step is 0.
    pub fn half_width(&self, step: u64, level: f64) -> Result<f64> {
        if step == 0 {
            return Err(Error::parameter("step", step, "at least 1"));
        }
        error_bar::half_width(self.lanes.design.shape(step), level)
    }
}

/// Omits the cells.
impl<D: Design> fmt::Debug for SeizableKeyedCounter<D> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = formatter.debug_struct("SeizableKeyedCounter");
        let kind = self.lanes.design.kind();
        fields.field("kind", &kind).field("keys", &self.keys).field("steps", &self.lanes.steps).finish_non_exhaustive()
    }
}
