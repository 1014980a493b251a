//! The task's SQL: the check that the task has its numbers, this party's rows, and the answer.
//!
//! A task says how many cells there are, what a step is worth and how far one unit can move the numbers. All of it follows from the
//! query, so every party derives it anew: a sensitivity that is too small would promise more privacy than there is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use reticent::exact::Rational;
use reticent::ledger::Origin;
use reticent::message;
use reticent::multiparty::Plan;
use reticent::privacy::Epsilon;
use reticent_ledger::accounting::refuse_uncharged;
use reticent_sql::bounding::ChoiceKey;
use reticent_sql::joint::{Noise, Shape};
use reticent_sql::settings::origins;
use reticent_sql::settings::words::{guarantee, range};
use reticent_sql::{Answer, Input, JointQuery, Options, Table};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::hex::Digest;
use crate::run::Statistic;
use crate::task::{Draft, DraftCell, Grid, Member, Number, Task};
use crate::words::{OWN_ROWS, against};

/// Up to this many parties, the ε for every number of colluders fits on one line.
const EACH_IN_A_LINE: usize = 8;

/// A task whose numbers are those of its query. Only the check makes one, and only from one are a party's [rows](OwnRows) opened.
///
/// # Example
/// ```
/// use reticent_party::{CheckedTask, PrivateKey, Task};
///
/// let key = PrivateKey::generate()?.public();
/// let text = format!(r#"
///     title = "Patients with influenza"
///     session = "2026, week 46"
///     protocol = "broadcast"
///     epsilon = 0.5
///     unit = "patient"
///     max_rows = 3
///     max_groups = 1
///     adjacency = "add-remove"
///     sql = "SELECT COUNT(*) FROM visits"
///     bound = 1000000
///     sensitivity = 3
///     cells = ["visits"]
///     [[party]]
///     name = "st-mary"
///     key = "{key}"
///     address = "127.0.0.1:7001"
/// "#);
/// assert!(CheckedTask::new(text.parse()?).is_ok());
///
/// let understated: Task = text.replace("sensitivity = 3", "sensitivity = 1").parse()?;
/// let error = CheckedTask::new(understated).unwrap_err();
/// assert!(error.to_string().contains("sensitivity = 1, but its query requires 3"));
/// # Ok::<(), reticent_party::Error>(())
/// ```
#[derive(Debug)]
pub struct CheckedTask {
    task: Task,
    plan: Plan,
    /// Prepared on an empty table.
    query: JointQuery,
}

/// The cells of a query, with the value of a grid step unless it is 1.
pub fn cells(shape: &Shape) -> Vec<DraftCell> {
    let steps = shape.parts.iter().flat_map(|part| std::iter::repeat_n(&part.step, part.numbers * shape.groups()));
    let cell = |(name, step): (String, &Rational)| match *step == Rational::ONE {
        true => DraftCell::Name(name),
        false => DraftCell::Grid(Grid { name, step: Number::Text(step.to_string()) }),
    };
    shape.labels().into_iter().zip(steps).map(cell).collect()
}

impl CheckedTask {
    /// Derives the numbers from the query and compares.
    ///
    /// # Errors
    /// [`Error::Query`] if the query cannot be asked of parties; [`Error::OtherTerms`] if the task's cells or steps are not the query's, or
    /// its sensitivity is smaller.
    pub fn new(task: Task) -> Result<Self> {
        let query = JointQuery::imagined(task.sql(), options(task.draft())?)?;
        compare(&task, query.shape())?;
        Ok(Self { plan: task.plan(), task, query })
    }

    /// The parties and the guarantee of an attempt, for programs; `transcript` is its file.
    pub fn to_json(&self, attempt: u32, transcript: Option<&str>) -> Value {
        let (task, plan) = (&self.task, &self.plan);
        let losses: Vec<f64> = plan.losses().iter().map(Epsilon::to_f64).collect();
        json!({
            "task": task.hash(),
            "title": task.title(),
            "session": task.session(),
            "attempt": attempt,
            "protocol": task.protocol(),
            "parties": task.parties().iter().map(|member| &member.name).collect::<Vec<_>>(),
            "epsilon_by_colluders": losses,
            "covers": OWN_ROWS,
            "epsilon_for_unit_at_all_parties": f64::from(plan.parties()) * task.epsilon().to_f64(),
            "transcript": transcript,
        })
    }

    /// The ε of a party's rows if more parties collude than planned for, in words; `None` if there are no more.
    pub fn against_more(&self) -> Option<String> {
        let losses = self.plan.losses();
        let planned = self.plan.protocol().colluders(self.plan.parties()) as usize;
        let more: Vec<String> = losses
            .iter()
            .enumerate()
            .skip(planned + 1)
            .filter(|(colluders, _)| losses.len() <= EACH_IN_A_LINE || *colluders + 1 == losses.len())
            .map(|(colluders, epsilon)| format!("{:.3} against {colluders}", epsilon.to_f64()))
            .collect();
        (!more.is_empty()).then(|| more.join(", "))
    }

    /// Reads a task file and checks it.
    ///
    /// # Errors
    /// As [`Task::read`] and [`CheckedTask::new`].
    pub fn read(path: &Path) -> Result<Self> {
        Self::new(Task::read(path)?)
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// The protocol with its noise.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The query, prepared without any table.
    pub fn query(&self) -> &JointQuery {
        &self.query
    }

    /// The query's answer, from the sums that the parties released.
    ///
    /// # Errors
    /// If there are not as many sums as the query has cells.
    pub fn answer(&self, sums: &[i64]) -> Result<Answer> {
        let half_width = |level: &Rational| self.plan.half_width(level);
        let against = against(self.plan.protocol().colluders(self.plan.parties()), "party", "parties");
        let noise = Noise {
            guarantee: format!("{} for each party's own rows, {against}", self.plan.guarantee()),
            words: format!("{}, {} parties", self.plan.protocol(), self.plan.parties()),
            parties: self.plan.parties(),
            half_width: &half_width,
        };
        Ok(self.query.answer(sums, &noise)?)
    }
}

/// The task's query over this party's own tables.
#[derive(Debug)]
pub struct OwnRows {
    /// The task that was checked.
    task: Digest,
    query: JointQuery,
    rows: Vec<Origin>,
}

impl OwnRows {
    /// Opens the tables. Only headers, footers and catalogues are read.
    ///
    /// # Errors
    /// If a table is missing or lacks what the query needs, or the query has other cells here than in the task.
    pub fn open(checked: &CheckedTask, tables: &BTreeMap<String, PathBuf>) -> Result<Self> {
        let task = &checked.task;
        let named = reticent_sql::joint::tables(task.sql())?;
        if let Some(missing) = named.iter().find(|name| !tables.contains_key(*name)) {
            return Err(Error::NoTable { table: missing.clone() });
        }
        let input = |(name, path): (&String, &PathBuf)| Ok(Input { table: open(name, path)?, public: false });
        let inputs = tables.iter().filter(|(name, _)| named.contains(*name)).map(input).collect::<Result<Vec<_>>>()?;
        let rows = inputs.iter().flat_map(|input: &Input| origins(&input.table)).collect();
        let query = JointQuery::prepare(task.sql(), inputs, options(task.draft())?)?;
        if query.shape() != checked.query.shape() {
            return Err(Error::OtherCells);
        }
        Ok(Self { task: task.hash(), query, rows })
    }

    /// The rows of every party, in the task's order, for a simulation: nothing is charged. Each table is written as
    /// `PARTY.TABLE=FILE`.
    ///
    /// # Errors
    /// If one is written otherwise or names no party, or a file has a budget; as [`OwnRows::open`], with the party's name.
    pub fn of_all(checked: &CheckedTask, written: &[String]) -> Result<Vec<Self>> {
        let parties = checked.task.parties();
        let mut tables = vec![BTreeMap::new(); parties.len()];
        for text in written {
            let wrong = || Error::Request(message!(["table"], " {text}: write it as ", ["table"], " PARTY.TABLE=FILE"));
            let (name, file) = text.split_once('=').ok_or_else(wrong)?;
            let (party, table) = name.split_once('.').ok_or_else(wrong)?;
            tables[checked.task.place(party)?].insert(table.to_owned(), PathBuf::from(file));
        }
        let open = |(party, tables): (&Member, &BTreeMap<String, PathBuf>)| {
            Self::open(checked, tables).map_err(|error| Error::OfParty(party.name.clone(), Box::new(error)))
        };
        let rows = parties.iter().zip(&tables).map(open).collect::<Result<Vec<_>>>()?;
        refuse_uncharged(&rows.iter().flat_map(|own| &own.rows).cloned().collect::<Vec<_>>())?;
        Ok(rows)
    }
}

impl Statistic for OwnRows {
    /// Whether it is the task whose query this is: that one was checked, or there would be no rows of it.
    fn check(&self, task: &Task) -> Result<()> {
        match task.hash() == self.task {
            true => Ok(()),
            false => Err(Error::OtherTask { checked: self.task, task: task.hash() }),
        }
    }

    fn origins(&self) -> &[Origin] {
        &self.rows
    }

    fn exact(&mut self, _: &Task, secret: [u8; 32]) -> Result<Vec<i64>, String> {
        let failed = |_| reticent_sql::Error::Reading.to_string();
        let exact = self.query.measure(ChoiceKey::new(secret)).map_err(failed)?;
        Ok(exact.for_noise().to_vec())
    }
}

fn open(name: &str, path: &Path) -> Result<Table> {
    let not_text = || Error::parameter("the path of a table", path.display(), "text in Unicode");
    Ok(Table::open(name, path.to_str().ok_or_else(not_text)?).map_err(reticent_sql::Error::from)?)
}

/// How the task's query is to be answered.
///
/// # Errors
/// If ε, the adjacency or clamping bounds are not what they should be.
fn options(draft: &Draft) -> Result<Options> {
    let guarantee = guarantee(Some(&draft.epsilon.text()), None, None)?;
    let mut options = Options::new(guarantee.confirmed(draft.allow_large_epsilon)?);
    options.adjacency = draft.adjacency.parse()?;
    options.unit = draft.unit.as_str().into();
    (options.max_groups, options.max_rows) = (draft.max_groups, draft.max_rows);
    for (column, text) in &draft.bounds {
        options.bounds.insert(column.clone(), range(column, text)?);
    }
    options.keys = draft.keys.clone();
    Ok(options)
}

impl Draft {
    /// The draft with the numbers that follow from its query: cells, grid steps and sensitivity. Unless `bound` is given,
    /// it is as large as 64 bits allow. This needs nobody's rows.
    ///
    /// # Errors
    /// [`Error::Query`] if the query cannot be asked of parties; if ε, the adjacency or clamping bounds are not what they
    /// should be.
    pub fn derived(self, bound: Option<i64>) -> Result<Self> {
        let query = JointQuery::imagined(&self.sql, options(&self)?)?;
        let shape = query.shape();
        let largest = || Shape::bound(u32::try_from(self.parties.len()).unwrap_or(u32::MAX));
        let (bound, sensitivity) = (bound.unwrap_or_else(largest), shape.sensitivity()?);
        Ok(Self { bound, sensitivity, cells: cells(shape), ..self })
    }
}

/// Are the task's numbers the query's? A larger sensitivity than necessary only costs accuracy.
fn compare(task: &Task, shape: &Shape) -> Result<()> {
    let other = |what: &str, said: String, derived: String| Err(Error::OtherTerms { what: what.into(), said, derived });
    let (cells, derived) = (task.cells(), shape.cells());
    if cells.len() != derived {
        return other("cells", cells.len().to_string(), derived.to_string());
    }
    let steps = shape.parts.iter().flat_map(|part| std::iter::repeat_n(&part.step, part.numbers * shape.groups()));
    if let Some((cell, step)) = cells.iter().zip(steps).find(|(cell, step)| cell.step != **step) {
        return other(&format!("step of {:?}", cell.name), cell.step.to_string(), step.to_string());
    }
    let sensitivity = shape.sensitivity()?;
    if task.sensitivity() < sensitivity {
        return other("sensitivity", task.sensitivity().to_string(), sensitivity.to_string());
    }
    Ok(())
}
