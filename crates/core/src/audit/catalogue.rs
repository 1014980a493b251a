//! Every mechanism that can be audited, by name.

use crate::audit::{EmpiricalEpsilon, ExpectedLaw, FALSE_ALARM, GoodnessOfFit, Verdict};
use crate::error::{Error, Result};
use crate::mechanism::Laplace;
use crate::noise::{Draw, Entropy};
use crate::privacy::{Epsilon, Guarantee};

/// What an audit is asked to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// The claim to be tested.
    pub epsilon: Epsilon,
    /// Outputs to draw for each of two neighbouring inputs and each of two samples.
    pub samples: u64,
}

/// What an audit found.
#[derive(Debug, Clone)]
pub struct Report {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// What it claims.
    pub claim: Guarantee,
    /// What its outputs prove.
    pub found: EmpiricalEpsilon,
    /// Whether that refutes the claim.
    pub verdict: Verdict,
    /// Whether the outputs on the first input follow the law they should.
    pub fit: GoodnessOfFit,
}

impl Report {
    /// Is everything as claimed, as far as the samples can tell?
    pub fn is_clean(&self) -> bool {
        self.verdict == Verdict::Consistent && self.fit.passes(FALSE_ALARM)
    }
}

/// A mechanism that can be audited.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    name: &'static str,
    summary: &'static str,
    audit: Audit,
}

/// Runs one audit; the last argument is told about every output drawn.
type Audit = fn(&Request, &mut Entropy, &mut dyn FnMut()) -> Result<Report>;

impl Subject {
    /// The name by which it is asked for.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One line about it.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// How many outputs an audit draws in all.
    pub fn draws(&self, request: &Request) -> u64 {
        4 * request.samples
    }

    /// Draws outputs on two neighbouring inputs and weighs them against the claim; `progress` is called once per output.
    ///
    /// # Errors
    /// If the request's parameters are out of the mechanism's range.
    pub fn audit(&self, request: &Request, entropy: &mut Entropy, progress: &mut dyn FnMut()) -> Result<Report> {
        (self.audit)(request, entropy, progress)
    }
}

/// All of them, in the order of the catalogue.
pub fn subjects() -> &'static [Subject] {
    &[Subject {
        name: "discrete-laplace",
        summary: "a count with discrete Laplace noise; neighbours 0 and 1",
        audit: audit_laplace,
    }]
}

/// The mechanism of that name.
///
/// # Errors
/// If there is none; the message lists those there are.
pub fn subject(name: &str) -> Result<Subject> {
    let found = subjects().iter().find(|subject| subject.name == name);
    found.copied().ok_or_else(|| {
        Error::parameter(
            "mechanism",
            name,
            "the name of a mechanism that can be audited; `reticent audit --list` shows them",
        )
    })
}

fn audit_laplace(request: &Request, entropy: &mut Entropy, progress: &mut dyn FnMut()) -> Result<Report> {
    let mechanism = Laplace::new(1, &request.epsilon)?;
    let noise = mechanism.noise();
    let epsilon = request.epsilon.to_f64();
    let ratio = libm::exp(-epsilon);
    let first = (1.0 - ratio) / (1.0 + ratio);
    // 40 scales leave e^−40 outside, and at least two values are needed for a χ² test.
    let reach = (40.0 / epsilon).min(1e6) as u32 + 2;
    let law = ExpectedLaw::symmetric(reach, |k| first * libm::exp(-epsilon * k as f64))?;
    let mut draw = entropy.draw()?;
    let mut counts = std::collections::BTreeMap::new();
    let mut sample = |value: i64, draw: &mut Draw<'_>| {
        progress();
        value + noise.sample(draw)
    };
    // The two inputs take turns on one generator: both closures would otherwise need it at once.
    let shared = std::cell::RefCell::new((&mut draw, &mut sample));
    let output = |value: i64| {
        let (draw, sample) = &mut *shared.borrow_mut();
        sample(value, draw)
    };
    let found = EmpiricalEpsilon::measure(
        || {
            let value = output(0);
            *counts.entry(value).or_insert(0) += 1;
            value
        },
        || output(1),
        0.0,
        request.samples,
        1.0 - FALSE_ALARM,
    )?;
    let claim = Guarantee::Pure(request.epsilon.clone());
    let verdict = found.verdict(&request.epsilon);
    Ok(Report { mechanism: "discrete-laplace", claim, found, verdict, fit: GoodnessOfFit::test(&law, &counts)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subject_passes_its_own_audit() {
        for subject in subjects() {
            let request = Request { epsilon: "1".parse().unwrap(), samples: 20_000 };
            let mut drawn = 0;
            let report = subject.audit(&request, &mut Entropy::seeded(4), &mut || drawn += 1).unwrap();
            assert!(report.is_clean(), "{}: {:?}\n{}", subject.name(), report.found, report.fit);
            assert_eq!(drawn, subject.draws(&request));
        }
    }

    #[test]
    fn an_unknown_name_is_refused() {
        let error = subject("laplace-ish").unwrap_err();
        assert!(error.to_string().starts_with("mechanism is laplace-ish"), "{error}");
    }
}
