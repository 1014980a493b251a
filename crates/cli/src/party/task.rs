//! `reticent party task`: the file that all parties agree on.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use reticent::secrets::Quiet;
use reticent_party::task::Number;
use reticent_party::{CheckedTask, Config, Draft, Member, OwnRows, Task};

use super::show;
use crate::exit::usage;
use crate::output::{Format, print, say, write_new};
use crate::query::{pairs, public_keys};

/// The arguments of `reticent party task`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party task show task.toml")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create a task file: the query, the parties and the guarantee
    New(Box<New>),
    /// Check a task file, and that it fits this party's own table
    Check(Check),
    /// Show a task and its hash, which must be the same at every party
    Show(Show),
}

/// The protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Way {
    /// Each party adds a share of the noise, under masks that cancel out; needs --colluders
    Masked,
    /// Each party publishes its own noisy numbers
    Broadcast,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party task new \"SELECT ward, COUNT(*) FROM visits GROUP BY ward\" \\
    --title Visits --session \"week 46\" --epsilon 1 --keys ward=A,B,C --colluders 1 \\
    --party north,north.pub,127.0.0.1:7001 --party south,south.pub,127.0.0.1:7002 \\
    --party east,east.pub,127.0.0.1:7003 --out task.toml

COUNT, SUM, AVG, VARIANCE, STDDEV and HISTOGRAM are supported, over all rows or over groups with public keys (--keys). The \
numbers, their sensitivity and the value of a grid step follow from the query, and are written into the task for \
everyone to check (`reticent party task check`). This needs nobody's rows.")]
struct New {
    /// The query that each party runs on its own table
    #[arg(value_name = "SQL")]
    sql: String,
    /// What it is about
    #[arg(long)]
    title: String,
    /// Name of the session: a task of another session is another task
    #[arg(long)]
    session: String,
    /// Privacy guarantee of each unit: epsilon
    #[arg(long, allow_hyphen_values = true)]
    epsilon: String,
    /// Confirm an epsilon above 10, which protects next to nothing
    #[arg(long)]
    allow_large_epsilon: bool,
    /// The protocol
    #[arg(long, value_enum, default_value = "masked")]
    protocol: Way,
    /// Collusion threshold: parties that may collude without weakening the guarantee; with --protocol masked
    #[arg(long, value_name = "T")]
    colluders: Option<u32>,
    /// The privacy unit: the column that identifies the person, or row
    #[arg(long, default_value = "row", value_name = "COLUMN")]
    unit: String,
    /// Which datasets are neighbours: add-remove or replace
    #[arg(long, default_value = "add-remove", value_name = "WHICH")]
    adjacency: String,
    /// Groups that one unit contributes to at most; needed where --unit is a column
    #[arg(long, value_name = "N")]
    max_groups: Option<u64>,
    /// Rows that one unit contributes to each group at most; needed where --unit is a column
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// Clamping bounds of a column, chosen without looking at any data: age=0..120
    #[arg(long = "bounds", value_name = "COLUMN=LO..HI")]
    bounds: Vec<String>,
    /// Public group keys: COLUMN=FILE or COLUMN=a,b,c
    #[arg(long = "keys", value_name = "COLUMN=KEYS")]
    keys: Vec<String>,
    /// A party: its name, its public key or the file that holds it, and where it listens
    #[arg(long = "party", value_name = "NAME,KEY,HOST:PORT", required = true)]
    parties: Vec<String>,
    /// Clamping bound of one number of one party, in grid steps [default: as large as 64 bits allow]
    #[arg(long, value_name = "STEPS")]
    bound: Option<i64>,
    /// File for the task; it must not exist yet [default: print it]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  reticent party task check task.toml
  reticent party task check task.toml --config north.toml")]
struct Check {
    /// The task file
    #[arg(value_name = "TASK")]
    task: PathBuf,
    /// Also open the table that this party's configuration names; no row is read
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  reticent party task show task.toml --format json")]
struct Show {
    /// The task file
    #[arg(value_name = "TASK")]
    task: PathBuf,
    /// How to print it
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.action {
        Action::New(new) => write(new)?,
        Action::Check(check) => self::check(check)?,
        Action::Show(show) => show::terms(&CheckedTask::read(&show.task)?, show.format)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn check(check: &Check) -> Result<()> {
    let _quiet = Quiet::new();
    let checked = CheckedTask::read(&check.task)?;
    if let Some(path) = &check.config {
        let config = Config::read(path)?;
        checked.task().place(&config.party)?;
        OwnRows::open(&checked, &config.tables)?;
        say!("the query is valid for {}'s table", config.party);
    }
    say!("the task is consistent; all parties must have this hash:");
    print(&format!("{}\n", checked.task().hash()))?;
    Ok(())
}

fn write(new: &New) -> Result<()> {
    let _quiet = Quiet::new();
    let text = draft(new)?.derived(new.bound)?.to_toml();
    // Find mistakes before anyone has the task.
    let checked = CheckedTask::new(text.parse::<Task>()?)?;
    match &new.out {
        None => print(&text)?,
        Some(path) => write_new(path, &text)?,
    }
    say!("send it to all parties; its hash is {}", checked.task().hash());
    Ok(())
}

/// The task without the numbers that follow from its query.
fn draft(new: &New) -> Result<Draft> {
    let protocol = match (new.protocol, new.colluders) {
        (Way::Masked, None) => {
            return Err(usage(
                "how many parties may collude without weakening the guarantee? For example, add --colluders 1 (0 is the most accurate; \
                 all but one trusts no other party)",
            ));
        }
        (Way::Broadcast, Some(_)) => {
            return Err(usage("--colluders is for --protocol masked: broadcast holds against all others together"));
        }
        (Way::Masked, Some(_)) => "masked",
        (Way::Broadcast, None) => "broadcast",
    };
    Ok(Draft {
        title: new.title.clone(),
        session: new.session.clone(),
        protocol: protocol.into(),
        colluders: new.colluders,
        epsilon: Number::Text(new.epsilon.clone()),
        allow_large_epsilon: new.allow_large_epsilon,
        unit: new.unit.clone(),
        adjacency: new.adjacency.clone(),
        sql: new.sql.clone(),
        bounds: pairs("--bounds", &new.bounds, "age=0..120")?.into_iter().collect(),
        // They become part of the task, which everyone can read.
        keys: public_keys(&new.keys, None)?.into_iter().collect(),
        max_rows: new.max_rows,
        max_groups: new.max_groups,
        bound: 0,
        sensitivity: 0,
        cells: Vec::new(),
        parties: new.parties.iter().map(|party| Member::written(party)).collect::<Result<_, _>>()?,
    })
}
