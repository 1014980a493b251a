//! The Laplace, Gaussian and max-norm mechanisms.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::audit::{ExpectedLaw, GoodnessOfFit};
use crate::error::{Error, Result};
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::mechanism::{AnalyticGaussian, Gaussian, Laplace, MaxNorm};
use crate::noise::{DiscreteGaussian, Law, RoundedGaussian};
use crate::privacy::Epsilon;
use dashu_int::UBig;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "discrete-laplace",
        summary: "a count with discrete Laplace noise; neighbours 0 and 1",
        is_exact: false,
        audit: laplace,
    },
    Subject {
        name: "discrete-gaussian",
        summary: "a count with discrete Gaussian noise calibrated to (ε, δ); neighbours 0 and 1",
        is_exact: true,
        audit: gaussian,
    },
    Subject {
        name: "rounded-gaussian",
        summary: "two counts with rounded Gaussian noise calibrated to (ε, δ); neighbours [0, 0] and [1, 1]",
        is_exact: true,
        audit: rounded_gaussian,
    },
    Subject {
        name: "max-norm",
        summary: "three numbers with one draw of noise; neighbours [0, 0, 0] and [1, 1, 1]",
        is_exact: false,
        audit: max_norm,
    },
];

fn laplace(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = Laplace::new(1, &audit.request.epsilon)?;
    // Outputs on the first input also show whether the noise follows its law.
    let counts: RefCell<BTreeMap<i64, u64>> = RefCell::default();
    let mut report = audit.empirically(audit.pure(), |input, permit| {
        let value = match input {
            Input::First => 0,
            Input::Second => 1,
        };
        let output = mechanism.release(value, permit)?.into_value();
        if input == Input::First {
            *counts.borrow_mut().entry(output).or_default() += 1;
        }
        Ok(output)
    })?;
    let law = laplace_law(&audit.request.epsilon)?;
    report.fit = Some(GoodnessOfFit::test(&law, &counts.into_inner())?);
    Ok(report)
}

/// The law of noise of scale 1/ε.
pub(super) fn laplace_law(epsilon: &Epsilon) -> Result<ExpectedLaw> {
    let epsilon = epsilon.to_f64();
    let ratio = libm::exp(-epsilon);
    let first = (1.0 - ratio) / (1.0 + ratio);
    // 40 scales leave e^−40 outside.
    let reach = (40.0 / epsilon).min(1e6) as u32 + 2;
    ExpectedLaw::symmetric(reach, |k| first * libm::exp(-epsilon * k as f64))
}

fn gaussian(audit: &Audit<'_>) -> Result<Report> {
    // Outputs beyond 12σ are omitted: about 10^−32 of the mass.
    if audit.request.delta.to_f64() < 1e-30 {
        return Err(Error::parameter("delta", &audit.request.delta, "at least 1e-30 for this audit"));
    }
    let mechanism = Gaussian::with_delta(1, &audit.request.epsilon, &audit.request.delta)?;
    let pair = gaussian_pair(mechanism.noise())?;
    audit.exactly(audit.approx(), &[pair])
}

/// Outputs within 12σ of two counts that differ by one.
pub(super) fn gaussian_pair(noise: &DiscreteGaussian) -> Result<Pair> {
    let sigma = libm::sqrt(noise.sigma_squared().to_f64());
    if sigma > 1000.0 {
        return Err(Error::invalid("epsilon", "epsilon is too small for an exact audit; σ can be at most 1000"));
    }
    let reach = (12.0 * sigma) as i64 + 2;
    let masses = noise.masses(reach, BITS);
    let mass = |k: i64| {
        let place = usize::try_from(k + reach).ok().and_then(|place| masses.get(place));
        // Anything outside is less likely than the farthest value inside.
        place.cloned().unwrap_or_else(|| Enclosure { lo: UBig::ZERO, hi: masses[0].hi.clone() })
    };
    let outputs =
        (-reach..=reach).map(|k| Output { label: format!("output = {k}"), first: mass(k), second: mass(k - 1) });
    Ok(Pair { inputs: "0 and 1".into(), outputs: outputs.collect() })
}

fn rounded_gaussian(audit: &Audit<'_>) -> Result<Report> {
    // Outputs beyond 7σ are omitted: about 10^−12 of the mass.
    if audit.request.delta.to_f64() < 1e-10 {
        return Err(Error::parameter("delta", &audit.request.delta, "at least 1e-10 for this audit"));
    }
    let mechanism = AnalyticGaussian::new(2, &audit.request.epsilon, &audit.request.delta)?;
    audit.exactly(audit.approx(), &[rounded_pair(mechanism.noise())?])
}

/// Outputs within 7σ of two pairs of counts that differ by one each.
pub(super) fn rounded_pair(noise: &RoundedGaussian) -> Result<Pair> {
    let sigma = noise.sigma().to_f64();
    if sigma > 50.0 {
        return Err(Error::invalid("epsilon", "epsilon is too small for an exact audit; σ can be at most 50"));
    }
    let reach = (7.0 * sigma) as i64 + 2;
    let masses: Vec<Enclosure> = (0..=reach + 1).map(|k| rounded_mass(noise, k)).collect();
    let mass = |[a, b]: [i64; 2]| masses[a.unsigned_abs() as usize].times(&masses[b.unsigned_abs() as usize], BITS);
    let outputs = (-reach..=reach).flat_map(|a| (-reach..=reach).map(move |b| [a, b]));
    let outputs = outputs.map(|[a, b]| Output {
        label: format!("output = [{a}, {b}]"),
        first: mass([a, b]),
        second: mass([a - 1, b - 1]),
    });
    Ok(Pair { inputs: "[0, 0] and [1, 1]".into(), outputs: outputs.collect() })
}

/// P(K = k).
pub(super) fn mass(noise: &Law, k: i64) -> Enclosure {
    match noise {
        Law::Laplace(noise) => noise.mass(k, BITS),
        Law::Gaussian(noise) => noise.masses(k.abs(), BITS).swap_remove(0),
        Law::Rounded(noise) => rounded_mass(noise, k),
    }
}

/// P(K = k), from enclosures in floats.
fn rounded_mass(noise: &RoundedGaussian, k: i64) -> Enclosure {
    let bounds = noise.mass(k);
    let enclosure = |end: f64| Enclosure::rational(&Rational::from_f64_bits(end).unwrap_or(Rational::ZERO), BITS);
    Enclosure { lo: enclosure(bounds.lo).lo, hi: enclosure(bounds.hi).hi }
}

fn max_norm(audit: &Audit<'_>) -> Result<Report> {
    // A thousandth of the unit is the grid of the numbers.
    let mechanism = MaxNorm::new(3, UNIT, &audit.request.epsilon)?;
    audit.empirically(audit.pure(), |input, permit| {
        let value = if input == Input::First { 0 } else { UNIT as i64 };
        Ok(loss_class(mechanism.release(vec![value; 3], permit)?.value(), UNIT as i64))
    })
}

/// How far one unit moves the numbers that are audited, in grid steps.
const UNIT: u64 = 1000;

/// What an adversary looks at: by how much the largest number is larger for one of the neighbours, and which of their
/// neighbourhoods the output is in; in eighths of the unit.
pub(super) fn loss_class(output: &[i64], unit: i64) -> i64 {
    let largest = |from: i64| output.iter().map(|value| value.abs_diff(from)).max().unwrap_or(0) as i64;
    let (first, second) = (largest(0), largest(unit));
    let eighths = |distance: i64| 8 * distance / unit;
    eighths(first - second) * 1000 + eighths(first.min(second)).min(99)
}
