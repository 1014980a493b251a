//! Mechanisms that are wrong on purpose: an auditor must catch every one of them.

use super::counters;
use super::devices::{k_ary_pair, response_pair, unary_pair};
use super::keys::{self, range_pairs, threshold_pairs, top_pairs};
use super::noise::{gaussian_pair, loss_class, rounded_pair};
use super::parties;
use super::seized;
use super::stable::{law_of, small_tables};
use super::tables::{batch_pair, histogram_pair};
use super::{Audit, Report, Subject};
use crate::audit::empirical::Input;
use crate::continual::pan_private::Noise;
use crate::continual::{CounterKind, PanPrivate, PanPrivateSurviving, Schedule};
use crate::error::Result;
use crate::exact::Rational;
use crate::local::{KaryResponse, RandomisedResponse};
use crate::mechanism::stable::StableMedian;
use crate::mechanism::{AnalyticGaussian, Batch, Laplace, Moves, Part, Threshold};
use crate::multiparty::{MaskSeed, Plan, Protocol, Sums};
use crate::noise::{DiscreteGaussian, DiscreteLaplace, Geometric, Law, NegativeBinomial, uniform_below};
use crate::permit::Permit;
use crate::privacy::{Adjacency, Epsilon, Guarantee};
use crate::statistic::{Contribution, Rows};

/// All of them.
pub const SUBJECTS: &[Subject] = &[
    Subject { name: "mutant-noise-0.9", summary: "a tenth too little noise", is_exact: false, audit: too_little_noise },
    Subject {
        name: "mutant-histogram-adjacency",
        summary: "replace, with the sensitivity of add/remove",
        is_exact: true,
        audit: wrong_adjacency,
    },
    Subject {
        name: "mutant-batch-norm",
        summary: "count and sum of two groups, with Laplace noise for the L2 norm",
        is_exact: true,
        audit: wrong_norm,
    },
    Subject {
        name: "mutant-batch-groups",
        summary: "count and sum of two groups, with the sensitivity of units in one",
        is_exact: true,
        audit: groups_forgotten,
    },
    Subject {
        name: "mutant-gaussian-half-variance",
        summary: "Gaussian noise with variance ln(1/δ)/ε², which drops the factor 2",
        is_exact: true,
        audit: half_variance,
    },
    Subject {
        name: "mutant-rounded-gaussian-norm",
        summary: "two counts with rounded Gaussian noise for a move of one of them",
        is_exact: true,
        audit: |audit| {
            let mechanism = AnalyticGaussian::new(1, &audit.request.epsilon, &audit.request.delta)?;
            audit.exactly(audit.approx(), &[rounded_pair(mechanism.noise())?])
        },
    },
    Subject {
        name: "mutant-box-geometrics",
        summary: "three numbers with one draw of noise, whose radius adds up three geometric numbers, not four",
        is_exact: false,
        audit: |audit| wrong_box(audit, 3, true),
    },
    Subject {
        name: "mutant-box-acceptance",
        summary: "three numbers with one draw of noise, whose radius is always accepted",
        is_exact: false,
        audit: |audit| wrong_box(audit, 4, false),
    },
    Subject {
        name: "mutant-top-one-way",
        summary: "the largest of three counts, replace, with the noise of add/remove",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &top_pairs(audit, Moves::AnyWay, Moves::OneWay)?),
    },
    Subject {
        name: "mutant-range-adjacency",
        summary: "the places where bounds end, replace, with the noise of add/remove: a row may change sides",
        is_exact: true,
        audit: |audit| audit.exactly(audit.pure(), &range_pairs(audit, Adjacency::Replace, Adjacency::AddRemove)?),
    },
    Subject {
        name: "mutant-quantiles-levels",
        summary: "three quantiles, drawn one between the others, where each level takes all of ε",
        is_exact: true,
        audit: |audit| keys::quantiles(audit, Adjacency::AddRemove, Adjacency::AddRemove, &Rational::from(2)),
    },
    Subject {
        name: "mutant-quantiles-replace",
        summary: "three quantiles, replace, where a row that changes sides is paid for once",
        is_exact: true,
        audit: |audit| keys::quantiles(audit, Adjacency::Replace, Adjacency::AddRemove, &Rational::ONE),
    },
    Subject {
        name: "mutant-response-bias",
        summary: "randomised response with bias ½ that claims ε = ½",
        is_exact: true,
        audit: bias_as_epsilon,
    },
    Subject {
        name: "mutant-k-ary-epsilon",
        summary: "k-ary response of ε = 1.01 that claims ε = 1",
        is_exact: true,
        audit: |audit| {
            let more = Epsilon::new(audit.request.epsilon.value() * &Rational::new(101, 100)?)?;
            audit.exactly(audit.pure(), &[k_ary_pair(&KaryResponse::new(10, &more)?)])
        },
    },
    Subject {
        name: "mutant-unary-own-bit",
        summary: "a bit for each value, where the answer's own is 1 with probability 0.51",
        is_exact: true,
        audit: |audit| {
            let own = Rational::new(51, 100)?;
            audit.exactly(audit.pure(), &[unary_pair(&audit.request.epsilon, &own)?])
        },
    },
    Subject {
        name: "mutant-threshold-off-by-one",
        summary: "the stable median, released from τ − 1 on",
        is_exact: true,
        audit: threshold_off_by_one,
    },
    Subject {
        name: "mutant-keys-off-by-one",
        summary: "keys of unknown name, released from τ − 1 on",
        is_exact: true,
        audit: keys_off_by_one,
    },
    Subject {
        name: "mutant-keys-gaussian-off-by-one",
        summary: "the same with Gaussian noise",
        is_exact: true,
        audit: |audit| {
            let mechanism = keys::gaussian_threshold(audit)?;
            audit.exactly(audit.approx(), &threshold_pairs(mechanism.noise(), mechanism.threshold() - 1)?)
        },
    },
    Subject {
        name: "mutant-median-adjacency",
        summary: "the stable median, with the distance and constant of add/remove, under replace",
        is_exact: true,
        audit: median_of_the_wrong_adjacency,
    },
    Subject {
        name: "mutant-refusal-not-random",
        summary: "the median, refused exactly when one row can change it: no noise on the distance",
        is_exact: true,
        audit: refusal_not_random,
    },
    Subject {
        name: "mutant-counter-one-level-short",
        summary: "the binary counter with noise for log₂T p-sums a step instead of log₂T + 1",
        is_exact: false,
        audit: one_level_short,
    },
    Subject {
        name: "mutant-memory-not-erased",
        summary: "the pan-private counter, which keeps the noise of blocks that have ended",
        is_exact: false,
        audit: memory_not_erased,
    },
    Subject {
        name: "mutant-memory-exact-sum",
        summary: "the pan-private counter, which keeps the exact sum as well",
        is_exact: false,
        audit: memory_with_the_exact_sum,
    },
    Subject {
        name: "mutant-memory-no-first-noise",
        summary: "the counter that survives an intrusion, with sums that start at 0",
        is_exact: false,
        audit: memory_without_first_noise,
    },
    Subject {
        name: "mutant-memory-no-second-noise",
        summary: "the counter that survives an intrusion, which publishes sums as they lie in memory",
        is_exact: false,
        audit: memory_without_second_noise,
    },
    Subject {
        name: "mutant-memory-seized-twice",
        summary: "the counter that survives one intrusion, when there are two",
        is_exact: false,
        audit: memory_seized_twice,
    },
    Subject {
        name: "mutant-shares-of-all",
        summary: "masked parties with noise in m shares instead of m − t, one of which colludes",
        is_exact: false,
        audit: shares_of_all,
    },
    Subject {
        name: "mutant-share-one-sided",
        summary: "masked parties that each add one negative binomial draw instead of the difference of two",
        is_exact: false,
        audit: one_sided_shares,
    },
    Subject {
        name: "mutant-masks-used-twice",
        summary: "masked parties that use the masks of a first attempt, when a row was missing, for a second one",
        is_exact: false,
        audit: masks_used_twice,
    },
];

fn shares_of_all(audit: &Audit<'_>) -> Result<Report> {
    let plan = parties::plan(audit, Protocol::Masked { colluders: 0 })?;
    Ok(parties::weigh(audit, &plan, &[0], audit.pure())?.0)
}

fn one_sided_shares(audit: &Audit<'_>) -> Result<Report> {
    let share = NegativeBinomial::new(&Rational::new(1, 2)?, &audit.request.epsilon.value().recip()?)?;
    audit.empirically(audit.pure(), |input, permit| {
        let mut draw = permit.spend(&audit.pure())?;
        let honest = share.sample(&mut draw) + share.sample(&mut draw);
        Ok(i64::from(input == Input::Second) + honest)
    })
}

fn masks_used_twice(audit: &Audit<'_>) -> Result<Report> {
    // No one colludes. Two messages of one party differ by its rows and by two shares, a fifth of the required noise.
    const PARTIES: u32 = 10;
    let plan = Plan::new(
        Protocol::Masked { colluders: 0 },
        PARTIES,
        Sums { cells: 1, bound: 1, sensitivity: 1 },
        &audit.request.epsilon,
    )?;
    let message = |count: i64, permit: &mut Permit| {
        let seeds = (1..PARTIES).map(|peer| MaskSeed::new(peer, &mut [peer as u8; 32])).collect();
        plan.mask(plan.share(&[count], permit)?, 0, seeds)
    };
    // Two attempts, two charges.
    let claim = audit.pure().and(&audit.pure())?;
    audit.empirically(claim, |input, permit| {
        let before = message(0, permit)?[0];
        let after = message(i64::from(input == Input::Second), permit)?[0];
        Ok(after.wrapping_sub(before).cast_signed())
    })
}

fn memory_not_erased(audit: &Audit<'_>) -> Result<Report> {
    // Release 2 without the noise of [1, 2] and [1, 4] is the running sum as it was then.
    seized::PAST.weigh_mutant::<PanPrivate>(audit, untouched, |view, kept| {
        let noise = |level| kept.draws.iter().find(|(noise, ..)| *noise == Noise::Beginning(level));
        let noise: i64 = [1, 2].into_iter().filter_map(noise).map(|(.., drawn)| drawn).sum();
        let chosen: i64 = view.chosen[..2].iter().sum();
        view.held(0, 1, 4) - (view.released[1] - noise - chosen)
    })
}

fn memory_with_the_exact_sum(audit: &Audit<'_>) -> Result<Report> {
    seized::PAST.weigh_mutant::<PanPrivate>(audit, untouched, |view, kept| kept.sum - view.chosen.iter().sum::<i64>())
}

fn memory_without_first_noise(audit: &Audit<'_>) -> Result<Report> {
    let tamper = |noise, drawn| if matches!(noise, Noise::Beginning(_)) { 0 } else { drawn };
    let case = seized::Case { seized: &[2], ..seized::AFTER };
    case.weigh_mutant::<PanPrivateSurviving>(audit, tamper, |view, _| view.held(0, 1, 4))
}

fn memory_without_second_noise(audit: &Audit<'_>) -> Result<Report> {
    let tamper = |noise, drawn| if matches!(noise, Noise::Ending(_)) { 0 } else { drawn };
    seized::AFTER.weigh_mutant::<PanPrivateSurviving>(audit, tamper, |view, _| {
        let chosen: i64 = view.chosen[..2].iter().sum();
        view.released[1] - chosen - view.held(0, 1, 2)
    })
}

fn memory_seized_twice(audit: &Audit<'_>) -> Result<Report> {
    let case = seized::Case { seized: &[1, 2], ..seized::AFTER };
    case.weigh_mutant::<PanPrivateSurviving>(audit, untouched, |view, _| view.held(1, 1, 4) - view.held(0, 1, 4))
}

fn untouched(_: Noise, drawn: i64) -> i64 {
    drawn
}

fn one_level_short(audit: &Audit<'_>) -> Result<Report> {
    let levels = Schedule::binary(counters::STEPS).sums_per_step();
    let less = &audit.request.epsilon.value().clone() * &Rational::new(levels as i64, levels - 1)?;
    counters::weigh(audit, CounterKind::Binary, Guarantee::Pure(Epsilon::new(less)?), audit.pure())
}

fn too_little_noise(audit: &Audit<'_>) -> Result<Report> {
    let more = Epsilon::new(audit.request.epsilon.value() / &Rational::new(9, 10)?)?;
    let mechanism = Laplace::new(1, &more)?;
    audit.empirically(audit.pure(), |input, permit| {
        Ok(mechanism.release(i64::from(input == Input::Second), permit)?.into_value())
    })
}

/// The sampler of box noise with another number of geometric numbers, or without rejection.
fn wrong_box(audit: &Audit<'_>, geometrics: u64, rejects: bool) -> Result<Report> {
    const COORDINATES: u64 = 3;
    // The coarsest grid brings out what happens around 0.
    let geometric = Geometric::new(&audit.request.epsilon.value().recip()?)?;
    audit.empirically(audit.pure(), |input, permit| {
        let mut draw = permit.spend(&audit.pure())?;
        let sides = loop {
            let sides = 2 * (0..geometrics).map(|_| geometric.sample(&mut draw).unsigned_abs()).sum::<u64>() + 1;
            let mut accepted = true;
            for i in 1..=COORDINATES {
                accepted &= !rejects || uniform_below(sides + 2 * i - 1, &mut draw)? < sides;
            }
            if accepted {
                break sides;
            }
        };
        let mut number = || {
            let noise = uniform_below(sides, &mut draw)?.cast_signed() - (sides / 2).cast_signed();
            Ok(i64::from(input == Input::Second) + noise)
        };
        Ok(loss_class(&[number()?, number()?, number()?], 1))
    })
}

fn wrong_adjacency(audit: &Audit<'_>) -> Result<Report> {
    let noise = DiscreteLaplace::new(&audit.request.epsilon.value().recip()?)?;
    audit.exactly(audit.pure(), &[histogram_pair(&noise, [2, 2], [1, 3])])
}

fn wrong_norm(audit: &Audit<'_>) -> Result<Report> {
    // √2 instead of 2 groups, and half of ε for the count and for the sum.
    let scale = &Rational::try_from(std::f64::consts::SQRT_2 * 2.0)? / audit.request.epsilon.value();
    let noise = Law::Laplace(DiscreteLaplace::new(&scale)?);
    audit.exactly(audit.pure(), &[batch_pair(&[&noise, &noise])])
}

fn groups_forgotten(audit: &Audit<'_>) -> Result<Report> {
    let unit = Contribution::in_groups(Adjacency::AddRemove, 1, Rows::AtMost(1))?;
    let part = Part { sensitivity: unit.of_count()?, weight: 1 };
    let batch = Batch::new(&[part, part], &audit.pure())?;
    audit.exactly(audit.pure(), &[batch_pair(&[batch.noise(0), batch.noise(1)])])
}

fn half_variance(audit: &Audit<'_>) -> Result<Report> {
    let variance = libm::log(1.0 / audit.request.delta.to_f64()) / audit.request.epsilon.to_f64().powi(2);
    let noise = DiscreteGaussian::with_sigma_squared(&Rational::try_from(variance)?)?;
    audit.exactly(audit.approx(), &[gaussian_pair(&noise)?])
}

fn bias_as_epsilon(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = RandomisedResponse::with_bias(&Rational::new(1, 2)?)?;
    audit.exactly(Guarantee::Pure("0.5".parse()?), &[response_pair(&mechanism)])
}

fn threshold_off_by_one(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = StableMedian::new(Adjacency::Replace, &audit.request.epsilon, &audit.request.delta)?;
    // Releasing from τ − 1 on is releasing from τ on with a distance that is one larger.
    let law = |table: &[u8]| {
        let proposal = mechanism.propose(table);
        law_of(proposal.answer, mechanism.test().refusal_bounds(proposal.distance + 1))
    };
    audit.exactly(audit.approx(), &small_tables(Adjacency::Replace, law))
}

fn median_of_the_wrong_adjacency(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = StableMedian::new(Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)?;
    let law = |table: &[u8]| {
        let proposal = mechanism.propose(table);
        law_of(proposal.answer, mechanism.test().refusal_bounds(proposal.distance))
    };
    audit.exactly(audit.approx(), &small_tables(Adjacency::Replace, law))
}

fn refusal_not_random(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = StableMedian::new(Adjacency::Replace, &audit.request.epsilon, &audit.request.delta)?;
    let law = |table: &[u8]| {
        let proposal = mechanism.propose(table);
        let refused = if proposal.distance > 1 { Rational::ZERO } else { Rational::ONE };
        law_of(proposal.answer, (refused.clone(), refused))
    };
    audit.exactly(audit.approx(), &small_tables(Adjacency::Replace, law))
}

fn keys_off_by_one(audit: &Audit<'_>) -> Result<Report> {
    let mechanism = Threshold::laplace(1, Adjacency::AddRemove, &audit.request.epsilon, &audit.request.delta)?;
    audit.exactly(audit.approx(), &threshold_pairs(mechanism.noise(), mechanism.threshold() - 1)?)
}
