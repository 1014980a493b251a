//! SELECT … FROM … WHERE … GROUP BY … HAVING.

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::ast::{self, GroupByExpr, SelectItem};

use super::aggregates::{self, Asked};
use super::coerce::as_condition;
use super::expression::{Grouped, Names};
use super::query::{OrderBy, direction, order_over_private, refuse, refused};
use super::scope::{Body, Named, Origin, Relation, Written, column};
use super::{AskedWords, KeyWords, Resolver, words};
use crate::algebra::order::Direction;
use crate::algebra::{Expr, Measured, Plain, Rows, Statistic};
use crate::error::{Error, Result};

/// A column of the result: its name and its expression.
#[derive(Debug, Clone)]
pub(super) struct Item {
    name: String,
    of: Of,
}

#[derive(Debug, Clone)]
enum Of {
    /// As written.
    Written(Box<ast::Expr>),
    /// A column of the FROM clause, from `*`.
    Place(usize),
}

/// The clauses that apply after filtering and grouping.
pub(super) struct Rest<'a> {
    pub items: Vec<Item>,
    pub order: OrderBy<'a>,
    pub distinct: bool,
    pub top: Option<usize>,
}

impl Resolver<'_> {
    /// Resolves a SELECT with its ORDER BY. In a sub-query it may aggregate within each unit.
    pub(super) fn select(&mut self, written: &ast::Select, order: OrderBy<'_>, is_sub_query: bool) -> Result<Relation> {
        self.count_operator()?;
        let ast::Select {
            select_token: _,
            optimizer_hints: _,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor: _,
        } = written;
        refuse(&[
            (select_modifiers.is_some(), "a modifier of SELECT"),
            (exclude.is_some(), "EXCLUDE"),
            (into.is_some(), "INTO"),
            (!lateral_views.is_empty(), "LATERAL VIEW"),
            (prewhere.is_some(), "PREWHERE"),
            (!connect_by.is_empty(), "CONNECT BY"),
            (!cluster_by.is_empty(), "CLUSTER BY"),
            (!distribute_by.is_empty(), "DISTRIBUTE BY"),
            (!sort_by.is_empty(), "SORT BY"),
            (!named_window.is_empty(), "WINDOW"),
            (qualify.is_some(), "QUALIFY"),
            (value_table_mode.is_some(), "AS STRUCT"),
        ])?;
        let distinct = match distinct {
            None | Some(ast::Distinct::All) => false,
            Some(ast::Distinct::Distinct) => true,
            Some(_) => return Err(refused("DISTINCT ON")),
        };
        let top = match top {
            None => None,
            Some(ast::Top { with_ties: false, percent: false, quantity: Some(ast::TopQuantity::Constant(number)) }) => {
                Some(usize::try_from(*number).unwrap_or(usize::MAX))
            }
            Some(_) => return Err(refused("TOP")),
        };
        let mut relation = self.from(from)?;
        if let Some(condition) = selection {
            let found = self.expression(condition, Names::Rows(&relation.columns))?;
            relation.body = filtered(relation.body, as_condition(found, &words(condition))?);
        }
        let items = items(projection, &relation.columns)?;
        let rest = Rest { items, order, distinct, top };
        let keys = match group_by {
            GroupByExpr::Expressions(keys, modifiers) if modifiers.is_empty() => keys,
            GroupByExpr::Expressions(..) => return Err(refused("GROUP BY … WITH")),
            GroupByExpr::All(_) => return Err(refused("GROUP BY ALL")),
        };
        let mut asked = Vec::new();
        for item in &rest.items {
            if let Of::Written(written) = &item.of {
                aggregates::collect(written, &mut asked);
            }
        }
        having.iter().for_each(|having| aggregates::collect(having, &mut asked));
        order.iter().for_each(|one| aggregates::collect(&one.expr, &mut asked));
        if asked.is_empty() && keys.is_empty() {
            refuse(&[(having.is_some(), "HAVING without GROUP BY")])?;
            let Relation { body, columns } = relation;
            return self.projected(body, &columns, Names::Rows(&columns), &BTreeSet::new(), rest);
        }
        self.grouped(relation, keys, asked, having.as_ref(), rest, is_sub_query)
    }

    /// Groups rows by keys and aggregates them.
    fn grouped(
        &mut self,
        relation: Relation,
        written_keys: &[ast::Expr],
        asked: Vec<ast::Expr>,
        having: Option<&ast::Expr>,
        rest: Rest<'_>,
        is_sub_query: bool,
    ) -> Result<Relation> {
        let Relation { body, columns } = relation;
        let (mut keys, mut key_words) = (Vec::new(), Vec::new());
        for written in written_keys {
            let (key, words) = self.key(written, &columns, &rest.items)?;
            if key.as_constant().is_none() && !keys.contains(&key) {
                keys.push(key);
                key_words.push(words);
            }
        }
        let calls = asked.iter().map(Asked::of).collect::<Result<Vec<_>>>()?;
        let calls: Vec<Asked<'_>> = calls.into_iter().flatten().collect();
        let mut names: Vec<Named> =
            keys.iter().zip(&key_words).map(|(key, words)| self.named_key(key, words, &columns)).collect();
        let mut opaque = BTreeSet::new();
        let body = match body {
            Body::Private(rows) if is_sub_query && rows.unit().is_some() && names.iter().any(|name| name.is_unit) => {
                let mut within = Vec::new();
                for call in &calls {
                    within.push(call.open(self, &columns)?);
                }
                names.extend(calls.iter().zip(&within).map(|(call, one)| Named::new(call.words(), one.kind())));
                let rows = Rows::within(&rows, keys.clone(), within);
                Body::Private(Arc::new(rows.expect("expressions over its columns")))
            }
            Body::Private(rows) => {
                if calls.is_empty() {
                    let why = "ask for an aggregate of each group too, such as COUNT(*)";
                    return Err(Error::not_private("a list of values", why));
                }
                let mut statistics = Vec::new();
                for call in &calls {
                    statistics.push(call.measured(self, &rows, &columns)?);
                }
                for (place, (call, statistic)) in calls.iter().zip(&statistics).enumerate() {
                    if matches!(statistic, Statistic::Histogram { .. }) {
                        opaque.insert(keys.len() + place);
                    }
                    let origin = Origin::Asked(place);
                    names.push(Named { origin, ..Named::new(call.words(), statistic.kind()) });
                }
                names
                    .iter_mut()
                    .take(keys.len())
                    .enumerate()
                    .for_each(|(place, name)| name.origin = Origin::Key(place));
                self.measure(rows, &keys, &key_words, &calls, statistics, &columns)?;
                Body::Released(Arc::new(Plain::Given))
            }
            Body::Public(_) | Body::Released(_) => {
                let mut open = Vec::new();
                for call in &calls {
                    open.push(call.open(self, &columns)?);
                }
                names.extend(calls.iter().zip(&open).map(|(call, one)| Named::new(call.words(), one.kind())));
                let released = matches!(body, Body::Released(_));
                let (input, keys) = (body.plain(), keys.clone());
                let plain = Arc::new(Plain::Aggregate { input, keys, aggregates: open });
                if released { Body::Released(plain) } else { Body::Public(plain) }
            }
        };
        let kinds = names.iter().skip(keys.len()).map(|name| name.kind);
        let aliases = rest.items.iter().filter_map(|item| match &item.of {
            Of::Written(written) => Some((item.name.clone(), (**written).clone())),
            Of::Place(_) => None,
        });
        let aliases = aliases.collect();
        let grouped =
            Grouped { below: &columns, aggregates: asked.iter().cloned().zip(kinds).collect(), keys, aliases };
        let body = match having {
            None => body,
            Some(condition) => {
                let found = self.expression(condition, Names::Groups(&grouped))?;
                filtered(body, as_condition(found, &words(condition))?)
            }
        };
        let released = matches!(body, Body::Released(_));
        let relation = self.projected(body, &names, Names::Groups(&grouped), &opaque, rest)?;
        if released && let Some((_, keys, _)) = &mut self.measured {
            for named in &relation.columns {
                if let Origin::Key(place) = named.origin
                    && let Some(key) = keys.get_mut(place)
                {
                    key.names.push(named.name.clone());
                }
            }
        }
        Ok(relation)
    }

    /// Resolves a key of GROUP BY: an expression, or the number or name of an output column.
    fn key(&mut self, written: &ast::Expr, columns: &[Named], items: &[Item]) -> Result<(Expr, KeyWords)> {
        let listed = match written {
            ast::Expr::Value(value) => match super::literal::value(&value.value)? {
                crate::algebra::Value::Integer(number) => {
                    let place = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                    let item = place.and_then(|place| items.get(place));
                    Some(item.ok_or_else(|| Error::Name(format!("there is no column number {number}")))?)
                }
                _ => None,
            },
            ast::Expr::Identifier(name) => {
                let written = Written { name: &name.value, quoted: name.quote_style.is_some() };
                match column(columns, &[], None, written) {
                    Ok(_) => None,
                    Err(_) => items.iter().find(|item| item.name == name.value),
                }
            }
            _ => None,
        };
        let (key, written) = match listed.map(|item| (&item.of, item)) {
            None => (self.expression(written, Names::Rows(columns))?, written.clone()),
            Some((Of::Place(place), item)) => {
                let written = ast::Expr::Identifier(ast::Ident::new(item.name.clone()));
                (Expr::column(*place, columns[*place].kind), written)
            }
            Some((Of::Written(of), _)) => (self.expression(of, Names::Rows(columns))?, (**of).clone()),
        };
        let words = words(&written);
        let mut names = vec![words.clone()];
        if let Some(place) = key.as_column() {
            names.extend([columns[place].name.clone(), columns[place].full_name()]);
        }
        Ok((key, KeyWords { words, names }))
    }

    fn named_key(&self, key: &Expr, words: &KeyWords, columns: &[Named]) -> Named {
        match key.as_column() {
            Some(place) => Named { qualifier: None, origin: Origin::Derived, hidden: false, ..columns[place].clone() },
            None => Named::new(words.words.clone(), key.kind()),
        }
    }

    /// Records what is measured of private rows. A query has exactly one such measurement.
    fn measure(
        &mut self,
        rows: Arc<Rows>,
        keys: &[Expr],
        key_words: &[KeyWords],
        calls: &[Asked<'_>],
        statistics: Vec<Statistic>,
        columns: &[Named],
    ) -> Result<()> {
        if self.measured.is_some() {
            let why = "aggregate private rows once per query; each query has its own budget";
            return Err(Error::unsupported("a query with two aggregations of private rows", why));
        }
        let mut asked = Vec::new();
        for (call, statistic) in calls.iter().zip(&statistics) {
            let of = call.argument_words();
            let range = statistic.ranged().map(|ranged| self.range(ranged, &of, columns)).transpose()?;
            asked.push(AskedWords { words: call.words().to_owned(), of, range });
        }
        let measured = Measured { rows, keys: keys.to_vec(), statistics };
        self.measured = Some((measured, key_words.to_vec(), asked));
        Ok(())
    }

    /// Computes the output columns, in the requested order.
    fn projected(
        &mut self,
        body: Body,
        columns: &[Named],
        names: Names<'_>,
        opaque: &BTreeSet<usize>,
        rest: Rest<'_>,
    ) -> Result<Relation> {
        let mut outputs = Vec::new();
        let mut named = Vec::new();
        for item in &rest.items {
            let of = match (&item.of, names) {
                (Of::Place(place), Names::Rows(_)) => Expr::column(*place, columns[*place].kind),
                (Of::Place(place), Names::Groups(grouped)) => {
                    let below = Expr::column(*place, grouped.below[*place].kind);
                    let key = grouped.keys.iter().position(|key| *key == below);
                    let why = || Error::Name(format!("{} is neither in GROUP BY nor inside an aggregate", item.name));
                    Expr::column(key.ok_or_else(why)?, below.kind())
                }
                (Of::Written(written), _) => self.expression(written, names)?,
            };
            readable(&of, opaque, columns)?;
            named.push(self.output(&of, &item.name, columns));
            outputs.push(of);
        }
        self.count_columns(named.len(), "it has more columns")?;
        let (mut all, mut by): (Vec<Expr>, Vec<(Expr, Direction)>) = (outputs.clone(), Vec::new());
        for one in rest.order {
            let place = match self.of_output(&one.expr, &named)? {
                Some(place) => place,
                None => {
                    let of = self.expression(&one.expr, names)?;
                    readable(&of, opaque, columns)?;
                    all.iter().position(|known| *known == of).unwrap_or_else(|| {
                        all.push(of);
                        all.len() - 1
                    })
                }
            };
            by.push((Expr::column(place, all[place].kind()), direction(one)?));
        }
        let plain = match body {
            Body::Private(rows) => {
                let ordered = !by.is_empty();
                if rest.distinct {
                    let why = "group by the columns instead, with an aggregate of each group (in a sub-query, by the unit, too)";
                    return Err(Error::unsupported("SELECT DISTINCT over private rows", why));
                }
                if ordered {
                    return Err(order_over_private());
                }
                refuse(&[(rest.top.is_some(), "TOP over private rows")])?;
                let rows = Rows::project(&rows, outputs).expect("expressions over its columns");
                return Ok(Relation { body: Body::Private(Arc::new(rows)), columns: named });
            }
            Body::Public(ref plain) | Body::Released(ref plain) => plain.clone(),
        };
        let hidden = all.len() - outputs.len();
        let kinds: Vec<_> = all.iter().map(Expr::kind).collect();
        let mut plain = Arc::new(Plain::Project(plain, all));
        if rest.distinct {
            refuse(&[(hidden > 0, "SELECT DISTINCT ordered by what it does not list")])?;
            plain = Arc::new(Plain::Distinct(plain));
            named.iter_mut().for_each(|column| column.origin = Origin::Derived);
        }
        if !by.is_empty() {
            plain = Arc::new(Plain::Sort(plain, by));
        }
        if hidden > 0 {
            let shown = (0..outputs.len()).map(|place| Expr::column(place, kinds[place])).collect();
            plain = Arc::new(Plain::Project(plain, shown));
        }
        if let Some(top) = rest.top {
            plain = Arc::new(Plain::Limit(plain, 0, Some(top)));
        }
        let body = if matches!(body, Body::Released(_)) { Body::Released(plain) } else { Body::Public(plain) };
        Ok(Relation { body, columns: named })
    }

    /// A column of the result, with what is known about it.
    fn output(&self, of: &Expr, name: &str, columns: &[Named]) -> Named {
        let given = self.given_range(None, name);
        match of.as_column().map(|place| &columns[place]) {
            Some(column) => Named {
                qualifier: None,
                name: name.to_owned(),
                range: given.or(column.range.clone()),
                hidden: false,
                ..column.clone()
            },
            None => {
                let range = given.or_else(|| super::range::of(of, columns));
                Named { range, ..Named::new(name, of.kind()) }
            }
        }
    }
}

/// The output columns, with `*` expanded.
fn items(projection: &[SelectItem], columns: &[Named]) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for item in projection {
        match item {
            SelectItem::Wildcard(options) => items.extend(star(|column| !column.hidden, options, columns)?),
            SelectItem::QualifiedWildcard(kind, options) => {
                let ast::SelectItemQualifiedWildcardKind::ObjectName(table) = kind else {
                    return Err(refused(&item.to_string()));
                };
                let table = table.0.last().and_then(ast::ObjectNamePart::as_ident);
                let table = table.map(|ident| ident.value.clone()).unwrap_or_default();
                let of_table =
                    |column: &Named| column.qualifier.as_ref().is_some_and(|known| known.eq_ignore_ascii_case(&table));
                items.extend(star(of_table, options, columns)?);
            }
            SelectItem::UnnamedExpr(expression) => {
                let name = match expression {
                    ast::Expr::Identifier(name) => name.value.clone(),
                    other => words(other),
                };
                items.push(Item { name, of: Of::Written(Box::new(expression.clone())) });
            }
            SelectItem::ExprWithAlias { expr, alias } => {
                items.push(Item { name: alias.value.clone(), of: Of::Written(Box::new(expr.clone())) });
            }
            SelectItem::ExprWithAliases { .. } => return Err(refused(&item.to_string())),
        }
    }
    Ok(items)
}

fn star(of: impl Fn(&Named) -> bool, options: &ast::WildcardAdditionalOptions, columns: &[Named]) -> Result<Vec<Item>> {
    let ast::WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude,
        opt_except,
        opt_replace,
        opt_rename,
        opt_alias,
    } = options;
    let fewer = opt_ilike.is_some() || opt_exclude.is_some() || opt_except.is_some();
    refuse(&[(fewer || opt_replace.is_some() || opt_rename.is_some() || opt_alias.is_some(), "* with options")])?;
    let found = columns.iter().enumerate().filter(|(_, column)| of(column));
    Ok(found.map(|(place, column)| Item { name: column.name.clone(), of: Of::Place(place) }).collect())
}

/// The rows for which a condition is true.
fn filtered(body: Body, condition: Expr) -> Body {
    match body {
        Body::Private(rows) => {
            Body::Private(Arc::new(Rows::filter(&rows, condition).expect("a condition over its columns")))
        }
        Body::Public(plain) => Body::Public(Arc::new(Plain::Filter(plain, condition))),
        Body::Released(plain) => Body::Released(Arc::new(Plain::Filter(plain, condition))),
    }
}

/// A histogram is a list: it can be shown, but no expression can use it.
fn readable(of: &Expr, opaque: &BTreeSet<usize>, columns: &[Named]) -> Result<()> {
    if of.as_column().is_some() {
        return Ok(());
    }
    let mut read = BTreeSet::new();
    of.columns(&mut read);
    match read.intersection(opaque).next() {
        None => Ok(()),
        Some(&place) => Err(Error::unsupported(&columns[place].name, "a histogram can be shown but not computed with")),
    }
}
