//! What a task asks, as a query of a table, and whether its numbers are those of that query.

use anyhow::Result;
use reticent::exact::Rational;
use reticent::multiparty::Plan;
use reticent::privacy::Guarantee;
use reticent_party::Task;
use reticent_sql::joint::{Noise, Shape};
use reticent_sql::settings::words::range;
use reticent_sql::{Answer, JointQuery, Options, Unit};

use crate::exit::usage;

/// A task whose numbers are those of its query.
#[derive(Debug)]
pub struct Terms {
    /// What was agreed on.
    pub task: Task,
    /// How it is done.
    pub plan: Plan,
    /// The query, of a table that nobody has.
    pub query: JointQuery,
}

impl Terms {
    /// Derives the query's shape from the task alone and compares.
    ///
    /// # Errors
    /// If the query cannot be asked of parties, or the task's cells, steps or sensitivity are not the query's.
    pub fn of(task: Task) -> Result<Self> {
        let query = JointQuery::imagined(task.sql(), options(&task)?)?;
        fits(&task, query.shape())?;
        Ok(Self { plan: task.plan()?, task, query })
    }

    /// The answer that the parties' sums are.
    ///
    /// # Errors
    /// If the sums are not of this shape.
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

/// What the promise does not add up: each party makes it for its own table, and nobody knows who is in several.
pub const OWN_ROWS: &str =
    "each party's promise covers its own rows: somebody with rows at k parties has k times this ε";

/// Against how many colluders something is promised.
pub fn against(colluders: u32, one: &str, many: &str) -> String {
    match colluders {
        0 => format!("if no {one} tells what it knows"),
        1 => format!("also if one {one} tells what it knows"),
        colluders => format!("also if {colluders} {many} pool what they know"),
    }
}

/// How the task's query is to be answered.
///
/// # Errors
/// If a range is none.
pub fn options(task: &Task) -> Result<Options> {
    let mut options = Options::new(Guarantee::Pure(task.epsilon().clone()));
    options.adjacency = task.adjacency();
    options.unit = match task.unit() {
        "row" => Unit::Row,
        column => Unit::Column(column.into()),
    };
    (options.max_groups, options.max_rows) = (task.max_groups(), task.max_rows());
    for (column, text) in task.bounds() {
        options.bounds.insert(column.clone(), range(column, text)?);
    }
    options.keys = task.keys().clone();
    Ok(options)
}

/// The task's numbers must be the query's: a sensitivity that is too small would promise more than is kept.
fn fits(task: &Task, shape: &Shape) -> Result<()> {
    let wrong = |what: &str, said: String, derived: String| {
        usage(format!(
            "the task says {what} {said}, but its query has {derived}; `reticent party task new` writes what is right"
        ))
    };
    let (cells, derived) = (task.cells(), shape.cells());
    if cells.len() != derived {
        return Err(wrong("cells:", cells.len().to_string(), derived.to_string()));
    }
    let steps = shape.parts.iter().flat_map(|part| std::iter::repeat_n(&part.step, part.numbers * shape.groups()));
    if let Some((cell, step)) = cells.iter().zip(steps).find(|(cell, step)| cell.step != **step) {
        return Err(wrong(&format!("the step of {:?} is", cell.name), cell.step.to_string(), step.to_string()));
    }
    let sensitivity = shape.sensitivity()?;
    if task.sensitivity() < sensitivity {
        return Err(wrong("sensitivity =", task.sensitivity().to_string(), sensitivity.to_string()));
    }
    Ok(())
}
