//! `reticent count`: a running sum, released again and again.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `definition` | what is counted, under which promise; what that means for lines and events |
//! | `lines` | lines as they arrive |
//! | `record`, `integer`, `csv`, `ndjson`, `timeline` | what a line says |
//! | `line_steps`, `time_steps` | how lines become steps |
//! | `seizure` | what a process does whose memory may be seized |
//! | `tally` | one counter, or one for each key |
//! | `engine`, `store`, `printer` | count, save, show, in this order |

mod arguments;
mod csv;
mod definition;
mod engine;
mod integer;
mod line_steps;
mod lines;
mod ndjson;
mod printer;
mod record;
mod seizure;
mod store;
mod tally;
mod time_steps;
mod timeline;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use reticent::Permit;
use reticent::continual::{AnyStrategy, KeyedPlan, Kind};
use reticent::privacy::Guarantee;

pub use arguments::Arguments;
use definition::Definition;
use engine::Engine;
use lines::Lines;
use printer::{Highest, Printer};
use record::Parser;
use seizure::Care;
use store::Store;
use tally::Tally;

use crate::exit::usage;

/// Unbounded streams are described by their first so many steps.
const DESCRIBED_STEPS: u64 = 1 << 20;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !(arguments.level > 0.0 && arguments.level < 1.0) {
        let level = arguments.level;
        return Err(usage(format!(
            "--level is {level}, but it must be greater than 0 and less than 1; write for example 0.95"
        )));
    }
    if let Some(path) = &arguments.plot {
        // Better now than after everything was released; nothing is left behind if that ends early.
        let existed = path.exists();
        let writable = OpenOptions::new().create(true).truncate(false).write(true).open(path);
        writable.map_err(|error| usage(format!("--plot cannot write {}: {error}", path.display())))?;
        let others =
            [Some(Path::new(&arguments.file)), arguments.save.as_deref(), arguments.keys.as_ref().map(Path::new)];
        let same =
            |other: &Path| path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| other == path));
        let taken = others.into_iter().flatten().find(|other| same(other));
        if !existed {
            let _ = std::fs::remove_file(path);
        }
        if let Some(other) = taken {
            return Err(usage(format!("--plot would overwrite {}; name another file", other.display())));
        }
    }
    let source = Source::open(&arguments.file)?;
    if arguments.resume {
        return resume(arguments, source, arguments.save.as_deref().expect("--resume requires --save"));
    }
    let definition = Definition::new(arguments, source.stream)?;
    let plan = Plan::new(arguments, &definition)?;
    mode(&definition, plan.strategy().stream().steps(), source.stream)?;
    let (low, high) = plan.strategy().stream().range();
    if arguments.monotone && low < 0 {
        return Err(usage(format!(
            "--monotone is for sums that never fall, but --range {low}..{high} has negative values; leave one of them out"
        )));
    }
    seizure::check(plan.strategy().kind(), &definition, arguments)?;
    let care = Care::with(plan.strategy().kind());
    care.apply()?;
    let mut lines = Lines::new(source.file, care.erase);
    let parser = parser(&definition, &source.name, &mut lines)?;
    let store = arguments.save.as_deref().map(Store::create).transpose()?;
    let strategy = plan.strategy().clone();
    let tally = plan.start()?;
    describe(&definition, &tally, Some(&strategy));
    let printer = Printer::new(arguments, &definition, Highest::default());
    let mut engine = Engine::new(definition, tally, store, printer)?;
    count(&mut engine, lines, parser, 0, source.stream, care.erase)
}

/// Goes on from a saved counter.
fn resume(arguments: &Arguments, source: Source, path: &Path) -> Result<ExitCode> {
    let (store, state, newest) = Store::open(path)?;
    let tally = state.counter.clone().restore(newest, Permit::unaccounted()?)?;
    state.definition.check(arguments, &tally)?;
    let mut lines = Lines::new(source.file, false);
    let parser = parser(&state.definition, &source.name, &mut lines)?;
    describe(&state.definition, &tally, None);
    let done = tally.steps();
    let passed_over = arguments.skip_counted;
    let follows = if passed_over {
        "lines that were counted are passed over"
    } else {
        "the input is what follows (--skip-counted if it starts again)"
    };
    crate::output::say!("goes on after step {done}; {follows}");
    let printer = Printer::new(arguments, &state.definition, state.highest.clone());
    let mut engine = Engine::resume(state, tally, store, printer)?;
    count(&mut engine, lines, parser, if passed_over { done } else { 0 }, source.stream, false)
}

/// How the noise will be made; nothing is charged yet.
enum Plan {
    One(Box<AnyStrategy>),
    Keyed(Box<KeyedPlan<AnyStrategy>>, Vec<String>),
}

impl Plan {
    fn new(arguments: &Arguments, definition: &Definition) -> Result<Self> {
        let (stream, guarantee) = (definition.stream(arguments)?, definition::guarantee(arguments)?);
        let kind = arguments.counter.as_deref().unwrap_or("auto").parse::<Kind>()?;
        if !definition.keyed() {
            return Ok(Self::One(Box::new(kind.plan(stream, guarantee)?)));
        }
        if kind.is_pan_private() {
            return Err(usage(format!(
                "a {kind} counter has no keys: which there are would lie in memory; leave --key out"
            )));
        }
        Ok(match definition::keys(arguments)? {
            Some(keys) => Self::Keyed(Box::new(KeyedPlan::known(kind, stream, guarantee)?), keys),
            None if !matches!(guarantee, Guarantee::Approx(..)) => {
                return Err(usage("name the keys with --keys, or let them be found with --epsilon E --delta D"));
            }
            None => Self::Keyed(Box::new(KeyedPlan::admitting(kind, stream, guarantee)?), Vec::new()),
        })
    }

    fn strategy(&self) -> &AnyStrategy {
        match self {
            Self::One(strategy) => strategy,
            Self::Keyed(plan, _) => plan.strategy(),
        }
    }

    fn start(self) -> Result<Tally> {
        let permit = Permit::unaccounted()?;
        Ok(match self {
            Self::One(strategy) => Tally::One(strategy.start(permit)?),
            Self::Keyed(plan, keys) => Tally::Keyed(plan.start(keys, permit)?),
        })
    }
}

/// How steps are closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Lines,
    AtOnce(timeline::Timeline),
    Live(timeline::Timeline),
}

fn mode(definition: &Definition, steps: Option<u64>, stream: bool) -> Result<Mode> {
    let Some(timeline) = definition.timeline else { return Ok(Mode::Lines) };
    let over = steps.is_some_and(|steps| timeline.end_of(steps) <= timeline::now());
    if stream && !over {
        return Ok(Mode::Live(timeline));
    }
    if steps.is_none() {
        return Err(usage("a file has an end: give --to TIME or --horizon T instead of --unbounded"));
    }
    if definition.fields.time.is_none() {
        return Err(usage("name the column that holds the times with --time (only a live stream can do without)"));
    }
    Ok(Mode::AtOnce(timeline))
}

fn count(engine: &mut Engine, lines: Lines, parser: Parser, skip: u64, stream: bool, erase: bool) -> Result<ExitCode> {
    let outcome = match mode(engine.definition(), engine.tally().stream().steps(), stream)? {
        Mode::Lines => line_steps::run(engine, lines, parser, skip, erase),
        Mode::AtOnce(timeline) => time_steps::run_at_once(engine, lines, parser, timeline),
        Mode::Live(timeline) => time_steps::run_live(engine, lines, parser, timeline),
    };
    outcome.and(engine.finish()).map(|()| ExitCode::SUCCESS)
}

fn parser(definition: &Definition, name: &str, lines: &mut Lines) -> Result<Parser> {
    Parser::new(&definition.fields, name, || lines.one().map_err(|_| anyhow!(line_steps::READING_FAILED)))
}

/// What is promised, how, and how well: nothing of it depends on the data.
fn describe(definition: &Definition, tally: &Tally, plan: Option<&AnyStrategy>) {
    let (stream, kind, guarantee) = (tally.stream(), tally.kind(), tally.guarantee());
    let (low, high) = stream.range();
    let (unit, adjacency, horizon) = (stream.unit(), stream.adjacency(), stream.horizon());
    let steps = stream.steps().unwrap_or(DESCRIBED_STEPS);
    let last = tally.variance(steps).sqrt();
    let average =
        plan.map(|plan| format!("{:.1} on average, ", plan.average_variance(steps).sqrt())).unwrap_or_default();
    let of_steps = if stream.steps().is_none() { format!(" of {steps}") } else { String::new() };
    crate::output::say!(
        "{guarantee}, unit {unit}, adjacency {adjacency}, range {low}..{high}, counter {kind}, horizon {horizon}; expected \
         error (RMSE) {average}{last:.1} at the last step{of_steps}"
    );
    crate::output::say!("{}", definition.assumption(stream));
    crate::output::say!("{}: no ledger was charged", tally.accounting());
}

/// Where lines come from.
struct Source {
    file: File,
    /// As it is called in messages.
    name: String,
    /// Not a regular file: more may come at any time.
    stream: bool,
}

impl Source {
    fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: io::Error| usage(format!("cannot read {}: {error}", path.display()));
        if path == Path::new("-") {
            let file = standard_input().map_err(unreadable)?;
            // Standard input that is a file has an end, too.
            let stream = !file.metadata().is_ok_and(|metadata| metadata.is_file());
            return Ok(Self { file, name: "standard input".into(), stream });
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(usage(format!("{} is a directory; name a file", path.display())));
        }
        Ok(Self { file, name: path.display().to_string(), stream: !metadata.is_file() })
    }
}

/// Straight from the descriptor: the standard library's own reader would keep a copy of what it read.
#[cfg(unix)]
fn standard_input() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

#[cfg(windows)]
fn standard_input() -> io::Result<File> {
    use std::os::windows::io::AsHandle;
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}
