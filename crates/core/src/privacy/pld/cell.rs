//! Pieces of a dominating pair, and the atoms that replace them.

use crate::numeric::normal::{Bounds, UNIT};

/// A set of outcomes with its probability under P and under Q, on which the loss ln(P/Q) stays within [low, high].
///
/// `low` may be −∞ (outcomes with almost no mass under P), `high` may be +∞ (outcomes with almost no mass under Q).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub p: Bounds,
    pub q: Bounds,
    pub low: f64,
    pub high: f64,
}

/// Mass under P at one loss.
#[derive(Debug, Clone, Copy)]
pub(super) struct Atom {
    pub mass: f64,
    pub loss: f64,
}

/// Which of the two neighbours P belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// P is the run with the unit.
    Remove,
    /// P is the run without the unit.
    Add,
}

impl Cell {
    /// A cell whose end points are known up to `units` roundings; it is widened by them, which is always safe.
    pub fn new(p: Bounds, q: Bounds, low: f64, high: f64, units: f64) -> Self {
        let down = |loss: f64| if loss.is_finite() { loss - units * UNIT * loss.abs() } else { loss };
        let up = |loss: f64| if loss.is_finite() { loss + units * UNIT * loss.abs() } else { loss };
        Self { p, q, low: down(low), high: up(high) }
    }

    /// The same outcomes when the unit takes part only with probability `rate`.
    ///
    /// With S = (1−rate)·Q + rate·P the run with the unit, the pair becomes (S, Q) when the unit is removed and (Q, S)
    /// when it is added. The laws here are symmetric (exchanging P and Q gives the same losses), so the second is
    /// written as (P, (1−rate)·P + rate·Q) \[ZDW22\].
    pub fn subsampled(&self, rate: f64, direction: Direction) -> Self {
        match direction {
            Direction::Remove => {
                let ((low, below), (high, above)) = (log_mix(rate, self.low), log_mix(rate, self.high));
                Self { p: self.q.mix(1.0 - rate, self.p, rate), q: self.q, low: low - below, high: high + above }
            }
            Direction::Add => {
                let ((low, below), (high, above)) = (log_mix(rate, -self.low), log_mix(rate, -self.high));
                Self { p: self.p, q: self.p.mix(1.0 - rate, self.q, rate), low: -low - below, high: -high + above }
            }
        }
    }

    /// Replaces the cell by atoms at its two ends with the same mass under P and under Q; anything uncertain goes to
    /// the upper end. Returns the mass at infinite loss.
    ///
    /// With a and b the masses under P and Q, the upper atom weighs (a − b·e^low)/(1 − e^{low−high}): most when a is
    /// largest and b smallest. The lower atom gets the rest of the largest a. Compared with the exact pair, mass has
    /// been added and mass has moved up; both are on the safe side.
    pub fn spread(&self, atoms: &mut Vec<Atom>) -> f64 {
        let all = self.p.hi;
        let narrow = self.high.is_finite() && self.high - self.low <= 64.0 * UNIT * self.high.abs();
        if self.low.is_infinite() || narrow {
            atoms.push(Atom { mass: all, loss: self.high });
            return 0.0;
        }
        // Beyond e^600 the product is not reliable: treat Q as empty there, so that everything goes up.
        let stays = if self.low < 600.0 { self.q.lo * libm::exp(self.low) * (1.0 - 8.0 * UNIT) } else { 0.0 };
        let share = -libm::expm1(self.low - self.high);
        let upper = ((all - stays) / share * (1.0 + 8.0 * UNIT)).clamp(0.0, all);
        let lower = (all - upper) * (1.0 + 2.0 * UNIT);
        if lower > 0.0 {
            atoms.push(Atom { mass: lower, loss: self.low });
        }
        if self.high.is_infinite() {
            return upper;
        }
        atoms.push(Atom { mass: upper, loss: self.high });
        0.0
    }
}

/// ln((1−rate) + rate·e^loss) and its absolute error, for 0 < rate < 1.
fn log_mix(rate: f64, loss: f64) -> (f64, f64) {
    if loss == f64::INFINITY {
        return (loss, 0.0);
    }
    if loss == f64::NEG_INFINITY {
        let value = libm::log1p(-rate);
        return (value, 8.0 * UNIT * value.abs());
    }
    if loss > 30.0 {
        let value = loss + libm::log(rate + (1.0 - rate) * libm::exp(-loss));
        return (value, 8.0 * UNIT * (2.0 * loss + value.abs() + 1.0));
    }
    let change = rate * libm::expm1(loss);
    if change > -0.5 {
        // d ln(1+x) = dx/(1+x), and x/((1+x)·ln(1+x)) stays below 1.5 here.
        let value = libm::log1p(change);
        (value, 16.0 * UNIT * value.abs())
    } else {
        let value = libm::log((1.0 - rate) + rate * libm::exp(loss));
        (value, 8.0 * UNIT * (1.0 + value.abs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn totals(atoms: &[Atom]) -> (f64, f64) {
        atoms.iter().fold((0.0, 0.0), |(p, q), atom| (p + atom.mass, q + atom.mass * (-atom.loss).exp()))
    }

    /// Under P the ratio grows linearly over the cell, for instance; both masses must be kept.
    #[test]
    fn spreading_keeps_both_masses() {
        let cell = Cell::new(Bounds::around(0.3, 0.0), Bounds::around(0.25, 0.0), 0.1, 0.4, 0.0);
        let mut atoms = Vec::new();
        assert!(cell.spread(&mut atoms) == 0.0);
        let (p, q) = totals(&atoms);
        assert!((p - 0.3).abs() < 1e-14 && (q - 0.25).abs() < 1e-13, "{p} {q}");
    }

    #[test]
    fn cells_without_end_leave_their_mass_at_infinity() {
        let mut atoms = Vec::new();
        let above = Cell { p: Bounds::up_to(1e-9), q: Bounds::up_to(1e-12), low: 5.0, high: f64::INFINITY };
        assert!((above.spread(&mut atoms) - 1e-9).abs() < 1e-20 && atoms.is_empty());
        let below = Cell { p: Bounds::up_to(1e-9), q: Bounds::up_to(0.5), low: f64::NEG_INFINITY, high: -5.0 };
        assert!(below.spread(&mut atoms) == 0.0 && atoms.len() == 1);
        // A sampled unit may be left out: outcomes that P never has get a loss of ln(1 − rate).
        let sampled = below.subsampled(0.25, Direction::Remove);
        assert!((sampled.low - 0.75_f64.ln()).abs() < 1e-15 && sampled.p.hi > 0.375);
        assert!((above.subsampled(0.25, Direction::Add).high + 0.75_f64.ln()).abs() < 1e-15);
    }

    #[test]
    fn subsampled_cells_have_the_masses_and_losses_of_the_mixtures() {
        let (loss, rate): (f64, f64) = (0.7, 0.2);
        let (p, q) = (0.4, 0.4 * (-loss).exp());
        let cell = Cell::new(Bounds::around(p, 0.0), Bounds::around(q, 0.0), loss, loss, 1.0);
        let with_unit = (1.0 - rate) * q + rate * p;
        let remove = cell.subsampled(rate, Direction::Remove);
        assert!((remove.p.hi - with_unit).abs() < 1e-15 && (remove.high - (with_unit / q).ln()).abs() < 1e-14);
        let other = (1.0 - rate) * p + rate * q;
        let add = cell.subsampled(rate, Direction::Add);
        assert!((add.q.lo - other).abs() < 1e-15 && (add.high - (p / other).ln()).abs() < 1e-14);
        assert!(remove.low <= remove.high && add.low <= add.high);
    }

    #[test]
    fn the_logarithm_of_a_mixture_is_right_in_every_branch() {
        for rate in [1e-9, 0.001, 0.3, 0.7, 0.999_999] {
            for loss in [-700.0, -40.0, -1.0, -1e-8, 0.0, 1e-8, 0.5, 29.9, 30.1, 500.0] {
                let (value, error) = log_mix(rate, loss);
                let plain = ((1.0 - rate) + rate * f64::exp(loss)).ln();
                assert!((value - plain).abs() <= error + 1e-15 * (1.0 + plain.abs()), "{rate} {loss}: {value} {plain}");
            }
        }
    }
}
