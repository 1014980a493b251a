//! Whole queries: WITH, UNION, ORDER BY, LIMIT.

use std::sync::Arc;

use sqlparser::ast::{self, SetExpr, SetOperator, SetQuantifier};

use super::Resolver;
use super::coerce::same;
use super::expression::{Names, constant_number};
use super::scope::{Body, Named, Origin, Relation, Written, column};
use reticent::message;

use crate::algebra::order::Direction;
use crate::algebra::{Data, Expr, Plain, Rows, Type, Value};
use crate::error::{Error, Result};

/// The ORDER BY clause, as written.
pub(super) type OrderBy<'a> = &'a [ast::OrderByExpr];

impl Resolver<'_> {
    /// Resolves a query or sub-query.
    pub(super) fn query(&mut self, written: &ast::Query, is_sub_query: bool) -> Result<Relation> {
        let outer = self.named.len();
        let relation = self.with_names(written, is_sub_query);
        // Also after an error, which a caller that tries several readings of an expression may ignore.
        self.named.truncate(outer);
        relation
    }

    fn with_names(&mut self, written: &ast::Query, is_sub_query: bool) -> Result<Relation> {
        self.count_node()?;
        let ast::Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = written;
        let extra = [
            (!locks.is_empty(), "FOR UPDATE"),
            (for_clause.is_some(), "FOR"),
            (settings.is_some(), "SETTINGS"),
            (format_clause.is_some(), "FORMAT"),
            (!pipe_operators.is_empty(), "|>"),
        ];
        refuse(&extra)?;
        if let Some(ast::With { with_token: _, recursive, cte_tables }) = with {
            refuse(&[(*recursive, "WITH RECURSIVE")])?;
            for ast::Cte { alias, query, from, materialized: _, closing_paren_token: _ } in cte_tables {
                refuse(&[(from.is_some(), "FROM after WITH")])?;
                let relation = self.query(query, true)?;
                let relation = self.renamed(relation, Some(alias))?;
                self.named.push((alias.name.value.clone(), relation));
            }
        }
        let order: OrderBy<'_> = match order_by {
            None => &[],
            Some(ast::OrderBy { kind: ast::OrderByKind::Expressions(by), interpolate: None }) => by,
            Some(_) => return Err(refused("ORDER BY ALL")),
        };
        let relation = match &**body {
            SetExpr::Select(select) => self.select(select, order, is_sub_query)?,
            other => {
                let relation = self.set(other)?;
                self.ordered(relation, order)?
            }
        };
        self.limited(relation, limit_clause.as_ref(), fetch.as_ref())
    }

    fn set(&mut self, written: &SetExpr) -> Result<Relation> {
        self.count_node()?;
        match written {
            SetExpr::Select(select) => self.select(select, &[], true),
            SetExpr::Query(query) => self.query(query, true),
            SetExpr::Values(values) => self.values(values),
            SetExpr::SetOperation { left, op: SetOperator::Union, set_quantifier, right } => {
                let all = match set_quantifier {
                    SetQuantifier::All => true,
                    SetQuantifier::None | SetQuantifier::Distinct => false,
                    _ => return Err(refused("UNION BY NAME")),
                };
                let (left, right) = (self.set(left)?, self.set(right)?);
                self.union(left, right, all)
            }
            SetExpr::SetOperation { op, .. } => Err(refused(&op.to_string())),
            _ => Err(Error::Syntax("only SELECT is supported".into())),
        }
    }

    fn values(&mut self, written: &ast::Values) -> Result<Relation> {
        let width = written.rows.first().map_or(0, |row| row.content.len());
        let mut columns: Vec<Vec<Expr>> = vec![Vec::new(); width];
        for row in &written.rows {
            if row.content.len() != width {
                return Err(Error::Syntax("the rows of VALUES have different lengths".into()));
            }
            for (column, value) in columns.iter_mut().zip(&row.content) {
                let constant = self.expression(value, Names::Rows(&[]))?;
                if constant.as_constant().is_none() {
                    return Err(Error::Name(format!("{value} is not a constant")));
                }
                column.push(constant);
            }
        }
        let columns = columns.into_iter().map(|column| same(column, "VALUES")).collect::<Result<Vec<_>>>()?;
        let one_row = Arc::new(Plain::Table(Arc::new(Data::unit_row())));
        let row = |place: usize| {
            Arc::new(Plain::Project(one_row.clone(), columns.iter().map(|column| column[place].clone()).collect()))
        };
        let rows = Plain::Union((0..written.rows.len()).map(row).collect());
        let kinds = columns.iter().map(|column| column.first().map_or(Type::Text, Expr::kind));
        let columns = kinds.enumerate().map(|(place, kind)| Named::new(format!("column{}", place + 1), kind)).collect();
        Ok(Relation { body: Body::Public(Arc::new(rows)), columns })
    }

    fn union(&mut self, left: Relation, right: Relation, all: bool) -> Result<Relation> {
        self.count_operator()?;
        if left.columns.len() != right.columns.len() {
            return Err(Error::Name("UNION needs the same number of columns on both sides".into()));
        }
        let mut sides = [Vec::new(), Vec::new()];
        for (place, (one, other)) in left.columns.iter().zip(&right.columns).enumerate() {
            let both = vec![Expr::column(place, one.kind), Expr::column(place, other.kind)];
            let both = same(both, "UNION")?;
            sides.iter_mut().zip(both).for_each(|(side, one)| side.push(one));
        }
        let [ours, theirs] = sides;
        self.count_columns(left.columns.len(), "a UNION has too many columns")?;
        let columns: Vec<Named> = left
            .columns
            .iter()
            .zip(&right.columns)
            .zip(&ours)
            .map(|((one, other), expression)| Named {
                qualifier: None,
                kind: expression.kind(),
                is_unit: one.is_unit && other.is_unit,
                range: None,
                origin: Origin::Derived,
                hidden: false,
                ..one.clone()
            })
            .collect();
        let body = match (left.body, right.body) {
            (Body::Private(left), Body::Private(right)) if all => {
                let project = |rows: &Arc<Rows>, columns: Vec<Expr>| Rows::project(rows, columns).map(Arc::new);
                let both = project(&left, ours).zip(project(&right, theirs)).map(|(one, other)| vec![one, other]);
                let union = both.and_then(Rows::union).ok_or_else(|| {
                    let why =
                        message!("both tables need the same unit: name its column with ", ["unit"], " TABLE.COLUMN");
                    Error::unsupported("UNION ALL of private tables", why)
                })?;
                Body::Private(Arc::new(union))
            }
            (Body::Private(_), _) | (_, Body::Private(_)) => {
                let why =
                    "UNION ALL of private tables, or give them as one table: a folder, or a glob such as visits-*.csv";
                return Err(Error::not_private("UNION with private rows", format!("use {why}")));
            }
            (left, right) => {
                let released = matches!(left, Body::Released(_)) || matches!(right, Body::Released(_));
                let project = |body: Body, columns: Vec<Expr>| Arc::new(Plain::Project(body.plain(), columns));
                let union = Arc::new(Plain::Union(vec![project(left, ours), project(right, theirs)]));
                let union = if all { union } else { Arc::new(Plain::Distinct(union)) };
                if released { Body::Released(union) } else { Body::Public(union) }
            }
        };
        Ok(Relation { body, columns })
    }

    /// Sorts by some of the relation's own columns.
    fn ordered(&mut self, relation: Relation, order: OrderBy<'_>) -> Result<Relation> {
        if order.is_empty() {
            return Ok(relation);
        }
        let mut by = Vec::new();
        for one in order {
            let of = match self.of_output(&one.expr, &relation.columns)? {
                Some(place) => Expr::column(place, relation.columns[place].kind),
                None => self.expression(&one.expr, Names::Rows(&relation.columns))?,
            };
            by.push((of, direction(one)?));
        }
        let sorted = |plain: Arc<Plain>| Arc::new(Plain::Sort(plain, by));
        let body = match relation.body {
            Body::Public(plain) => Body::Public(sorted(plain)),
            Body::Released(plain) => Body::Released(sorted(plain)),
            Body::Private(_) => return Err(order_over_private()),
        };
        Ok(Relation { body, ..relation })
    }

    /// The output column that ORDER BY or GROUP BY refers to by number or name, if any.
    pub(super) fn of_output(&mut self, written: &ast::Expr, columns: &[Named]) -> Result<Option<usize>> {
        match written {
            ast::Expr::Value(value) => match super::literal::value(&value.value)? {
                Value::Integer(number) => {
                    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                    let place = place.filter(|&place| place < columns.len());
                    place.map(Some).ok_or_else(|| Error::Name(format!("there is no column number {number}")))
                }
                _ => Ok(None),
            },
            ast::Expr::Identifier(name) => {
                let name = Written { name: &name.value, quoted: name.quote_style.is_some() };
                Ok(column(columns, &[], None, name).ok())
            }
            _ => Ok(None),
        }
    }

    fn limited(
        &mut self,
        relation: Relation,
        limit: Option<&ast::LimitClause>,
        fetch: Option<&ast::Fetch>,
    ) -> Result<Relation> {
        let (mut skip, mut most) = (0, None);
        match limit {
            None => {}
            Some(ast::LimitClause::LimitOffset { limit, offset, limit_by }) => {
                refuse(&[(!limit_by.is_empty(), "LIMIT BY")])?;
                most = limit.as_ref().map(|limit| constant_number(self, limit)).transpose()?;
                if let Some(offset) = offset {
                    skip = constant_number(self, &offset.value)?;
                }
            }
            Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
                (skip, most) = (constant_number(self, offset)?, Some(constant_number(self, limit)?));
            }
        }
        if let Some(ast::Fetch { with_ties, percent, quantity }) = fetch {
            refuse(&[(*with_ties, "WITH TIES"), (*percent, "PERCENT"), (most.is_some(), "LIMIT and FETCH together")])?;
            most = Some(quantity.as_ref().map_or(Ok(1), |quantity| constant_number(self, quantity))?);
        }
        if skip == 0 && most.is_none() {
            return Ok(relation);
        }
        let limited = |plain: Arc<Plain>| Arc::new(Plain::Limit(plain, skip, most));
        let body = match relation.body {
            Body::Public(plain) => Body::Public(limited(plain)),
            Body::Released(plain) => Body::Released(limited(plain)),
            Body::Private(_) => {
                return Err(Error::not_private(
                    "LIMIT over private rows",
                    "which rows remain would depend on other people's; limit the released groups instead",
                ));
            }
        };
        Ok(Relation { body, ..relation })
    }
}

impl Body {
    /// The relation that is not private. Never called for private rows.
    pub(super) fn plain(self) -> Arc<Plain> {
        match self {
            Self::Public(plain) | Self::Released(plain) => plain,
            Self::Private(_) => unreachable!("private rows are handled before"),
        }
    }
}

pub(super) fn direction(written: &ast::OrderByExpr) -> Result<Direction> {
    let ast::OrderByExpr { expr: _, options, with_fill } = written;
    let ast::OrderByOptions { asc, nulls_first } = options;
    refuse(&[(with_fill.is_some(), "WITH FILL")])?;
    let descending = *asc == Some(false);
    Ok(Direction { descending, nulls_first: nulls_first.unwrap_or(descending) })
}

pub(super) fn order_over_private() -> Error {
    Error::not_private("ORDER BY over private rows", "order the released groups instead, at the end of the query")
}

/// Refuses the first clause that is present.
pub(super) fn refuse(clauses: &[(bool, &str)]) -> Result<()> {
    clauses.iter().find(|(is_there, _)| *is_there).map_or(Ok(()), |(_, name)| Err(refused(name)))
}

pub(super) fn refused(clause: &str) -> Error {
    Error::unsupported(clause, "use SELECT … FROM … JOIN … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT")
}
