//! Rare losses, separated from frequent ones.
//!
//! A tilt makes those losses likely that sum up to ε. That works if many small losses do, and fails if one large loss
//! does: a mechanism on one row in a million has a loss of nearly zero almost always, and a loss of 1 once in 1e15
//! times. No tilt puts its weight between the two humps, Chernoff's inequality is off by many orders of magnitude, and
//! next to the first hump the error of the transform drowns the second.
//!
//! So the humps are separated. With L = F + R the losses of one mechanism up to a level and above it, those of n together are
//!
//! L^{∗n} = Σ_k C(n, k)·F^{∗(n−k)} ∗ R^{∗k},
//!
//! and δ, a sum over outcomes, is the sum of the δ of these terms. Each has one hump, and gets its own tilt, window and
//! step. The terms with more rare losses than are considered weigh at most (n·r)^{k+1}/(k+1)! together, r being the
//! mass of R, and are added to δ in full.
//!
//! Any level gives an upper bound. Several are estimated; the best is computed.

use super::bound::{curve, extent};
use super::cell::Atom;
use super::compose::Curve;
use super::grid::Part;
use super::plan::{Sketch, Target};
use crate::numeric::normal::UNIT;

/// Levels that are tried, as shares of ε.
const LEVELS: [f64; 9] = [4.0, 1.5, 0.95, 0.8, 0.6, 0.45, 0.3, 0.1, 0.03];
/// Losses are called rare if they are expected less often than this among all mechanisms of a part.
const RARE: f64 = 0.25;
/// The share of δ that omitted terms may weigh.
const LEFT_OUT: f64 = 1e-6;
/// The maximum number of terms that are computed.
const MOST_TERMS: usize = 32;
/// The maximum number of rare losses in one sum that are considered.
const MOST_RARE: u32 = 12;
/// The maximum number of ways to distribute a number of rare losses that are considered.
const MOST_CHOICES: usize = 256;
/// Enough atoms for an estimate.
const COARSE: usize = 512;
/// A loss this many standard deviations out counts as far: those of Gaussian noise end at 37.
const FAR: f64 = 64.0;

/// The terms of a sum of losses, each with its δ around one ε.
pub(super) struct Terms {
    /// How often each occurs, and its curve.
    curves: Vec<(f64, Curve)>,
    /// Terms whose losses never exceed a number, and their weight.
    bounded: Vec<(f64, f64)>,
    /// What counts in full at every ε: infinite losses and omitted terms.
    rest: f64,
}

impl Terms {
    /// An upper bound of δ at ε.
    pub fn delta(&self, epsilon: f64) -> f64 {
        let curves = self.curves.iter().map(|(weight, curve)| weight * curve.delta(epsilon));
        let bounded = self.bounded.iter().filter(|(top, _)| epsilon < *top).map(|(_, mass)| *mass);
        let units = 4.0 * (self.curves.len() + self.bounded.len()) as f64 + 8.0;
        ((curves.sum::<f64>() + bounded.sum::<f64>() + self.rest) * (1.0 + units * UNIT)).min(1.0)
    }
}

/// One part: its frequent losses and, if they are separated, its rare ones.
struct Halves {
    count: u64,
    frequent: Part,
    rare: Option<Part>,
}

/// All parts, divided at one level.
pub(super) struct Division {
    halves: Vec<Halves>,
    /// The mass of all infinite losses.
    infinite: f64,
    /// The expected number of rare losses.
    expected: f64,
    /// The factor by which all masses together exceed 1: rounding up adds a little to each.
    excess: f64,
}

impl Division {
    /// `None` if there is nothing to separate at this level.
    fn at(parts: &[Part], level: f64) -> Option<Self> {
        let (mut infinite, mut expected, mut excess) = (0.0, 0.0, 1.0);
        let mut halves = Vec::with_capacity(parts.len());
        for part in parts {
            let count = part.count as f64;
            infinite += count * part.infinite;
            excess *= power(mass(&part.atoms).max(1.0), part.count);
            let cut = part.atoms.partition_point(|atom| atom.loss <= level);
            let (low, high) = part.atoms.split_at(cut);
            let piece = |atoms: &[Atom]| Part { count: part.count, atoms: atoms.to_vec(), infinite: 0.0 };
            let often = count * mass(high);
            if high.is_empty() || often > RARE {
                halves.push(Halves { count: part.count, frequent: piece(&part.atoms), rare: None });
            } else {
                expected += often;
                halves.push(Halves { count: part.count, frequent: piece(low), rare: Some(piece(high)) });
            }
        }
        let up = 1.0 + (4.0 * parts.len() as f64 + 4.0) * UNIT;
        let (infinite, expected, excess) = (infinite * excess * up, expected * up, excess * up);
        halves.iter().any(|half| half.rare.is_some()).then_some(Self { halves, infinite, expected, excess })
    }

    /// The ways to distribute `total` rare losses among the parts. `None` if there are too many to consider.
    fn choices(&self, total: u32) -> Option<Vec<Vec<u64>>> {
        let mut choices: Vec<(Vec<u64>, u64)> = vec![(Vec::new(), total.into())];
        for half in &self.halves {
            let most = if half.rare.is_some() { half.count } else { 0 };
            let longer = choices.iter().flat_map(|(chosen, left)| {
                (0..=most.min(*left)).map(move |here| ([&chosen[..], &[here]].concat(), left - here))
            });
            choices = longer.take(MOST_CHOICES + 1).collect();
            if choices.len() > MOST_CHOICES {
                return None;
            }
        }
        Some(choices.into_iter().filter(|(_, left)| *left == 0).map(|(chosen, _)| chosen).collect())
    }

    /// The term with the given number of rare losses in each part; `None` if it has no mass.
    fn term(&self, chosen: &[u64]) -> Option<Term> {
        let mut term = Term { weight: 1.0, parts: Vec::new() };
        for (half, &rare) in self.halves.iter().zip(chosen) {
            for k in 0..rare {
                term.weight *= (half.count - k) as f64 / (k + 1) as f64 * (1.0 + 4.0 * UNIT);
            }
            for (piece, count) in [(Some(&half.frequent), half.count - rare), (half.rare.as_ref(), rare)] {
                if count > 0 {
                    let piece = piece.filter(|piece| !piece.atoms.is_empty())?;
                    term.parts.push(Part { count, ..piece.clone() });
                }
            }
        }
        Some(term)
    }

    /// A bound on the probability of more than `total` rare losses: some `total` + 1 mechanisms then have one each, and
    /// this counts the ways to choose them.
    fn more_than(&self, total: u32) -> f64 {
        let most: u64 = self.halves.iter().filter(|half| half.rare.is_some()).map(|half| half.count).sum();
        if most <= u64::from(total) {
            return 0.0;
        }
        let ways = (0..=total).fold(1.0, |product, k| product * self.expected / f64::from(k + 1));
        ways * self.excess * (1.0 + (4.0 * f64::from(total) + 8.0) * UNIT) + f64::MIN_POSITIVE
    }

    /// An approximate upper bound on the δ of all terms, by Chernoff's inequality; `None` if there are too many.
    fn estimate(&self, epsilon: f64) -> Option<f64> {
        let mut sum = self.more_than(1) + self.infinite;
        for total in 0..=1 {
            let terms = self.choices(total)?.into_iter().filter_map(|chosen| self.term(&chosen));
            sum += terms.map(|term| term.weight * term.estimate(epsilon)).sum::<f64>();
        }
        Some(sum)
    }

    /// Term by term, until the remaining ones do not matter.
    pub fn compute(&self, epsilon: f64) -> Terms {
        let mut terms = Terms { curves: Vec::new(), bounded: Vec::new(), rest: self.infinite };
        for total in 0..=MOST_RARE {
            let Some(choices) = self.choices(total).filter(|choices| terms.curves.len() + choices.len() <= MOST_TERMS)
            else {
                // Terms with fewer rare losses than `total` have been considered; with at least one if the estimate was
                // computed.
                terms.rest += total.checked_sub(1).map_or(1.0, |looked_at| self.more_than(looked_at));
                return terms;
            };
            for term in choices.into_iter().filter_map(|chosen| self.term(&chosen)) {
                let (most, top) = (term.mass(), extent(&term.parts).0);
                if top <= epsilon {
                    terms.bounded.push((top, most));
                } else if total > 1 && most <= LEFT_OUT * terms.delta(epsilon) {
                    terms.rest += most;
                } else {
                    terms.curves.push((term.weight, curve(term.parts, Target::Epsilon(epsilon))));
                }
            }
            let left = self.more_than(total);
            if total == MOST_RARE || total > 0 && left <= LEFT_OUT * terms.delta(epsilon) {
                terms.rest += left;
                return terms;
            }
        }
        unreachable!("the last round returns")
    }
}

/// A number of rare losses in each part, the others being frequent.
struct Term {
    /// The number of ways in which it comes about.
    weight: f64,
    parts: Vec<Part>,
}

impl Term {
    fn mass(&self) -> f64 {
        let masses = self.parts.iter().map(|part| power(mass(&part.atoms), part.count));
        masses.product::<f64>() * self.weight * (1.0 + (2.0 * self.parts.len() as f64 + 4.0) * UNIT) + f64::MIN_POSITIVE
    }

    fn estimate(&self, epsilon: f64) -> f64 {
        if extent(&self.parts).0 <= epsilon {
            return 0.0;
        }
        Sketch::new(&self.parts).delta_estimate(Target::Epsilon(epsilon))
    }
}

/// The mass of all atoms, rounded up: a sum of N terms is off by N UNIT.
fn mass(atoms: &[Atom]) -> f64 {
    atoms.iter().map(|atom| atom.mass).sum::<f64>() * (1.0 + (atoms.len() as f64 + 4.0) * UNIT)
}

/// The n-th power of a mass, rounded up.
fn power(mass: f64, count: u64) -> f64 {
    if count == 1 {
        return mass;
    }
    let exponent = count as f64 * libm::log(mass);
    libm::exp(exponent + 8.0 * UNIT * exponent.abs()) * (1.0 + 8.0 * UNIT) + f64::MIN_POSITIVE
}

/// Are there losses that are rare and far larger than the others? If not, one tilt suits all.
fn are_there(parts: &[Part]) -> bool {
    parts.iter().any(|part| {
        let moment = |order| part.atoms.iter().map(|atom| atom.mass * atom.loss.powi(order)).sum::<f64>();
        let deviation = (moment(2) - moment(1).powi(2)).max(0.0).sqrt();
        part.atoms.last().is_some_and(|highest| highest.loss > FAR * deviation)
    })
}

/// The division with the smallest estimate of δ at ε, together with that estimate; `None` if there is nothing to
/// separate.
pub(super) fn division(parts: &[Part], epsilon: f64) -> Option<(f64, Division)> {
    if !are_there(parts) {
        return None;
    }
    let coarse: Vec<Part> = parts.iter().map(coarsened).collect();
    let estimates = LEVELS.iter().map(|share| share * epsilon).filter_map(|level| {
        let estimate = Division::at(&coarse, level)?.estimate(epsilon)?;
        Some((estimate, level))
    });
    let (estimate, level) = estimates.min_by(|(left, _), (right, _)| left.total_cmp(right))?;
    Some((estimate, Division::at(parts, level)?))
}

/// Fewer atoms, for estimates.
fn coarsened(part: &Part) -> Part {
    let atoms = part.atoms.chunks(part.atoms.len().div_ceil(COARSE).max(1)).map(|atoms| {
        let mass: f64 = atoms.iter().map(|atom| atom.mass).sum();
        Atom { mass, loss: atoms.iter().map(|atom| atom.mass * atom.loss).sum::<f64>() / mass }
    });
    Part { count: part.count, atoms: atoms.collect(), infinite: part.infinite }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(count: u64, list: &[(f64, f64)]) -> Part {
        Part::new(count, list.iter().map(|&(mass, loss)| Atom { mass, loss }).collect(), 0.0)
    }

    /// δ over all combinations of outcomes.
    fn enumerated(parts: &[Part], epsilon: f64) -> f64 {
        let mut sums = vec![(1.0, 0.0)];
        for part in parts {
            for _ in 0..part.count {
                let longer = sums.iter().flat_map(|&(mass, loss): &(f64, f64)| {
                    part.atoms.iter().map(move |atom| (mass * atom.mass, loss + atom.loss))
                });
                sums = longer.collect();
            }
        }
        sums.iter().filter(|(_, loss)| *loss > epsilon).map(|(mass, loss)| -mass * f64::exp_m1(epsilon - loss)).sum()
    }

    /// Losses near zero and rare ones of very different sizes, in two parts, beside one without rare losses.
    fn lopsided() -> Vec<Part> {
        vec![
            part(3, &[(0.6, -2e-6), (0.399_999, 3e-6), (1e-6, 0.4), (1e-13, 1.7), (1e-21, 5.0)]),
            part(2, &[(0.999_99, -1e-5), (1e-5, 0.01), (1e-9, 0.75), (1e-17, 2.0)]),
            part(1, &[(0.55, 0.2), (0.45, -0.2)]),
        ]
    }

    #[test]
    fn the_terms_add_up_to_the_sum_over_all_outcomes() {
        let parts = lopsided();
        for epsilon in [0.05, 0.3, 0.9, 1.5, 3.0, 6.0] {
            let exact = enumerated(&parts, epsilon);
            for share in LEVELS {
                let Some(division) = Division::at(&parts, share * epsilon) else { continue };
                let terms = division.compute(epsilon);
                // It is an upper bound at other ε, too.
                for other in [0.2 * epsilon, 0.9 * epsilon, 1.3 * epsilon] {
                    assert!(
                        terms.delta(other) >= enumerated(&parts, other) * (1.0 - 1e-12),
                        "{epsilon} {share} {other}"
                    );
                }
                assert!(terms.delta(epsilon) >= exact * (1.0 - 1e-12), "{epsilon} {share}");
            }
            let (_, division) = division(&parts, epsilon).unwrap();
            let ratio = division.compute(epsilon).delta(epsilon) / exact;
            assert!((1.0 - 1e-12..1.01).contains(&ratio), "{epsilon}: {ratio}");
        }
    }

    /// The assertions above have power: without the terms of two rare losses, or with each counted once, δ is too small.
    #[test]
    fn terms_that_are_forgotten_are_caught() {
        let parts = [part(3, &[(0.999, -1e-4), (1e-3, 1.0)])];
        let (epsilon, exact) = (1.5, enumerated(&[part(3, &[(0.999, -1e-4), (1e-3, 1.0)])], 1.5));
        let division = Division::at(&parts, 0.9).unwrap();
        let of = |chosen: u64| {
            let term = division.term(&[chosen]).unwrap();
            (term.weight, curve(term.parts, Target::Epsilon(epsilon)).delta(epsilon))
        };
        let ((two, of_two), (three, of_three)) = (of(2), of(3));
        assert!(two * of_two + three * of_three >= exact * (1.0 - 1e-12));
        assert!(of_two + of_three < 0.5 * exact && three * of_three < 0.5 * exact);
        assert!(division.more_than(0) >= 1.0 - 0.999_f64.powi(3) && division.more_than(2) >= 1e-9);
        assert!(division.more_than(3) == 0.0);
    }

    #[test]
    fn ordinary_noise_has_no_rare_losses() {
        let gaussian: Vec<(f64, f64)> = (-370..=370)
            .map(|tenth| f64::from(tenth) / 10.0)
            .map(|x| (0.1 * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt(), x))
            .collect();
        assert!(division(&[part(10, &gaussian)], 3.0).is_none());
        assert!(division(&lopsided(), 1.0).is_some());
    }
}
