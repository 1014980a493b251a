//! `reticent count`: a running sum, released after every step.
//!
//! The counting itself is in [`reticent_stream::count`]; this module has the arguments, the wiring and the output.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `printer` | printing and plotting releases |

mod arguments;
mod printer;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use reticent::message;
use reticent_durable::beside;
use reticent_erase::Care;
use reticent_ledger::accounting::Request;
use reticent_ledger::{Place, public_keys};
use reticent_stream::SystemClock;
use reticent_stream::count::source::input_by_name;
use reticent_stream::count::{
    Definition, Engine, Error, Input, Lines, Mode, Reader, Showing, Source, Store, StoredCount,
};

pub use arguments::Arguments;
use printer::Printer;

use crate::accounting::payer;
use crate::exit::usage;
use crate::marks::refuse_foreign;
use crate::output::say;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    count(arguments).map(|()| ExitCode::SUCCESS)
}

fn count(arguments: &Arguments) -> Result<()> {
    let showing = Showing::new(arguments.level, arguments.non_negative, arguments.monotone)?;
    check_plot(arguments)?;
    let source = Source::open(&arguments.file)?;
    if arguments.resume {
        let path = arguments.save.as_deref().expect("--resume requires --save");
        return resume(arguments, source, path, showing);
    }
    let draft = arguments.draft();
    let definition = draft.definition(input_by_name(&arguments.file, arguments.input)?, source.stream, &SystemClock)?;
    let counted: Vec<PathBuf> = source.path.iter().cloned().collect();
    let known = |list: &String| public_keys(list, &counted, arguments.accounting.ledger.as_deref());
    let keys = arguments.keys.as_ref().filter(|_| definition.keyed()).map(known).transpose()?;
    let plan = draft.plan(&definition, keys, &SystemClock)?;
    // Once, before anything is charged, because it depends on the clock.
    let mode = Mode::new(&definition, plan.stream().steps(), source.stream, &SystemClock)?;
    showing.check(plan.stream())?;
    let kind = plan.strategy().kind();
    definition.check_seizable(kind, arguments.save.is_some())?;
    source.check_seizable(kind, &definition)?;
    let named = arguments.accounting.request.is_some();
    if named {
        StoredCount::check(&plan, &source)?;
    }
    let account = payer(&arguments.accounting.settings(), source.path.as_deref())?;
    let request = Request {
        description: definition.description(&plan, &source.full_name()),
        unit: definition.unit(plan.stream()),
        adjacency: plan.stream().adjacency(),
        guarantee: plan.guarantee().clone(),
    };
    let care = Care::new(kind.is_pan_private());
    care.apply()?;
    if care.erase {
        reticent_erase::begin();
    }
    let name = source.name.clone();
    let mut lines = source.lines(&definition, care.erase)?;
    // Steps that the clock closes begin at once, so that the time of the first event stays hidden. What is decoded was
    // checked when it was opened, and its rows are not looked at.
    if !matches!(mode, Mode::Live(_)) && !lines.are_decoded() {
        refuse_foreign(&name, lines.peek().map_err(|_| Error::Reading)?)?;
    }
    let reader = reader(&definition, &name, &mut lines)?;
    let store = arguments.save.as_deref().map(Store::create).transpose()?;
    definition.promise(&plan).iter().for_each(|sentence| say!("{sentence}"));
    let mut printer = Printer::new(arguments, &definition, showing);
    if named {
        let counted = plan.clone();
        // Counting cannot fail because of the lines' content: if it was interrupted, it is run again now.
        let text = account.release_restartable(request, |permit| {
            anyhow::Ok(StoredCount::count(definition, counted.start(permit)?, lines, reader, mode)?)
        })?;
        return Ok(StoredCount::from_text(&text)?.show(&plan, &mut printer)?);
    }
    let tally = plan.start(account.start(request)?)?;
    let engine = Engine::new(definition, tally, store, account.place(), &mut printer)?;
    Ok(engine.count(lines, reader, mode, 0)?)
}

/// Refuses a chart that cannot be written or would overwrite something: better now than after the release.
fn check_plot(arguments: &Arguments) -> Result<()> {
    let Some(path) = &arguments.plot else { return Ok(()) };
    let existed = path.exists();
    let writable = OpenOptions::new().create(true).truncate(false).write(true).open(path);
    writable.map_err(|error| usage(format!("--plot cannot write {}: {error}", path.display())))?;
    let same =
        |other: &Path| path.canonicalize().is_ok_and(|path| other.canonicalize().is_ok_and(|other| other == path));
    let taken = protected_files(arguments).into_iter().find(|other| same(other));
    // Leave nothing behind if the command ends early.
    if !existed {
        let _ = std::fs::remove_file(path);
    }
    match taken {
        Some(other) => Err(usage(format!("--plot would overwrite {}; name another file", other.display()))),
        None => Ok(()),
    }
}

/// Files that a chart must not overwrite.
fn protected_files(arguments: &Arguments) -> Vec<PathBuf> {
    let mut files = vec![arguments.file.clone()];
    files.extend(arguments.keys.as_ref().map(PathBuf::from));
    files.extend(arguments.accounting.anchor.clone());
    files.extend(arguments.save.iter().flat_map(|save| ["", ".epoch", ".lock"].map(|ending| beside(save, ending))));
    let place = Place::new(arguments.accounting.ledger.as_deref());
    files.extend(place.iter().flat_map(|place| place.location.files()));
    files
}

/// Continues a saved counter.
fn resume(arguments: &Arguments, source: Source, path: &Path, showing: Showing) -> Result<()> {
    let (store, state, newest) = Store::open(path)?;
    let account = payer(&state.settings(&arguments.accounting.settings())?, source.path.as_deref())?;
    let permit = account.resume(state.counter.accounting())?;
    let tally = state.counter.clone().restore(newest, permit)?;
    state.definition.check(&arguments.draft(), &tally, &SystemClock)?;
    if arguments.keys.is_some() {
        return Err(usage("the saved counter has its keys already; leave --keys out"));
    }
    let mode = Mode::new(&state.definition, tally.stream().steps(), source.stream, &SystemClock)?;
    let name = source.name.clone();
    let mut lines = source.lines(&state.definition, false)?;
    let reader = reader(&state.definition, &name, &mut lines)?;
    let (done, kind) = (tally.steps(), tally.kind());
    let (skip, follows) = if arguments.skip_counted {
        (done, "lines that were counted are skipped")
    } else {
        (0, "the input is taken as the continuation (--skip-counted if it starts from the beginning)")
    };
    say!("continuing after step {done} ({kind} counter); {follows}");
    let mut printer = Printer::new(arguments, &state.definition, showing);
    Ok(Engine::resume(state, tally, store, &mut printer)?.count(lines, reader, mode, skip)?)
}

/// The reader for an input's lines; for CSV, this reads the header.
fn reader(definition: &Definition, name: &str, lines: &mut Lines) -> Result<Reader> {
    let mut header = None;
    if definition.fields.input == Input::Csv {
        header = lines.one().map_err(|_| match lines.are_decoded() {
            true => {
                Error::Input(message!("the first line of {name} cannot be read: the file is damaged or was cut off"))
            }
            false => Error::Reading,
        })?;
        refuse_foreign(name, header.as_deref().unwrap_or_default())?;
    }
    Ok(Reader::new(&definition.fields, name, header.as_deref())?)
}
