//! Upper bounds of δ(ε), and of its inverse, for given parts.

use super::compose::{Curve, compose};
use super::grid::{GridPart, Part};
use super::plan::{Plan, Sketch, Target};
use super::rare::{self, Terms};
use super::single::Single;
use crate::numeric::normal::UNIT;

/// The share of δ that may be spent on declaring rare losses infinite.
const CUT: f64 = 1e-7;
/// Used for an ε of zero or less.
pub(super) const MIN_EPSILON: f64 = 1e-12;
/// If errors alone account for more than this share of δ, another method is better.
const DOUBT: f64 = 1e-3;
/// An estimate that is smaller by this factor shows that a bound is loose.
const LOOSE: f64 = 0.5;
/// An estimate that is smaller than another by this factor shows that the other need not be computed.
const HOPELESS: f64 = 1e-3;
/// The search for ε ends when it, and δ there, change by less than this, relatively.
const CLOSE: f64 = 1e-4;
const ROUNDS: u32 = 24;
/// The largest step down of the search for ε, as a factor.
const FARTHEST: f64 = 0.25;

/// An upper bound of δ at every ε, tight around one of them.
pub(super) enum Bound {
    /// The parts' losses never exceed `top`; beyond, δ is what lies at infinity.
    Bounded { top: f64, infinite: f64 },
    /// One mechanism: nothing to compose.
    Single(Single),
    /// One transform.
    Whole(Curve),
    /// One transform for each number of rare losses.
    Apart(Terms),
    /// Both; the smaller counts.
    Either(Curve, Terms),
}

impl Bound {
    /// The best available bound around ε.
    pub fn around(parts: &[Part], epsilon: f64) -> Self {
        if let [part] = parts
            && part.count == 1
        {
            return Self::Single(Single::new(part));
        }
        let (top, infinite) = extent(parts);
        if top <= epsilon {
            return Self::Bounded { top, infinite };
        }
        let division = rare::division(parts, epsilon);
        if let Some((estimate, division)) = &division
            && *estimate < HOPELESS * Sketch::new(parts).delta_estimate(Target::Epsilon(epsilon))
        {
            return Self::Apart(division.compute(epsilon));
        }
        let whole = curve(parts.to_vec(), Target::Epsilon(epsilon));
        let delta = whole.delta(epsilon);
        match division {
            Some((estimate, division)) if estimate < LOOSE * delta || whole.noise(epsilon) > DOUBT * delta => {
                Self::Either(whole, division.compute(epsilon))
            }
            _ => Self::Whole(whole),
        }
    }

    /// Never below the δ of the parts at ε.
    pub fn delta(&self, epsilon: f64) -> f64 {
        match self {
            Self::Bounded { top, infinite } => {
                if epsilon >= *top {
                    *infinite
                } else {
                    1.0
                }
            }
            Self::Single(single) => single.delta(epsilon),
            Self::Whole(curve) => curve.delta(epsilon),
            Self::Apart(terms) => terms.delta(epsilon),
            Self::Either(curve, terms) => curve.delta(epsilon).min(terms.delta(epsilon)),
        }
    }

    /// The smallest ε up to `most` that this bound shows to have a δ of at most `delta`.
    fn epsilon(&self, delta: f64, most: f64) -> Option<f64> {
        let fits = |epsilon: f64| self.delta(epsilon) <= delta;
        if fits(MIN_EPSILON) {
            return Some(MIN_EPSILON);
        }
        if !fits(most) {
            return None;
        }
        // Invariant: the upper end fits. Bisecting the logarithm finds it to the last digits.
        let (mut low, mut high) = (MIN_EPSILON, most);
        for _ in 0..64 {
            let middle = (low * high).sqrt();
            if fits(middle) { high = middle } else { low = middle }
        }
        Some(high)
    }
}

/// An upper bound on the sum of the losses, and on how often it is infinite.
pub(super) fn extent(parts: &[Part]) -> (f64, f64) {
    let (mut top, mut size, mut infinite) = (0.0, 0.0, 0.0);
    for part in parts {
        let highest = part.count as f64 * part.atoms.last().map_or(0.0, |atom| atom.loss);
        (top, size) = (top + highest, size + highest.abs());
        infinite += part.count as f64 * part.infinite;
    }
    let units = 2.0 * parts.len() as f64 + 4.0;
    (top + units * UNIT * size, infinite * (1.0 + units * UNIT))
}

/// An upper bound of δ at ε.
pub(super) fn delta(parts: &[Part], epsilon: f64) -> f64 {
    Bound::around(parts, epsilon).delta(epsilon)
}

/// An upper bound of the smallest ε, not below [`MIN_EPSILON`], whose δ does not exceed `delta`; `None` if more than `delta` lies at
/// infinity.
pub(super) fn epsilon(parts: &[Part], delta: f64) -> Option<f64> {
    if let [part] = parts
        && part.count == 1
    {
        let most = extent(parts).0.max(MIN_EPSILON);
        return Bound::Single(Single::new(part)).epsilon(delta, most);
    }
    let whole = curve(parts.to_vec(), Target::Delta(delta));
    let mut best = whole.epsilon(delta)?.max(MIN_EPSILON);
    let doubtful = whole.noise(best) > DOUBT * delta;
    let loose = |(estimate, _)| doubtful || estimate < LOOSE * delta;
    if best <= MIN_EPSILON || !rare::division(parts, best).is_some_and(loose) {
        return Some(best);
    }
    // δ is about ε to the power of −slope; too small a slope overshoots downwards, which the next step corrects.
    let (mut at, mut slope, mut last) = (best, 1.0, None);
    for _ in 0..ROUNDS {
        let bound = Bound::around(parts, at);
        let reached = bound.delta(at);
        let Some(found) = bound.epsilon(delta, best) else {
            // Overshot: go half way back, on a logarithmic scale.
            if at >= best * (1.0 - CLOSE) {
                break;
            }
            at = (at * best).sqrt();
            continue;
        };
        best = best.min(found);
        // A bound around one ε may be useless at all smaller ones: finding none there proves nothing.
        let settled = reached > delta * (1.0 - CLOSE) && found >= at * (1.0 - CLOSE) && found <= at * (1.0 + CLOSE);
        if settled || best <= MIN_EPSILON {
            break;
        }
        if let Some((earlier, its_delta)) = last {
            let measured = -libm::log(reached / its_delta) / libm::log(at / earlier);
            slope = if measured.is_finite() { measured.max(0.2) } else { slope };
        }
        last = Some((at, reached));
        let next = at * libm::pow(reached / delta, 1.0 / slope).max(FARTHEST);
        at = if reached < delta { best.min(next).max(MIN_EPSILON) } else { best };
    }
    Some(best)
}

/// The curve around a target. How much may be cut off depends on δ; if δ is the unknown, a first answer shows whether
/// the estimate allowed too much.
pub(super) fn curve(parts: Vec<Part>, target: Target) -> Curve {
    let mut estimate = Sketch::new(&parts).delta_estimate(target);
    loop {
        let mut cut = parts.clone();
        cut.iter_mut().for_each(|part| part.cut(CUT * estimate / parts.len() as f64));
        let sketch = Sketch::new(&cut);
        let attempt = |share| {
            let plan: Plan = sketch.plan(target, share, None)?;
            let grids: Vec<GridPart> = cut.iter().map(|part| GridPart::split(part, plan.step)).collect();
            Some(compose(&grids, &plan))
        };
        let curve = reaching(target, attempt).expect("without a lattice the step is chosen to fit");
        let Target::Epsilon(epsilon) = target else { return curve };
        let delta = curve.delta(epsilon);
        if delta > 1e-3 * estimate || estimate <= 1e-290 {
            return curve;
        }
        estimate = delta;
    }
}

/// Tries smaller and smaller shares of the tilt until the window reaches down to the target's ε. The saddle point comes
/// from a bound of δ, which is loose for a few mechanisms with small losses.
pub(super) fn reaching(target: Target, attempt: impl Fn(f64) -> Option<Curve>) -> Option<Curve> {
    let mut share = 1.0;
    loop {
        let curve = attempt(share)?;
        let Target::Delta(delta) = target else { return Some(curve) };
        if curve.first <= 0 || curve.deltas[0] > delta || share < 1e-3 {
            return Some(curve);
        }
        share *= 0.5;
    }
}
