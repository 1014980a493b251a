//! The budget and how it is split.

use reticent::exact::Rational;
use reticent::message;
use reticent::privacy::{Delta, Epsilon, Guarantee, Rho};

use crate::error::{Error, Result};

/// The budget and how it is split.
#[derive(Debug, Clone)]
pub(super) struct Purse {
    budget: Guarantee,
    /// The sum of all weights.
    weights: u64,
    /// The number of parts over which δ is split.
    delta_parts: u64,
    batch_has_delta: bool,
}

impl Purse {
    pub fn new(budget: &Guarantee, weights: u64, others: bool, need_delta: usize, batched: bool) -> Result<Self> {
        match budget {
            Guarantee::Zcdp(_) if others => {
                return Err(Error::option(message!(
                    "with ",
                    ["rho"],
                    " only counts, sums, means, variances and histograms of known keys can be released; use \
                     ",
                    ["epsilon"],
                    " (and ",
                    ["delta"],
                    "), or list the keys with ",
                    ["keys"]
                )));
            }
            Guarantee::Pure(_) if need_delta > 0 => {
                return Err(Error::option(message!(
                    "group selection and stable aggregates need δ: add ",
                    ["delta"],
                    " 1e-8, or list \
                     the keys with ",
                    ["keys"],
                    " COLUMN=FILE"
                )));
            }
            _ => {}
        }
        let batch_has_delta = batched && matches!(budget, Guarantee::Approx(..));
        let delta_parts = need_delta as u64 + u64::from(batch_has_delta);
        Ok(Self { budget: budget.clone(), weights, delta_parts, batch_has_delta })
    }

    /// Whether there is an ε.
    pub fn has_epsilon(&self) -> bool {
        self.budget.epsilon().is_some()
    }

    pub fn without_batch(mut self) -> Self {
        self.delta_parts -= u64::from(self.batch_has_delta);
        self.batch_has_delta = false;
        self
    }

    fn fraction(&self, weight: u64) -> Rational {
        &Rational::from(weight) / &Rational::from(self.weights)
    }

    /// The share of all additive parts together.
    pub fn share(&self, weight: u64) -> Result<Guarantee> {
        Ok(match &self.budget {
            Guarantee::Pure(_) => Guarantee::Pure(self.epsilon(weight)?),
            Guarantee::Approx(..) => Guarantee::Approx(self.epsilon(weight)?, self.delta()?),
            Guarantee::Zcdp(rho) => Guarantee::Zcdp(Rho::new(rho.value() * &self.fraction(weight))?),
        })
    }

    pub fn epsilon(&self, weight: u64) -> Result<Epsilon> {
        let epsilon = self.budget.epsilon().expect("checked above: ρ pays for additive parts only");
        Ok(Epsilon::new(epsilon.value() * &self.fraction(weight))?)
    }

    pub fn delta(&self) -> Result<Delta> {
        let delta = self.budget.delta().expect("checked above: there is a δ");
        Ok(Delta::new(delta.value() / &Rational::from(self.delta_parts.max(1)))?)
    }
}
