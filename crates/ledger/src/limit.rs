//! A limit for a dataset that had none: earlier charges count.

use reticent::exact::Rational;
use reticent::ledger::Charge;
use reticent::privacy::Guarantee;

use crate::budget::{Budget, Spend, short_sum};
use crate::chain::misplaced;
use crate::entry::{Dataset, Event, Keys, Terms};
use crate::error::{Error, Result};
use crate::storage::Pages;

/// How many rows are read at a time.
const PIECE: u32 = 4096;

/// What was charged under one unit and adjacency while there was no limit: enough to count it under any limit.
#[derive(Debug, Clone)]
pub struct Past {
    spend: Spend,
    /// Σε² of the pure charges, for a limit in ρ.
    squares: Rational,
    /// How many there were.
    pub charges: u64,
}

impl Past {
    /// No charges.
    pub const NOTHING: Self = Self { spend: Spend::NOTHING, squares: Rational::ZERO, charges: 0 };

    /// Adds a charge.
    pub fn add(&mut self, cost: &Guarantee) {
        self.spend = self.spend.plus(&Spend::of(cost));
        self.charges += 1;
        if let Guarantee::Pure(epsilon) = cost {
            self.squares = short_sum(&self.squares + &epsilon.value().square());
        }
    }

    /// The total in the limit's currency.
    ///
    /// # Errors
    /// If it exceeds the limit, or a charge was in a currency that the limit cannot count.
    pub fn under(&self, dataset: &str, limit: &Guarantee) -> Result<Spend> {
        let Spend { epsilon, delta, rho } = &self.spend;
        // Every approximate charge has a δ, and every concentrated one a ρ.
        let (approximate, concentrated) = (!delta.is_zero(), !rho.is_zero());
        let spent = match limit {
            Guarantee::Pure(_) if !approximate && !concentrated => Spend { epsilon: epsilon.clone(), ..Spend::NOTHING },
            Guarantee::Approx(..) if !concentrated => {
                Spend { epsilon: epsilon.clone(), delta: delta.clone(), ..Spend::NOTHING }
            }
            Guarantee::Zcdp(_) if !approximate => {
                Spend { rho: short_sum(rho + &(&self.squares / &Rational::from(2))), ..Spend::NOTHING }
            }
            _ => {
                let instead = match (approximate, concentrated) {
                    (true, true) => "no limit counts both δ and ρ",
                    (false, true) => "set a limit in ρ",
                    _ => "set a limit in ε and δ",
                };
                let (dataset, spent) = (dataset.to_owned(), self.spend.to_string());
                return Err(Error::Uncountable { dataset, spent, limit: limit.to_string(), instead });
            }
        };
        if !spent.fits(&Spend::of(limit)) {
            let (dataset, spent) = (dataset.to_owned(), spent.to_string());
            return Err(Error::AlreadySpent { dataset, spent, limit: limit.to_string() });
        }
        Ok(spent)
    }
}

/// The dataset as it is now: with its limit, even if that was set later.
pub fn in_force(pages: &mut dyn Pages, registered: Dataset) -> Result<Dataset> {
    if registered.budget != Budget::Unlimited {
        return Ok(registered);
    }
    let Some(row) = pages.charge(&registered.name, Keys::LIMIT)? else { return Ok(registered) };
    match row.open()?.event {
        Event::Limited { dataset, .. } => Ok(*dataset),
        _ => Err(misplaced(&row)),
    }
}

/// All charges to a dataset under these terms since entry `after`.
pub fn past(pages: &mut dyn Pages, dataset: &str, terms: &Terms, after: u64) -> Result<Past> {
    let mut past = Past::NOTHING;
    let (key, mut number) = (Keys::terms(terms), after);
    // Most datasets get their limit before anything is charged.
    if pages.last_charge(dataset, &key)?.is_none() {
        return Ok(past);
    }
    loop {
        let rows = pages.rows(number, PIECE)?;
        let Some(last) = rows.last() else { return Ok(past) };
        number = last.number;
        for row in &rows {
            if row.keys.dataset.as_deref() != Some(dataset) || row.keys.terms.as_deref() != Some(&key) {
                continue;
            }
            if let Event::Charged { charge, .. } = row.open()?.event {
                let Charge { guarantee, .. } = *charge;
                past.add(&guarantee);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(costs: &[&str]) -> Past {
        let mut past = Past::NOTHING;
        for cost in costs {
            past.add(&guarantee(cost));
        }
        past
    }

    /// `ε`, `ε δ` or `rho ρ`.
    fn guarantee(text: &str) -> Guarantee {
        match text.split_once(' ') {
            None => Guarantee::Pure(text.parse().unwrap()),
            Some(("rho", rho)) => Guarantee::Zcdp(rho.parse().unwrap()),
            Some((epsilon, delta)) => Guarantee::Approx(epsilon.parse().unwrap(), delta.parse().unwrap()),
        }
    }

    fn counted(costs: &[&str], limit: &str) -> String {
        match past(costs).under("visits", &guarantee(limit)) {
            Ok(spent) => spent.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_limit_counts_what_it_can() {
        assert_eq!(counted(&["0.1", "0.2"], "0.3"), "ε = 0.3");
        assert_eq!(counted(&["0.1", "0.2 1e-9"], "1 1e-6"), "ε = 0.3, δ = 1e-9");
        // Σε²/2, not (Σε)²/2.
        assert_eq!(counted(&["0.1", "0.2", "rho 0.1"], "rho 1"), "ρ = 0.125");
        assert_eq!(counted(&[], "1"), "nothing");
    }

    #[test]
    fn a_limit_that_was_passed_or_cannot_count_is_refused() {
        assert_eq!(
            counted(&["0.2", "0.2"], "0.3"),
            "visits has already spent ε = 0.4, more than ε = 0.3; a limit must be at least what was spent"
        );
        assert!(counted(&["0.1 1e-5"], "1 1e-6").contains("more than ε = 1, δ = 1e-6"));
        for (costs, limit, instead) in [
            (&["0.1 1e-9"][..], "1", "set a limit in ε and δ"),
            (&["0.1 1e-9"], "rho 1", "set a limit in ε and δ"),
            (&["1", "rho 0.1"], "5", "set a limit in ρ"),
            (&["rho 0.1"], "5 1e-6", "set a limit in ρ"),
            (&["rho 0.1", "1 1e-9"], "rho 5", "no limit counts both δ and ρ"),
        ] {
            let text = counted(costs, limit);
            assert!(text.contains("cannot count") && text.ends_with(instead), "{text}");
        }
    }
}
