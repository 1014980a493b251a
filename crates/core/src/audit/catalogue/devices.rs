//! The local model, whose laws can be computed in full.

use std::ops::RangeInclusive;

use super::Subject;
use crate::audit::empirical::Input;
use crate::audit::exact::{BITS, Output, Pair};
use crate::error::Result;
use crate::exact::Rational;
use crate::exact::enclosure::Enclosure;
use crate::local::{KaryResponse, OneBitMean, PrefixExtension, ProjectiveResponse, RandomisedResponse, UnaryEncoding};
use crate::privacy::Epsilon;

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
    Subject {
        name: "k-ary-response",
        summary: "one of 10 values, told truly or replaced by any",
        is_exact: true,
        audit: |audit| {
            let mechanism = KaryResponse::new(VALUES.into(), &audit.request.epsilon)?;
            audit.exactly(audit.pure(), &[k_ary_pair(&mechanism)])
        },
    },
    Subject {
        name: "unary-encoding",
        summary: "one of 6 values, a bit for each (OUE)",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &[unary_pair(&audit.request.epsilon, &Rational::new(1, 2)?)?]),
    },
    Subject {
        name: "projective-response",
        summary: "one of 100 values, as a point of a projective space (PGR), at ε of at most 5",
        is_exact: true,
        audit: |audit| {
            let epsilon = Epsilon::new(audit.request.epsilon.value().clone().min(Rational::from(5)))?;
            let mechanism = ProjectiveResponse::new(100, &epsilon)?;
            let outputs = (0..mechanism.points()).map(|point| {
                output(format!("the point {point}"), [0, 1].map(|value| mechanism.probability(value, point)))
            });
            let pair = Pair { inputs: "the values 0 and 1".into(), outputs: outputs.collect() };
            audit.exactly(mechanism.guarantee().clone(), &[pair])
        },
    },
    Subject {
        name: "one-bit-mean",
        summary: "a number from 0 to 100, as one bit",
        is_exact: true,
        audit: |audit| {
            let mechanism = OneBitMean::new(0..=100, &audit.request.epsilon)?;
            audit.exactly(audit.pure(), &[bit_pair(&mechanism)])
        },
    },
    Subject {
        name: "prefix-extension",
        summary: "a text of up to two letters, by a prefix of random length, at ε of at most 5",
        is_exact: false,
        audit: |audit| {
            let epsilon = Epsilon::new(audit.request.epsilon.value().clone().min(Rational::from(5)))?;
            let mechanism = PrefixExtension::new("ab", 2, &epsilon)?;
            audit.empirically(mechanism.guarantee().clone(), |input, permit| {
                let text = if input == Input::First { "ab" } else { "b" };
                let report = mechanism.respond(text, permit)?.into_value();
                Ok(format!("the point {} of length {}", report.point, report.level))
            })
        },
    },
];

/// Values of the k-ary response.
const VALUES: u32 = 10;
/// Values of the unary encoding: 64 sets.
const BITS_OF_A_SET: u32 = 6;

/// Every response to the first two values.
pub(super) fn k_ary_pair(mechanism: &KaryResponse) -> Pair {
    let outputs = (0..mechanism.values()).map(|response| {
        output(format!("the value {response}"), [0, 1].map(|answer| mechanism.probability(answer, response)))
    });
    Pair { inputs: "the values 0 and 1".into(), outputs: outputs.collect() }
}

/// Every set, if the answer is the first value or the second; the answer's own bit is 1 with probability `own`.
pub(super) fn unary_pair(epsilon: &Epsilon, own: &Rational) -> Result<Pair> {
    let mechanism = UnaryEncoding::new(BITS_OF_A_SET.into(), epsilon)?;
    let (own, other) = (own.clone()..=own.clone(), mechanism.probability(false));
    let probability = |answer: u32, set: u32| {
        let bits = (0..BITS_OF_A_SET).map(|value| {
            let one = if value == answer { &own } else { &other };
            if set >> value & 1 == 1 { one.clone() } else { &Rational::ONE - one.end()..=&Rational::ONE - one.start() }
        });
        bits.fold(Rational::ONE..=Rational::ONE, |all, bit| all.start() * bit.start()..=all.end() * bit.end())
    };
    let outputs = (0..1u32 << BITS_OF_A_SET)
        .map(|set| output(format!("the set {set:#08b}"), [0, 1].map(|answer| probability(answer, set))));
    Ok(Pair { inputs: "the values 0 and 1".into(), outputs: outputs.collect() })
}

/// Both bits, for the two ends of the range.
fn bit_pair(mechanism: &OneBitMean) -> Pair {
    let ends = [*mechanism.bounds().start(), *mechanism.bounds().end()];
    let outputs = [true, false].map(|bit| {
        let law = ends.map(|number| {
            let one = mechanism.probability(number);
            if bit { one } else { &Rational::ONE - one.end()..=&Rational::ONE - one.start() }
        });
        output(format!("the bit {}", u8::from(bit)), law)
    });
    Pair { inputs: "the two ends of the range".into(), outputs: outputs.into() }
}

fn output(label: String, law: [RangeInclusive<Rational>; 2]) -> Output {
    let [first, second] = law.map(|range| enclosed(&range));
    Output { label, first, second }
}

fn enclosed(range: &RangeInclusive<Rational>) -> Enclosure {
    Enclosure { lo: Enclosure::rational(range.start(), BITS).lo, hi: Enclosure::rational(range.end(), BITS).hi }
}

/// Both responses to both answers.
pub(super) fn response_pair(mechanism: &RandomisedResponse) -> Pair {
    let outputs = [true, false].map(|response| {
        let label = format!("the response {}", if response { "yes" } else { "no" });
        output(label, [true, false].map(|answer| mechanism.probability(answer, response)))
    });
    Pair { inputs: "yes and no".into(), outputs: outputs.into() }
}
