//! `reticent query`: private SQL over tables.
//!
//! | file | holds |
//! |---|---|
//! | `arguments` | the arguments and the help |
//! | `settings` | what arguments, policies and the SQL itself say, together |
//! | `policy` | what is known of a table, in TOML |
//! | `show` | answers and dry runs, for people and programs |

mod arguments;
mod policy;
mod settings;
mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow};
use reticent::ledger::Releases;
use reticent::noise::Entropy;
use reticent_sql::bound::ChoiceKey;
use reticent_sql::{Answer, Query, Unit};

pub use arguments::Arguments;
use settings::Settings;

use crate::accounting::{Account, Granted, Request};
use crate::exit::{REFUSED, usage};
use crate::output::say;

/// Bytes of stack of each thread: several times what the deepest expression that is allowed needs.
const STACK: usize = 16 << 20;

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    quiet_panics();
    let settings = Settings::new(arguments)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(STACK)
        .build()
        .context("threads cannot be started")?;
    runtime.block_on(answer(arguments, settings))
}

async fn answer(arguments: &Arguments, settings: Settings) -> Result<ExitCode> {
    let place = settings.place()?;
    let description = settings.description();
    let files = settings.private_files();
    let Settings { sql, inputs, options, says_unit, budget, .. } = settings;
    let query = Query::prepare(&sql, inputs, options).await?;
    if !says_unit {
        say!("every row is taken for somebody else (--unit COLUMN if several rows can be one person's)");
    }
    if let (Unit::Column(unit), true) = (query.unit(), says_unit) {
        let number = |many: u64, what: &str| if many == 1 { format!("one {what}") } else { format!("{many} {what}s") };
        let (rows, groups) = (number(query.touched().max_rows(), "row"), number(query.touched().groups(), "group"));
        say!("each {unit} counts with at most {rows} in each of at most {groups} (--max-rows, --max-groups)");
    }
    if arguments.dry_run {
        show::dry_run(&query, arguments.format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let account = Account::new(&arguments.accounting, place.as_deref())?;
    account.refuse_other_budgets(&files)?;
    if let Some(budget) = &budget {
        account.set_budget(budget, &query.unit().to_string(), query.adjacency())?;
    }
    let request = Request {
        description,
        unit: query.unit().to_string(),
        adjacency: query.adjacency(),
        guarantee: query.guarantee().clone(),
    };
    let text = match account.charge(request, Releases::Once)? {
        Granted::Answered(text) => text,
        Granted::Permitted(mut permit) => {
            let answer = query.answer(&mut permit, ChoiceKey::draw(&mut Entropy::from_os()?.draw()?)).await;
            // Whatever it is, it was charged: no longer a matter of usage.
            let answer = answer.map_err(|error| anyhow!("{error}"))?;
            account.keep(permit.accounting(), &serde_json::to_string(&answer)?)?
        }
    };
    let answer: Answer = serde_json::from_str(&text)
        .map_err(|_| anyhow!("what the ledger keeps for this request is not the answer to a query"))?;
    show::answer(&answer, arguments.format)?;
    Ok(if answer.is_refused() { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
}

/// A panic's own text may hold what lies in the rows.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Several private tables have no name in common.
fn one_place(mut places: Vec<PathBuf>, named: bool) -> Result<Option<PathBuf>> {
    match (places.len(), named) {
        (1, _) => Ok(places.pop()),
        (_, true) => Ok(None),
        _ => Err(usage("several private tables are asked about: name the dataset that they are with --dataset")),
    }
}
