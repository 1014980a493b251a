//! What is counted, and under which promise: from the arguments, or from a saved counter.

use std::path::{Path, PathBuf};

use anyhow::Result;
use reticent::continual::{Horizon, Kind, Stream, Tally, Unit};
use reticent::privacy::{Adjacency, Guarantee};
use reticent_ledger::files::shared;
use serde::{Deserialize, Serialize};

use super::arguments::Arguments;
use super::record::{Fields, Input};
use super::timeline::{self, Timeline};
use crate::accounting::refuse_public;
use crate::exit::usage;

/// How lines become steps: what is saved with a counter besides the counter itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    /// What is read of a line.
    pub fields: Fields,
    /// Steps of time; one step a line if there are none.
    pub timeline: Option<Timeline>,
}

impl Definition {
    /// As the arguments say. `live`: the input is a stream, which may begin now.
    pub fn new(arguments: &Arguments, live: bool) -> Result<Self> {
        let fields = fields(arguments)?;
        let timeline = match (&arguments.step, &arguments.from) {
            (None, _) => None,
            (Some(step), Some(from)) => {
                Some(Timeline { step: timeline::parse_length(step)?, from: timeline::parse_argument("--from", from)? })
            }
            (Some(step), None) if live => Some(Timeline { step: timeline::parse_length(step)?, from: timeline::now() }),
            (Some(_), None) => return Err(usage("--step needs --from, when the first step begins")),
        };
        Ok(Self { fields, timeline })
    }

    /// Is there one counter for each key?
    pub fn keyed(&self) -> bool {
        self.fields.key.is_some()
    }

    /// The stream that the arguments describe.
    pub fn stream(&self, arguments: &Arguments) -> Result<Stream> {
        let adjacency = match &arguments.adjacency {
            Some(text) => text.parse()?,
            None if self.timeline.is_some() => Adjacency::AddRemove,
            None => Adjacency::Replace,
        };
        let unit = match &arguments.unit {
            Some(text) => text.parse()?,
            None if self.timeline.is_some() || self.keyed() || arguments.adjacency.is_some() => Unit::Event,
            None => Unit::Step,
        };
        if self.timeline.is_some() && unit == Unit::Step && arguments.range.is_none() {
            return Err(usage("--unit step needs --range LO..HI: what a whole step of time can hold"));
        }
        if self.timeline.is_none() && self.keyed() && adjacency == Adjacency::AddRemove {
            return Err(usage(
                "with --key and one line a step that a line arrives is public, so it can only be replaced; leave \
                 --adjacency add-remove out, or count in steps of time with --step",
            ));
        }
        let by_arrival_alone =
            self.fields.events && self.fields.column.is_none() && unit != Unit::Step && !self.keyed();
        if self.timeline.is_some() && adjacency == Adjacency::Replace && by_arrival_alone {
            return Err(usage(
                "with --adjacency replace the times of events are public and so is their number; use add-remove, or \
                 name what an event counts with --column",
            ));
        }
        let (low, high) = arguments.range.unwrap_or((0, 1));
        let horizon = match (&self.timeline, &arguments.to, arguments.horizon) {
            (Some(timeline), Some(to), _) => {
                Horizon::Steps(timeline.steps_until(timeline::parse_argument("--to", to)?)?)
            }
            (_, _, Some(steps)) => Horizon::Steps(steps),
            _ if arguments.unbounded => Horizon::Unbounded,
            (Some(_), ..) => return Err(usage("give the number of steps: --to TIME, --horizon T or --unbounded")),
            (None, ..) => {
                return Err(usage("give the number of steps: --horizon T, or --unbounded if it is not known"));
            }
        };
        Ok(Stream::new(low, high)?.with_unit(unit)?.with_adjacency(adjacency)?.with_horizon(horizon)?)
    }

    /// How lines become steps, completely.
    pub fn words(&self) -> String {
        let Fields { input, events, column, time, key } = &self.fields;
        // Names are quoted: none can be taken for words of ours.
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
                let (length, from) = (timeline::display_length(timeline.step), timeline::display(timeline.from));
                words += &format!(", in steps of {length} from {from} by {by}");
            }
        }
        words
    }

    /// What one unit is, as a ledger must know it: two streams have the same unit here only if the same inputs are neighbours,
    /// so that their costs may be added up.
    ///
    /// | lines | `--unit` | one unit is |
    /// |---|---|---|
    /// | one step each, replaced | `event`, `step` | `line`: what one line says |
    /// | one step each, sums of events | `event` | `part of a line`: one of the events in it |
    /// | one event each, in steps of time | `event` | `event`: one line |
    /// | one event each, in steps of time | `step` | `step of 1d`: all that happens in such a step |
    pub fn unit(&self, stream: &Stream) -> String {
        let (one, many) = match (self.timeline, stream.unit()) {
            (Some(timeline), Unit::Step) => {
                let (length, offset) = (timeline.step, timeline.from.rem_euclid(timeline.step));
                let offset =
                    if offset == 0 { String::new() } else { format!(" and {}", timeline::display_length(offset)) };
                return format!("step of {}{offset}", timeline::display_length(length));
            }
            (Some(_), _) => ("event", "events"),
            (None, Unit::Event | Unit::Steps(_)) if stream.adjacency() == Adjacency::AddRemove => {
                ("part of a line", "parts of lines")
            }
            (None, _) => ("line", "lines"),
        };
        match stream.unit() {
            Unit::Steps(count) => format!("{count} {many}"),
            Unit::Event | Unit::Step => one.into(),
        }
    }

    /// How much one line or event counts for a stream: see [`Stream::clamp`].
    pub fn admit(&self, stream: &Stream, value: i64) -> i64 {
        let one_unit = match self.timeline {
            // A step of time is a sum of events. If it is the unit, the counter clamps the sum.
            Some(_) => stream.unit() != Unit::Step,
            // A line is one value; unless the user says that events were summed up in it.
            None => stream.adjacency() == Adjacency::Replace || stream.unit() == Unit::Step,
        };
        if one_unit { stream.clamp(value) } else { value }
    }

    /// What the promise means for these lines.
    pub fn assumption(&self, stream: &Stream) -> String {
        let (unit, replace) = (stream.unit(), stream.adjacency() == Adjacency::Replace);
        let who = match unit {
            Unit::Steps(count) => format!("any one's at most {count}"),
            Unit::Event | Unit::Step => "any one".into(),
        };
        match (&self.timeline, unit) {
            (None, _) if self.keyed() => format!(
                "one line is one step: that it arrives is public, what {who} of them says, its key too, is protected"
            ),
            (Some(_), _) if self.keyed() && replace => {
                format!("the times of events are public, key and value of {who} of them are protected")
            }
            (None, _) if replace || unit == Unit::Step => {
                format!("one line is one step: that it arrives is public, what {who} of them says is protected")
            }
            (None, _) => format!(
                "one line is one step, the sum of events: that it arrives is public, whether {who} of the events is in it \
                 is protected, provided that none counts more than the range allows (this is not checked)"
            ),
            (Some(_), Unit::Step) => "everything in any one step of time is protected; its sum is clamped".into(),
            (Some(_), _) if replace => {
                format!("the times of events are public, what {who} of them counts is protected")
            }
            (Some(_), _) => format!("whether {who} of the events is there is protected"),
        }
    }

    /// Nothing if every given argument agrees with the saved counter, else an error that names the first that does not.
    pub fn check(&self, arguments: &Arguments, tally: &Tally) -> Result<()> {
        let (stream, guarantee) = (tally.stream(), tally.guarantee());
        let (low, high) = stream.range();
        same("--epsilon", parsed(&arguments.epsilon)?, guarantee.epsilon().cloned())?;
        same("--delta", parsed(&arguments.delta)?, guarantee.delta().cloned())?;
        let rho = match guarantee {
            Guarantee::Zcdp(rho) => Some(rho.clone()),
            Guarantee::Pure(_) | Guarantee::Approx(..) => None,
        };
        same("--rho", parsed(&arguments.rho)?, rho)?;
        same("--unit", parsed(&arguments.unit)?, Some(stream.unit()))?;
        same("--adjacency", parsed(&arguments.adjacency)?, Some(stream.adjacency()))?;
        same("--range", arguments.range.map(|(low, high)| format!("{low}..{high}")), Some(format!("{low}..{high}")))?;
        same("--horizon", arguments.horizon, stream.steps())?;
        same("--unbounded", arguments.unbounded.then_some(Horizon::Unbounded), Some(stream.horizon()))?;
        let kind = parsed::<Kind>(&arguments.counter)?.filter(|kind| *kind != Kind::Auto);
        same("--counter", kind, Some(tally.kind()))?;
        same("--input", arguments.input.map(Input::name), Some(self.fields.input.name()))?;
        same("--events", arguments.events.then_some(true), Some(self.fields.events))?;
        same("--column", arguments.column.clone(), self.fields.column.clone())?;
        same("--time", arguments.time.clone(), self.fields.time.clone())?;
        same("--key", arguments.key.clone(), self.fields.key.clone())?;
        if arguments.keys.is_some() {
            return Err(usage("the saved counter has its keys already; leave --keys out"));
        }
        let argument = |name, text: &Option<String>| {
            text.as_deref().map(|text| timeline::parse_argument(name, text).map(timeline::display)).transpose()
        };
        let step = arguments.step.as_deref().map(timeline::parse_length).transpose()?;
        let milliseconds = |length: i64| format!("{length}ms");
        same("--step", step.map(milliseconds), self.timeline.map(|timeline| milliseconds(timeline.step)))?;
        let from = self.timeline.map(|timeline| timeline::display(timeline.from));
        same("--from", argument("--from", &arguments.from)?, from)?;
        let to = self.timeline.zip(stream.steps()).map(|(timeline, steps)| timeline::display(timeline.end_of(steps)));
        same("--to", argument("--to", &arguments.to)?, to)
    }
}

fn fields(arguments: &Arguments) -> Result<Fields> {
    let named = arguments.column.is_some() || arguments.time.is_some() || arguments.key.is_some();
    let extension = Path::new(&arguments.file).extension().and_then(|extension| extension.to_str());
    let input = match (arguments.input, extension.map(str::to_ascii_lowercase).as_deref()) {
        (Some(input), _) => input,
        (None, Some("ndjson" | "jsonl")) => Input::Ndjson,
        (None, Some("json")) => {
            let name = arguments.file.display();
            return Err(usage(format!(
                "{name} is a JSON array by its name; write one object a line, as in jq -c '.[]' {name} > lines.ndjson, or say \
                 --input ndjson if it is so"
            )));
        }
        (None, Some("csv")) => Input::Csv,
        (None, _) if named => Input::Csv,
        (None, _) => Input::Text,
    };
    if input == Input::Text && named {
        return Err(usage(
            "--column, --key and --time name columns, and --input text has none; use --input csv or ndjson",
        ));
    }
    // Whoever names a time or a key and no value counts events.
    let counts = arguments.time.is_some() || arguments.key.is_some();
    let events = arguments.events || (counts && arguments.column.is_none());
    if input != Input::Text && arguments.column.is_none() && !events {
        return Err(usage("name the value's column with --column, or count one for every row with --events"));
    }
    let Arguments { column, time, key, .. } = arguments;
    Ok(Fields { input, events, column: column.clone(), time: time.clone(), key: key.clone() })
}

/// What all releases together promise, as the arguments say.
pub fn guarantee(arguments: &Arguments) -> Result<Guarantee> {
    let guarantee = match (&arguments.epsilon, &arguments.delta, &arguments.rho) {
        (Some(epsilon), None, _) => Guarantee::Pure(epsilon.parse()?),
        (Some(epsilon), Some(delta), _) => Guarantee::Approx(epsilon.parse()?, delta.parse()?),
        (None, _, Some(rho)) => Guarantee::Zcdp(rho.parse()?),
        (None, ..) => return Err(usage("say what is promised: --epsilon E, --epsilon E --delta D, or --rho R")),
    };
    Ok(guarantee.confirmed(arguments.allow_large_epsilon)?)
}

/// The keys that are known beforehand, if the arguments name them.
pub fn keys(arguments: &Arguments) -> Result<Option<Vec<String>>> {
    let Some(list) = &arguments.keys else { return Ok(None) };
    let keys: Vec<String> = if Path::new(list).is_file() {
        let file = [PathBuf::from(list)];
        let counted =
            if arguments.file == Path::new("-") { super::standard_file() } else { Some(arguments.file.clone()) };
        if counted.is_some_and(|counted| shared(&file, &[counted]).is_some()) {
            return Err(usage(format!(
                "--keys {list} is the file that is counted, and keys are public; list the keys instead"
            )));
        }
        refuse_public(arguments.accounting.ledger.as_deref(), &file)?;
        let text =
            std::fs::read_to_string(list).map_err(|error| usage(format!("cannot read --keys {list}: {error}")))?;
        text.lines().map(str::to_owned).filter(|key| !key.is_empty()).collect()
    } else if list.contains('/') || [".txt", ".csv"].iter().any(|end| list.ends_with(end)) {
        return Err(usage(format!("--keys {list} looks like a file, but there is none of that name")));
    } else {
        list.split(',').map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()).collect()
    };
    if keys.is_empty() {
        return Err(usage(format!(
            "--keys {list} names no key; write for example home,help,about or the name of a file"
        )));
    }
    Ok(Some(keys))
}

fn parsed<T: std::str::FromStr<Err = reticent::Error>>(text: &Option<String>) -> Result<Option<T>> {
    Ok(text.as_deref().map(str::parse).transpose()?)
}

fn same<T: PartialEq + std::fmt::Display>(name: &str, given: Option<T>, saved: Option<T>) -> Result<()> {
    match (given, saved) {
        (Some(given), Some(saved)) if given != saved => Err(usage(format!(
            "{name} is {given}, but the saved counter began with {saved}; leave {name} out, or start a new counter"
        ))),
        (Some(given), None) => Err(usage(format!(
            "{name} is {given}, but the saved counter began without; leave {name} out, or start a new counter"
        ))),
        _ => Ok(()),
    }
}
