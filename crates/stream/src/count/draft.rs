//! The user's parameters, and every rule that must hold before anything is charged.

use reticent::continual::{CounterKind, Horizon, Stream, Unit};
use reticent::message;
use reticent::privacy::{Adjacency, Guarantee};

use super::definition::{Definition, Fields, Input};
use super::error::{Error, Result};
use crate::clock::{Clock, milliseconds};
use crate::plan::Plan;
use crate::timeline::Timeline;
use crate::times;

/// The parameters of a count, as given by the user: `None` or `false` means the default, or the saved counter's value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// ε of all releases together.
    pub epsilon: Option<String>,
    /// δ, in addition to ε.
    pub delta: Option<String>,
    /// ρ, instead of ε.
    pub rho: Option<String>,
    /// Confirms an ε or a δ that protects next to nothing.
    pub allow_large_epsilon: bool,
    /// The privacy unit: `event`, `step` or `events:N`.
    pub unit: Option<String>,
    /// `add-remove` or `replace`.
    pub adjacency: Option<String>,
    /// The clamping bounds of one unit's value; 0..1 by default.
    pub range: Option<(i64, i64)>,
    /// The number of steps.
    pub horizon: Option<u64>,
    /// Any number of steps.
    pub unbounded: bool,
    /// The counter's name; `auto` by default.
    pub counter: Option<String>,
    /// The input format.
    pub input: Option<Input>,
    /// The column of the value.
    pub column: Option<String>,
    /// Whether every nonempty line (or cell) counts as 1.
    pub events: bool,
    /// The column of the key.
    pub key: Option<String>,
    /// The column of the time.
    pub time: Option<String>,
    /// The length of a time step.
    pub step: Option<String>,
    /// The start of the first time step: a time or `now`.
    pub from: Option<String>,
    /// The end of the last time step: a time or `now`.
    pub to: Option<String>,
}

impl Draft {
    /// How lines become steps. `by_name` is the format that the file's name suggests; `live` means that the input is a
    /// stream, which may start now.
    ///
    /// # Errors
    /// If parameters are missing or contradict each other.
    pub fn definition(&self, by_name: Option<Input>, live: bool, clock: &dyn Clock) -> Result<Definition> {
        let fields = self.fields(by_name)?;
        let timeline = match (self.length()?, self.moment("from", clock)?) {
            (None, _) => None,
            (Some(length), Some(from)) => Timeline::new(from, length),
            (Some(length), None) if live => Timeline::new(milliseconds(clock), length),
            (Some(_), None) => {
                return Err(Error::combination(
                    "from",
                    message!(["step"], " needs ", ["from"], ", the time when the first step begins"),
                ));
            }
        };
        Ok(Definition { fields, timeline })
    }

    fn fields(&self, by_name: Option<Input>) -> Result<Fields> {
        let named = self.column.is_some() || self.time.is_some() || self.key.is_some();
        let default = if named { Input::Csv } else { Input::Text };
        let input = self.input.or(by_name).unwrap_or(default);
        if input == Input::Text && named {
            let advice = message!(
                ["column"],
                ", ",
                ["key"],
                " and ",
                ["time"],
                " name columns, and ",
                ["input"],
                " text has none; use ",
                ["input"],
                " csv or ndjson"
            );
            return Err(Error::combination("input", advice));
        }
        // A time or a key without a value: count events.
        let events = self.events || ((self.time.is_some() || self.key.is_some()) && self.column.is_none());
        if input != Input::Text && self.column.is_none() && !events {
            let advice =
                message!("name the value's column with ", ["column"], ", or count one for every row with ", ["events"]);
            return Err(Error::combination("column", advice));
        }
        let (column, time, key) = (self.column.clone(), self.time.clone(), self.key.clone());
        Ok(Fields { input, events, column, time, key })
    }

    /// The length of a time step, in milliseconds.
    pub(super) fn length(&self) -> Result<Option<i64>> {
        let Some(text) = &self.step else { return Ok(None) };
        let wrong = || {
            let allowed = "a length of time; write for example 1m (ms, s, m, h, d)";
            Error::Parameter { parameter: "step", value: text.clone(), allowed }
        };
        times::parse_length(text).map(Some).ok_or_else(wrong)
    }

    /// The time given as `from` or `to`.
    pub(super) fn moment(&self, parameter: &'static str, clock: &dyn Clock) -> Result<Option<i64>> {
        let Some(text) = (if parameter == "from" { &self.from } else { &self.to }) else { return Ok(None) };
        let wrong = || {
            let allowed = "a time; write for example 2026-01-31T08:00:00Z, \"2026-01-31 08:00:00\" (UTC), 1769846400 \
                           (seconds since 1970) or now";
            Error::Parameter { parameter, value: text.clone(), allowed }
        };
        let time = if text == "now" { Some(milliseconds(clock)) } else { times::parse(text.as_bytes()) };
        time.map(Some).ok_or_else(wrong)
    }

    /// How the noise is made. `keys` are the known keys.
    ///
    /// # Errors
    /// If parameters are missing, or contradict each other or the definition.
    pub fn plan(&self, definition: &Definition, keys: Option<Vec<String>>, clock: &dyn Clock) -> Result<Plan> {
        let (stream, guarantee) = (self.stream(definition, clock)?, self.guarantee()?);
        let kind = self.counter.as_deref().unwrap_or("auto").parse::<CounterKind>()?;
        if !definition.keyed() {
            return Ok(Plan::one(kind, stream, guarantee)?);
        }
        if kind.is_pan_private() {
            let advice =
                message!("a {kind} counter has no keys: memory would show which there are; leave ", ["key"], " out");
            return Err(Error::combination("key", advice));
        }
        match keys {
            Some(keys) => Ok(Plan::known(kind, stream, guarantee, keys)?),
            None if matches!(guarantee, Guarantee::Approx(..)) => Ok(Plan::selecting(kind, stream, guarantee)?),
            None => {
                let advice = message!(
                    "name the keys with ",
                    ["keys"],
                    ", or let them be found with ",
                    ["epsilon"],
                    " E ",
                    ["delta"],
                    " D"
                );
                Err(Error::combination("keys", advice))
            }
        }
    }

    fn stream(&self, definition: &Definition, clock: &dyn Clock) -> Result<Stream> {
        let (timed, keyed) = (definition.timeline.is_some(), definition.keyed());
        let adjacency = match &self.adjacency {
            Some(text) => text.parse()?,
            None if timed => Adjacency::AddRemove,
            None => Adjacency::Replace,
        };
        let unit = match &self.unit {
            Some(text) => text.parse()?,
            None if timed || keyed || self.adjacency.is_some() => Unit::Event,
            None => Unit::Step,
        };
        if timed && unit == Unit::Step && self.range.is_none() {
            let advice = message!(["unit"], " step needs ", ["range"], " LO..HI: what a whole step of time can hold");
            return Err(Error::combination("range", advice));
        }
        if !timed && keyed && adjacency == Adjacency::AddRemove {
            let advice = message!(
                "with ",
                ["key"],
                " and one line per step, the arrival of a line is public, so a line can only be replaced; \
                          leave ",
                ["adjacency"],
                " add-remove out, or count in steps of time with ",
                ["step"]
            );
            return Err(Error::combination("adjacency", advice));
        }
        let Fields { events, column, .. } = &definition.fields;
        let by_arrival_alone = *events && column.is_none() && unit != Unit::Step && !keyed;
        if timed && adjacency == Adjacency::Replace && by_arrival_alone {
            let advice = message!(
                "with ",
                ["adjacency"],
                " replace the times of events are public, and so is their number; use add-remove, or \
                          name what an event counts with ",
                ["column"]
            );
            return Err(Error::combination("adjacency", advice));
        }
        let (low, high) = self.range.unwrap_or((0, 1));
        let horizon = self.horizon(definition.timeline, clock)?;
        Ok(Stream::new(low..=high)?.with_unit(unit)?.with_adjacency(adjacency)?.with_horizon(horizon)?)
    }

    fn horizon(&self, timeline: Option<Timeline>, clock: &dyn Clock) -> Result<Horizon> {
        let to = self.moment("to", clock)?;
        match (timeline, to, self.horizon) {
            (Some(timeline), Some(to), _) if to <= timeline.start() => {
                Err(Error::combination("to", message!(["to"], " must be later than ", ["from"])))
            }
            (Some(timeline), Some(to), _) => {
                let advice = message!(
                    "there must be a whole number of steps (",
                    ["step"],
                    ") between ",
                    ["from"],
                    " and ",
                    ["to"]
                );
                timeline.steps_until(to).map(Horizon::Steps).ok_or_else(|| Error::combination("to", advice))
            }
            (_, _, Some(steps)) => Ok(Horizon::Steps(steps)),
            _ if self.unbounded => Ok(Horizon::Unbounded),
            (Some(_), ..) => {
                let advice =
                    message!("give the number of steps: ", ["to"], " TIME, ", ["horizon"], " T or ", ["unbounded"]);
                Err(Error::combination("horizon", advice))
            }
            (None, ..) => {
                let advice = message!(
                    "give the number of steps: ",
                    ["horizon"],
                    " T, or ",
                    ["unbounded"],
                    " if it is not known"
                );
                Err(Error::combination("horizon", advice))
            }
        }
    }

    /// The guarantee of all releases together.
    fn guarantee(&self) -> Result<Guarantee> {
        let guarantee = Guarantee::written(self.epsilon.as_deref(), self.delta.as_deref(), self.rho.as_deref())?;
        let missing = || {
            let advice = message!(
                "choose a privacy guarantee: ",
                ["epsilon"],
                " E, ",
                ["epsilon"],
                " E ",
                ["delta"],
                " D, or ",
                ["rho"],
                " R"
            );
            Error::combination("epsilon", advice)
        };
        Ok(guarantee.ok_or_else(missing)?.confirmed(self.allow_large_epsilon)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::HandClock;

    fn draft(change: impl FnOnce(&mut Draft)) -> Draft {
        let mut draft = Draft { epsilon: Some("1".into()), horizon: Some(8), ..Draft::default() };
        change(&mut draft);
        draft
    }

    fn planned(draft: &Draft) -> Result<(Definition, Plan)> {
        let clock = HandClock::at(90_000);
        let definition = draft.definition(None, true, &clock)?;
        let plan = draft.plan(&definition, None, &clock)?;
        Ok((definition, plan))
    }

    #[test]
    fn defaults_depend_on_what_a_step_is() {
        let (definition, plan) = planned(&draft(|_| ())).unwrap();
        assert_eq!((definition.fields.input, definition.timeline), (Input::Text, None));
        assert_eq!((plan.stream().unit(), plan.stream().adjacency()), (Unit::Step, Adjacency::Replace));
        let (definition, plan) = planned(&draft(|draft| {
            (draft.step, draft.time) = (Some("1m".into()), Some("at".into()));
        }))
        .unwrap();
        assert_eq!((definition.fields.input, definition.fields.events), (Input::Csv, true));
        assert_eq!(definition.timeline, Timeline::new(90_000, 60_000), "a live stream begins now");
        assert_eq!((plan.stream().unit(), plan.stream().adjacency()), (Unit::Event, Adjacency::AddRemove));
        assert_eq!(definition.unit(plan.stream()), "event");
    }

    #[test]
    fn an_error_names_the_parameter_to_change() {
        type Change = fn(&mut Draft);
        let changes: [(Change, &str); 8] = [
            (|draft| draft.epsilon = None, "epsilon"),
            (|draft| draft.horizon = None, "horizon"),
            (|draft| draft.input = Some(Input::Ndjson), "column"),
            (|draft| (draft.input, draft.column) = (Some(Input::Text), Some("n".into())), "input"),
            (|draft| draft.key = Some("k".into()), "keys"),
            (|draft| (draft.step, draft.unit) = (Some("1m".into()), Some("step".into())), "range"),
            (|draft| (draft.key, draft.adjacency) = (Some("k".into()), Some("add-remove".into())), "adjacency"),
            (|draft| (draft.step, draft.to) = (Some("1m".into()), Some("now".into())), "to"),
        ];
        for (change, expected) in changes {
            match planned(&draft(change)) {
                Err(Error::Combination { parameter, .. }) => assert_eq!(parameter, expected),
                other => panic!("{expected}: {other:?}"),
            }
        }
        let wrong = planned(&draft(|draft| draft.step = Some("1".into())));
        assert!(matches!(wrong, Err(Error::Parameter { parameter: "step", .. })), "{wrong:?}");
    }
}
