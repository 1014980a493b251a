//! The Laplace and Gaussian mechanisms.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::audit::{ExpectedLaw, GoodnessOfFit};
use crate::error::{Error, Result};
use crate::exact::enclosure::Enclosure;
use crate::mechanism::{Gaussian, Laplace};
use crate::noise::DiscreteGaussian;
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
