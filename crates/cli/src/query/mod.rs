//! `reticent query`: private SQL over tables.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `show` | answers and dry runs, for people and programs |

mod arguments;
pub mod show;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use reticent::ledger::Origin;
use reticent::secrets::Quiet;
use reticent_ledger::Hash;
use reticent_ledger::accounting::{Request, check_public};
use reticent_sql::settings::clock;
use reticent_sql::settings::policy::Policy;
use reticent_sql::settings::standard_input::StandardInput;
use reticent_sql::settings::tables::{NamedTable, NamedTables};
use reticent_sql::settings::words::keys;
use reticent_sql::{Asked, Query, QueryOutcome, RunLimits, Settings, TextOptions};

pub use arguments::{Arguments, Question};

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
        arguments.accounting.settings().check_nameless(settings.budget.is_some())?;
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

/// The limits of the run.
fn limits(arguments: &Arguments) -> Result<RunLimits> {
    let folder = arguments.temp_dir.clone();
    if let Some(folder) = folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(usage(format!("--temp-dir {}: there is no such folder", folder.display())));
    }
    Ok(RunLimits { memory: arguments.memory_limit, time: arguments.time_limit, threads: None, folder })
}

/// The settings of a question, and the copy of standard input if a table comes from a pipe. Keys and public tables are
/// read, and their errors reported, before anything is charged. `folder` is where the copy is kept.
pub fn settings(
    question: &Question,
    ledger: Option<&str>,
    folder: Option<&Path>,
) -> Result<(Settings, Option<StandardInput>)> {
    let files = Policy::all_key_files(&question.keys, &question.policies);
    let mut public: Vec<Origin> = files.into_iter().map(Origin::File).collect();
    check_public(ledger, &public, &[])?;
    let mut tables = Vec::new();
    for (list, public) in [(&question.tables, false), (&question.public_tables, true)] {
        for table in list {
            let (name, location) = pair("--table", table, "people=people.csv")?;
            tables.push(NamedTable { name: name.into(), location: location.into(), public });
        }
    }
    let text = TextOptions { delimiter: question.delimiter, encoding: question.encoding };
    let tables = NamedTables { tables, text, input: question.input, folder: folder.map(Path::to_owned) };
    let (inputs, standard_input) = tables.open()?;
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
