//! A single mechanism: nothing to compose, nothing to put on a grid.

use super::grid::Part;
use crate::numeric::normal::UNIT;

/// δ as a function of ε for the atoms of one mechanism, exact up to rounding.
///
/// # Algorithm
/// Between two neighbouring losses a < b, with S the mass from b on, δ(ε) = δ(b)·e^{ε − b} + S·(1 − e^{ε − b}): sums of positive
/// terms only, from the highest loss downwards. A step multiplies the relative error by less than 1 + 8 UNIT.
#[derive(Debug, Clone)]
pub(super) struct Single {
    /// Increasing losses, each with δ there and the mass from there on.
    points: Vec<Point>,
    infinite: f64,
    safety: f64,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    loss: f64,
    delta: f64,
    mass: f64,
}

impl Point {
    /// δ of the losses from this one on, at an ε that is not larger.
    fn below(&self, epsilon: f64) -> f64 {
        let gap = epsilon - self.loss;
        self.delta * libm::exp(gap) + self.mass * -libm::expm1(gap)
    }
}

impl Single {
    pub fn new(part: &Part) -> Self {
        let mut points: Vec<Point> = Vec::with_capacity(part.atoms.len());
        for atom in part.atoms.iter().rev() {
            let (delta, above) = points.last().map_or((0.0, 0.0), |next| (next.below(atom.loss), next.mass));
            points.push(Point { loss: atom.loss, delta, mass: above + atom.mass });
        }
        points.reverse();
        let safety = 1.0 + (8.0 * points.len() as f64 + 16.0) * UNIT;
        Self { points, infinite: part.infinite, safety }
    }

    /// An upper bound of δ at ε.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let above = self.points.partition_point(|point| point.loss <= epsilon);
        let finite = self.points.get(above).map_or(0.0, |point| point.below(epsilon));
        ((finite + self.infinite) * self.safety).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Atom;
    use super::*;

    #[test]
    fn a_curve_is_the_sum_over_its_atoms() {
        let list = [(0.25, -0.5), (0.5, 0.1), (0.125, 0.1), (0.0625, 2.0), (1e-30, 3.0)];
        let part = Part::new(1, list.iter().map(|&(mass, loss)| Atom { mass, loss }).collect(), 1e-40);
        let single = Single::new(&part);
        for epsilon in [-1.0, -0.5, 0.0, 0.1, 1.0, 2.0, 2.5, 2.999_999, 3.0, 7.0] {
            let excess = |loss: f64| if loss > epsilon { -f64::exp_m1(epsilon - loss) } else { 0.0 };
            let exact: f64 = list.iter().map(|&(mass, loss)| mass * excess(loss)).sum::<f64>() + 1e-40;
            let ratio = single.delta(epsilon) / exact;
            assert!((1.0 - 1e-15..1.0 + 1e-13).contains(&ratio), "{epsilon}: {ratio}");
        }
    }
}
