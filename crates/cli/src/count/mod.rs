//! `reticent count`: a running sum, released again and again.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `definition` | what is counted, under which promise; what that means for lines and events |
//! | `lines` | lines as they arrive |
//! | `record`, `csv`, `ndjson`, `timeline` | what a line says |
//! | `line_steps`, `time_steps` | how lines become steps |
//! | `seizure` | what a process does whose memory may be seized |
//! | `released` | what is released, and how a step is closed |
//! | `engine`, `store`, `kept`, `printer` | count, keep, show, in this order |

mod arguments;
mod csv;
mod definition;
mod engine;
mod kept;
mod line_steps;
mod lines;
mod ndjson;
mod printer;
mod record;
mod released;
mod seizure;
mod store;
mod time_steps;
mod timeline;

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use reticent::Permit;
use reticent::continual::keyed::Admission;
use reticent::continual::{AnyStrategy, KeyedPlan, Kind, SavedTally, Stream, Tally};
use reticent::ledger::{Accounting, Releases};
use reticent::privacy::Guarantee;
use reticent_durable::beside;
use reticent_ledger::hash::Hash;

pub use arguments::Arguments;
use definition::Definition;
use engine::{Engine, Keeper};
use kept::Kept;
use lines::Lines;
use printer::{Highest, Printer};
use record::Parser;
use store::Store;

use crate::accounting::{self, Account, Granted};
use crate::care::Care;
use crate::exit::usage;
use crate::marks::refuse_foreign;
use crate::place::Place;

/// A longer list of keys is told by its hash.
const LONGEST_LIST: usize = 1000;
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
        let others = precious(arguments);
        let same =
            |other: &Path| path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| other == path));
        let taken = others.into_iter().find(|other| same(other));
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
    // Once, before anything is charged: it depends on the clock.
    let mode = mode(&definition, plan.strategy().stream().steps(), source.stream)?;
    let (low, high) = plan.strategy().stream().range();
    if arguments.monotone && low < 0 {
        return Err(usage(format!(
            "--monotone is for sums that never fall, but --range {low}..{high} has negative values; leave one of them out"
        )));
    }
    seizure::check(plan.strategy().kind(), &definition, arguments)?;
    if arguments.accounting.request.is_some() {
        check_request(&plan, &source)?;
    }
    let account = Account::new(&arguments.accounting, source.path.as_deref())?;
    let request = plan.request(&definition, &source.full_name());
    let care = Care::with(plan.strategy().kind());
    care.apply()?;
    if care.erase {
        reticent_erase::begin();
    }
    let mut lines = Lines::new(source.file, care.erase);
    // Steps that end by the clock begin at once: nobody must see when the first event came.
    if !matches!(mode, Mode::Live(_)) {
        refuse_foreign(&source.name, lines.peek().map_err(|_| anyhow!(line_steps::READING_FAILED))?)?;
    }
    let parser = parser(&definition, &source.name, &mut lines)?;
    let store = arguments.save.as_deref().map(Store::create).transpose()?;
    describe(&definition, &plan);
    let releases = if arguments.accounting.request.is_some() { Releases::Once } else { Releases::Stream };
    let mut printer = Printer::new(arguments, &definition, Highest::default());
    let permit = match account.charge(request, releases)? {
        // Counting does not fail by what is in the lines: what was interrupted is counted now.
        Granted::Permitted(permit) | Granted::Unfinished(permit) => *permit,
        Granted::Answered(text) => return show_again(&text, &plan, &mut printer),
    };
    let tally = plan.start(permit)?;
    let keeper = match (store, releases) {
        (Some(store), _) => Keeper::Store(store, account.place()),
        (None, Releases::Once) => Keeper::Ledger(account),
        (None, Releases::Stream) => Keeper::Nobody,
    };
    let mut engine = Engine::new(definition, tally, keeper, printer)?;
    count(&mut engine, lines, parser, mode, 0, care.erase)
}

/// Files that a chart must not overwrite.
fn precious(arguments: &Arguments) -> Vec<PathBuf> {
    let mut files = vec![arguments.file.clone()];
    files.extend(arguments.keys.as_ref().map(PathBuf::from));
    files.extend(arguments.accounting.anchor.clone());
    files.extend(arguments.save.iter().flat_map(|save| ["", ".epoch", ".lock"].map(|ending| beside(save, ending))));
    let place = Place::new(arguments.accounting.ledger.as_deref());
    files.extend(place.iter().flat_map(|place| place.location.files()));
    files
}

/// What was released for the same request before.
fn show_again(text: &str, plan: &Plan, printer: &mut Printer) -> Result<ExitCode> {
    let (kept, strategy) = (Kept::from_text(text)?, plan.strategy());
    printer.print(&kept.releases, |step, level| strategy.shape(step).half_width(level))?;
    printer.end()?;
    printer.hand_on()?;
    kept.end(strategy.stream().steps()).map(|()| ExitCode::SUCCESS)
}

/// A request is answered as a whole.
fn check_request(plan: &Plan, source: &Source) -> Result<()> {
    if source.stream || source.path.is_none() {
        return Err(usage(
            "--request keeps all releases and prints them at the end, so the input must be a file with a name; for a stream \
             that goes on, use --save",
        ));
    }
    let a_step = match plan {
        Plan::One(_) => 1,
        Plan::Keyed(_, keys) => keys.len().max(1) as u64,
    };
    match plan.strategy().stream().steps() {
        Some(steps) if steps.saturating_mul(a_step) <= kept::MOST_RELEASES => Ok(()),
        _ => Err(usage(format!(
            "--request keeps all releases in the ledger, at most {} of them; give a smaller --horizon, or use --save",
            kept::MOST_RELEASES
        ))),
    }
}

/// Goes on from a saved counter.
fn resume(arguments: &Arguments, source: Source, path: &Path) -> Result<ExitCode> {
    let (store, state, newest) = Store::open(path)?;
    let account = account_of(arguments, &source, &state)?;
    let permit = account.resume(state.counter.accounting())?;
    let tally = state.counter.clone().restore(newest, permit)?;
    state.definition.check(arguments, &tally)?;
    let mode = mode(&state.definition, tally.stream().steps(), source.stream)?;
    let mut lines = Lines::new(source.file, false);
    let parser = parser(&state.definition, &source.name, &mut lines)?;
    let done = tally.steps();
    let passed_over = arguments.skip_counted;
    let follows = if passed_over {
        "lines that were counted are passed over"
    } else {
        "the input is what follows (--skip-counted if it starts again)"
    };
    crate::output::say!("goes on after step {done} of a {} counter; {follows}", tally.kind());
    let printer = Printer::new(arguments, &state.definition, state.highest.clone());
    let mut engine = Engine::resume(state, tally, store, printer)?;
    count(&mut engine, lines, parser, mode, if passed_over { done } else { 0 }, false)
}

/// Where a saved counter was charged: what it remembers, unless the arguments say otherwise.
fn account_of(arguments: &Arguments, source: &Source, state: &store::State<SavedTally>) -> Result<Account> {
    let given = &arguments.accounting;
    let (dataset, remembered) = match state.counter.accounting() {
        Accounting::Unaccounted => (given.dataset.clone(), None),
        Accounting::Charged(receipt) => {
            if given.dataset.as_ref().is_some_and(|dataset| *dataset != receipt.dataset) {
                return Err(usage(format!("the counter was charged to {}; leave --dataset out", receipt.dataset)));
            }
            (Some(receipt.dataset.clone()), state.ledger.clone())
        }
    };
    let unaccounted = *state.counter.accounting() == Accounting::Unaccounted;
    if unaccounted && given.ledger.is_some() {
        return Err(usage("the counter began without a ledger, and cannot be charged now; start a new one"));
    }
    let arguments = accounting::Arguments {
        ledger: if given.no_ledger { None } else { given.ledger.clone().or(remembered) },
        dataset,
        no_ledger: given.no_ledger || unaccounted,
        anchor: given.anchor.clone(),
        request: None,
    };
    Account::new(&arguments, source.path.as_deref())
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

    /// The stream, as its user sees it.
    fn stream(&self) -> &Stream {
        match self {
            Self::One(strategy) => strategy.stream(),
            Self::Keyed(plan, _) => plan.stream(),
        }
    }

    /// What all releases together promise.
    fn guarantee(&self) -> &Guarantee {
        match self {
            Self::One(strategy) => strategy.guarantee(),
            Self::Keyed(plan, _) => plan.guarantee(),
        }
    }

    /// What is charged: everything that the releases depend on, but for the rows.
    fn request(&self, definition: &Definition, source: &str) -> accounting::Request {
        let (stream, kind, guarantee) = (self.stream(), self.strategy().kind(), self.guarantee().clone());
        let ((low, high), horizon) = (stream.range(), stream.horizon());
        let keys = match self {
            Self::One(_) => String::new(),
            Self::Keyed(_, keys) if keys.is_empty() => ", keys as they are found".into(),
            Self::Keyed(_, keys) => {
                // Quoted: no two lists of keys are the same text.
                let list = format!("{keys:?}");
                let shown = if list.len() <= LONGEST_LIST { list } else { Hash::of(&list).to_string() };
                format!(", {} keys {shown}", keys.len())
            }
        };
        let what = definition.words();
        let description =
            format!("count of {source}: {what}{keys}; range {low}..{high}, horizon {horizon}, counter {kind}");
        accounting::Request { description, unit: definition.unit(stream), adjacency: stream.adjacency(), guarantee }
    }

    fn start(self, permit: Permit) -> Result<Tally> {
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

fn count(engine: &mut Engine, lines: Lines, parser: Parser, mode: Mode, skip: u64, erase: bool) -> Result<ExitCode> {
    let outcome = match mode {
        Mode::Lines => line_steps::run(engine, lines, parser, skip, erase),
        Mode::AtOnce(timeline) => time_steps::run_at_once(engine, lines, parser, timeline),
        Mode::Live(timeline) => time_steps::run_live(engine, lines, parser, timeline),
    };
    engine.finish(outcome).map(|()| ExitCode::SUCCESS)
}

fn parser(definition: &Definition, name: &str, lines: &mut Lines) -> Result<Parser> {
    Parser::new(&definition.fields, name, || lines.one().map_err(|_| anyhow!(line_steps::READING_FAILED)))
}

/// What is promised, how, and how well: nothing of it depends on the data.
fn describe(definition: &Definition, plan: &Plan) {
    let (strategy, guarantee) = (plan.strategy(), plan.guarantee());
    let (stream, kind) = (plan.stream(), strategy.kind());
    let (low, high) = stream.range();
    let (unit, adjacency, horizon) = (stream.unit(), stream.adjacency(), stream.horizon());
    let steps = stream.steps().unwrap_or(DESCRIBED_STEPS);
    let (average, last) = (strategy.average_variance(steps).sqrt(), strategy.variance(steps).sqrt());
    let of_steps = if stream.steps().is_none() { format!(" of {steps}") } else { String::new() };
    crate::output::say!(
        "{guarantee}, unit {unit}, adjacency {adjacency}, range {low}..{high}, counter {kind}, horizon {horizon}; expected \
         error (RMSE) {average:.1} on average, {last:.1} at the last step{of_steps}"
    );
    crate::output::say!("{}{}", definition.assumption(stream), guarantee.caveat());
    if let Plan::Keyed(plan, _) = plan
        && plan.admission().is_some()
    {
        crate::output::say!("± covers noise only; {}", Admission::SELECTED);
    }
}

/// Where lines come from.
struct Source {
    file: File,
    /// As it is called in messages.
    name: String,
    /// Not a regular file: more may come at any time.
    stream: bool,
    /// Of a regular file, also if it is standard input; nothing for pipes.
    path: Option<PathBuf>,
}

impl Source {
    /// The same wherever the command is run.
    fn full_name(&self) -> String {
        let full = self.path.as_deref().and_then(|path| path.canonicalize().ok());
        full.map_or_else(|| "standard input".into(), |path| format!("{:?}", path.as_os_str()))
    }

    fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: io::Error| usage(format!("cannot read {}: {error}", path.display()));
        if path == Path::new("-") {
            let file = standard_input().map_err(unreadable)?;
            // Standard input that is a file has an end, too, and its own budget.
            let stream = !file.metadata().is_ok_and(|metadata| metadata.is_file());
            return Ok(Self { file, name: "standard input".into(), stream, path: standard_file() });
        }
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(usage(format!("{} is a directory; name a file", path.display())));
        }
        if let Some(ending) = path.extension().and_then(|ending| ending.to_str()) {
            refuse_without_lines(path, &ending.to_ascii_lowercase())?;
        }
        let (name, stream) = (path.display().to_string(), !metadata.is_file());
        // A pipe has a path for a moment only.
        Ok(Self { file, name, stream, path: (!stream).then(|| path.into()) })
    }
}

/// What a file's name says is enough: in its first line there may be data.
fn refuse_without_lines(path: &Path, ending: &str) -> Result<()> {
    let name = path.display();
    match ending {
        "parquet" | "arrow" | "feather" | "ipc" | "xlsx" | "xls" | "ods" | "sqlite" => {
            Err(usage(format!("{name} has no lines; `reticent count` reads CSV, NDJSON or one number a line")))
        }
        "gz" | "zst" | "bz2" | "xz" | "zip" => Err(usage(format!(
            "{name} is compressed; unpack it first, or count what comes out of a pipe, as in gunzip -c … | reticent count -"
        ))),
        _ => Ok(()),
    }
}

/// The file that standard input is read from, if it is a file with a name.
fn standard_file() -> Option<PathBuf> {
    Path::new("/dev/stdin").canonicalize().ok().filter(|path| path.is_file())
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
