//! The counters that the figures compare, and their guarantees.

use anyhow::Result;
use reticent::continual::{AnyStrategy, CounterKind, Stream};
use reticent::privacy::{Guarantee, Rho};
use reticent_plot::Hue;
use reticent_plot::plans::hue;

/// The ε of all counters, and the δ of those that need one.
const EPSILON: &str = "1";
const DELTA: &str = "1e-6";

/// A counter in a figure.
#[derive(Debug, Clone)]
pub struct Contender {
    pub kind: CounterKind,
    pub guarantee: Guarantee,
}

impl Contender {
    /// Every counter, with pure ε where possible and with (ε, δ) where not.
    pub fn all() -> Result<Vec<Self>> {
        let (pure, approximate) = (pure()?, approximate()?);
        let contender = |kind: &CounterKind| {
            let serves = |guarantee: &&Guarantee| plan(*kind, guarantee, 16).is_some();
            let guarantee = [&pure, &approximate].into_iter().find(serves)?.clone();
            Some(Self { kind: *kind, guarantee })
        };
        Ok(CounterKind::ALL.iter().filter_map(contender).collect())
    }

    /// The counter for bits over this many steps; `None` if it does not support this horizon.
    pub fn plan(&self, steps: u64) -> Option<AnyStrategy> {
        plan(self.kind, &self.guarantee, steps)
    }

    /// Its name in figures.
    pub fn name(&self) -> String {
        match self.guarantee {
            Guarantee::Pure(_) => self.kind.name().into(),
            _ => format!("{} (δ = {DELTA})", self.kind),
        }
    }

    /// Its guarantee as a CSV field: one with δ contains a comma.
    pub fn guarantee_in_csv(&self) -> String {
        match self.guarantee.to_string() {
            text if text.contains(',') => format!("\"{text}\""),
            text => text,
        }
    }

    /// Its colour, the same in every figure.
    pub fn hue(&self) -> Hue {
        hue(self.kind)
    }
}

/// ε = 1.
pub fn pure() -> Result<Guarantee> {
    Ok(Guarantee::Pure(EPSILON.parse()?))
}

/// ε = 1 and δ = 10^−6.
pub fn approximate() -> Result<Guarantee> {
    Ok(Guarantee::Approx(EPSILON.parse()?, DELTA.parse()?))
}

/// The ρ that implies ε = 1 and δ = 10^−6.
pub fn rho() -> Result<Rho> {
    Ok(Rho::within(&EPSILON.parse()?, &DELTA.parse()?)?)
}

fn plan(kind: CounterKind, guarantee: &Guarantee, steps: u64) -> Option<AnyStrategy> {
    let stream = Stream::bits().until(steps).ok()?;
    kind.plan(stream, guarantee.clone()).ok()
}
