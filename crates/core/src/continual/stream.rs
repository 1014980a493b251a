//! The definition of a stream: the range of its values, its privacy unit, its horizon.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::privacy::Adjacency;

/// The longest supported horizon.
pub const LONGEST_HORIZON: u64 = 1 << 40;

/// The privacy unit of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// One event: one value added, removed or replaced in one step. A step may hold any number of events.
    Event,
    /// Everything that happened in one step, which may become anything else within the range.
    Step,
    /// A person with at most this many events, in as many steps or fewer.
    #[serde(rename = "steps")]
    Events(u64),
}

impl fmt::Display for Unit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event => formatter.write_str("event"),
            Self::Step => formatter.write_str("step"),
            Self::Events(count) => write!(formatter, "events:{count}"),
        }
    }
}

impl FromStr for Unit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let unknown = || Error::parameter("unit", text, "event, step, or events:N for someone with at most N events");
        match text {
            "event" => Ok(Self::Event),
            "step" => Ok(Self::Step),
            _ => {
                // Definitions of earlier versions say steps:N.
                let count = text.strip_prefix("events:").or_else(|| text.strip_prefix("steps:"));
                count.and_then(|count| count.parse().ok()).map(Self::Events).ok_or_else(unknown)
            }
        }
    }
}

/// The number of steps in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Horizon {
    /// At most this many; the counter refuses to go further.
    Steps(u64),
    /// No end.
    Unbounded,
}

impl fmt::Display for Horizon {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(formatter, "{steps} steps"),
            Self::Unbounded => formatter.write_str("unbounded"),
        }
    }
}

/// A stream of whole numbers, one for each step, and what one unit can change in it.
///
/// # Privacy
/// With values in low..=high, one event adds or removes at most r = max(|low|, |high|) in its step
/// ([`Adjacency::AddRemove`]), or moves it by at most r = high − low when it is replaced ([`Adjacency::Replace`], arrival
/// public). A whole step moves by at most high − low. A unit of c events does so c times. Every counter derives
/// its noise from [`Stream::max_change`] and [`Stream::max_steps`], and from nothing else.
///
/// # Example
/// ```
/// use reticent::continual::{Stream, Unit};
///
/// let head_count = Stream::new(-1..=1)?.until(1440)?; // joins minus leaves, one value a minute
/// assert_eq!((head_count.max_change(), head_count.max_steps()), (1, 1));
///
/// let whole_minutes = Stream::new(-100..=100)?.with_unit(Unit::Step)?;
/// assert_eq!(whole_minutes.max_change(), 200);
/// # Ok::<(), reticent::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Definition", into = "Definition")]
pub struct Stream {
    definition: Definition,
    size: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Definition {
    low: i64,
    high: i64,
    unit: Unit,
    adjacency: Adjacency,
    horizon: Horizon,
}

impl Stream {
    /// Events with values in a range, added or removed, without end.
    ///
    /// # Errors
    /// If the range is empty, or nothing but 0 is in it.
    pub fn new(range: RangeInclusive<i64>) -> Result<Self> {
        let (low, high) = range.into_inner();
        let (unit, adjacency) = (Unit::Event, Adjacency::AddRemove);
        Definition { low, high, unit, adjacency, horizon: Horizon::Unbounded }.try_into()
    }

    /// Events that are counted: values 0 or 1.
    pub fn bits() -> Self {
        Self::new(0..=1).expect("0..=1 is a range")
    }

    /// With another privacy unit.
    ///
    /// # Errors
    /// If the unit has no events, or cannot change anything within the range.
    pub fn with_unit(self, unit: Unit) -> Result<Self> {
        Definition { unit, ..self.definition }.try_into()
    }

    /// With another adjacency.
    ///
    /// # Errors
    /// If replacing a value cannot change anything within the range.
    pub fn with_adjacency(self, adjacency: Adjacency) -> Result<Self> {
        Definition { adjacency, ..self.definition }.try_into()
    }

    /// Ends after this many steps: a known horizon gives smaller errors.
    ///
    /// # Errors
    /// If there is no step or more than 2^40.
    pub fn until(self, steps: u64) -> Result<Self> {
        self.with_horizon(Horizon::Steps(steps))
    }

    /// With another horizon.
    ///
    /// # Errors
    /// As [`Stream::until`].
    pub fn with_horizon(self, horizon: Horizon) -> Result<Self> {
        Definition { horizon, ..self.definition }.try_into()
    }

    /// The smallest and the largest value.
    pub fn range(&self) -> (i64, i64) {
        (self.definition.low, self.definition.high)
    }

    /// The privacy unit.
    pub fn unit(&self) -> Unit {
        self.definition.unit
    }

    /// Which streams are neighbours.
    pub fn adjacency(&self) -> Adjacency {
        self.definition.adjacency
    }

    /// The number of steps.
    pub fn horizon(&self) -> Horizon {
        self.definition.horizon
    }

    /// The number of steps; `None` without a horizon.
    pub fn steps(&self) -> Option<u64> {
        match self.definition.horizon {
            Horizon::Steps(steps) => Some(steps),
            Horizon::Unbounded => None,
        }
    }

    /// r: how far one unit can move the value of one step.
    pub fn max_change(&self) -> u64 {
        self.size
    }

    /// c: the maximum number of events of one unit, and so of steps that it can affect.
    pub fn max_steps(&self) -> u64 {
        match self.definition.unit {
            Unit::Event | Unit::Step => 1,
            Unit::Events(count) => count,
        }
    }

    /// The value of one event, or of one step if that is the unit, clamped to the range.
    pub fn clamp(&self, value: i64) -> i64 {
        value.clamp(self.definition.low, self.definition.high)
    }

    /// The value that a counter uses for a step: clamped if the step is the unit. A step of many events is their sum,
    /// which has no range; its events were clamped one by one.
    pub(crate) fn admit(&self, value: i64) -> i64 {
        if self.definition.unit == Unit::Step { self.clamp(value) } else { value }
    }
}

impl TryFrom<Definition> for Stream {
    type Error = Error;

    fn try_from(definition: Definition) -> Result<Self> {
        let Definition { low, high, unit, adjacency, horizon } = definition;
        if low > high {
            return Err(Error::parameter("range", format!("{low}..{high}"), "written with the smaller number first"));
        }
        if unit == Unit::Events(0) {
            return Err(Error::parameter("unit", unit, "one with at least 1 event"));
        }
        if let Horizon::Steps(steps) = horizon
            && !(1..=LONGEST_HORIZON).contains(&steps)
        {
            return Err(Error::parameter("horizon", steps, "from 1 to 2^40 steps"));
        }
        let size = match (unit, adjacency) {
            (Unit::Step, _) | (_, Adjacency::Replace) => low.abs_diff(high),
            (_, Adjacency::AddRemove) => low.unsigned_abs().max(high.unsigned_abs()),
        };
        if size == 0 {
            return Err(Error::parameter(
                "range",
                format!("{low}..{high}"),
                "wide enough for one unit to make a difference",
            ));
        }
        Ok(Self { definition, size })
    }
}

impl From<Stream> for Definition {
    fn from(stream: Stream) -> Self {
        stream.definition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_from_range_unit_and_neighbours() {
        let sizes = |low, high| {
            let stream = Stream::new(low..=high).unwrap();
            let replaced = stream.clone().with_adjacency(Adjacency::Replace).unwrap();
            (stream.max_change(), replaced.max_change(), stream.with_unit(Unit::Step).unwrap().max_change())
        };
        assert_eq!(sizes(0, 1), (1, 1, 1));
        assert_eq!(sizes(-1, 1), (1, 2, 2));
        assert_eq!(sizes(10, 15), (15, 5, 5));
        assert_eq!(sizes(i64::MIN, i64::MAX), (1 << 63, u64::MAX, u64::MAX));
        assert_eq!(Stream::bits().with_unit(Unit::Events(7)).unwrap().max_steps(), 7);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert!(Stream::new(RangeInclusive::new(1, 0)).is_err());
        assert!(Stream::new(0..=0).is_err());
        assert!(Stream::new(3..=3).unwrap().with_adjacency(Adjacency::Replace).is_err());
        assert!(Stream::bits().with_unit(Unit::Events(0)).is_err());
        for steps in [0, LONGEST_HORIZON + 1] {
            assert!(Stream::bits().until(steps).is_err());
        }
        for text in ["", "user", "steps", "steps:", "steps:-1", "steps:x"] {
            assert!(text.parse::<Unit>().is_err());
        }
        assert_eq!("steps:3".parse::<Unit>().unwrap(), Unit::Events(3), "the earlier spelling");
        assert_eq!("events:3".parse::<Unit>().unwrap(), Unit::Events(3));
        assert_eq!(serde_json::to_string(&Unit::Events(3)).unwrap(), "{\"steps\":3}", "as in saved counters");
    }

    #[test]
    fn reading_goes_through_the_constructor() {
        let stream = Stream::new(-3..=5).unwrap().until(10).unwrap();
        let text = serde_json::to_string(&stream).unwrap();
        assert_eq!(serde_json::from_str::<Stream>(&text).unwrap(), stream);
        assert!(serde_json::from_str::<Stream>(&text.replace("10", "0")).is_err());
    }
}
