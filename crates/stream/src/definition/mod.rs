//! The definition of a stream, which never changes.
//!
//! | module | holds |
//! |---|---|
//! | `mod` | [`Definition`]: what is counted, with what guarantee, and all checks made before anything is charged |
//! | [`draft`] | [`Draft`]: a definition as written in TOML or JSON |
//! | [`step`] | [`Step`]: the length of a step |
//! | `words` | descriptions for privacy officers and the ledger |

pub mod draft;
pub mod step;
mod words;

use std::sync::Arc;

use reticent::continual::keyed::each_key;
use reticent::continual::pan_private::Design;
use reticent::continual::{CounterKind, Horizon, PanPrivate, PanPrivateSurviving, Stream, Unit};
use reticent::privacy::{Adjacency, Guarantee};
use serde::{Deserialize, Serialize};

pub use self::draft::{Draft, DraftKeys};
pub use self::step::Step;
use crate::error::{Error, Result};
use crate::plan::Plan;

/// Longest name; names are used in file names and URLs.
const LONGEST_NAME: usize = 64;
/// Longest key, in bytes.
pub const LONGEST_KEY: usize = 256;
/// The most known keys: as many as a step can release in reasonable time.
const MOST_KEYS: usize = 1 << 20;
/// The most steps for which ids can be remembered.
const WIDEST_WINDOW: u64 = 1_000_000;
/// By default ids are remembered for this many milliseconds, but at least two steps.
const REMEMBERED: u64 = 60_000;
/// By default ids are remembered for this many steps of events.
const REMEMBERED_STEPS: u64 = 1000;

/// Who counts: a trusted curator, or one whose memory and disk may be seized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// A trusted curator: exact sums are stored durably, and an acknowledged event is neither lost nor counted twice.
    Curator,
    /// Whatever is seized from memory and disk is differentially private; an event is counted at most once.
    PanPrivate,
}

/// Which keys have sums of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Keys {
    /// None: there is one sum.
    None,
    /// These, sorted.
    Known(Arc<[Arc<str>]>),
    /// Keys from the data; those with too few events are withheld.
    Selected,
}

/// The definition of a stream. Made from a [`Draft`], also by serde, which checks it.
///
/// | field | meaning | default |
/// |---|---|---|
/// | `name` | letters a–z, digits, `-` and `_` | – |
/// | `dataset` | the dataset whose budget is charged; if given, it must be registered | `stream/NAME` |
/// | `step` | `1s` to `1d`, `event`, or `N events` | – |
/// | `horizon` | the number of steps; required in pan-private mode | no end |
/// | `epsilon`, `delta`, `rho` | the guarantee of all releases together; `delta` is dropped, and not charged, if `auto` needs none | – |
/// | `allow_large_epsilon` | confirms an epsilon above 10 or a delta above 0.001, which give almost no protection | false |
/// | `unit` | the privacy unit: `event`, `step`, `events:N` | `event` |
/// | `adjacency` | `add-remove` or `replace` | `add-remove`; `replace` for steps of events and in pan-private mode |
/// | `range` | clamping bounds, `LO..HI`; anything but a whole number counts as 0 and is then clamped | `0..1` |
/// | `counter` | the continual counter | `auto`; `pan-private` in that mode |
/// | `keys` | `"none"`, a list, or `"selected"` (needs delta) | `"none"` |
/// | `mode` | `curator` or `pan-private` | `curator` |
/// | `dedup` | for how many steps an id is remembered; 0 ignores ids | a minute, at least 2 steps; 1000 steps of events |
/// | `history` | how many steps of releases are stored | all |
///
/// # Privacy
/// *Ids.* Messages with the same id within the window are one event, and the first of them counts: under `add-remove`
/// all messages of one id together are protected; under `replace` arrivals and ids are public, and the key and the
/// value of one id are protected. Why the window is a number of steps: if it were a number of ids, one more event would
/// push out the oldest id, which might let an old message count again, whose id would push out the next, and so on: the
/// effect of one event would be unbounded. Steps end by the clock (or by arrivals, where these are public), whatever
/// the events contain.
///
/// *Steps of events* end with an arrival: hence only `replace`, as in every stream whose arrivals are public.
///
/// # Example
/// ```
/// use reticent_stream::Definition;
///
/// let text = r#"{ "name": "visits", "step": "1m", "epsilon": 0.5, "horizon": 525600, "keys": ["home", "help"] }"#;
/// let definition: Definition = serde_json::from_str(text)?;
/// assert_eq!(definition.dataset(), "stream/visits");
/// let error = serde_json::from_str::<Definition>(&text.replace("1m", "1y")).unwrap_err().to_string();
/// assert!(error.starts_with("step is 1y, but it must be a length of time from 1s to 1d"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Draft", into = "Draft")]
pub struct Definition {
    name: String,
    dataset: String,
    /// The dataset is the default one, registered when it is needed.
    own_dataset: bool,
    stream: Stream,
    guarantee: Guarantee,
    step: Step,
    counter: CounterKind,
    keys: Keys,
    mode: Mode,
    dedup: u64,
    history: Option<u64>,
}

impl Definition {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dataset whose budget is charged.
    pub fn dataset(&self) -> &str {
        &self.dataset
    }

    /// Whether the dataset is the default one.
    pub fn has_own_dataset(&self) -> bool {
        self.own_dataset
    }

    /// Range, unit, adjacency and horizon.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The guarantee of all releases together.
    pub fn guarantee(&self) -> &Guarantee {
        &self.guarantee
    }

    /// The length of a step.
    pub fn step(&self) -> Step {
        self.step
    }

    /// The number of steps; `None` if there is no end.
    pub fn horizon(&self) -> Option<u64> {
        self.stream.steps()
    }

    /// The requested kind of counter.
    pub fn counter(&self) -> CounterKind {
        self.counter
    }

    /// The keys that have sums of their own.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Whether memory and disk may be seized.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// For how many steps an id is remembered.
    pub fn dedup(&self) -> u64 {
        self.dedup
    }

    /// How many steps of releases are stored; `None` if all are.
    pub fn history(&self) -> Option<u64> {
        self.history
    }

    /// The clamped value of an event: see [`Stream::clamp`]. If the unit is a step, the step's sum is clamped instead.
    pub(crate) fn admit(&self, value: i64) -> i64 {
        if self.stream.unit() == Unit::Step { value } else { self.stream.clamp(value) }
    }

    /// The counter's guarantee. Checks, before anything is charged, that the counter supports the definition.
    fn promised(&self) -> Result<Guarantee> {
        let (stream, guarantee) = (self.stream.clone(), self.guarantee.clone());
        if self.mode == Mode::Curator {
            return Ok(Plan::new(self)?.guarantee().clone());
        }
        let stream = if self.keys == Keys::None { stream } else { each_key(&stream)? };
        match self.counter {
            CounterKind::PanPrivateSurviving => PanPrivateSurviving::new(stream, guarantee.clone()).map(drop)?,
            _ => PanPrivate::new(stream, guarantee.clone()).map(drop)?,
        }
        Ok(guarantee)
    }
}

impl TryFrom<Draft> for Definition {
    type Error = Error;

    fn try_from(draft: Draft) -> Result<Self> {
        check_name(&draft.name)?;
        let step: Step = draft.step.parse()?;
        let mode = match draft.mode.as_deref() {
            None | Some("curator") => Mode::Curator,
            Some("pan-private") => Mode::PanPrivate,
            Some(other) => return Err(Error::parameter("mode", other, "curator or pan-private")),
        };
        let arrivals_public = mode == Mode::PanPrivate || matches!(step, Step::Events(_));
        let adjacency = match draft.adjacency.as_deref() {
            Some(text) => text.parse()?,
            None if arrivals_public => Adjacency::Replace,
            None => Adjacency::AddRemove,
        };
        if arrivals_public && adjacency == Adjacency::AddRemove {
            let allowed = "replace in pan-private mode and with steps of events, where arrivals are public";
            return Err(Error::parameter("adjacency", adjacency, allowed));
        }
        let unit = draft.unit.as_deref().map_or(Ok(Unit::Event), str::parse)?;
        if unit == Unit::Step && draft.range.is_none() {
            let problem = "the unit step needs a range: the clamping bounds of a whole step's sum";
            return Err(reticent::Error::Invalid { parameter: "range", problem: problem.into() }.into());
        }
        if unit == Unit::Step && mode == Mode::PanPrivate {
            let allowed = "event or events:N in pan-private mode: clamping a step's sum would require it in memory";
            return Err(Error::parameter("unit", unit, allowed));
        }
        let (low, high) = draft.range.as_deref().map_or(Ok((0, 1)), parse_range)?;
        let horizon = draft.horizon.map_or(Horizon::Unbounded, Horizon::Steps);
        let stream = Stream::new(low..=high)?.with_unit(unit)?.with_adjacency(adjacency)?.with_horizon(horizon)?;
        let guarantee = guarantee(&draft)?;
        let keys = keys(draft.keys)?;
        let counter = counter(draft.counter.as_deref(), mode)?;
        if mode == Mode::PanPrivate && keys == Keys::Selected {
            let allowed = "\"none\" or a list in pan-private mode: keys from the data would be in memory";
            return Err(Error::parameter("keys", "selected", allowed));
        }
        if draft.history == Some(0) {
            return Err(Error::parameter("history", 0, "at least 1 step, or left out to keep all"));
        }
        let own_dataset = draft.dataset.is_none();
        let mut definition = Self {
            dataset: draft.dataset.unwrap_or_else(|| format!("stream/{}", draft.name)),
            name: draft.name,
            own_dataset,
            stream,
            guarantee,
            step,
            counter,
            keys,
            mode,
            dedup: dedup(draft.dedup, mode, step)?,
            history: draft.history,
        };
        // δ is not charged if the counter needs none.
        definition.guarantee = definition.promised()?;
        Ok(definition)
    }
}

impl From<Definition> for Draft {
    fn from(definition: Definition) -> Self {
        let (low, high) = definition.stream.range();
        let (epsilon, delta, rho) = match &definition.guarantee {
            Guarantee::Pure(epsilon) => (Some(epsilon.to_string()), None, None),
            Guarantee::Approx(epsilon, delta) => (Some(epsilon.to_string()), Some(delta.to_string()), None),
            Guarantee::Zcdp(rho) => (None, None, Some(rho.to_string())),
        };
        Self {
            // It was confirmed when the definition was made.
            allow_large_epsilon: definition.guarantee.is_weak(),
            dataset: (!definition.own_dataset).then_some(definition.dataset),
            unit: Some(definition.stream.unit().to_string()),
            adjacency: Some(definition.stream.adjacency().to_string()),
            range: Some(format!("{low}..{high}")),
            step: definition.step.to_string(),
            horizon: definition.stream.steps(),
            epsilon,
            delta,
            rho,
            counter: Some(definition.counter.to_string()),
            keys: match definition.keys {
                Keys::None => None,
                Keys::Selected => Some(DraftKeys::Word("selected".into())),
                Keys::Known(keys) => Some(DraftKeys::Known(keys.iter().map(|key| key.to_string()).collect())),
            },
            mode: Some(match definition.mode {
                Mode::Curator => "curator".into(),
                Mode::PanPrivate => "pan-private".into(),
            }),
            dedup: (definition.mode == Mode::Curator).then_some(definition.dedup),
            history: definition.history,
            name: definition.name,
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let sound = name.len() <= LONGEST_NAME
        && name.bytes().next().is_some_and(letter)
        && name.bytes().all(|byte| letter(byte) || byte == b'-' || byte == b'_');
    if sound {
        return Ok(());
    }
    let shown = if name.len() <= LONGEST_NAME { format!("{name:?}") } else { format!("{} bytes long", name.len()) };
    let allowed = "1 to 64 of a-z, 0-9, - and _, starting with a letter or a digit, such as front-door";
    Err(Error::parameter("name", shown, allowed))
}

fn parse_range(text: &str) -> Result<(i64, i64)> {
    let ends =
        text.split_once("..").and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    ends.ok_or_else(|| Error::parameter("range", text, "LO..HI in whole numbers, such as 0..100"))
}

fn guarantee(draft: &Draft) -> Result<Guarantee> {
    let Draft { epsilon, delta, rho, .. } = draft;
    if let (Some(rho), true) = (rho, epsilon.is_some() || delta.is_some()) {
        let allowed = "left out if epsilon or delta is given: a stream has one guarantee";
        return Err(Error::parameter("rho", rho, allowed));
    }
    let missing = || Error::parameter("epsilon", "missing", "given: epsilon, epsilon and delta, or rho");
    let guarantee = Guarantee::written(epsilon.as_deref(), delta.as_deref(), rho.as_deref())?.ok_or_else(missing)?;
    Ok(guarantee.confirmed(draft.allow_large_epsilon)?)
}

fn keys(draft: Option<DraftKeys>) -> Result<Keys> {
    let list = match draft {
        None => return Ok(Keys::None),
        Some(DraftKeys::Word(word)) => {
            return match word.as_str() {
                "none" => Ok(Keys::None),
                "selected" => Ok(Keys::Selected),
                _ => Err(Error::parameter("keys", word, "\"none\", \"selected\", or a list of keys")),
            };
        }
        Some(DraftKeys::Known(list)) => list,
    };
    if list.is_empty() || list.len() > MOST_KEYS {
        return Err(Error::parameter("keys", format!("a list of {}", list.len()), "a list of 1 to 2^20 keys"));
    }
    if let Some(key) = list.iter().find(|key| key.is_empty() || key.len() > LONGEST_KEY) {
        let allowed = "a list of keys of 1 to 256 bytes each";
        return Err(Error::parameter("keys", format!("a list with a key of {} bytes", key.len()), allowed));
    }
    let mut sorted: Vec<Arc<str>> = list.into_iter().map(Into::into).collect();
    sorted.sort_unstable();
    sorted.dedup();
    Ok(Keys::Known(sorted.into()))
}

fn counter(text: Option<&str>, mode: Mode) -> Result<CounterKind> {
    let kind = text.map_or(Ok(CounterKind::Auto), str::parse::<CounterKind>)?;
    match (mode, kind) {
        (Mode::PanPrivate, CounterKind::Auto) => Ok(CounterKind::PanPrivate),
        (Mode::PanPrivate, kind) if !kind.is_pan_private() => {
            Err(Error::parameter("counter", kind, "pan-private or pan-private-surviving in pan-private mode"))
        }
        (Mode::Curator, kind) if kind.is_pan_private() => {
            Err(Error::parameter("counter", kind, "another one, or mode pan-private: a curator's counter is stored"))
        }
        _ => Ok(kind),
    }
}

fn dedup(given: Option<u64>, mode: Mode, step: Step) -> Result<u64> {
    match (given, mode, step) {
        (None | Some(0), Mode::PanPrivate, _) => Ok(0),
        (Some(steps), Mode::PanPrivate, _) => {
            Err(Error::parameter("dedup", steps, "left out in pan-private mode: remembered ids are raw data"))
        }
        (Some(steps), ..) if steps > WIDEST_WINDOW => {
            Err(Error::parameter("dedup", steps, "at most 1000000 steps, or 0 to ignore ids"))
        }
        (Some(steps), ..) => Ok(steps),
        (None, _, Step::Clock(length)) => Ok(REMEMBERED.div_ceil(length.unsigned_abs()).max(2)),
        (None, _, Step::Events(_)) => Ok(REMEMBERED_STEPS),
    }
}
