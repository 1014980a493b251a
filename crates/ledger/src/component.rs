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
