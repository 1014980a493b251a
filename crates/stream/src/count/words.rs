//! What a definition means for the people in the data.

use reticent::continual::keyed::Admission;
use reticent::continual::{Stream, Unit};
use reticent::privacy::Adjacency;
use reticent_ledger::Hash;

use super::definition::{Definition, Fields};
use crate::plan::Plan;
use crate::times;

/// A longer list of keys is represented by its hash.
const LONGEST_LIST: usize = 1000;

/// An unbounded stream is described by its error over this many steps.
const DESCRIBED_STEPS: u64 = 1 << 20;

impl Definition {
    /// The guarantee, the counter and its expected error, and what is protected, in sentences that do not depend on the
    /// data.
    pub fn promise(&self, plan: &Plan) -> Vec<String> {
        let (strategy, guarantee) = (plan.strategy(), plan.guarantee());
        let (stream, kind) = (plan.stream(), strategy.kind());
        let (low, high) = stream.range();
        let (unit, adjacency, horizon) = (stream.unit(), stream.adjacency(), stream.horizon());
        let steps = stream.steps().unwrap_or(DESCRIBED_STEPS);
        let (average, last) = (strategy.average_variance(steps).sqrt(), strategy.variance(steps).sqrt());
        let of_steps = if stream.steps().is_none() { format!(" of {steps}") } else { String::new() };
        let mut sentences = vec![
            format!(
                "{guarantee}, unit {unit}, adjacency {adjacency}, range {low}..{high}, counter {kind}, horizon {horizon}; \
                 expected error (RMSE) {average:.1} on average, {last:.1} at the last step{of_steps}"
            ),
            format!("{}{}", self.assumption(stream), guarantee.caveat()),
        ];
        if let Plan::Keyed(plan, _) = plan
            && plan.admission().is_some()
        {
            sentences.push(format!("± covers noise only; {}", Admission::SELECTED));
        }
        sentences
    }

    /// Everything that the releases depend on, apart from the rows, for the ledger. `source` names what is counted.
    pub fn description(&self, plan: &Plan, source: &str) -> String {
        let (stream, kind) = (plan.stream(), plan.strategy().kind());
        let ((low, high), horizon, what) = (stream.range(), stream.horizon(), self.words());
        let keys = match plan {
            Plan::One(_) => String::new(),
            Plan::Keyed(_, keys) if keys.is_empty() => ", keys as they are found".into(),
            Plan::Keyed(_, keys) => {
                // Quoted, so that different lists of keys never give the same text.
                let list = format!("{keys:?}");
                let shown = if list.len() <= LONGEST_LIST { list } else { Hash::of(&list).to_string() };
                format!(", {} keys {shown}", keys.len())
            }
        };
        format!("count of {source}: {what}{keys}; range {low}..{high}, horizon {horizon}, counter {kind}")
    }

    /// A complete description of how lines become steps.
    fn words(&self) -> String {
        let Fields { input, events, column, time, key } = &self.fields;
        // Names are quoted, so that none can be mistaken for the surrounding words.
        let mut words = match (column, events) {
            (Some(column), false) => format!("the values of column {column:?}"),
            (Some(column), true) => format!("the cells of column {column:?} that are not empty"),
            (None, true) => "one for each line".into(),
            (None, false) => "one number a line".into(),
        };
        words += &format!(" ({})", input.name());
        if let Some(key) = key {
            words += &format!(", by key column {key:?}");
        }
        match self.timeline {
            None => words += ", one step a line",
            Some(timeline) => {
                let by = time.as_ref().map_or_else(|| "arrival".into(), |time| format!("time column {time:?}"));
                let (length, from) = (times::display_length(timeline.step()), times::display(timeline.start()));
                words += &format!(", in steps of {length} from {from} by {by}");
            }
        }
        words
    }

    /// The privacy unit, for the ledger: two streams have the same unit only if the same inputs are neighbours, so that
    /// their costs may be added up.
    ///
    /// | lines | unit | one unit is |
    /// |---|---|---|
    /// | one step each, replaced | `event`, `step` | `line`: the content of one line |
    /// | one step each, sums of events | `event` | `part of a line`: one of the events in it |
    /// | one event each, in time steps | `event` | `event`: one line |
    /// | one event each, in time steps | `step` | `step of 1d`: everything that happens in such a step |
    pub fn unit(&self, stream: &Stream) -> String {
        let (one, many) = match (self.timeline, stream.unit()) {
            (Some(timeline), Unit::Step) => {
                let (length, offset) = (timeline.step(), timeline.start().rem_euclid(timeline.step()));
                let offset =
                    if offset == 0 { String::new() } else { format!(" and {}", times::display_length(offset)) };
                return format!("step of {}{offset}", times::display_length(length));
            }
            (Some(_), _) => ("event", "events"),
            (None, Unit::Event | Unit::Events(_)) if stream.adjacency() == Adjacency::AddRemove => {
                ("part of a line", "parts of lines")
            }
            (None, _) => ("line", "lines"),
        };
        match stream.unit() {
            Unit::Events(count) => format!("{count} {many}"),
            Unit::Event | Unit::Step => one.into(),
        }
    }

    /// What is public and what is protected.
    pub fn assumption(&self, stream: &Stream) -> String {
        let (unit, replace) = (stream.unit(), stream.adjacency() == Adjacency::Replace);
        let event = match unit {
            Unit::Events(count) => format!("any person's events (at most {count})"),
            Unit::Event | Unit::Step => "any one event".into(),
        };
        // With keys, a line's content includes its key.
        let lines = |and_key: &str, and_keys: &str| match unit {
            Unit::Events(count) => format!(
                "each line is a step: its arrival is public; the contents of any person's lines (at most {count}){and_keys} are protected"
            ),
            Unit::Event | Unit::Step => {
                format!("each line is a step: its arrival is public, its content{and_key} is protected")
            }
        };
        match (&self.timeline, unit) {
            (None, _) if self.keyed() => lines(", including the key,", ", including the keys,"),
            (Some(_), _) if self.keyed() && replace => {
                format!("the times of events are public; the key and the value of {event} are protected")
            }
            (None, _) if replace || unit == Unit::Step => lines("", ""),
            (None, _) => format!(
                "each line is a step, the sum of events: its arrival is public; whether {event} contributed to it is \
                 protected, provided that no event exceeds the range (this is not checked)"
            ),
            (Some(_), Unit::Step) => "everything in any one step of time is protected; its sum is clamped".into(),
            (Some(_), _) if replace => format!("the times of events are public; the value of {event} is protected"),
            (Some(_), _) => format!("whether {event} happened is protected"),
        }
    }
}
