//! From SQL text to the algebra.
//!
//! Names end here: whatever the user calls a table, a column or an alias is looked up while the query is read and becomes a place in a
//! row. What comes out knows no names but those of the answer's columns.
//!
//! Every clause that the parser knows is taken apart by name; one that is not understood is refused, and none is left out in silence.
//!
//! | module | holds |
//! |---|---|
//! | [`text`] | sizes limited, then parsed |
//! | `patience` | a parser that gives up |
//! | [`scope`] | relations with named columns |
//! | `query` | WITH, UNION, ORDER BY, LIMIT |
//! | `select` | SELECT … WHERE … GROUP BY … HAVING |
//! | `from` | tables, sub-queries, aliases |
//! | `join` | joins: on the unit, with public tables, among public tables |
//! | `expression` | expressions |
//! | `functions` | the names of functions |
//! | `aggregates` | aggregates |
//! | `coerce` | types brought together |
//! | `literal` | constants, types and intervals |
//! | `range` | the range of an expression |

mod aggregates;
mod coerce;
mod expression;
mod from;
mod functions;
mod join;
mod literal;
mod patience;
mod query;
mod range;
pub mod scope;
mod select;
pub mod text;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlparser::ast;

use crate::algebra::calendar::DAY;
use crate::algebra::{Data, Expr, Limits, Measured, Plain, Value};
use crate::error::{Error, Result};
use crate::options::{Options, Range};
use crate::query::Input;
use crate::usage::Usage;
pub use scope::Origin;
use scope::{Body, Relation};

/// A query in the algebra, with the names of what it gives.
#[derive(Debug)]
pub struct Resolved {
    /// What is measured of private rows.
    pub measured: Measured,
    /// The keys, in the user's words.
    pub keys: Vec<KeyWords>,
    /// The aggregates, in the user's words, and the ranges of their values.
    pub asked: Vec<AskedWords>,
    /// What is done with released values: keys, then aggregates.
    pub above: Arc<Plain>,
    /// The columns of the answer.
    pub columns: Vec<(String, Origin)>,
    /// The names of all columns of its tables.
    mentioned: BTreeSet<String>,
}

impl Resolved {
    /// Does the query mention a column of this name?
    pub fn mentions(&self, name: &str) -> bool {
        self.mentioned.contains(name)
    }
}

/// A key in the user's words.
#[derive(Debug, Clone)]
pub struct KeyWords {
    /// As it was written, without the names of tables.
    pub words: String,
    /// The names by which options may call it.
    pub names: Vec<String>,
}

/// An aggregate in the user's words.
#[derive(Debug, Clone)]
pub struct AskedWords {
    /// As it was written, without the names of tables.
    pub words: String,
    /// What it is computed of, as it was written.
    pub of: String,
    /// The range of its values, if they need one.
    pub range: Option<Range>,
}

/// Reads a query.
pub(crate) struct Resolver<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    usage: Usage,
    limits: Limits,
    /// The moment at which the clock stands still, in microseconds.
    now: i64,
    nodes: usize,
    patterns: usize,
    operators: usize,
    /// Rows of public tables that private rows are joined with.
    looked_up: usize,
    /// What WITH has named, the innermost last.
    named: Vec<(String, Relation)>,
    /// Public tables that were read.
    public: HashMap<usize, Arc<Data>>,
    measured: Option<(Measured, Vec<KeyWords>, Vec<AskedWords>)>,
    /// A table whose rows are given when the query is computed, and are nobody's secret.
    given: Option<(String, Vec<scope::Named>)>,
}

impl<'a> Resolver<'a> {
    /// Over these tables. `now` is what the clock says, in microseconds since 1970.
    pub fn new(inputs: &'a [Input], options: &'a Options, usage: Usage, now: i64) -> Self {
        Self {
            inputs,
            options,
            usage,
            limits: Limits::default(),
            now,
            nodes: 0,
            patterns: 0,
            operators: 0,
            looked_up: 0,
            named: Vec::new(),
            public: HashMap::new(),
            measured: None,
            given: None,
        }
    }

    /// A query of which something is released.
    ///
    /// # Errors
    /// If it cannot be answered privately: what the user wrote, and what to write instead.
    pub fn resolve(mut self, statement: &ast::Query) -> Result<Resolved> {
        let relation = self.query(statement, false)?;
        let above = match relation.body {
            Body::Released(above) => above,
            Body::Private(_) => {
                return Err(Error::not_private(
                    "a list of rows",
                    "rows are people; ask for an aggregate of them, such as SELECT COUNT(*) FROM …",
                ));
            }
            Body::Public(_) => {
                let why = "there is nothing to protect, any SQL engine can answer it";
                return Err(Error::Option(format!("no table of this query is private: {why}")));
            }
        };
        let columns = relation.columns.into_iter().map(|column| (column.name, column.origin)).collect();
        let (measured, keys, asked) = self.measured.expect("something was released");
        let all = self.inputs.iter().filter_map(|input| input.table.columns()).flatten();
        let mentioned = all.chain(self.usage.mentioned.iter().cloned()).collect();
        Ok(Resolved { measured, keys, asked, above, columns, mentioned })
    }

    /// With a table whose rows are given when the query is computed, and are nobody's secret.
    pub fn given(self, name: &str, columns: Vec<scope::Named>) -> Self {
        Self { given: Some((name.to_owned(), columns)), ..self }
    }

    /// A query of rows that may be looked at, and how many columns it has.
    ///
    /// # Errors
    /// If it names what is not there, or is no query.
    pub fn resolve_open(mut self, statement: &ast::Query) -> Result<(Arc<Plain>, usize)> {
        let relation = self.query(statement, false)?;
        match relation.body {
            Body::Public(plain) => Ok((plain, relation.columns.len())),
            Body::Private(_) | Body::Released(_) => Err(Error::not_private("this query", "its rows are private")),
        }
    }

    /// The columns of all tables, for whoever misspelt one.
    fn all_columns(&self) -> Vec<String> {
        let tables = self.inputs.iter().filter_map(|input| input.table.columns());
        let mut names: Vec<String> = tables.flatten().collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A column that is there, but of a type that no query can use.
    fn unusable(&self, name: &str) -> Option<Error> {
        let all = self.inputs.iter().flat_map(|input| input.table.unusable());
        let (name, kind) = all.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Error::Name(format!(
            "the column {name} is {kind}, which a query cannot use; write it to the file as another type"
        )))
    }

    /// One more operator or expression.
    fn count_node(&mut self) -> Result<()> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(crate::algebra::TooLarge::new("its expressions have more parts", self.limits.nodes).into());
        }
        Ok(())
    }

    /// One more pattern.
    fn count_pattern(&mut self) -> Result<()> {
        self.patterns += 1;
        if self.patterns > self.limits.patterns {
            return Err(crate::algebra::TooLarge::new("it has more patterns", self.limits.patterns).into());
        }
        Ok(())
    }

    /// One more SELECT, join or UNION.
    fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > self.limits.operators {
            let what = "it has more SELECTs, JOINs and UNIONs";
            return Err(crate::algebra::TooLarge::new(what, self.limits.operators).into());
        }
        self.count_node()
    }

    /// What a relation of public tables gives.
    fn compute(&mut self, plain: &Plain) -> Result<Data> {
        Ok(plain.compute(&Data::unit_row(), &self.limits)?.data)
    }

    /// What a word or function without arguments says of the time.
    fn clock(&self, name: &str) -> Option<Expr> {
        let value = match name.to_ascii_lowercase().as_str() {
            "now" | "current_timestamp" | "localtimestamp" => Value::Timestamp(self.now),
            "current_date" | "today" => Value::Date(i32::try_from(self.now.div_euclid(DAY)).ok()?),
            _ => return None,
        };
        Some(Expr::constant(value))
    }
}

/// An expression as the user wrote it, without the names of tables.
pub(crate) fn words(written: &ast::Expr) -> String {
    struct Bare;
    impl ast::VisitorMut for Bare {
        type Break = ();

        fn pre_visit_expr(&mut self, expression: &mut ast::Expr) -> std::ops::ControlFlow<()> {
            if let ast::Expr::CompoundIdentifier(parts) = expression
                && let Some(name) = parts.pop()
            {
                *expression = ast::Expr::Identifier(name);
            }
            std::ops::ControlFlow::Continue(())
        }
    }
    const LONGEST: usize = 200;
    // What is too long to be shown is not written out: it may be most of the query, once for each of its parts.
    let mut start = Start { text: String::new(), most: 10 * LONGEST };
    if std::fmt::Write::write_fmt(&mut start, format_args!("{written}")).is_err() {
        return start.text.chars().take(LONGEST).chain(['…']).collect();
    }
    let mut bare = written.clone();
    let _ = ast::VisitMut::visit(&mut bare, &mut Bare);
    let text = bare.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// The start of a text: no more is written once it is long enough.
struct Start {
    text: String,
    most: usize,
}

impl std::fmt::Write for Start {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
        self.text.extend(more.chars().take(room));
        if more.len() > room { Err(std::fmt::Error) } else { Ok(()) }
    }
}
