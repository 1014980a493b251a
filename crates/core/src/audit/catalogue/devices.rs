//! Randomised response, whose law is four numbers.

use std::ops::RangeInclusive;

use super::Subject;
use crate::audit::exact::{BITS, Output, Pair};
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::local::RandomisedResponse;

pub(super) const SUBJECTS: &[Subject] = &[
    Subject {
        name: "randomised-response",
        summary: "a yes/no answer, true with probability e^ε/(1+e^ε)",
        is_exact: true,
        audit: |audit| {
            let mechanism = RandomisedResponse::with_epsilon(&audit.request.epsilon)?;
            audit.exactly(audit.pure(), &[response_pair(&mechanism)])
        },
    },
    Subject {
        name: "randomised-response-coins",
        summary: "a yes/no answer by two fair coins; always ε = ln 3, whatever --epsilon says",
        is_exact: true,
        audit: |audit| {
            let mechanism = RandomisedResponse::fair_coin();
            audit.exactly(mechanism.guarantee().clone(), &[response_pair(&mechanism)])
        },
    },
    Subject {
        name: "randomised-response-bias",
        summary: "a yes/no answer with bias min(ε, 0.9), claiming its true ε = ln((1+b)/(1-b))",
        is_exact: true,
        audit: |audit| {
            let bias = audit.request.epsilon.value().clone().min(Rational::new(9, 10)?);
            let mechanism = RandomisedResponse::with_bias(&bias)?;
            audit.exactly(mechanism.guarantee().clone(), &[response_pair(&mechanism)])
        },
    },
];

/// Both responses to both answers.
pub(super) fn response_pair(mechanism: &RandomisedResponse) -> Pair {
    let enclosed = |range: RangeInclusive<Rational>| Enclosure {
        lo: Enclosure::rational(range.start(), BITS).lo,
        hi: Enclosure::rational(range.end(), BITS).hi,
    };
    let outputs = [true, false].map(|response| Output {
        label: format!("the response {}", if response { "yes" } else { "no" }),
        first: enclosed(mechanism.probability(true, response)),
        second: enclosed(mechanism.probability(false, response)),
    });
    Pair { inputs: "yes and no".into(), outputs: outputs.into() }
}
