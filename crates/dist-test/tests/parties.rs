//! Parties that trust only themselves: is the noise unknown to an adversary the noise promised?
//!
//! | mutant | caught by |
//! |---|---|
//! | noise split into m shares instead of m − t | goodness of fit, and the audit of the view |
//! | one negative binomial draw instead of the difference of two | goodness of fit, and the audit |
//! | a mask of the wrong sign | the sum, which is off by more than any noise |
//! | masks reused for two attempts | the two messages, whose difference is small; and the audit |

use dist_test::laws::{self, Counts, fit};
use dist_test::{FALSE_ALARM, samples, seed};
use reticent::Permit;
use reticent::audit::catalogue::{Request, subject};
use reticent::audit::empirical::TIGHT_FRACTION;
use reticent::exact::Rational;
use reticent::multiparty::{Adversary, MaskSeed, Plan, Protocol, Simulation, Sums};
use reticent::noise::{Entropy, NegativeBinomial};

/// Detects a share that is too small by one part in 20 (2.5 % of the variance of the sum), and far more of the mutants
/// here.
const SAMPLES: u64 = 400_000;
const LONG_SAMPLES: u64 = 4_000_000;
/// Where detecting one in a hundred is enough.
const FEWER_SAMPLES: u64 = 100_000;
/// Numbers in one run: each is a sample.
const CELLS: usize = 1000;

fn plan(protocol: Protocol, parties: u32, epsilon: &str) -> Plan {
    Plan::new(protocol, parties, Sums { cells: CELLS, bound: 1_000_000, sensitivity: 1 }, &epsilon.parse().unwrap())
        .unwrap()
}

/// One number for each cell of a run.
type Look<'a> = &'a dyn Fn(&Simulation) -> Vec<i64>;

/// Runs a plan on zeros repeatedly, and counts the results of each of `looks`, for each cell.
fn counted<const N: usize>(name: &str, plan: &Plan, short: u64, looks: [Look<'_>; N]) -> [Counts; N] {
    let mut permit = Permit::unaccounted_from(Entropy::seeded(seed(name)));
    let nothing = vec![vec![0; CELLS]; plan.parties() as usize];
    let mut counts = [const { Counts::new() }; N];
    for _ in 0..samples(short, LONG_SAMPLES).div_ceil(CELLS as u64) {
        let run = Simulation::run(plan, &nothing, &mut permit).unwrap();
        for (look, counts) in looks.iter().zip(&mut counts) {
            look(&run).into_iter().for_each(|value| *counts.entry(value).or_default() += 1);
        }
    }
    counts
}

fn released(run: &Simulation) -> Vec<i64> {
    run.release().value().clone()
}

/// What an adversary that controls the last parties does not know: the sum of the others' noise.
fn unknown_to_the_last(plan: &Plan, held: u32) -> impl Fn(&Simulation) -> Vec<i64> {
    let parties = plan.parties();
    let adversary = Adversary::holding(parties, parties - held..parties).unwrap();
    move |run| run.view(&adversary).honest_sums(plan)
}

/// The shares of non-colluding parties add up to discrete Laplace noise, exactly. The result has the noise of all; and
/// an adversary that controls all parties but one knows all noise but its share.
#[test]
fn what_t_colluders_do_not_know_is_discrete_laplace() {
    for (parties, colluders, scale, epsilon) in
        [(2, 0, 1.0, "1"), (3, 1, 5.0, "0.2"), (5, 2, 1.0, "1"), (12, 3, 2.0, "0.5")]
    {
        let plan = plan(Protocol::Masked { colluders }, parties, epsilon);
        let name = format!("masked {parties} {colluders} {epsilon}");
        let (to_t, to_others) = (unknown_to_the_last(&plan, colluders), unknown_to_the_last(&plan, parties - 1));
        let counts = counted(&name, &plan, SAMPLES, [&to_t, &released, &to_others]);
        let honest = f64::from(parties - colluders);
        let shapes = [1.0, f64::from(parties) / honest, 1.0 / honest];
        for (shape, counts) in shapes.into_iter().zip(counts) {
            let law = if shape == 1.0 { laws::laplace(scale, 0) } else { laws::shares(shape, scale) };
            let found = fit(&law, &counts);
            assert!(found.passes(FALSE_ALARM), "{name}, shape {shape}\n{found}");
        }
    }
}

#[test]
fn broadcast_has_the_noise_of_every_party() {
    let plan = plan(Protocol::Broadcast, 7, "0.5");
    let [unknown, all] = counted("broadcast", &plan, SAMPLES, [&unknown_to_the_last(&plan, 6), &released]);
    for (law, counts) in [(laws::laplace(2.0, 0), unknown), (laws::shares(7.0, 2.0), all)] {
        let found = fit(&law, &counts);
        assert!(found.passes(FALSE_ALARM), "{found}");
    }
}

/// Error bars follow from the law of the sum: 95 % and hardly more are within.
#[test]
fn error_bars_hold_as_often_as_they_say() {
    for (protocol, parties, epsilon) in [
        (Protocol::Masked { colluders: 1 }, 4, "0.03"),
        (Protocol::Masked { colluders: 2 }, 5, "0.0001"),
        (Protocol::Broadcast, 6, "0.01"),
    ] {
        let plan = plan(protocol, parties, epsilon);
        let [counts] = counted(&format!("error bar {protocol} {epsilon}"), &plan, FEWER_SAMPLES, [&released]);
        let (all, half_width) = (counts.values().sum::<u64>() as f64, plan.error_bar().half_width());
        let outside =
            counts.iter().filter(|(value, _)| value.abs() as f64 > half_width).map(|(_, n)| *n as f64).sum::<f64>();
        // Five standard errors; one step of a law of scale 33 is 0.15 % of 5 %.
        let spread = 5.0 * (0.05 * 0.95 / all).sqrt();
        assert!((outside / all - 0.05).abs() < spread + 0.002, "{protocol} {epsilon}: {}", outside / all);
    }
}

/// From 1/ε with one party to √m/ε with m of them to √n/ε with one for each row.
#[test]
fn the_error_grows_with_the_root_of_the_parties() {
    /// The standard errors of a standard deviation that are allowed: 5.5, for noise whose fourth moment is 6 variances
    /// squared.
    const SPREAD: f64 = 5.5 * 1.12;
    let mut first = 0.0;
    for parties in [1, 4, 16, 256] {
        let plan = plan(Protocol::Broadcast, parties, "0.1");
        let [counts] = counted(&format!("root {parties}"), &plan, FEWER_SAMPLES, [&released]);
        let all = counts.values().sum::<u64>() as f64;
        let variance = counts.iter().map(|(value, n)| (*value as f64).powi(2) * *n as f64).sum::<f64>() / all;
        let deviation = variance.sqrt();
        if parties == 1 {
            first = 2f64.sqrt() / 0.1;
        }
        let expected = first * f64::from(parties).sqrt();
        // √2/ε is that of the continuous law: 0.04 % more at this ε.
        assert!((deviation / expected - 1.0).abs() < SPREAD / all.sqrt() + 0.001, "{parties}: {deviation} {expected}");
    }
}

/// Views are as private as stated, and no noisier than necessary.
#[test]
fn views_are_private_and_tight() {
    let request = Request {
        epsilon: "1".parse().unwrap(),
        delta: "1e-6".parse().unwrap(),
        samples: samples(FEWER_SAMPLES, LONG_SAMPLES),
    };
    for name in ["broadcast", "masked", "masked-all-but-one"] {
        let entropy = Entropy::seeded(seed(&format!("tight {name}")));
        let report = subject(name).unwrap().audit(&request, entropy, &mut || ()).unwrap();
        let claim = report.claim.epsilon().unwrap().to_f64();
        assert!(report.is_clean() && report.lower_bound >= TIGHT_FRACTION * claim, "{report:?}");
    }
}

/// Fifty parties with a thousand counters each: every sum is within what a curator's noise exceeds once in a million
/// runs.
#[test]
fn fifty_parties_and_a_thousand_counters() {
    let plan = plan(Protocol::Masked { colluders: 0 }, 50, "1");
    let statistics: Vec<Vec<i64>> = (0..50).map(|party| (0..CELLS as i64).map(|cell| party * cell).collect()).collect();
    let mut permit = Permit::unaccounted_from(Entropy::seeded(seed("fifty")));
    let run = Simulation::run(&plan, &statistics, &mut permit).unwrap();
    let reach = (1e9_f64).ln() as i64 + 1;
    for (cell, sum) in (0..).zip(run.release().value()) {
        assert!((sum - 1225 * cell).abs() <= reach, "{cell}: {sum}");
    }
}

mod mutants {
    use super::*;

    /// 1/m instead of 1/(m−t): what two of five colluders do not know is too little.
    #[test]
    fn noise_in_too_many_shares() {
        let plan = plan(Protocol::Masked { colluders: 0 }, 5, "1");
        let [counts] = counted("too many shares", &plan, SAMPLES, [&unknown_to_the_last(&plan, 2)]);
        let found = fit(&laws::laplace(1.0, 0), &counts);
        assert!(!found.passes(FALSE_ALARM), "p = {}", found.p_value);
        // The smallest error that is detected: one colluder of twenty.
        let plan = super::plan(Protocol::Masked { colluders: 0 }, 20, "1");
        let [counts] = counted("too many shares, by one", &plan, SAMPLES, [&unknown_to_the_last(&plan, 1)]);
        let found = fit(&laws::laplace(1.0, 0), &counts);
        assert!(!found.passes(FALSE_ALARM), "p = {}", found.p_value);
    }

    #[test]
    fn one_draw_instead_of_a_difference() {
        let share = NegativeBinomial::new(&Rational::new(1, 5).unwrap(), &"1".parse().unwrap()).unwrap();
        let mut entropy = Entropy::seeded(seed("one draw"));
        let mut rng = entropy.draw().unwrap();
        let counts = laws::count(SAMPLES, || (0..5).map(|_| share.sample(&mut rng)).sum());
        assert!(!fit(&laws::laplace(1.0, 0), &counts).passes(FALSE_ALARM));
    }

    fn message(plan: &Plan, me: u32, peer: u32, byte: u8, permit: &mut Permit) -> Vec<u64> {
        let share = plan.share(&vec![0; CELLS], permit).unwrap();
        plan.mask(share, me, vec![MaskSeed::new(peer, &mut [byte; 32])]).unwrap()
    }

    #[test]
    fn a_mask_of_the_wrong_sign() {
        let plan = plan(Protocol::Masked { colluders: 0 }, 2, "1");
        let mut permit = Permit::unaccounted_from(Entropy::seeded(seed("wrong sign")));
        let right = [message(&plan, 0, 1, 7, &mut permit), message(&plan, 1, 0, 7, &mut permit)];
        assert!(plan.sum(&right).unwrap().iter().all(|sum| sum.abs() < 100));
        let wrong = [message(&plan, 0, 1, 7, &mut permit), message(&plan, 0, 1, 7, &mut permit)];
        assert!(plan.sum(&wrong).unwrap().iter().all(|sum| sum.abs() > 100));
    }

    /// Under fresh seeds two messages of a party have nothing in common; under the same seeds their difference is noise.
    #[test]
    fn one_seed_for_two_attempts() {
        let plan = plan(Protocol::Masked { colluders: 0 }, 2, "1");
        let mut permit = Permit::unaccounted_from(Entropy::seeded(seed("two attempts")));
        let first = message(&plan, 0, 1, 7, &mut permit);
        let mut small = |byte: u8| {
            let second = message(&plan, 0, 1, byte, &mut permit);
            let differences = first.iter().zip(&second).map(|(a, b)| a.wrapping_sub(*b).cast_signed());
            differences.filter(|difference| difference.unsigned_abs() < 100).count()
        };
        assert_eq!(small(8), 0);
        assert_eq!(small(7), CELLS, "this is what gives a used seed away");
    }
}
