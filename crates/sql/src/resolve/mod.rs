//! From SQL text to the algebra.
//!
//! Names end here: every table, column and alias is looked up while the query is read and becomes a position in a row.
//! The result contains no names except those of the answer's columns.
//!
//! Every clause in the parser's syntax tree is matched by name; what is not understood is refused, and nothing is
//! silently ignored.
//!
//! | module | contents |
//! |---|---|
//! | [`text`] | size limits, then parsing |
//! | `patience` | a parser with bounded time and stack |
//! | [`scope`] | relations with named columns |
//! | `query` | WITH, UNION, ORDER BY, LIMIT |
//! | `select` | SELECT … WHERE … GROUP BY … HAVING |
//! | `from` | tables, sub-queries, aliases |
//! | `join` | joins: on the unit, with public tables, among public tables |
//! | `expression` | expressions |
//! | `operator` | comparisons, arithmetic, patterns |
//! | `membership` | IN |
//! | `functions` | function names |
//! | `aggregates` | aggregates |
//! | `coerce` | type coercion |
//! | `literal` | literals, types and intervals |
//! | `range` | the range of an expression |

mod aggregates;
mod coerce;
mod expression;
mod from;
mod functions;
mod join;
mod literal;
mod membership;
mod operator;
mod patience;
mod query;
mod range;
pub mod scope;
mod select;
pub mod text;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use sqlparser::ast;

use crate::algebra::calendar::DAY;
use crate::algebra::function::Membership;
use crate::algebra::stop::until;
use crate::algebra::{Data, Expr, Limits, Measured, Plain, Value};
use crate::error::{Error, Result};
use crate::options::{Options, Range};
use crate::query::Input;
use crate::usage::Usage;
pub use scope::Origin;
use scope::{Body, Relation};

/// A query in the algebra, with the names of its outputs.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The statistics of private rows.
    pub measured: Measured,
    /// The group keys, in the user's words.
    pub keys: Vec<KeyWords>,
    /// The aggregates, in the user's words, with the ranges of their values.
    pub asked: Vec<AskedWords>,
    /// What is computed from the released values: keys, then aggregates.
    pub above: Arc<Plain>,
    /// The columns of the answer.
    pub columns: Vec<(String, Origin)>,
    /// The names of all columns of its tables.
    mentioned: BTreeSet<String>,
}

impl Resolved {
    /// Whether the query mentions a column of this name.
    pub fn mentions(&self, name: &str) -> bool {
        self.mentioned.contains(name)
    }
}

/// A group key in the user's words.
#[derive(Debug, Clone)]
pub struct KeyWords {
    /// As written, without table names.
    pub words: String,
    /// The names by which options may refer to it.
    pub names: Vec<String>,
}

/// An aggregate in the user's words.
#[derive(Debug, Clone)]
pub struct AskedWords {
    /// As written, without table names.
    pub words: String,
    /// Its argument, as written.
    pub of: String,
    /// The range of its values, if it needs one.
    pub range: Option<Range>,
}

/// Resolves a query.
pub(crate) struct Resolver<'a> {
    inputs: &'a [Input],
    options: &'a Options,
    usage: Usage,
    limits: Limits,
    /// The fixed time that the clock functions return, in microseconds.
    now: Option<i64>,
    nodes: usize,
    patterns: usize,
    operators: usize,
    /// Columns of all relations together.
    columns: usize,
    /// Rows of the public tables joined with private rows.
    looked_up: usize,
    /// The sets of constants, each once.
    sets: Vec<Membership>,
    /// See [`Resolver::all_columns`].
    known: OnceCell<Vec<String>>,
    /// The relations named by WITH, innermost last.
    named: Vec<(String, Relation)>,
    /// Public tables already read.
    public: HashMap<usize, Arc<Data>>,
    measured: Option<(Measured, Vec<KeyWords>, Vec<AskedWords>)>,
    /// A table that is not private, whose rows are given when the query is computed.
    given: Option<(String, Vec<scope::Named>)>,
}

impl<'a> Resolver<'a> {
    /// Resolves over these tables within these limits. `now` is the current time, in microseconds since 1970; without it, there
    /// is no clock.
    pub fn new(inputs: &'a [Input], options: &'a Options, usage: Usage, now: Option<i64>, limits: Limits) -> Self {
        Self {
            inputs,
            options,
            usage,
            limits,
            now,
            nodes: 0,
            patterns: 0,
            operators: 0,
            columns: 0,
            looked_up: 0,
            sets: Vec::new(),
            known: OnceCell::new(),
            named: Vec::new(),
            public: HashMap::new(),
            measured: None,
            given: None,
        }
    }

    /// Resolves a query with private tables.
    ///
    /// # Errors
    /// If it cannot be answered privately: says what the user wrote, and what to write instead.
    pub fn resolve(mut self, statement: &ast::Query) -> Result<Resolved> {
        let relation = self.in_time(statement)?;
        let above = match relation.body {
            Body::Released(above) => above,
            Body::Private(_) => {
                return Err(Error::not_private(
                    "a list of rows",
                    "rows describe people; ask for an aggregate, such as SELECT COUNT(*) FROM …",
                ));
            }
            Body::Public(_) => {
                let why = "there is nothing to protect, so use any SQL engine";
                return Err(Error::option(format!("no table of this query is private: {why}")));
            }
        };
        let columns = relation.columns.into_iter().map(|column| (column.name, column.origin)).collect();
        let (measured, keys, asked) = self.measured.expect("something was released");
        let all = self.inputs.iter().filter_map(|input| input.table.columns()).flatten();
        let mentioned = all.chain(self.usage.mentioned.iter().cloned()).collect();
        Ok(Resolved { measured, keys, asked, above, columns, mentioned })
    }

    /// Resolves a statement before the deadline. Constant expressions are evaluated on the way, and give up when it has
    /// passed.
    fn in_time(&mut self, statement: &ast::Query) -> Result<Relation> {
        let relation = until(&self.limits.interrupt(), || self.query(statement, false));
        self.limits.check_size(0, 0)?;
        relation
    }

    /// Adds a table that is not private, whose rows are given when the query is computed.
    pub fn given(self, name: &str, columns: Vec<scope::Named>) -> Self {
        Self { given: Some((name.to_owned(), columns)), ..self }
    }

    /// Resolves a query over tables that are not private, and returns its number of columns.
    ///
    /// # Errors
    /// If it refers to something that does not exist, or is not a query.
    pub fn resolve_open(mut self, statement: &ast::Query) -> Result<(Arc<Plain>, usize)> {
        let relation = self.in_time(statement)?;
        match relation.body {
            Body::Public(plain) => Ok((plain, relation.columns.len())),
            Body::Private(_) | Body::Released(_) => Err(Error::not_private("this query", "its rows are private")),
        }
    }

    /// The columns of all tables, for suggestions when one is misspelt.
    fn all_columns(&self) -> &[String] {
        self.known.get_or_init(|| {
            let tables = self.inputs.iter().filter_map(|input| input.table.columns());
            let mut names: Vec<String> = tables.flatten().collect();
            names.sort_unstable();
            names.dedup();
            names
        })
    }

    /// The error for a column that exists, but whose type no query can use.
    fn unusable(&self, name: &str) -> Option<Error> {
        let all = self.inputs.iter().flat_map(|input| input.table.unusable());
        let (name, kind) = all.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(Error::Name(format!(
            "the column {name} is {kind}, which a query cannot use; write it to the file as another type"
        )))
    }

    /// Counts an operator or expression.
    fn count_node(&mut self) -> Result<()> {
        self.nodes += 1;
        self.limits.check_size(0, 0)?;
        if self.nodes > self.limits.nodes {
            return Err(crate::algebra::TooLarge::new("its expressions have too many parts", self.limits.nodes).into());
        }
        Ok(())
    }

    /// Counts a pattern.
    fn count_pattern(&mut self) -> Result<()> {
        self.patterns += 1;
        if self.patterns > self.limits.patterns {
            return Err(crate::algebra::TooLarge::new("it has too many patterns", self.limits.patterns).into());
        }
        Ok(())
    }

    /// Counts a SELECT, join or UNION.
    fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > self.limits.operators {
            let what = "it has too many SELECTs, JOINs and UNIONs";
            return Err(crate::algebra::TooLarge::new(what, self.limits.operators).into());
        }
        self.count_node()
    }

    /// Counts the columns of a relation.
    fn count_columns(&mut self, columns: usize, what: &str) -> Result<()> {
        if columns > self.limits.columns {
            return Err(crate::algebra::TooLarge::new(what, self.limits.columns).into());
        }
        self.columns += columns;
        if self.columns > self.limits.all_columns {
            let what = "its SELECTs, JOINs and UNIONs have too many columns together";
            return Err(crate::algebra::TooLarge::new(what, self.limits.all_columns).into());
        }
        Ok(())
    }

    /// Counts bytes of public values that are kept until the query is answered: tables, and the sets and tables for
    /// lookups.
    fn hold(&mut self, bytes: usize) -> Result<()> {
        self.limits.check_size(0, bytes)?;
        self.limits.public_held += bytes;
        Ok(())
    }

    /// Computes a relation of public tables, in the memory that is left.
    fn compute(&mut self, plain: &Plain) -> Result<Data> {
        Ok(plain.compute(&Data::unit_row(), &self.limits)?.data)
    }

    /// The value of a clock function or keyword.
    fn clock(&self, name: &str) -> Option<Result<Expr>> {
        let value: fn(i64) -> Option<Value> = match name.to_ascii_lowercase().as_str() {
            "now" | "current_timestamp" | "localtimestamp" => |now| Some(Value::Timestamp(now)),
            "current_date" | "today" => |now| i32::try_from(now.div_euclid(DAY)).ok().map(Value::Date),
            _ => return None,
        };
        let no_clock =
            || Error::Name(format!("{name}: there is no clock here; write a time, such as DATE '2026-01-31'"));
        Some(self.now.map_or_else(|| Err(no_clock()), |now| Ok(Expr::constant(value(now).unwrap_or(Value::Null)))))
    }
}

/// An expression as the user wrote it, without table names.
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
    // Only the start is formatted: an expression may be most of the query, and so may each of its parts.
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

/// The start of a text: further writes are dropped once it is long enough.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_time_nothing_is_resolved() {
        let options = Options::new(reticent::privacy::Guarantee::Pure("1".parse().unwrap()));
        let limits = Limits::default();
        let statement = text::parse("SELECT 1 + 1 FROM given", &limits).unwrap();
        let usage = Usage::of(&statement);
        let resolver =
            || Resolver::new(&[], &options, usage.clone(), None, Limits::from_now()).given("given", Vec::new());
        assert!(resolver().resolve_open(&statement).is_ok());
        let mut late = resolver();
        late.limits.deadline = Some(std::time::Instant::now());
        assert!(late.resolve_open(&statement).unwrap_err().to_string().contains("too many seconds"));
    }

    /// The sets of IN are kept until the query is answered: together they took gigabytes in a dry run.
    #[test]
    fn sets_count_together_and_equal_ones_once() {
        let options = Options::new(reticent::privacy::Guarantee::Pure("1".parse().unwrap()));
        let digits: Vec<String> = (0..10).map(|digit| format!("({digit})")).collect();
        let with = format!("WITH v AS (SELECT column1 AS n FROM (VALUES {}) AS v)", digits.join(","));
        let resolved = |set: &dyn Fn(usize) -> String| {
            let sets: Vec<String> = (0..20).map(|one| format!("x + {one} IN ({})", set(one))).collect();
            let sql = format!("{with} SELECT x FROM given WHERE {}", sets.join(" OR "));
            let limits = Limits { public_bytes: 1 << 20, ..Limits::from_now() };
            text::on_a_large_stack(&limits, || {
                let statement = text::parse(&sql, &limits)?;
                let columns = vec![scope::Named::new("x", crate::algebra::Type::Number)];
                let resolver =
                    Resolver::new(&[], &options, Usage::of(&statement), None, limits).given("given", columns);
                resolver.resolve_open(&statement).map(drop)
            })
        };
        let numbers =
            |from: usize| format!("SELECT 1000 * x.n + 100 * y.n + 10 * z.n + w.n + {from} FROM v x, v y, v z, v w");
        resolved(&|_| numbers(0)).unwrap();
        let why = resolved(&numbers).unwrap_err().to_string();
        assert!(why.contains("the bytes of public tables do not fit in memory"), "{why}");
    }
}
