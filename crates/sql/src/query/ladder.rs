//! The errors to expect of a query with smaller and larger budgets.

use reticent::privacy::{Delta, Guarantee};

use super::Query;
use crate::advice::{Expected, Forecast};
use crate::error::Result;

/// The budgets that are compared, beside the query's own.
const BUDGETS: [&str; 10] = ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10"];

/// A budget, and the errors to expect with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// ε, or ρ.
    pub size: f64,
    /// The budget.
    pub budget: Guarantee,
    /// Whether it is the query's own.
    pub is_own: bool,
    /// The errors.
    pub forecast: Forecast,
}

/// The errors to expect with budgets from 0.01 to 10, ascending; those for which there is no noise are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// What budgets are written in: ε or ρ.
    pub symbol: &'static str,
    /// The budgets and errors.
    pub rungs: Vec<Rung>,
}

impl Ladder {
    /// The lines of a chart, one for each column: its name, with what the errors are multiples of, and the error for each
    /// budget. A logarithmic axis has no place for 0.
    pub fn lines(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let columns = self.rungs.first().map(|rung| rung.forecast.columns.as_slice()).unwrap_or_default();
        let line = |(place, column): (usize, &Expected)| {
            let times = column.times.as_ref().map_or_else(String::new, |times| format!(" (× {times})"));
            let point =
                |rung: &Rung| Some((rung.size, rung.forecast.columns[place].half_width.filter(|width| *width > 0.0)?));
            (format!("{}{times}", column.column), self.rungs.iter().filter_map(point).collect())
        };
        columns.iter().enumerate().map(line).collect()
    }
}

impl Query {
    /// The errors to expect in a group of `rows` rows (1,000 if `None`) with budgets from 0.01 to 10 and the query's own δ.
    /// Reads nothing and spends nothing.
    ///
    /// # Errors
    /// If the number of rows is 0 or too large.
    pub fn ladder(&self, rows: Option<u64>) -> Result<Ladder> {
        let own = &self.options.guarantee;
        let of = |text: &&str| -> reticent::Result<Guarantee> {
            Ok(match (own, own.delta()) {
                (Guarantee::Zcdp(_), _) => Guarantee::Zcdp(text.parse()?),
                (_, None) => Guarantee::Pure(text.parse()?),
                (_, Some(delta)) => Guarantee::Approx(text.parse()?, Delta::clone(delta)),
            })
        };
        let mut budgets = BUDGETS.iter().map(of).collect::<reticent::Result<Vec<_>>>()?;
        budgets.push(own.clone());
        budgets.sort_by(|one, other| size(one).total_cmp(&size(other)));
        budgets.dedup();
        let forecasts = self.forecasts(rows, &budgets)?;
        let rung = |(budget, forecast): (Guarantee, Option<Forecast>)| {
            Some(Rung { size: size(&budget), is_own: budget == *own, budget, forecast: forecast? })
        };
        let symbol = if matches!(own, Guarantee::Zcdp(_)) { "ρ" } else { "ε" };
        Ok(Ladder { symbol, rungs: budgets.into_iter().zip(forecasts).filter_map(rung).collect() })
    }
}

/// ε, or ρ.
fn size(budget: &Guarantee) -> f64 {
    match budget {
        Guarantee::Pure(epsilon) | Guarantee::Approx(epsilon, _) => epsilon.to_f64(),
        Guarantee::Zcdp(rho) => rho.value().to_f64(),
    }
}
