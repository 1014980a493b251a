//! Resolution of aggregates.

use std::ops::ControlFlow;

use reticent::exact::Rational;
use reticent::message;
use sqlparser::ast::{self, DuplicateTreatment, FunctionArguments, Visit, Visitor};

use super::coerce::{as_condition, as_number};
use super::expression::{Names, unnamed};
use super::scope::Named;
use super::{Resolver, words};
use crate::algebra::{Aggregate, Expr, Rows, Statistic, Type, Value};
use crate::error::{Error, Result};
use crate::release::MOST_BINS;

/// The aggregates of private rows, for error messages.
const PRIVATE: &str = "COUNT, SUM, AVG, VARIANCE, STDDEV, MEDIAN, QUANTILE(x, p), STABLE_MEDIAN, MODE, STABLE_MODE, HISTOGRAM(x, bins) \
                       and COUNT(DISTINCT unit)";
/// The aggregates of one unit's rows and of tables that are not private.
const OPEN: &str = "COUNT, SUM, AVG, MIN, MAX, MEDIAN, QUANTILE(x, p), MODE, VARIANCE, STDDEV, BOOL_AND and BOOL_OR";
/// Default number of bins of a histogram.
const BINS: u32 = 10;

/// The names of all aggregates.
const NAMES: [&str; 29] = [
    "count",
    "sum",
    "avg",
    "mean",
    "min",
    "max",
    "median",
    "quantile",
    "variance",
    "var",
    "var_samp",
    "var_sample",
    "var_pop",
    "var_population",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "stable_median",
    "stable_mode",
    "mode",
    "histogram",
    "bool_and",
    "bool_or",
    "every",
    "any_value",
    "array_agg",
    "percentile_cont",
    "quantile_cont",
    "approx_percentile_cont",
];

/// Quantiles in the standard's syntax: the fraction first, the column after ORDER BY.
const PERCENTILES: [&str; 3] = ["percentile_cont", "quantile_cont", "approx_percentile_cont"];

/// Whether this is the name of an aggregate, in lower case.
pub(super) fn is_one(name: &str) -> bool {
    NAMES.contains(&name)
}

/// An aggregate as written in the query.
pub(super) struct Asked<'a> {
    name: String,
    arguments: Vec<&'a ast::Expr>,
    distinct: bool,
    filter: Option<&'a ast::Expr>,
    words: String,
}

impl<'a> Asked<'a> {
    /// Parses an expression; `None` if it is not an aggregate.
    pub fn of(written: &'a ast::Expr) -> Result<Option<Self>> {
        let ast::Expr::Function(function) = written else { return Ok(None) };
        let ast::Function { name, uses_odbc_syntax: _, parameters, args, filter, null_treatment, over, within_group } =
            function;
        let (name, words) = (name.to_string().to_ascii_lowercase(), words(written));
        if over.is_some() || !is_one(&name) {
            return Ok(None);
        }
        let is_percentile = PERCENTILES.contains(&name.as_str());
        if null_treatment.is_some()
            || within_group.is_empty() == is_percentile
            || !matches!(parameters, FunctionArguments::None)
        {
            if is_percentile {
                let why = "write it as in PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY age), or QUANTILE(age, 0.9)";
                return Err(Error::unsupported(words, why));
            }
            return Err(Error::unsupported(words, "leave ORDER BY and IGNORE NULLS out of it"));
        }
        let FunctionArguments::List(list) = args else { return Err(Error::unsupported(words, "it needs a column")) };
        if !list.clauses.is_empty() {
            return Err(Error::unsupported(words, "leave ORDER BY and IGNORE NULLS out of it"));
        }
        let distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
        let is_star =
            |argument: &ast::FunctionArg| matches!(argument, ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Wildcard));
        let arguments = match &list.args[..] {
            [star] if is_star(star) && name == "count" && !distinct => Vec::new(),
            arguments => arguments.iter().map(|one| unnamed(one, &words)).collect::<Result<_>>()?,
        };
        let mut asked = Self { name, arguments, distinct, filter: filter.as_deref(), words };
        if is_percentile {
            match &within_group[..] {
                [one] if one.options.asc != Some(false) => asked.arguments.insert(0, &one.expr),
                _ => return Err(Error::unsupported(asked.words, "ORDER BY takes one column, in ascending order")),
            }
            asked.name = "quantile".into();
        }
        Ok(Some(asked))
    }

    /// The aggregate as written.
    pub fn words(&self) -> &str {
        &self.words
    }

    /// The argument as written.
    pub fn argument_words(&self) -> String {
        self.arguments.first().map_or_else(String::new, |one| super::words(one))
    }

    /// The argument's value for each row, NULL where a FILTER excludes the row.
    fn argument(&self, resolver: &mut Resolver<'_>, columns: &[Named]) -> Result<Expr> {
        let written = self.arguments.first().ok_or_else(|| Error::unsupported(&self.words, "it needs a column"))?;
        let of = resolver.expression(written, Names::Rows(columns))?;
        self.only_where(of, resolver, columns)
    }

    fn only_where(&self, of: Expr, resolver: &mut Resolver<'_>, columns: &[Named]) -> Result<Expr> {
        let Some(filter) = self.filter else { return Ok(of) };
        let condition = as_condition(resolver.expression(filter, Names::Rows(columns))?, &self.words)?;
        let null = Expr::null(of.kind());
        Expr::case(vec![(condition, of)], null).ok_or_else(|| Error::Name(format!("{}: mismatched types", self.words)))
    }

    /// The argument of COUNT: `None` counts all rows.
    fn counted(&self, resolver: &mut Resolver<'_>, columns: &[Named]) -> Result<Option<Expr>> {
        let all = Expr::constant(Value::Boolean(true));
        let of = match self.arguments.first() {
            None => all,
            Some(written) => match resolver.expression(written, Names::Rows(columns))? {
                // COUNT(1) is COUNT(*).
                one if one.as_constant().is_some_and(|value| !value.is_null()) => all,
                one => one,
            },
        };
        let of = self.only_where(of, resolver, columns)?;
        Ok((of.as_constant() != Some(&Value::Boolean(true))).then_some(of))
    }

    fn number_of_arguments(&self, allowed: std::ops::RangeInclusive<usize>) -> Result<()> {
        if allowed.contains(&self.arguments.len()) {
            return Ok(());
        }
        let name = self.name.to_uppercase();
        Err(Error::Name(match self.name.as_str() {
            "quantile" => format!("{name} takes a column and a fraction, as in {name}(age, 0.9)"),
            "histogram" => format!("{name} takes a column and a number of bins, as in {name}(age, 12)"),
            _ => format!("{name} takes one column, as in {name}(age)"),
        }))
    }

    /// Resolves it to a statistic of private rows.
    ///
    /// # Errors
    /// If it has no private form.
    pub fn measured(&self, resolver: &mut Resolver<'_>, rows: &Rows, columns: &[Named]) -> Result<Statistic> {
        let Self { name, words, .. } = self;
        if self.distinct {
            return self.units(resolver, rows, columns);
        }
        if name == "count" {
            self.number_of_arguments(0..=1)?;
            return Ok(self.counted(resolver, columns)?.map_or(Statistic::Rows, Statistic::Present));
        }
        let more = usize::from(matches!(name.as_str(), "quantile" | "histogram"));
        let least = if name == "quantile" { 2 } else { 1 };
        self.number_of_arguments(least..=1 + more)?;
        let of = |resolver: &mut Resolver<'_>| self.argument(resolver, columns);
        let number = |resolver: &mut Resolver<'_>| {
            let of = of(resolver)?;
            match of.kind() {
                Type::Integer | Type::Number => Ok(of),
                _ if of.as_constant().is_some_and(Value::is_null) => Ok(Expr::null(Type::Number)),
                kind => {
                    let why = format!("it is {kind}, not a number; write CAST(… AS DOUBLE) if it holds numbers");
                    Err(Error::unsupported(words, why))
                }
            }
        };
        Ok(match name.as_str() {
            "sum" => Statistic::Sum(number(resolver)?),
            "avg" | "mean" => Statistic::Mean(number(resolver)?),
            "variance" | "var" | "var_samp" | "var_sample" => {
                Statistic::Variance { of: number(resolver)?, sample: true }
            }
            "var_pop" | "var_population" => Statistic::Variance { of: number(resolver)?, sample: false },
            "stddev" | "stddev_samp" => Statistic::StandardDeviation { of: number(resolver)?, sample: true },
            "stddev_pop" => Statistic::StandardDeviation { of: number(resolver)?, sample: false },
            "median" => Statistic::Quantile { of: number(resolver)?, p: Rational::new(1, 2)? },
            "quantile" => Statistic::Quantile { of: number(resolver)?, p: self.share()? },
            "stable_median" => Statistic::StableMedian(number(resolver)?),
            "stable_mode" | "mode" => Statistic::StableMode(of(resolver)?),
            "histogram" => Statistic::Histogram { of: number(resolver)?, bins: self.bins()? },
            _ => return Err(Error::not_private(words, format!("use {PRIVATE}"))),
        })
    }

    /// `COUNT(DISTINCT unit)`.
    fn units(&self, resolver: &mut Resolver<'_>, rows: &Rows, columns: &[Named]) -> Result<Statistic> {
        let words = &self.words;
        if rows.unit().is_none() {
            let why = message!(
                "only units can be counted this way: name the unit's column with ",
                ["unit"],
                " and count that"
            );
            return Err(Error::unsupported(words, why));
        }
        let of = match &self.arguments[..] {
            [one] => resolver.expression(one, Names::Rows(columns))?.as_column(),
            _ => None,
        };
        if self.name == "count" && self.filter.is_none() && of.is_some_and(|place| columns[place].is_unit) {
            return Ok(Statistic::Units);
        }
        let unit = columns.iter().find(|column| column.is_unit).map_or("unit", |column| column.name.as_str());
        Err(Error::unsupported(words, format!("only units can be counted this way: COUNT(DISTINCT {unit})")))
    }

    /// Resolves it to an exact aggregate, of one unit's rows or of rows that are not private.
    ///
    /// # Errors
    /// If there is no such aggregate.
    pub fn open(&self, resolver: &mut Resolver<'_>, columns: &[Named]) -> Result<Aggregate> {
        let Self { name, words, .. } = self;
        let of = |resolver: &mut Resolver<'_>| self.argument(resolver, columns);
        if self.distinct {
            self.number_of_arguments(1..=1)?;
            return match name.as_str() {
                "count" => Ok(Aggregate::Distinct(of(resolver)?)),
                // DISTINCT makes no difference to these.
                "min" => Ok(Aggregate::Least(of(resolver)?)),
                "max" => Ok(Aggregate::Most(of(resolver)?)),
                _ => Err(Error::unsupported(words, "DISTINCT is only supported in COUNT")),
            };
        }
        if name == "count" {
            self.number_of_arguments(0..=1)?;
            return Ok(self.counted(resolver, columns)?.map_or(Aggregate::Rows, Aggregate::Count));
        }
        self.number_of_arguments(if name == "quantile" { 2..=2 } else { 1..=1 })?;
        let number = |resolver: &mut Resolver<'_>| as_number(of(resolver)?, words);
        let truth = |resolver: &mut Resolver<'_>| as_condition(of(resolver)?, words);
        let spread = |of: Expr, sample: bool, root: bool| Aggregate::Spread { of, sample, root };
        Ok(match name.as_str() {
            "sum" => {
                let of = of(resolver)?;
                Aggregate::Sum(if of.kind() == Type::Integer { of } else { as_number(of, words)? })
            }
            "avg" | "mean" => Aggregate::Mean(number(resolver)?),
            "min" => Aggregate::Least(of(resolver)?),
            "max" => Aggregate::Most(of(resolver)?),
            "median" => Aggregate::Quantile(number(resolver)?, 0.5),
            "quantile" => Aggregate::Quantile(number(resolver)?, self.share()?.to_f64()),
            "mode" => Aggregate::Mode(of(resolver)?),
            "variance" | "var" | "var_samp" | "var_sample" => spread(number(resolver)?, true, false),
            "var_pop" | "var_population" => spread(number(resolver)?, false, false),
            "stddev" | "stddev_samp" => spread(number(resolver)?, true, true),
            "stddev_pop" => spread(number(resolver)?, false, true),
            "bool_and" | "every" => Aggregate::All(truth(resolver)?),
            "bool_or" => Aggregate::Any(truth(resolver)?),
            _ => return Err(Error::unsupported(words, format!("use {OPEN}"))),
        })
    }

    /// The fraction as written: 0.9 is exactly nine tenths.
    fn share(&self) -> Result<Rational> {
        let wrong =
            || Error::unsupported(&self.words, "the fraction must be a constant from 0 to 1, as in QUANTILE(age, 0.9)");
        let written = self.arguments.get(1).map(ToString::to_string).ok_or_else(wrong)?;
        let share: Rational = written.parse().map_err(|_| wrong())?;
        if share < Rational::ZERO || share > Rational::ONE { Err(wrong()) } else { Ok(share) }
    }

    fn bins(&self) -> Result<u32> {
        let Some(written) = self.arguments.get(1) else { return Ok(BINS) };
        let number = written.to_string().parse::<u32>().ok();
        number.filter(|bins| (1..=MOST_BINS).contains(bins)).ok_or_else(|| {
            let why = format!("the number of bins must be a constant from 1 to {MOST_BINS}, as in HISTOGRAM(age, 12)");
            Error::unsupported(&self.words, why)
        })
    }
}

/// Whether the expression contains an aggregate.
pub(super) fn are_in(written: &ast::Expr) -> bool {
    let mut found = Vec::new();
    collect(written, &mut found);
    !found.is_empty()
}

/// Collects the distinct aggregates in an expression, not those in sub-queries.
pub(super) fn collect(written: &ast::Expr, into: &mut Vec<ast::Expr>) {
    let _ = written.visit(&mut Collector { into, sub_queries: 0 });
}

struct Collector<'a> {
    into: &'a mut Vec<ast::Expr>,
    sub_queries: usize,
}

impl Visitor for Collector<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.sub_queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.sub_queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expression: &ast::Expr) -> ControlFlow<()> {
        let is_aggregate = matches!(expression, ast::Expr::Function(function)
            if function.over.is_none() && is_one(&function.name.to_string().to_ascii_lowercase()));
        if is_aggregate && self.sub_queries == 0 && !self.into.contains(expression) {
            self.into.push(expression.clone());
        }
        ControlFlow::Continue(())
    }
}
