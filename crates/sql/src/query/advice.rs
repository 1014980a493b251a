//! What would make a query's errors smaller: the same query planned again, with something changed.

use std::collections::BTreeSet;

use reticent::exact::Rational;
use reticent::privacy::{Delta, Epsilon, Guarantee, Rho};
use reticent::statistic::Bounds;

use super::Query;
use super::forecast::{Predicted, expected_rows, withheld_below};
use super::plan::Plan;
use crate::advice::{Advice, Cause, DryRun, Effect, Setting};
use crate::algebra::{Limits, Statistic};
use crate::bounded::Bounded;
use crate::error::Result;
use crate::options::{Options, Range};
use crate::release::design::{Output, Source};
use crate::release::{Design, explain};
use crate::resolve::text::on_a_large_stack;
use crate::resolve::{KeyWords, Resolved};

/// Narrower bounds are tried for the first few columns only: a query may have hundreds, and anyone can ask for a dry run.
const MOST_BOUNDS: usize = 4;
/// Causes that enlarge an error by less are left out.
const LEAST_FACTOR: f64 = 1.25;
/// The δ that is suggested.
const SUGGESTED_DELTA: &str = "1e-8";

/// The same query with something changed.
#[derive(Clone)]
pub(super) struct Variant {
    resolved: Resolved,
    options: Options,
    /// The number of public groups.
    keys: Option<u64>,
}

impl Variant {
    /// Nothing changed.
    pub fn of(query: &Query) -> Self {
        let Options { guarantee, adjacency, max_groups, max_rows, may_weigh, .. } = &query.options;
        // A plan needs none of the others; lists of keys may be long.
        let options = Options {
            adjacency: *adjacency,
            max_groups: *max_groups,
            max_rows: *max_rows,
            may_weigh: *may_weigh,
            ..Options::new(guarantee.clone())
        };
        Self { resolved: query.resolved.clone(), options, keys: query.keys.as_ref().map(|keys| keys.len() as u64) }
    }

    /// With another budget.
    pub fn with_budget(mut self, budget: Guarantee) -> Self {
        self.options.guarantee = budget;
        self
    }

    /// With public keys. Their number matters only where rows are weighed: the fewer, the larger the errors.
    fn with_keys(mut self) -> Self {
        self.keys = Some(1);
        self
    }

    /// With these ranges of the aggregates for which there is one.
    fn with_ranges(mut self, range: impl Fn(&str, &Range) -> Option<Bounds>) -> Self {
        for asked in &mut self.resolved.asked {
            let new = asked.range.as_ref().and_then(|old| range(&asked.of, old));
            asked.range = new.map(Range::Public).or(asked.range.take());
        }
        self
    }

    /// With smaller contribution limits, of those that were given.
    fn with_limits(mut self, smaller: impl Fn(u64) -> u64, rows: bool, groups: bool) -> Self {
        let Options { max_rows, max_groups, .. } = &mut self.options;
        *max_rows = max_rows.map(|limit| if rows { smaller(limit) } else { limit });
        *max_groups = max_groups.map(|limit| if groups { smaller(limit) } else { limit });
        self
    }

    /// Its plan; `None` if it cannot be answered, or there is no time left.
    pub fn plan(&self, query: &Query, limits: &Limits) -> Option<Plan> {
        let bounded = Bounded::new(&self.resolved, &query.unit, &self.options).ok()?;
        Plan::new(&self.resolved, bounded, self.keys, &query.weights, &self.options, limits).ok()
    }
}

/// A variant's errors.
struct Outlook {
    predicted: Vec<Predicted>,
    selects_keys: bool,
    withheld_below: Option<u64>,
}

impl Query {
    /// What would be released, the errors to expect in a group of `rows` rows (1,000 if `None`), and what would make them
    /// smaller. Reads nothing and spends nothing.
    ///
    /// # Errors
    /// If the number of rows is 0 or too large.
    pub fn dry_run(&self, rows: Option<u64>) -> Result<DryRun> {
        let (rows, limits) = (expected_rows(rows)?, Limits::from_now());
        on_a_large_stack(&limits, || Ok(self.advised(rows, &limits)))
    }

    /// Advice is given as far as there is time for it.
    fn advised(&self, rows: u64, limits: &Limits) -> DryRun {
        let now = self.outlook(&self.design, rows, limits);
        let mut forecast = self.forecast(&self.design, rows, now.predicted.clone());
        let causes = self.causes(&now, rows, limits);
        forecast.columns.iter_mut().zip(causes).for_each(|(column, causes)| column.causes = causes);
        let advised = |change: Change| {
            let then = self.outlook(&change.variant.plan(self, limits)?.design, rows, limits);
            self.advice(change, &now, &then)
        };
        let advice = self.changes().into_iter().filter_map(advised).collect();
        DryRun { summary: self.summary(), forecast, advice }
    }

    fn outlook(&self, design: &Design, rows: u64, limits: &Limits) -> Outlook {
        let (predicted, selects_keys) = (self.predicted(design, rows, limits), design.selects_keys());
        Outlook { predicted, selects_keys, withheld_below: withheld_below(design) }
    }

    /// The advice to make a change; `None` if it does not help.
    fn advice(&self, change: Change, now: &Outlook, then: &Outlook) -> Option<Advice> {
        let names = self.predicted_columns().map(|(name, _)| name);
        let ratios = now.predicted.iter().zip(&then.predicted).map(|(now, then)| ratio(*now, *then));
        let effects = names.zip(ratios).filter_map(|(name, ratio)| Some(Effect { column: name.into(), ratio: ratio? }));
        let effects: Vec<Effect> = effects.filter(Effect::is_notable).collect();
        let withheld_below = match (now.withheld_below, then.withheld_below) {
            _ if now.selects_keys && !then.selects_keys => Some(0),
            (Some(now), Some(then)) if then < now => Some(then),
            _ => None,
        };
        let helps = effects.iter().any(Effect::helps) || withheld_below.is_some();
        helps.then_some(Advice { settings: change.settings, effects, withheld_below, but: change.but })
    }

    /// What might help.
    fn changes(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        let mut add = |variant: Variant, settings: Vec<Setting>, but: String| {
            changes.push(Change { variant, settings, but });
        };
        let set = |name: &'static str, value: String| Setting { name, column: None, value };
        let of = |name: &'static str, column: &str, value: &str| Setting {
            name,
            column: Some(column.to_owned()),
            value: value.to_owned(),
        };
        let now = || Variant::of(self);
        if let Some((budget, setting)) = doubled(&self.options.guarantee) {
            add(now().with_budget(budget), vec![setting], "spends twice as much".into());
        }
        if self.design.selects_keys() {
            let unknown = self.resolved.keys.iter().filter(|key| !self.is_listed(&key.names));
            let name = |key: &KeyWords| key.names.iter().find(|name| can_be_named(name)).cloned();
            let settings = unknown.map(|key| Some(of("keys", &name(key)?, "FILE"))).collect::<Option<Vec<_>>>();
            settings.into_iter().for_each(|settings| add(now().with_keys(), settings, "if the list is public".into()));
        }
        let searched: Vec<&str> = self.distinct_arguments(|range| *range == Range::Auto);
        if !searched.is_empty() {
            let variant = now().with_ranges(|_, range| (*range == Range::Auto).then(placeholder));
            let settings = searched.into_iter().map(|name| of("bounds", name, "LO..HI")).collect();
            add(variant, settings, "for bounds as wide as would be found".into());
        }
        for name in self.distinct_arguments(|range| *range != Range::Auto).into_iter().take(MOST_BOUNDS) {
            let Some((narrow, but)) = self.given_bounds(name).and_then(narrower) else { continue };
            let variant = now().with_ranges(|of, _| (of == name).then(|| narrow.clone()));
            add(variant, vec![of("bounds", name, &narrow.to_string())], but);
        }
        let half = |limit: u64| limit.div_ceil(2);
        for (name, limit, is_rows) in
            [("max-rows", self.options.max_rows, true), ("max-groups", self.options.max_groups, false)]
        {
            let Some(limit) = limit.filter(|limit| *limit > 1) else { continue };
            let variant = now().with_limits(half, is_rows, !is_rows);
            add(variant, vec![set(name, half(limit).to_string())], "drops more rows".into());
        }
        if let Guarantee::Pure(epsilon) = &self.options.guarantee
            && let Ok(delta) = SUGGESTED_DELTA.parse::<Delta>()
        {
            let budget = Guarantee::Approx(epsilon.clone(), delta);
            add(now().with_budget(budget), vec![set("delta", SUGGESTED_DELTA.into())], "a weaker guarantee".into());
        }
        changes
    }

    /// What the errors come from: for each column, by how much each thing enlarges them.
    fn causes(&self, now: &Outlook, rows: u64, limits: &Limits) -> Vec<Vec<Cause>> {
        let mut causes = Vec::new();
        let mut add = |variant: Variant, what: String| {
            if let Some(plan) = variant.plan(self, limits) {
                causes.push((what, self.predicted(&plan.design, rows, limits)));
            }
        };
        let variant = || Variant::of(self);
        if let Some(caps) = self.caps().filter(|caps| self.has_unit() && caps.rows.saturating_mul(caps.groups) > 1) {
            let what = format!("contribution limits, {} × {}", many(caps.rows, "row"), many(caps.groups, "group"));
            add(variant().with_limits(|_| 1, true, true), what);
        }
        // Numbers with one draw of noise are one release.
        let in_box = self.design.additive.iter().filter(|paid| paid.source == Source::Box).count();
        let releases = (explain::shares(&self.design, |_| true).len() - in_box.saturating_sub(1)) as u64;
        if let Some(budget) = times(&self.options.guarantee, releases).filter(|_| releases > 1) {
            let budget_name = if matches!(budget, Guarantee::Zcdp(_)) { "ρ" } else { "ε" };
            add(variant().with_budget(budget), format!("{budget_name} shared by {releases} releases"));
        }
        if self.search.is_some() {
            let given = variant().with_ranges(|_, range| (*range == Range::Auto).then(placeholder));
            add(given, "part of ε finds the bounds".into());
        }
        let of_column = |(place, (_, asked)): (usize, (&str, Option<usize>))| {
            let factor = |(what, then): &(String, Vec<Predicted>)| {
                let factor = 1.0 / ratio(now.predicted[place], then[place])?;
                (factor >= LEAST_FACTOR).then(|| Cause { what: what.clone(), factor: Some(factor) })
            };
            let mut found: Vec<Cause> = causes.iter().filter_map(factor).collect();
            found.sort_by(|one, other| other.factor.partial_cmp(&one.factor).unwrap_or(std::cmp::Ordering::Equal));
            found.extend(self.innate(asked));
            found
        };
        self.predicted_columns().enumerate().map(of_column).collect()
    }

    /// What an error comes from in any case.
    fn innate(&self, asked: Option<usize>) -> Option<Cause> {
        let cause = |what: String| Some(Cause { what, factor: None });
        let Some(asked) = asked else { return cause("the numbers that it is computed from".into()) };
        let tests = match self.design.outputs[asked] {
            Output::Median(place) => Some(self.design.medians[place].2.mechanism().test()),
            Output::Mode(place) => Some(self.design.modes[place].1.mechanism().test()),
            _ => None,
        };
        if let Some(test) = tests {
            return cause(format!("exact, or refused if about {} rows could change it", test.threshold()));
        }
        // A count does not depend on the values.
        let counts = matches!(self.resolved.measured.statistics[asked], Statistic::Histogram { .. });
        match &self.resolved.asked[asked].range {
            Some(Range::Public(bounds)) if !counts => cause(format!("width of the bounds {bounds}")),
            Some(Range::Auto) if !counts => cause("width of the bounds that are found".into()),
            _ => cause(format!("noise that {} needs", self.options.guarantee)),
        }
    }

    /// Whether a key has a public list, beside others that have none.
    fn is_listed(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.options.keys.contains_key(name))
    }

    /// The arguments of aggregates with such a range, as written, as far as an option can name them.
    fn distinct_arguments(&self, is: impl Fn(&Range) -> bool) -> Vec<&str> {
        let asked = self.resolved.asked.iter().filter(|asked| asked.range.as_ref().is_some_and(&is));
        let named = asked.map(|asked| asked.of.as_str()).filter(|name| can_be_named(name));
        let mut seen = BTreeSet::new();
        named.filter(|name| seen.insert(*name)).collect()
    }

    /// The bounds of an argument that were given for it. Others follow from the query, as those of a CASE do.
    fn given_bounds(&self, of: &str) -> Option<&Bounds> {
        let is_given = |name: &String| name == of || name.rsplit_once('.').is_some_and(|(_, column)| column == of);
        let asked = self.resolved.asked.iter().find(|asked| asked.of == of)?;
        match &asked.range {
            Some(Range::Public(bounds)) if self.options.bounds.keys().any(is_given) => Some(bounds),
            _ => None,
        }
    }
}

/// Whether an option can name it: it ends at the first `=`, and long expressions are cut off.
fn can_be_named(words: &str) -> bool {
    !words.contains(['=', '…'])
}

/// A change that might help.
struct Change {
    variant: Variant,
    settings: Vec<Setting>,
    but: String,
}

/// The new error divided by the old one, where both are known.
fn ratio(now: Predicted, then: Predicted) -> Option<f64> {
    let ((now, of), (then, other)) = now.zip(then)?;
    Some(then / now).filter(|ratio| of == other && now > 0.0 && ratio.is_finite())
}

/// Twice the budget, if that is no weaker than anyone should accept.
fn doubled(budget: &Guarantee) -> Option<(Guarantee, Setting)> {
    let twice = times(budget, 2)?.confirmed(false).ok()?;
    let (name, value) = match &twice {
        Guarantee::Pure(epsilon) | Guarantee::Approx(epsilon, _) => ("epsilon", epsilon.to_string()),
        Guarantee::Zcdp(rho) => ("rho", rho.to_string()),
    };
    Some((twice, Setting { name, column: None, value }))
}

/// A multiple of a budget; δ stays.
fn times(budget: &Guarantee, factor: u64) -> Option<Guarantee> {
    let of = |value: &Rational| value * &Rational::from(factor);
    Some(match budget {
        Guarantee::Pure(epsilon) => Guarantee::Pure(Epsilon::new(of(epsilon.value())).ok()?),
        Guarantee::Approx(epsilon, delta) => Guarantee::Approx(Epsilon::new(of(epsilon.value())).ok()?, delta.clone()),
        Guarantee::Zcdp(rho) => Guarantee::Zcdp(Rho::new(of(rho.value())).ok()?),
    })
}

/// Bounds half as wide, and when they are as good: towards 0, or to the lower end if 0 is outside.
fn narrower(bounds: &Bounds) -> Option<(Bounds, String)> {
    let (lower, upper) = (bounds.lower(), bounds.upper());
    let half = |number: &Rational| number / &Rational::from(2);
    let middle = half(&(lower + upper));
    let (narrow, but) = match (*lower < Rational::ZERO, *upper > Rational::ZERO) {
        (true, true) => (Bounds::new(half(lower), half(upper)), "if few values are outside".into()),
        (true, false) => (Bounds::new(middle.clone(), upper.clone()), format!("if few values are below {middle}")),
        _ => (Bounds::new(lower.clone(), middle.clone()), format!("if few values are above {middle}")),
    };
    Some((narrow.ok()?, but))
}

/// Bounds that stand for others.
fn placeholder() -> Bounds {
    Bounds::new(Rational::from(-1), Rational::ONE).expect("-1 is less than 1")
}

fn many(number: u64, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
