//! Whether parameters match those of a saved counter.

use std::fmt::Display;
use std::str::FromStr;

use reticent::continual::{CounterKind, Horizon, Tally};
use reticent::privacy::Guarantee;

use super::definition::{Definition, Input};
use super::draft::Draft;
use super::error::{Error, Result};
use crate::clock::Clock;
use crate::times;

impl Definition {
    /// Checks that every given parameter matches the saved counter.
    ///
    /// # Errors
    /// The first parameter that differs.
    pub fn check(&self, draft: &Draft, tally: &Tally, clock: &dyn Clock) -> Result<()> {
        let (stream, guarantee) = (tally.stream(), tally.guarantee());
        same("epsilon", parsed(&draft.epsilon)?, guarantee.epsilon().cloned())?;
        same("delta", parsed(&draft.delta)?, guarantee.delta().cloned())?;
        let rho = match guarantee {
            Guarantee::Zcdp(rho) => Some(rho.clone()),
            Guarantee::Pure(_) | Guarantee::Approx(..) => None,
        };
        same("rho", parsed(&draft.rho)?, rho)?;
        same("unit", parsed(&draft.unit)?, Some(stream.unit()))?;
        same("adjacency", parsed(&draft.adjacency)?, Some(stream.adjacency()))?;
        let range = |(low, high): (i64, i64)| format!("{low}..{high}");
        same("range", draft.range.map(range), Some(range(stream.range())))?;
        same("horizon", draft.horizon, stream.steps())?;
        same("unbounded", draft.unbounded.then_some(Horizon::Unbounded), Some(stream.horizon()))?;
        let kind = parsed::<CounterKind>(&draft.counter)?.filter(|kind| *kind != CounterKind::Auto);
        same("counter", kind, Some(tally.kind()))?;
        let fields = &self.fields;
        same("input", draft.input.map(Input::name), Some(fields.input.name()))?;
        same("events", draft.events.then_some(true), Some(fields.events))?;
        same("column", draft.column.as_ref(), fields.column.as_ref())?;
        same("time", draft.time.as_ref(), fields.time.as_ref())?;
        same("key", draft.key.as_ref(), fields.key.as_ref())?;
        let milliseconds = |length: i64| format!("{length}ms");
        let step = self.timeline.map(|timeline| milliseconds(timeline.step()));
        same("step", draft.length()?.map(milliseconds), step)?;
        let from = self.timeline.map(|timeline| times::display(timeline.start()));
        same("from", draft.moment("from", clock)?.map(times::display), from)?;
        let to = self.timeline.zip(stream.steps()).map(|(timeline, steps)| times::display(timeline.end_of(steps)));
        same("to", draft.moment("to", clock)?.map(times::display), to)
    }
}

fn parsed<T: FromStr<Err = reticent::Error>>(text: &Option<String>) -> Result<Option<T>> {
    Ok(text.as_deref().map(str::parse).transpose()?)
}

fn same<T: PartialEq + Display>(parameter: &'static str, given: Option<T>, saved: Option<T>) -> Result<()> {
    match given {
        Some(given) if saved.as_ref() != Some(&given) => {
            let saved = saved.map(|saved| saved.to_string());
            Err(Error::Differs { parameter, given: given.to_string(), saved })
        }
        _ => Ok(()),
    }
}
