//! Every mechanism that can be audited, by name.
//!
//! | module | audits |
//! |---|---|
//! | `noise` | the Laplace and Gaussian mechanisms |
//! | `tables` | histograms, batches, sums, means, variances |
//! | `keys` | keys known only from the data, quantiles, bounds |
//! | `stable` | the median, mode and subsampling that may refuse |
//! | `counters` | counters over streams, with inputs chosen by an adversary |
//! | `seized` | counters whose memory may be seized: releases and memory together |
//! | `parties` | multiparty protocols, as seen by an adversary that holds some of the parties |
//! | `devices` | randomised response and the frequency oracles, means and texts of the local model |
//! | `mutants` | mechanisms that are wrong on purpose (in tests only): each must be caught |

mod counters;
mod devices;
mod keys;
mod noise;
mod parties;
mod seized;
mod stable;
mod tables;

#[cfg(any(test, feature = "test-util"))]
pub mod mutants;

use std::cell::RefCell;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::audit::empirical::Input;
use crate::audit::exact::{self, Pair};
use crate::audit::{EmpiricalEpsilon, FALSE_ALARM, GoodnessOfFit, Verdict};
use crate::error::{Error, Result};
use crate::noise::Entropy;
use crate::permit::Permit;
use crate::privacy::{Delta, Epsilon, Guarantee};

/// The parameters of an audit.
#[derive(Debug, Clone)]
pub struct Request {
    /// The claim to be tested.
    pub epsilon: Epsilon,
    /// The δ of mechanisms that have one.
    pub delta: Delta,
    /// Outputs to draw for each of two neighbouring inputs and each of two samples, where outputs are drawn.
    pub samples: u64,
}

/// How the evidence was obtained.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The probabilities of all outputs were computed.
    Exact,
    /// Outputs were drawn; the bound holds with this confidence.
    Empirical {
        /// The probability that the bound is right.
        confidence: f64,
        /// Outputs drawn for each input and each of the two samples.
        samples: u64,
    },
}

/// The result of an audit.
#[derive(Debug, Clone)]
pub struct Report {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// Its claim.
    pub claim: Guarantee,
    /// How the evidence was obtained.
    pub method: Method,
    /// ε is at least this, at the claim's δ; for exact evidence, it equals this on the inputs that were tried.
    pub lower_bound: f64,
    /// The event behind it, in words.
    pub event: String,
    /// Whether that refutes the claim.
    pub verdict: Verdict,
    /// Whether outputs on the first input follow the expected law, if this was tested.
    pub fit: Option<GoodnessOfFit>,
}

impl Report {
    /// Is everything as claimed, as far as the evidence goes?
    pub fn is_clean(&self) -> bool {
        self.verdict == Verdict::Consistent && self.fit.as_ref().is_none_or(|fit| fit.passes(FALSE_ALARM))
    }

    /// The result in a word or two.
    pub fn finding(&self) -> &'static str {
        match self.verdict {
            Verdict::Violation => "violation",
            Verdict::Consistent if self.is_clean() => "consistent",
            Verdict::Consistent => "wrong distribution",
        }
    }
}

/// For programs: numbers and words, with a confidence of 1 and no samples where the evidence is exact.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown<'report> {
            mechanism: &'static str,
            claimed_epsilon: Option<f64>,
            claimed_delta: f64,
            lower_bound: f64,
            confidence: f64,
            samples: u64,
            event: &'report str,
            chi_squared_p_value: Option<f64>,
            verdict: &'static str,
        }
        let (confidence, samples) = match self.method {
            Method::Exact => (1.0, 0),
            Method::Empirical { confidence, samples } => (confidence, samples),
        };
        Shown {
            mechanism: self.mechanism,
            claimed_epsilon: self.claim.epsilon().map(Epsilon::to_f64),
            claimed_delta: self.claim.delta().map_or(0.0, Delta::to_f64),
            lower_bound: self.lower_bound,
            confidence,
            samples,
            event: &self.event,
            chi_squared_p_value: self.fit.as_ref().map(|fit| fit.p_value),
            verdict: self.finding(),
        }
        .serialize(serializer)
    }
}

/// A mechanism that can be audited.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    name: &'static str,
    summary: &'static str,
    is_exact: bool,
    audit: fn(&Audit<'_>) -> Result<Report>,
}

impl Subject {
    /// The name by which it is requested.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// One line about it.
    pub fn summary(&self) -> &'static str {
        self.summary
    }

    /// Are its probabilities computed rather than estimated?
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The total number of outputs that an audit draws.
    pub fn draws(&self, request: &Request) -> u64 {
        if self.is_exact { 0 } else { 4 * request.samples }
    }

    /// Tests the mechanism's outputs on neighbouring inputs against its claim; `progress` is called once per output
    /// drawn.
    ///
    /// # Errors
    /// If the request's parameters are out of the mechanism's range.
    pub fn audit(&self, request: &Request, entropy: Entropy, progress: &mut dyn FnMut()) -> Result<Report> {
        let permit = RefCell::new(Some(Permit::unaccounted_from(entropy)));
        (self.audit)(&Audit { name: self.name, request, permit, progress: RefCell::new(progress) })
    }
}

/// All subjects, in the order of the catalogue.
pub fn subjects() -> Vec<Subject> {
    [
        noise::SUBJECTS,
        tables::SUBJECTS,
        keys::SUBJECTS,
        stable::SUBJECTS,
        counters::SUBJECTS,
        seized::SUBJECTS,
        parties::SUBJECTS,
        devices::SUBJECTS,
    ]
    .concat()
}

/// The mechanism with the given name.
///
/// # Errors
/// If there is no such mechanism.
pub fn subject(name: &str) -> Result<Subject> {
    subjects().into_iter().find(|subject| subject.name == name).ok_or_else(|| {
        let allowed = "the name of a mechanism that can be audited; `reticent audit --list` shows them";
        Error::parameter("mechanism", name, allowed)
    })
}

/// A running audit.
pub(crate) struct Audit<'a> {
    name: &'static str,
    request: &'a Request,
    /// Until a counter takes it for a whole stream.
    permit: RefCell<Option<Permit>>,
    /// Called for every output drawn.
    progress: RefCell<&'a mut dyn FnMut()>,
}

impl Audit<'_> {
    /// ε of the request as a pure claim.
    fn pure(&self) -> Guarantee {
        Guarantee::Pure(self.request.epsilon.clone())
    }

    /// ε and δ of the request as a claim.
    fn approx(&self) -> Guarantee {
        Guarantee::Approx(self.request.epsilon.clone(), self.request.delta.clone())
    }

    /// A report from computed probabilities.
    fn exactly(&self, claim: Guarantee, pairs: &[Pair]) -> Result<Report> {
        let mut found = exact::weigh(pairs, &claim)?;
        if found.verdict == Verdict::Consistent {
            // The verdict is exact, the figure a float: it must not appear to exceed a claim that holds.
            found.epsilon = claim.epsilon().map_or(found.epsilon, |claimed| found.epsilon.min(claimed.to_f64()));
        }
        Ok(Report {
            mechanism: self.name,
            claim,
            method: Method::Exact,
            lower_bound: found.epsilon,
            event: found.event,
            verdict: found.verdict,
            fit: None,
        })
    }

    /// A report from outputs drawn on two neighbouring inputs.
    fn empirically<K: Ord + Clone + fmt::Display>(
        &self,
        claim: Guarantee,
        output: impl Fn(Input, &mut Permit) -> Result<K>,
    ) -> Result<Report> {
        let mut permit = self.take_permit();
        self.measured(claim, |input| output(input, &mut permit))
    }

    /// The permit, for a mechanism that needs to own it.
    fn take_permit(&self) -> Permit {
        self.permit.take().expect("an audit is measured once")
    }

    /// A report from outputs drawn on two neighbouring inputs, by a mechanism that already has its permit.
    fn measured<K: Ord + Clone + fmt::Display>(
        &self,
        claim: Guarantee,
        output: impl FnMut(Input) -> Result<K>,
    ) -> Result<Report> {
        let output = RefCell::new(output);
        let one = |input: Input| {
            (self.progress.borrow_mut())();
            (output.borrow_mut())(input).expect("an unaccounted permit covers every release")
        };
        let epsilon = claim.epsilon().expect("empirical audits are of claims in ε").clone();
        let delta = claim.delta().map_or(0.0, Delta::to_f64);
        let found = EmpiricalEpsilon::measure(
            || one(Input::First),
            || one(Input::Second),
            delta,
            self.request.samples,
            1.0 - FALSE_ALARM,
        )?;
        Ok(Report {
            mechanism: self.name,
            claim,
            method: Method::Empirical { confidence: found.confidence, samples: found.samples },
            lower_bound: found.lower_bound,
            verdict: found.verdict(&epsilon),
            event: found.event,
            fit: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn request(epsilon: &str) -> Request {
        Request { epsilon: epsilon.parse().unwrap(), delta: "1e-4".parse().unwrap(), samples: 20_000 }
    }

    #[test]
    fn every_subject_passes_its_own_audit() {
        for subject in subjects() {
            for epsilon in ["0.5", "1"] {
                let mut drawn = 0;
                let report = subject.audit(&request(epsilon), Entropy::seeded(4), &mut || drawn += 1).unwrap();
                assert!(report.is_clean(), "{}: {report:?}", subject.name());
                assert_eq!(drawn, subject.draws(&request(epsilon)), "{}", subject.name());
                assert_eq!(report.method == Method::Exact, subject.is_exact());
                assert_eq!(report.mechanism, subject.name());
            }
        }
    }

    #[test]
    fn every_mutant_is_found_out() {
        for mutant in mutants::SUBJECTS {
            let report = mutant.audit(&request("1"), Entropy::seeded(5), &mut || ()).unwrap();
            assert_eq!(report.verdict, Verdict::Violation, "{}: {report:?}", mutant.name());
        }
    }

    #[test]
    fn names_are_unique_and_unknown_ones_refused() {
        let names: std::collections::BTreeSet<_> = subjects().iter().map(Subject::name).collect();
        assert_eq!(names.len(), subjects().len());
        let error = subject("laplace-ish").unwrap_err();
        assert!(error.to_string().starts_with("mechanism is laplace-ish"), "{error}");
    }
}
