//! ε, δ and ρ, each with its own limit.

use reticent::exact::Rational;
use reticent::privacy::Guarantee;
use serde_json::{Value, json};

use crate::budget::Spend;

/// One of ε, δ and ρ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Component {
    /// The symbol for people.
    pub symbol: &'static str,
    /// The name for programs.
    pub name: &'static str,
    /// The limit, if any.
    pub limit: Option<Rational>,
    /// The amount spent.
    pub spent: Rational,
}

impl Component {
    /// The components of a limit; without one, those with something spent.
    pub fn all(limit: Option<&Guarantee>, spent: &Spend) -> Vec<Self> {
        let limits = limit.map(Spend::of);
        let part = |symbol, name, of: fn(&Spend) -> &Rational| Self {
            symbol,
            name,
            limit: limits.as_ref().map(|limits| of(limits).clone()),
            spent: of(spent).clone(),
        };
        let parts = [
            part("ε", "epsilon", |spend| &spend.epsilon),
            part("δ", "delta", |spend| &spend.delta),
            part("ρ", "rho", |spend| &spend.rho),
        ];
        parts.into_iter().filter(|part| !part.limit.as_ref().unwrap_or(&part.spent).is_zero()).collect()
    }

    /// The amount left, if there is a limit.
    pub fn left(&self) -> Option<Rational> {
        self.limit.as_ref().map(|limit| limit - &self.spent)
    }

    /// The spent share of the limit.
    pub fn part(&self) -> Option<Rational> {
        self.limit.as_ref().map(|limit| &self.spent / limit)
    }

    /// How many of `pieces` the spent share fills, rounded up; but all of them only if nothing is left. `None` without a
    /// limit.
    pub fn filled(&self, pieces: u32) -> Option<u32> {
        let part = self.part()?;
        if part >= Rational::ONE {
            return Some(pieces);
        }
        let filled = &part * &Rational::from(u64::from(pieces));
        Some((0..pieces - 1).find(|count| Rational::from(u64::from(*count)) >= filled).unwrap_or(pieces - 1))
    }

    /// Exact numbers as text, and floats for charts.
    pub fn to_json(&self) -> Value {
        json!({
            "component": self.name,
            "budget": self.limit,
            "spent": self.spent,
            "left": self.left(),
            "spent_float": self.spent.to_f64(),
            "part": self.part().map(|part| part.to_f64()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(limit: Option<&Guarantee>, spent: &Spend) -> Vec<&'static str> {
        Component::all(limit, spent).iter().map(|component| component.name).collect()
    }

    #[test]
    fn full_means_full_and_empty_means_empty() {
        let filled = |spent: &str| {
            let (spent, limit) = (spent.parse().unwrap(), Some(Rational::ONE));
            Component { name: "epsilon", symbol: "ε", limit, spent }.filled(100).unwrap()
        };
        // As floats, 0.07 of 100 is a little more than 7.
        let parts = ["0", "1e-300", "0.07", "0.5", "0.9999999999999999999999", "1"].map(filled);
        assert_eq!(parts, [0, 1, 7, 50, 99, 100]);
    }

    #[test]
    fn a_limit_has_its_own_components() {
        let limit = Guarantee::Approx("1".parse().unwrap(), "1e-6".parse().unwrap());
        let spent = Spend::of(&Guarantee::Pure("1/3".parse().unwrap()));
        let components = Component::all(Some(&limit), &spent);
        assert_eq!(components[0].left().unwrap().to_string(), "2/3");
        assert_eq!(components[1].to_json()["left"], "1e-6");
        assert_eq!(names(Some(&limit), &spent), ["epsilon", "delta"]);
        assert_eq!(names(None, &spent), ["epsilon"]);
        assert!(names(None, &Spend::NOTHING).is_empty());
    }
}
