//! Whose each row is.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, Expr, ExprSchemable, Filter, Join, LogicalPlan, LogicalPlanBuilder, Operator,
    Projection, SubqueryAlias,
};

use super::total::total;
use super::unordered::unordered;
use super::words;
use crate::error::{Error, Result, planning};

/// The name under which a unit is carried through a sub-query that leaves it out.
const CARRIED: &str = "__reticent_unit";

/// Aggregates that a sub-query may compute of one unit's rows: they do not fail and do not depend on the order of rows.
const PER_UNIT: [&str; 8] = ["count", "sum", "min", "max", "avg", "bool_and", "bool_or", "mean"];

/// Whose the rows of a plan are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// Nobody's: no table below is private.
    Public,
    /// Every row is somebody else.
    Row,
    /// The unit's, which each of these columns holds; there is at least one.
    Unit(Vec<Column>),
}

/// A public table is joined to rows that are units: each of them may match one of its rows at most.
#[derive(Debug, Clone)]
pub struct UniqueKey {
    /// The public side.
    pub plan: LogicalPlan,
    /// What is compared.
    pub keys: Vec<Expr>,
}

/// Private rows on their way to the aggregation: none of the expressions can fail, and each row belongs to one unit.
#[derive(Debug, Clone)]
pub struct Rows {
    /// Where they come from.
    pub plan: LogicalPlan,
    /// Whose they are.
    pub owner: Owner,
    /// What must hold of public tables.
    pub unique: Vec<UniqueKey>,
}

impl Rows {
    /// Follows the unit upwards from the tables.
    ///
    /// # Privacy
    /// By induction over the plan: if each input row belongs to one unit (or is one), and with the unit's rows gone no other
    /// row changes, then the same holds of the output. Filters and projections work row by row; joins on the unit pair rows of
    /// one unit only; a join with public rows copies a private row, or drops it; an aggregation by unit works unit by unit.
    ///
    /// # Errors
    /// If the plan has anything else, or loses track of the unit.
    pub fn of(plan: &LogicalPlan, owner_of: &dyn Fn(&str) -> Result<Owner>) -> Result<Self> {
        if is_public(plan, owner_of)? {
            return Ok(Self { plan: plan.clone(), owner: Owner::Public, unique: Vec::new() });
        }
        match plan {
            LogicalPlan::TableScan(scan) => {
                let owner = owner_of(scan.table_name.table())?;
                let owner = match owner {
                    Owner::Unit(columns) => Owner::Unit(
                        columns
                            .into_iter()
                            .map(|column| Column::new(Some(scan.table_name.clone()), column.name))
                            .collect(),
                    ),
                    other => other,
                };
                Ok(Self { plan: plan.clone(), owner, unique: Vec::new() })
            }
            LogicalPlan::SubqueryAlias(alias) => Self::of(&alias.input, owner_of)?.renamed(alias),
            LogicalPlan::Filter(filter) => Self::of(&filter.input, owner_of)?.filtered(&filter.predicate),
            LogicalPlan::Projection(projection) => Self::of(&projection.input, owner_of)?.projected(&projection.expr),
            LogicalPlan::Join(join) => Self::joined(join, owner_of),
            LogicalPlan::Aggregate(aggregate) => Self::of(&aggregate.input, owner_of)?.per_unit(aggregate),
            other => Err(refusal(other)),
        }
    }

    fn renamed(self, alias: &SubqueryAlias) -> Result<Self> {
        let owner = match self.owner {
            Owner::Unit(columns) => Owner::Unit(
                columns.into_iter().map(|column| Column::new(Some(alias.alias.clone()), column.name)).collect(),
            ),
            other => other,
        };
        let renamed = SubqueryAlias::try_new(Arc::new(self.plan), alias.alias.clone());
        let plan = LogicalPlan::SubqueryAlias(renamed.map_err(|error| planning(&error))?);
        Ok(Self { plan, owner, unique: self.unique })
    }

    /// Those for which a condition holds.
    ///
    /// # Errors
    /// If the condition may not be used over private rows.
    pub fn filtered(self, predicate: &Expr) -> Result<Self> {
        let predicate = total(predicate.clone(), self.plan.schema())?;
        let filter = Filter::try_new(predicate, Arc::new(self.plan)).map_err(|error| planning(&error))?;
        Ok(Self { plan: LogicalPlan::Filter(filter), owner: self.owner, unique: self.unique })
    }

    fn projected(self, expressions: &[Expr]) -> Result<Self> {
        let mut output =
            expressions.iter().map(|one| total(one.clone(), self.plan.schema())).collect::<Result<Vec<_>>>()?;
        let owner = match self.owner {
            Owner::Unit(columns) => {
                let mut kept: Vec<Column> =
                    expressions.iter().filter(|one| is_one_of(one, &columns)).map(output_column).collect();
                if kept.is_empty() {
                    // Named after its place, so that two sub-queries can both carry theirs.
                    let name = format!("{CARRIED}_{}", output.len());
                    output.push(Expr::Column(columns[0].clone()).alias(&name));
                    kept.push(Column::from_name(name));
                }
                Owner::Unit(kept)
            }
            other => other,
        };
        let projection = Projection::try_new(output, Arc::new(self.plan)).map_err(|error| planning(&error))?;
        Ok(Self { plan: LogicalPlan::Projection(projection), owner, unique: self.unique })
    }

    /// A sub-query that computes something of each unit.
    fn per_unit(self, aggregate: &Aggregate) -> Result<Self> {
        let Owner::Unit(columns) = &self.owner else {
            return Err(Error::not_private(
                "an aggregate of an aggregate",
                "a sub-query may only aggregate the rows of one unit; name the unit's column with --unit and group by it",
            ));
        };
        let units: Vec<&Expr> = aggregate.group_expr.iter().filter(|key| is_one_of(key, columns)).collect();
        if units.is_empty() {
            return Err(Error::not_private(
                "a sub-query that mixes rows of several units",
                format!("group it by {} as well", columns[0].name),
            ));
        }
        let owner = Owner::Unit(units.into_iter().map(output_column).collect());
        let schema = self.plan.schema();
        let keys = aggregate.group_expr.iter().map(|key| total(key.clone(), schema)).collect::<Result<Vec<_>>>()?;
        let mut values = Vec::new();
        for expression in &aggregate.aggr_expr {
            let unaliased = expression.clone().unalias();
            let Expr::AggregateFunction(function) = &unaliased else {
                return Err(Error::not_private(words(expression), "a sub-query may use plain aggregates only"));
            };
            let (name, params) = (function.func.name(), &function.params);
            if !PER_UNIT.contains(&name) || !params.order_by.is_empty() {
                let why = format!("in a sub-query use one of {}", PER_UNIT[..7].join(", "));
                return Err(Error::not_private(words(expression), why));
            }
            let is_decimal = |one: &Expr| one.get_type(schema).is_ok_and(|data_type| DataType::is_decimal(&data_type));
            if matches!(name, "avg" | "mean") && params.args.iter().any(is_decimal) {
                let why = "a mean of decimals can overflow, which would be seen; write AVG(CAST(… AS DOUBLE))";
                return Err(Error::not_private(words(expression), why));
            }
            let mut total_function = function.clone();
            total_function.params.args =
                params.args.iter().map(|one| total(one.clone(), schema)).collect::<Result<Vec<_>>>()?;
            if let Some(filter) = &params.filter {
                total_function.params.filter = Some(Box::new(total((**filter).clone(), schema)?));
            }
            let floats = |one: &Expr| one.get_type(schema).is_ok_and(|found| found.is_floating());
            if total_function.params.args.iter().any(floats)
                && let Some(unordered) = unordered(name)
            {
                let is_double = |one: &Expr| one.get_type(schema).is_ok_and(|found| found == DataType::Float64);
                if !total_function.params.args.iter().all(is_double) {
                    return Err(Error::not_private(
                        words(expression),
                        "write CAST(… AS DOUBLE) inside, in a sub-query",
                    ));
                }
                total_function.func = Arc::new(unordered);
            }
            let (qualifier, name) = expression.qualified_name();
            values.push(Expr::AggregateFunction(total_function).alias_qualified(qualifier, name));
        }
        let names: Vec<(Option<_>, String)> = aggregate.group_expr.iter().map(Expr::qualified_name).collect();
        let keys: Vec<Expr> = keys.into_iter().zip(names).map(|(key, name)| same_name(key, name)).collect();
        let plan = Aggregate::try_new(Arc::new(self.plan.clone()), keys, values).map_err(|error| planning(&error))?;
        Ok(Self { plan: LogicalPlan::Aggregate(plan), owner, unique: self.unique })
    }

    fn joined(join: &Join, owner_of: &dyn Fn(&str) -> Result<Owner>) -> Result<Self> {
        let (left, right) = (Self::of(&join.left, owner_of)?, Self::of(&join.right, owner_of)?);
        let equal = compared(join);
        let owner = match (&left.owner, &right.owner) {
            (Owner::Unit(ours), Owner::Unit(theirs)) => {
                let paired = equal.iter().any(|(one, other)| {
                    let pair = |one: &Expr, other: &Expr| is_one_of(one, ours) && is_one_of(other, theirs);
                    pair(one, other) || pair(other, one)
                });
                if !paired {
                    let why = match (visible(ours), visible(theirs)) {
                        (Some(ours), Some(theirs)) => {
                            format!("add {} = {} to its ON", ours.flat_name(), theirs.flat_name())
                        }
                        _ => "select the unit's column in both sub-queries, and join on it".into(),
                    };
                    return Err(Error::not_private("joining two private tables other than on the unit", why));
                }
                match join.join_type {
                    JoinType::Inner => Owner::Unit(ours.iter().chain(theirs).cloned().collect()),
                    JoinType::Left => Owner::Unit(ours.clone()),
                    JoinType::Right => Owner::Unit(theirs.clone()),
                    other => return Err(outer(other)),
                }
            }
            (private, Owner::Public) => match join.join_type {
                JoinType::Inner | JoinType::Left => private.clone(),
                other => return Err(outer(other)),
            },
            (Owner::Public, private) => match join.join_type {
                JoinType::Inner | JoinType::Right => private.clone(),
                other => return Err(outer(other)),
            },
            _ => {
                return Err(Error::not_private(
                    "joining two private tables",
                    "it needs the unit on both sides: name its column with --unit, and join on it",
                ));
            }
        };
        let mut unique: Vec<UniqueKey> = left.unique.iter().chain(&right.unique).cloned().collect();
        if owner == Owner::Row {
            let public = if right.owner == Owner::Public { &right } else { &left };
            let schema = public.plan.schema();
            let is_public = |column: &&Column| schema.has_column(column);
            let of_public = |one: &Expr| !one.column_refs().is_empty() && one.column_refs().iter().all(is_public);
            // Only what is the same for all public rows picks one of them: public columns may equal each other in many.
            let picks = |one: &Expr, other: &Expr| of_public(one) && !other.column_refs().iter().any(is_public);
            let keys: Vec<Expr> = equal
                .iter()
                .flat_map(|(one, other)| [(one, other), (other, one)])
                .filter(|(one, other)| picks(one, other))
                .map(|(one, _)| one.clone())
                .collect();
            if keys.is_empty() {
                return Err(Error::not_private(
                    "a join that compares nothing",
                    "each row could match many public ones; join ON a column that is unique in the public table",
                ));
            }
            refuse_changing(&public.plan)?;
            unique.push(UniqueKey { plan: public.plan.clone(), keys });
        }
        let schema = Arc::clone(&join.schema);
        let on = join
            .on
            .iter()
            .map(|(one, other)| {
                Ok((total(one.clone(), left.plan.schema())?, total(other.clone(), right.plan.schema())?))
            })
            .collect::<Result<Vec<_>>>()?;
        let filter = join.filter.as_ref().map(|filter| total(filter.clone(), &schema)).transpose()?;
        let plan = Join::try_new(
            Arc::new(left.plan),
            Arc::new(right.plan),
            on,
            filter,
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        );
        let plan = LogicalPlan::Join(plan.map_err(|error| planning(&error))?);
        Ok(Self { plan, owner, unique })
    }

    /// A plan for `expressions` of each row, the unit first if there is one.
    ///
    /// # Errors
    /// If the planner finds a fault.
    pub fn select(&self, expressions: Vec<Expr>) -> Result<LogicalPlan> {
        let unit = match &self.owner {
            Owner::Unit(columns) => Some(Expr::Column(columns[0].clone())),
            _ => None,
        };
        let numbered = unit.into_iter().chain(expressions).enumerate();
        let all: Vec<Expr> =
            numbered.map(|(place, one)| one.unalias_nested().data.alias(format!("c{place}"))).collect();
        LogicalPlanBuilder::from(self.plan.clone())
            .project(all)
            .and_then(LogicalPlanBuilder::build)
            .map_err(|error| planning(&error))
    }
}

/// Does it read public tables only? Then it may do what it likes.
fn is_public(plan: &LogicalPlan, owner_of: &dyn Fn(&str) -> Result<Owner>) -> Result<bool> {
    let mut public = true;
    let mut wrong = None;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            match owner_of(scan.table_name.table()) {
                Ok(owner) => public &= owner == Owner::Public,
                Err(error) => wrong = Some(error),
            }
        }
        // A lateral sub-query computes with the rows of what it is joined to.
        if let LogicalPlan::Subquery(subquery) = node {
            public &= subquery.outer_ref_columns.is_empty();
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .map_err(|error| planning(&error))?;
    wrong.map_or(Ok(public), Err)
}

/// Its keys are looked at before the charge, and its rows again after it: refuses what could be different then.
fn refuse_changing(plan: &LogicalPlan) -> Result<()> {
    let mut changing = false;
    let _ = plan.apply_with_subqueries(|node| {
        changing |= match node {
            LogicalPlan::Limit(_) | LogicalPlan::Window(_) | LogicalPlan::Extension(_) => true,
            // Sums of floats and first values depend on the order in which threads bring the rows.
            LogicalPlan::Aggregate(aggregate) => !aggregate.aggr_expr.iter().all(|one| {
                let name = |function: &str| ["count", "min", "max", "bool_and", "bool_or"].contains(&function);
                matches!(one.clone().unalias(), Expr::AggregateFunction(function) if name(function.func.name()))
            }),
            LogicalPlan::Distinct(Distinct::On(_)) => true,
            _ => false,
        };
        node.apply_expressions(|expression| {
            changing |= expression.exists(|one| Ok(one.is_volatile_node()))?;
            Ok(TreeNodeRecursion::Continue)
        })
    });
    if changing {
        return Err(Error::not_private(
            "a join with a public sub-query whose rows may change",
            "leave LIMIT, window functions, sums and random values out of it, or write its rows to a file",
        ));
    }
    Ok(())
}

/// The equalities that a join demands.
fn compared(join: &Join) -> Vec<(Expr, Expr)> {
    let in_filter = join.filter.iter().flat_map(split_conjunction).filter_map(|one| match one {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => Some(((**left).clone(), (**right).clone())),
        _ => None,
    });
    join.on.iter().cloned().chain(in_filter).collect()
}

/// Is it one of these columns, under whatever name?
pub fn is_one_of(expression: &Expr, columns: &[Column]) -> bool {
    match expression {
        Expr::Column(column) => {
            columns.iter().any(|one| one == column || (column.relation.is_none() && one.name == column.name))
        }
        Expr::Alias(alias) => is_one_of(&alias.expr, columns),
        _ => false,
    }
}

/// One of the unit's columns that the user can name.
pub fn visible(columns: &[Column]) -> Option<&Column> {
    columns.iter().find(|column| !column.name.starts_with(CARRIED))
}

/// The column that an expression becomes.
fn output_column(expression: &Expr) -> Column {
    let (qualifier, name) = expression.qualified_name();
    Column::new(qualifier, name)
}

/// The expression under the name that the plan above knows.
fn same_name(expression: Expr, (qualifier, name): (Option<datafusion::common::TableReference>, String)) -> Expr {
    if expression.qualified_name() == (qualifier.clone(), name.clone()) {
        return expression;
    }
    expression.alias_qualified(qualifier, name)
}

fn outer(join: JoinType) -> Error {
    Error::not_private(
        format!("a {} JOIN here", join.to_string().to_uppercase()),
        "rows without a unit would appear; use JOIN, or LEFT JOIN with the private table on the left",
    )
}

fn refusal(plan: &LogicalPlan) -> Error {
    let (what, why) = match plan {
        LogicalPlan::Window(_) => {
            ("a window function over private rows", "one row's value would depend on other people's")
        }
        LogicalPlan::Sort(_) => {
            ("ORDER BY over private rows", "order the released groups instead, at the end of the query")
        }
        LogicalPlan::Limit(_) => (
            "LIMIT over private rows",
            "which rows remain would depend on other people's; limit the released groups instead",
        ),
        LogicalPlan::Distinct(_) => ("DISTINCT over private rows", "group by the columns instead"),
        LogicalPlan::Union(_) => {
            ("UNION of private tables", "give them as one table: a folder, or a glob such as visits-*.csv")
        }
        LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) => {
            ("a query without a table", "name a table with --table NAME=FILE")
        }
        _ => ("this form of query", "use SELECT … FROM … JOIN … WHERE … GROUP BY …"),
    };
    Error::not_private(what, why)
}
