//! Counters, with adaptively chosen inputs.

use std::cell::RefCell;

use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::continual::{Counter, CounterKind, Stream};
use crate::error::Result;
use crate::privacy::Guarantee;

/// Steps of the audited streams.
pub(super) const STEPS: u64 = 8;

const PURE: &str = "eight steps whose inputs depend on earlier releases; the first step's value is 0 or 1; pure ε";
const GAUSSIAN: &str = "the same for Gaussian noise, with ε and δ";

/// One counter, identified by its name.
const fn counter(name: &'static str, summary: &'static str) -> Subject {
    Subject { name, summary, is_exact: false, audit }
}

pub(super) const SUBJECTS: &[Subject] = &[
    counter("counter-output-noise", PURE),
    counter("counter-input-noise", PURE),
    counter("counter-two-level", PURE),
    counter("counter-binary", PURE),
    counter("counter-honaker", PURE),
    counter("counter-k-ary", PURE),
    counter("counter-bridged", PURE),
    counter("counter-hybrid", PURE),
    counter("gaussian-counter-binary", GAUSSIAN),
    counter("gaussian-counter-honaker", GAUSSIAN),
    counter("gaussian-counter-toeplitz", GAUSSIAN),
    counter("gaussian-counter-blt", GAUSSIAN),
];

fn audit(audit: &Audit<'_>) -> Result<Report> {
    let (claim, name) = match audit.name.strip_prefix("gaussian-") {
        Some(name) => (audit.approx(), name),
        None => (audit.pure(), audit.name),
    };
    let kind: CounterKind = name.strip_prefix("counter-").unwrap_or(name).parse()?;
    weigh(audit, kind, claim.clone(), claim)
}

/// Starts the counter with `guarantee` and tests its releases against `claim`.
///
/// The first step lies in as many p-sums as any. The adversary chooses every later input from the release before it,
/// knows them all, and so sees the noise plus the first value at every step. Where the release is one p-sum with
/// Laplace noise, its likelihood ratio depends only on whether that is at least 1; so the adversary counts the steps at
/// which it is. For the binary counter these are the steps 1, 2, 4 and 8, and the count contains all available
/// information.
pub(super) fn weigh(audit: &Audit<'_>, kind: CounterKind, guarantee: Guarantee, claim: Guarantee) -> Result<Report> {
    let stream = Stream::bits().until(STEPS)?;
    let counter = RefCell::new(kind.start(stream, guarantee, audit.take_permit())?);
    let tells = |step: u64| kind == CounterKind::OutputNoise || step.is_power_of_two();
    audit.measured(claim, |input| {
        let mut counter = counter.borrow_mut();
        counter.restart();
        let (mut chosen, mut next, mut ones) = (0, i64::from(input == Input::Second), 0u64);
        for step in 1..=STEPS {
            let seen = counter.advance(next)? - chosen;
            ones += u64::from(tells(step) && seen >= 1);
            next = seen & 1;
            chosen += next;
        }
        Ok(ones)
    })
}
