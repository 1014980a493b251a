//! `reticent query`: private SQL over tables.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `standard_input` | standard input as a table |
//! | `show` | answers and dry runs, for people and programs |

mod arguments;
pub mod show;
pub mod standard_input;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use reticent::ledger::Origin;
use reticent::secrets::Quiet;
use reticent_ledger::Hash;
use reticent_ledger::accounting::{Request, check_public};
use reticent_sql::settings::clock;
use reticent_sql::settings::policy::Policy;
use reticent_sql::settings::words::keys;
use reticent_sql::{Asked, Input, Query, QueryOutcome, RunLimits, Settings, Table, TextOptions};

pub use arguments::{Arguments, Question};
use standard_input::StandardInput;

use crate::accounting::payer_of;
use crate::exit::{REFUSED, usage};
use crate::interrupt::on_signals;
use crate::output::{say, wrapped};

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let _quiet = Quiet::new();
    let limits = limits(arguments)?;
    let (settings, copy) =
        settings(&arguments.question, arguments.accounting.ledger.as_deref(), limits.folder.as_deref())?;
    let mut place = settings.place(arguments.accounting.dataset.is_some())?;
    let description = settings.description(|list| Hash::of(list).to_string());
    let mut rows = settings.private_rows();
    if let Some(copy) = &copy {
        check_nameless(arguments, settings.budget.is_some())?;
        place = None;
        rows.retain(|origin| !matches!(origin, Origin::File(file) if file == copy.path()));
    }
    let Settings { sql, inputs, options, says_unit, budget, .. } = settings;
    let query = Query::prepare(&sql, inputs, options)?;
    query.check_memory(&limits)?;
    if !says_unit {
        say!("treating each row as a different person (--unit COLUMN if one person can have several rows)");
    }
    if let Some(contribution) = query.contribution_words() {
        let words = format!("{contribution} (--max-rows, --max-groups)");
        say!("{}", if arguments.dry_run { wrapped(&words) } else { words });
    }
    if arguments.dry_run {
        show::dry_run(&query, arguments.question.expect_rows, arguments.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let account = Arc::new(payer_of(&arguments.accounting.settings(), place.as_ref())?);
    account.refuse_other_budgets(&rows)?;
    if let Some(budget) = &budget {
        account.set_budget(budget, &query.unit().to_string(), query.adjacency())?;
    }
    let request = Request {
        description: clock::charged(description, account.remembered()?),
        unit: query.unit().to_string(),
        adjacency: query.adjacency(),
        guarantee: query.guarantee().clone(),
    };
    // Set up before the charge, so that every charge gets an outcome.
    let engine = limits.engine();
    let interrupt = engine.interrupt.clone();
    let stop = move || {
        interrupt.stop();
        say!("interrupted; what was charged stays charged, and the same --request fails from now on");
    };
    on_signals(&account, Some(stop))?;
    let query = query.with_engine(engine);
    let answer = QueryOutcome::stored_answer(&account.release(request, |permit| query.run(permit))?)?;
    show::answer(&answer, arguments.format)?;
    Ok(if answer.refused { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
}

/// Refuses what needs a dataset with a name of its own: rows from a pipe have none.
fn check_nameless(arguments: &Arguments, sets_budget: bool) -> Result<()> {
    let accounting = &arguments.accounting;
    let needs = if accounting.request.is_some() { "--request" } else { "the budget of a policy" };
    if accounting.dataset.is_none() && (accounting.request.is_some() || sets_budget) {
        return Err(usage(format!(
            "{needs} is for one dataset, and a pipe has no name: name its dataset with --dataset"
        )));
    }
    Ok(())
}

/// The limits of the run.
fn limits(arguments: &Arguments) -> Result<RunLimits> {
    let folder = arguments.temp_dir.clone();
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(usage(format!("--temp-dir {}: there is no such folder", folder.display())));
    }
    Ok(RunLimits { memory: arguments.memory_limit, time: arguments.time_limit, threads: None, folder })
}

/// Files with keys: they are public, too.
fn key_files(question: &Question) -> Vec<Origin> {
    // Errors in a policy are reported when it is applied.
    let policies = question.policies.iter().filter_map(|path| Policy::read(path).ok());
    let files = listed_files(&question.keys).chain(policies.flat_map(|policy| policy.key_files()));
    files.map(Origin::File).collect()
}

/// The files named by `--keys`.
fn listed_files(keys: &[String]) -> impl Iterator<Item = PathBuf> {
    let values = keys.iter().filter_map(|text| text.split_once('='));
    values.map(|(_, value)| Path::new(value.trim()).to_owned()).filter(|path| path.is_file())
}

/// The settings of a question, and the copy of standard input if a table comes from a pipe. Keys and public tables are
/// read, and their errors reported, before anything is charged. `folder` is where the copy is kept.
pub fn settings(
    question: &Question,
    ledger: Option<&str>,
    folder: Option<&Path>,
) -> Result<(Settings, Option<StandardInput>)> {
    let mut public = key_files(question);
    check_public(ledger, &public, &[])?;
    let mut inputs = Vec::new();
    let mut standard_input = None;
    let options = TextOptions { delimiter: question.delimiter, encoding: question.encoding };
    for (list, public) in [(&question.tables, false), (&question.public_tables, true)] {
        for table in list {
            let (name, location) = pair("--table", table, "people=people.csv")?;
            if name.contains("://") {
                // It may hold a password, and is not shown.
                return Err(usage(
                    "--table: put a name before the URL, as in --table people=postgresql://…?table=people",
                ));
            }
            if inputs.iter().any(|input: &Input| input.table.name() == name) {
                return Err(usage(format!("there are two tables {name}; give each its own name")));
            }
            let table = match location {
                "-" if public || standard_input.is_some() => {
                    return Err(usage(
                        "standard input can be one private table; write the rows of the other to a file",
                    ));
                }
                "-" => {
                    let input = standard_input.insert(StandardInput::read(folder)?);
                    input.table(name, question.input, options)?
                }
                location => Table::open_with(name, location, options).map_err(reticent_sql::Error::from)?,
            };
            inputs.push(Input { table, public });
        }
    }
    if inputs.is_empty() {
        return Err(usage(
            "no table: add --table NAME=FILE, as in --table people=people.csv, or --table NAME=postgresql://…?table=SCHEMA.TABLE",
        ));
    }
    if question.delimiter.is_some() && inputs.iter().all(|input| input.table.chosen_delimiter().is_none()) {
        return Err(usage("--delimiter is for CSV tables, and none of the tables is one; leave it out"));
    }
    if question.encoding.is_some() && inputs.iter().all(|input| input.table.chosen_encoding().is_none()) {
        return Err(usage("--encoding is for text, and none of the tables is text; leave it out"));
    }
    if question.input.is_some() && standard_input.is_none() {
        return Err(usage("--input is the format of standard input, and no table is -; leave it out"));
    }
    let asked = Asked {
        epsilon: question.epsilon.clone(),
        delta: question.delta.clone(),
        rho: question.rho.clone(),
        allow_large_epsilon: question.allow_large_epsilon,
        units: question.units.clone(),
        adjacency: question.adjacency.clone(),
        max_groups: question.max_groups.clone(),
        max_rows: question.max_rows.clone(),
        bounds: pairs("--bounds", &question.bounds, "age=0..120")?,
        keys: public_keys(&question.keys, ledger)?,
        weights: pairs("--weight", &question.weights, "mean=2")?,
    };
    let policies = question.policies.iter().map(|path| Policy::read(path)).collect::<Result<Vec<_>, _>>()?;
    let settings = Settings::new(&question.sql, &asked, inputs, &policies.iter().collect::<Vec<_>>())?;
    public.extend(settings.public_rows());
    check_public(ledger, &public, &settings.private_rows())?;
    Ok((settings, standard_input.filter(StandardInput::is_copy)))
}

/// The public keys of each column, from `--keys`.
pub fn public_keys(written: &[String], ledger: Option<&str>) -> Result<Vec<(String, Vec<String>)>> {
    let allow = |file: &Path| -> Result<()> { Ok(check_public(ledger, &[Origin::File(file.into())], &[])?) };
    let listed = |(column, text): (String, String)| Ok((column.clone(), keys(&column, &text, None, allow)?));
    pairs("--keys", written, "region=regions.csv")?.into_iter().map(listed).collect()
}

/// `NAME=VALUE`, each
pub fn pairs(flag: &str, list: &[String], example: &str) -> Result<Vec<(String, String)>> {
    let both = |text: &String| pair(flag, text, example).map(|(name, value)| (name.into(), value.into()));
    list.iter().map(both).collect()
}

/// `NAME=VALUE`
fn pair<'text>(flag: &str, text: &'text str, example: &str) -> Result<(&'text str, &'text str)> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok((name.trim(), value.trim())),
        _ => Err(usage(format!("{flag} {text}: write it as {flag} {example}"))),
    }
}
