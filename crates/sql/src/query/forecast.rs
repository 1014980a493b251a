//! The errors to expect, before anything is spent.

use reticent::privacy::Guarantee;

use super::Query;
use super::advice::Variant;
use crate::advice::{EXPECTED_ROWS, Expected, Forecast, Relative};
use crate::algebra::Limits;
use crate::error::{Error, Result};
use crate::options::Range;
use crate::release::design::Output;
use crate::release::draw::joint_bar;
use crate::release::search::PLACEHOLDER_WIDTH;
use crate::release::typical::typical;
use crate::release::values::{Bar, Cell, column};
use crate::release::{Design, derived};
use crate::resolve::Origin;
use crate::resolve::text::on_a_large_stack;
use reticent::message;

/// The most rows that a group can be expected to have.
const MOST_ROWS: u64 = 1 << 40;

/// What a half-width is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Times {
    One,
    /// The width of bounds that are found.
    Width,
    /// Its square.
    Squared,
}

/// The half-width to expect of a column of the answer.
pub(super) type Predicted = Option<(f64, Times)>;

/// The number of rows to expect, checked.
///
/// # Errors
/// If it is 0 or too large.
pub(super) fn expected_rows(rows: Option<u64>) -> Result<u64> {
    let rows = rows.unwrap_or(EXPECTED_ROWS);
    if !(1..=MOST_ROWS).contains(&rows) {
        return Err(Error::option(message!(["expect-rows"], " is {rows}, but it must be from 1 to {MOST_ROWS}")));
    }
    Ok(rows)
}

impl Query {
    /// The errors to expect in a group of `rows` rows (1,000 if `None`) with each of these budgets instead of the query's
    /// own; `None` where there is no noise for a budget. Reads nothing and spends nothing.
    ///
    /// # Errors
    /// If the number of rows is 0 or too large.
    pub(super) fn forecasts(&self, rows: Option<u64>, budgets: &[Guarantee]) -> Result<Vec<Option<Forecast>>> {
        let (rows, limits) = (expected_rows(rows)?, Limits::from_now());
        let forecast = |budget: &Guarantee| {
            let plan = Variant::of(self).with_budget(budget.clone()).plan(self, &limits)?;
            let predicted = self.predicted(&plan.design, rows, &limits);
            Some(self.forecast(&plan.design, rows, predicted))
        };
        on_a_large_stack(&limits, || Ok(budgets.iter().map(forecast).collect()))
    }

    /// The half-widths of a design that answers this query, one for each column that is not a key.
    pub(super) fn predicted(&self, design: &Design, rows: u64, limits: &Limits) -> Vec<Predicted> {
        let kinds = self.resolved.measured.kinds();
        let keys = kinds[..self.resolved.keys.len()].iter().map(|kind| column(&[Cell::REFUSED], *kind)).collect();
        let released = typical(design, keys, rows, &self.together());
        let depends = self.depends();
        let bar = |together: usize, place: usize, group: usize| joint_bar(design, &released, together, place, group);
        let found = derived::intervals(&self.resolved.above, &depends, &released, &bar, limits);
        let derived = found.unwrap_or_else(|_| vec![None; depends.len()]);
        let on = derived::dependencies(&self.resolved.above, self.resolved.keys.len(), self.resolved.asked.len());
        let of_column = |(place, (_, origin)): (usize, &(String, Origin))| match origin {
            Origin::Key(_) => None,
            Origin::Asked(asked) => {
                let half_width = match released.columns[*asked][0].bar {
                    Bar::HalfWidth(half_width) => Some(half_width),
                    Bar::Within(around) | Bar::Anywhere(around) => Some((around.high - around.low) / 2.0),
                    Bar::Exact => None,
                };
                Some(half_width.map(|half_width| match self.times(*asked) {
                    Times::One => (half_width, Times::One),
                    Times::Width => (half_width / PLACEHOLDER_WIDTH, Times::Width),
                    Times::Squared => (half_width / (PLACEHOLDER_WIDTH * PLACEHOLDER_WIDTH), Times::Squared),
                }))
            }
            Origin::Derived => {
                let on = on.get(place).and_then(Option::as_ref);
                // Computed from keys alone.
                if on.is_some_and(|on| on.is_empty()) {
                    return None;
                }
                let is_known = on.is_some_and(|on| on.iter().all(|&asked| self.times(asked) == Times::One));
                let around = derived[place].as_ref().filter(|_| is_known).and_then(|groups| groups[0]);
                Some(around.map(|around| ((around.high - around.low) / 2.0, Times::One)))
            }
        };
        self.resolved.columns.iter().enumerate().filter_map(of_column).collect()
    }

    /// What the half-width of an aggregate is a multiple of, as long as its bounds are not known.
    fn times(&self, asked: usize) -> Times {
        let is_auto = self.resolved.asked[asked].range == Some(Range::Auto);
        match &self.design.outputs[asked] {
            Output::Variance { root: false, .. } if is_auto => Times::Squared,
            Output::Sum(_)
            | Output::SumOf { .. }
            | Output::Mean(_)
            | Output::Variance { .. }
            | Output::Quantile(..)
                if is_auto =>
            {
                Times::Width
            }
            _ => Times::One,
        }
    }

    /// The forecast of a design that answers this query, without causes.
    pub(super) fn forecast(&self, design: &Design, rows: u64, predicted: Vec<Predicted>) -> Forecast {
        let columns = self.predicted_columns().zip(predicted).map(|((name, asked), predicted)| {
            let widths = match predicted.map(|(_, times)| times) {
                Some(Times::Width) => Some("(HI − LO)"),
                Some(Times::Squared) => Some("(HI − LO)²"),
                _ => None,
            };
            let limit = (design.weighed && predicted.is_some()).then_some("limit");
            let times: Vec<&str> = widths.into_iter().chain(limit).collect();
            let half_width = predicted.map(|(half_width, _)| half_width);
            let relative = half_width.zip(asked).filter(|_| times.is_empty());
            Expected {
                column: name.to_owned(),
                half_width,
                times: (!times.is_empty()).then(|| times.join(" × ")),
                relative: relative.and_then(|(half_width, asked)| self.relative(asked, half_width, rows)),
                causes: Vec::new(),
            }
        });
        Forecast { rows, columns: columns.collect(), withheld_below: withheld_below(design) }
    }

    /// The columns that a forecast covers, with their aggregates if they are not computed from several.
    pub(super) fn predicted_columns(&self) -> impl Iterator<Item = (&str, Option<usize>)> {
        let on = derived::dependencies(&self.resolved.above, self.resolved.keys.len(), self.resolved.asked.len());
        self.resolved.columns.iter().enumerate().filter_map(move |(place, (name, origin))| match origin {
            Origin::Key(_) => None,
            Origin::Asked(asked) => Some((name.as_str(), Some(*asked))),
            Origin::Derived if on.get(place).and_then(Option::as_ref).is_some_and(|on| on.is_empty()) => None,
            Origin::Derived => Some((name.as_str(), None)),
        })
    }

    fn relative(&self, asked: usize, half_width: f64, rows: u64) -> Option<Relative> {
        match (&self.design.outputs[asked], &self.resolved.asked[asked].range) {
            (Output::Count(_) | Output::CountOfEnds(_) | Output::Present(_) | Output::PresentOrMissing(_), _) => {
                Some(Relative { share: half_width / rows as f64, of: "rows" })
            }
            (
                Output::Mean(_) | Output::Quantile(..) | Output::Variance { root: true, .. },
                Some(Range::Public(bounds)),
            ) => {
                let width = (bounds.upper() - bounds.lower()).to_f64();
                Some(Relative { share: half_width / width, of: "bounds" })
            }
            _ => None,
        }
    }
}

/// Groups with fewer units may be withheld. Of weighed rows this is only known once there are limits.
pub(super) fn withheld_below(design: &Design) -> Option<u64> {
    let selection = design.selection.as_ref().map(|selection| selection.certain_from());
    design.deciding().map(|(_, threshold)| threshold).or(selection).filter(|_| !design.weighed)
}
