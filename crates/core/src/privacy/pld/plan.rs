//! Planning one composition: the tilt, the window and the step.
//!
//! Nothing here needs to be exact. A poor plan costs accuracy; the bounds in `compose` hold for every plan.

use super::grid::Part;
use crate::numeric::search::valley;

/// The largest transform: 4 MiB of complex numbers.
const MAX_SIZE: usize = 1 << 18;
const MIN_SIZE: usize = 1 << 8;
/// How much of the tilted probability may lie beyond either end of the window.
const OUTSIDE: f64 = 1e-10;
/// The share of the loss's variance that splitting on the grid may add.
const EXTRA_VARIANCE: f64 = 1e-6;

/// The target of a composition.
#[derive(Debug, Clone, Copy)]
pub(super) enum Target {
    Delta(f64),
    Epsilon(f64),
}

/// The parameters of one composition.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub theta: f64,
    /// Normalisers of the tilted parts, as logarithms.
    pub shifts: Vec<f64>,
    /// The order of the Chernoff bound for what lies above the window.
    pub order: f64,
    pub step: f64,
    /// The lowest multiple of the step in the window.
    pub start: i64,
    pub size: usize,
}

/// The parts, coarsened: accurate enough to find the plan.
pub(super) struct Sketch {
    parts: Vec<(f64, Vec<(f64, f64)>)>,
    /// The standard deviation of the sum of all losses, and the smallest among the parts.
    spread: f64,
    finest: f64,
}

impl Sketch {
    pub fn new(parts: &[Part]) -> Self {
        let parts: Vec<(f64, Vec<(f64, f64)>)> = parts
            .iter()
            .map(|part| {
                // The highest losses stay as they are: a bounded loss has much of its mass there.
                let group = part.atoms.len().div_ceil(1024).max(1);
                let (rest, highest) = part.atoms.split_at(part.atoms.len().saturating_sub(8));
                let atoms = rest.chunks(group).chain(highest.chunks(1)).map(|atoms| {
                    let mass: f64 = atoms.iter().map(|atom| atom.mass).sum();
                    (mass, atoms.iter().map(|atom| atom.mass * atom.loss).sum::<f64>() / mass)
                });
                (part.count as f64, atoms.collect())
            })
            .collect();
        let mut sketch = Self { parts, spread: 1.0, finest: 1.0 };
        sketch.spread = sketch.deviation(0.0);
        let deviations = sketch.parts.iter().map(|(count, atoms)| (count * Self::variance(atoms, 0.0)).sqrt());
        sketch.finest = deviations.fold(sketch.spread, f64::min).max(1e-9 * sketch.spread);
        sketch
    }

    /// ln of the moment of one part.
    fn part_moment(atoms: &[(f64, f64)], lambda: f64) -> f64 {
        let edge = if lambda >= 0.0 { atoms.last() } else { atoms.first() };
        let highest = edge.map_or(0.0, |&(_, loss)| loss * lambda);
        highest + libm::log(atoms.iter().map(|&(mass, loss)| mass * libm::exp(loss * lambda - highest)).sum())
    }

    /// ln of the moment of the sum of all losses.
    fn log_moment(&self, lambda: f64) -> f64 {
        self.parts.iter().map(|(count, atoms)| count * Self::part_moment(atoms, lambda)).sum()
    }

    /// The variance of one loss under the tilt.
    fn variance(atoms: &[(f64, f64)], theta: f64) -> f64 {
        let shift = Self::part_moment(atoms, theta);
        let weigh = |&(mass, loss): &(f64, f64)| (mass * libm::exp(loss * theta - shift), loss);
        let mean: f64 = atoms.iter().map(weigh).map(|(weight, loss)| weight * loss).sum();
        atoms.iter().map(weigh).map(|(weight, loss)| weight * (loss - mean).powi(2)).sum()
    }

    /// The standard deviation of the sum under the tilt, or a small positive number if it is zero. Small compared to
    /// the span of one mechanism's losses, not of all together: many rarely sampled mechanisms deviate by far less than
    /// a millionth of that.
    fn deviation(&self, theta: f64) -> f64 {
        let total: f64 = self.parts.iter().map(|(count, atoms)| count * Self::variance(atoms, theta)).sum();
        let spans = self.parts.iter().filter_map(|(_, atoms)| Some(atoms.last()?.1 - atoms.first()?.1));
        total.sqrt().max(1e-6 * spans.fold(0.0, f64::max)).max(1e-12)
    }

    /// The smallest and the largest possible sum of the losses.
    fn range(&self) -> (f64, f64) {
        let loss = |edge: Option<&(f64, f64)>| edge.map_or(0.0, |&(_, loss)| loss);
        let lowest = self.parts.iter().map(|(count, atoms)| count * loss(atoms.first())).sum();
        (lowest, self.parts.iter().map(|(count, atoms)| count * loss(atoms.last())).sum())
    }

    /// Searches orders λ > 0 on a logarithmic scale, from the widest to the finest deviation. Rare losses can be larger than any
    /// deviation, and their moments grow from much smaller orders on.
    fn search(&self, function: impl Fn(f64) -> f64) -> f64 {
        let widest = self.spread.max(self.range().1);
        let (least, most) = (libm::log(1e-3 / widest), libm::log(300.0 / self.finest));
        libm::exp(valley(least, most, 45, |log| function(libm::exp(log))))
    }

    /// ln of the Chernoff bound of δ·e^{θε}: h(s) ≤ c·e^{θ(s − ε)} with c = θ^θ/(1 + θ)^{1 + θ}, the largest value of
    /// (1 − e^{−x})·e^{−θx}.
    fn log_bound(&self, theta: f64) -> f64 {
        self.log_moment(theta) + theta * libm::log(theta / (1.0 + theta)) - libm::log1p(theta)
    }

    /// The order of the best Chernoff bound: the saddle point.
    fn tilt(&self, target: Target) -> f64 {
        match target {
            Target::Delta(delta) => {
                let log = libm::log(delta);
                self.search(|theta| (self.log_bound(theta) - log) / theta)
            }
            Target::Epsilon(epsilon) => self.search(|theta| self.log_bound(theta) - theta * epsilon),
        }
    }

    /// An estimate of δ from above: the Chernoff bound.
    pub fn delta_estimate(&self, target: Target) -> f64 {
        match target {
            Target::Delta(delta) => delta,
            Target::Epsilon(epsilon) => {
                let theta = self.tilt(target);
                libm::exp((self.log_bound(theta) - theta * epsilon).min(0.0)).max(1e-290)
            }
        }
    }

    /// The plan for a target, with a share of the best tilt; on a given step if all losses are multiples of it. `None`
    /// if the window would be too large.
    pub fn plan(&self, target: Target, share: f64, lattice: Option<f64>) -> Option<Plan> {
        let theta = share * self.tilt(target);
        let here = self.log_moment(theta);
        let deviation = self.deviation(theta);
        let outside = libm::log(OUTSIDE);
        let above = |order: f64| (self.log_moment(theta + order) - here - outside) / order;
        let below = |order: f64| (self.log_moment(theta - order) - here - outside) / order;
        let (lowest, highest) = self.range();
        let mut end = above(self.search(above)).min(highest);
        let mut begin = (-below(self.search(below))).max(lowest);
        if let Target::Epsilon(epsilon) = target {
            begin = begin.min(epsilon);
            end = end.max(begin);
        }
        let (step, size) = match lattice {
            Some(step) => {
                let size = ((end - begin) / step + 4.0).max(MIN_SIZE as f64);
                if size > MAX_SIZE as f64 {
                    return None;
                }
                (step, (size as usize).next_power_of_two())
            }
            None => {
                let count: f64 = self.parts.iter().map(|(count, _)| count).sum();
                let width = (end - begin) * 1.01 + 1e-3 * deviation;
                let fine = deviation * (6.0 * EXTRA_VARIANCE / count.max(1.0)).sqrt();
                let size = (width / fine).clamp(MIN_SIZE as f64, MAX_SIZE as f64);
                let size = (size as usize).next_power_of_two();
                (width / (size - 4) as f64, size)
            }
        };
        let start = libm::floor(begin / step) as i64 - 1;
        let beyond = (start + size as i64) as f64 * step;
        let order = theta + self.search(|more| self.log_moment(theta + more) - (theta + more) * beyond);
        let shifts = self.parts.iter().map(|(_, atoms)| Self::part_moment(atoms, theta)).collect();
        Some(Plan { theta, shifts, order, step, start, size })
    }
}
