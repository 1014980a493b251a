//! Which counters the figures compare, under which promise.

use anyhow::Result;
use reticent::continual::{AnyStrategy, Kind, Stream};
use reticent::privacy::{Guarantee, Rho};
use reticent_plot::Hue;

use crate::plan::place;

/// What all are compared at: ε, and the δ of those that need one.
const EPSILON: &str = "1";
const DELTA: &str = "1e-6";

/// A counter in a figure.
#[derive(Debug, Clone)]
pub struct Contender {
    pub kind: Kind,
    pub guarantee: Guarantee,
}

impl Contender {
    /// Every counter, with Laplace noise if it can have it and with Gaussian noise if not.
    pub fn all() -> Result<Vec<Self>> {
        let (pure, approximate) = (pure()?, approximate()?);
        let contender = |kind: &Kind| {
            let serves = |guarantee: &&Guarantee| plan(*kind, guarantee, 16).is_some();
            let guarantee = [&pure, &approximate].into_iter().find(serves)?.clone();
            Some(Self { kind: *kind, guarantee })
        };
        Ok(Kind::ALL.iter().filter_map(contender).collect())
    }

    /// For bits, over so many steps; none if the counter does not reach so far.
    pub fn plan(&self, steps: u64) -> Option<AnyStrategy> {
        plan(self.kind, &self.guarantee, steps)
    }

    /// As figures call it.
    pub fn name(&self) -> String {
        match self.guarantee {
            Guarantee::Pure(_) => self.kind.name().into(),
            _ => format!("{} (δ = {DELTA})", self.kind),
        }
    }

    /// The same in every figure.
    pub fn hue(&self) -> Hue {
        Hue::Nth(place(self.kind))
    }
}

/// ε = 1.
pub fn pure() -> Result<Guarantee> {
    Ok(Guarantee::Pure(EPSILON.parse()?))
}

/// ε = 1 but for δ = 10^−6.
pub fn approximate() -> Result<Guarantee> {
    Ok(Guarantee::Approx(EPSILON.parse()?, DELTA.parse()?))
}

/// The ρ that implies ε = 1 but for δ = 10^−6.
pub fn rho() -> Result<Rho> {
    Ok(Rho::within(&EPSILON.parse()?, &DELTA.parse()?)?)
}

fn plan(kind: Kind, guarantee: &Guarantee, steps: u64) -> Option<AnyStrategy> {
    let stream = Stream::bits().until(steps).ok()?;
    kind.plan(stream, guarantee.clone()).ok()
}
