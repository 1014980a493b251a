//! Atoms moved onto the multiples of one step.

use super::cell::Atom;
use crate::numeric::normal::UNIT;

/// The losses of one mechanism, and how many times it occurs.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub count: u64,
    /// Sorted by loss.
    pub atoms: Vec<Atom>,
    /// Mass at infinite loss, per mechanism.
    pub infinite: f64,
}

impl Part {
    pub fn new(count: u64, mut atoms: Vec<Atom>, infinite: f64) -> Self {
        atoms.retain(|atom| atom.mass > 0.0);
        debug_assert!(atoms.iter().all(|atom| atom.loss.is_finite() && atom.mass.is_finite()));
        atoms.sort_by(|left, right| left.loss.total_cmp(&right.loss));
        Self { count, atoms, infinite }
    }

    /// Declares the highest losses infinite, as long as this adds no more than `budget` to δ over all the mechanisms.
    /// This keeps the rare huge losses of subsampled mechanisms from stretching the grid.
    pub fn cut(&mut self, budget: f64) {
        let mut moved = 0.0;
        while let [.., next, last] = self.atoms[..] {
            let more = (moved + last.mass) * (1.0 + 2.0 * UNIT);
            if more * self.count as f64 > budget || next.loss <= 0.0 {
                break;
            }
            moved = more;
            self.atoms.pop();
        }
        self.infinite += moved;
    }
}

/// Mass at the multiples j and j + 1 of the step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair {
    pub index: i64,
    pub here: f64,
    pub next: f64,
}

/// One mechanism's losses on the grid.
#[derive(Debug, Clone)]
pub(super) struct GridPart {
    pub count: u64,
    pub pairs: Vec<Pair>,
    pub infinite: f64,
}

impl GridPart {
    /// Splits every atom between its two neighbours on the grid so that its masses under P and under Q are kept.
    ///
    /// For a loss jΔ + r the weights are e^{−r}·(1 − e^{−(Δ−r)})/(1 − e^{−Δ}) at j and (1 − e^{−r})/(1 − e^{−Δ}) at
    /// j + 1. The subtraction l − jΔ is rounded once (a fused operation); r is then rounded up and both weights are
    /// increased by more than their error.
    pub fn split(part: &Part, step: f64) -> Self {
        let whole = -libm::expm1(-step);
        let pairs = part.atoms.iter().map(|atom| {
            let mut index = libm::floor(atom.loss / step);
            let mut rest = (-index).mul_add(step, atom.loss);
            if rest < 0.0 {
                index -= 1.0;
                rest = (-index).mul_add(step, atom.loss);
            } else if rest >= step {
                index += 1.0;
                rest = (-index).mul_add(step, atom.loss);
            }
            let rest = (rest * (1.0 + 4.0 * UNIT)).clamp(0.0, step);
            let mass = atom.mass * (1.0 + 24.0 * UNIT);
            let next = mass * (-libm::expm1(-rest) / whole);
            let here = mass * (libm::exp(-rest) * -libm::expm1(rest - step) / whole);
            Pair { index: index as i64, here, next }
        });
        Self { count: part.count, pairs: pairs.collect(), infinite: part.infinite }
    }

    /// The largest index that carries mass.
    pub fn top(&self) -> i64 {
        self.pairs.iter().map(|pair| pair.index + i64::from(pair.next > 0.0)).max().unwrap_or(0)
    }

    /// An upper bound of ln Σ mass·e^{λ·index·step}.
    ///
    /// Exponents are off by 4 UNIT of their magnitude, and the sum by its number of terms.
    pub fn log_moment(&self, step: f64, lambda: f64) -> f64 {
        let highest = self.top() as f64 * step * lambda;
        let next = libm::exp(step * lambda);
        let mut sum = 0.0;
        let mut steepest = 0.0_f64;
        for pair in &self.pairs {
            let exponent = pair.index as f64 * step * lambda;
            steepest = steepest.max(exponent.abs());
            sum += libm::exp(exponent - highest) * (pair.here + pair.next * next);
        }
        let units = 8.0 * (steepest + highest.abs() + step * lambda) + 2.0 * self.pairs.len() as f64 + 16.0;
        (highest + libm::log(sum)) + (units + highest.abs()) * 2.0 * UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(atoms: &[(f64, f64)]) -> Part {
        Part::new(1, atoms.iter().map(|&(mass, loss)| Atom { mass, loss }).collect(), 0.0)
    }

    #[test]
    fn splitting_keeps_both_masses_and_never_loses_any() {
        let atoms = [(0.3, -1.234), (0.2, 0.5), (0.1, 1e-9), (0.4, 2.000_000_1)];
        for step in [0.5, 0.1, 0.003, 1e-6] {
            let grid = GridPart::split(&part(&atoms), step);
            for (pair, (mass, loss)) in grid.pairs.iter().zip(part(&atoms).atoms.iter().map(|a| (a.mass, a.loss))) {
                let q = pair.here * (-(pair.index as f64) * step).exp()
                    + pair.next * (-((pair.index + 1) as f64) * step).exp();
                assert!(pair.here + pair.next >= mass, "{step}: {pair:?}");
                assert!((pair.here + pair.next) / mass - 1.0 < 1e-14, "{step}: {pair:?}");
                assert!((q / (mass * (-loss).exp()) - 1.0).abs() < 1e-9, "{step}: {pair:?}");
            }
        }
    }

    #[test]
    fn the_moment_is_that_of_the_atoms() {
        let grid = GridPart::split(&part(&[(0.25, -1.0), (0.75, 0.5)]), 0.25);
        let exact = (0.25 * (-2.0_f64).exp() + 0.75 * 1.0_f64.exp()).ln();
        let bound = grid.log_moment(0.25, 2.0);
        assert!(bound >= exact && bound - exact < 1e-12, "{bound} {exact}");
    }

    #[test]
    fn cutting_spends_no_more_than_its_budget() {
        let mut part = part(&[(0.9, 0.1), (0.09, 1.0), (1e-9, 5.0), (1e-10, 9.0)]);
        part.count = 100;
        part.cut(2e-7);
        assert_eq!(part.atoms.len(), 2);
        assert!(part.infinite >= 1.1e-9 && part.infinite < 1.2e-9);
    }
}
