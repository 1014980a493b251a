//! Randomised response: the distribution of responses, what they reveal, and the estimates.

use dist_test::{FALSE_ALARM, long, samples, seed};
use reticent::audit::{EmpiricalEpsilon, Verdict, chi_squared_quantile};
use reticent::local::RandomisedResponse;
use reticent::noise::Entropy;
use reticent::numeric::interval::{clopper_pearson_lower, clopper_pearson_upper};
use reticent::privacy::Epsilon;

fn forms() -> [RandomisedResponse; 4] {
    [
        RandomisedResponse::fair_coin(),
        RandomisedResponse::with_epsilon(&"1".parse().unwrap()).unwrap(),
        RandomisedResponse::with_epsilon(&"0.2".parse().unwrap()).unwrap(),
        RandomisedResponse::with_bias(&"0.3".parse().unwrap()).unwrap(),
    ]
}

/// Responses to each answer. Detects a probability that is wrong by 0.0025: five standard deviations of a frequency.
const RESPONSES: u64 = 1_000_000;
const LONG_RESPONSES: u64 = 100_000_000;

/// The probability of yes, under either answer, is consistent with the frequency.
#[test]
fn responses_follow_their_law() {
    for form in forms() {
        let mut entropy = Entropy::seeded(seed(&format!("responses of {form}")));
        let mut rng = entropy.draw().unwrap();
        let n = samples(RESPONSES, LONG_RESPONSES);
        for answer in [false, true] {
            let yes = (0..n).filter(|_| form.sample(answer, &mut rng)).count() as u64;
            let exact = form.probability(answer, true).end().to_f64();
            let confidence = 1.0 - FALSE_ALARM / 2.0;
            let lower = clopper_pearson_lower(yes, n, confidence).unwrap();
            let upper = clopper_pearson_upper(yes, n, confidence).unwrap();
            assert!(lower <= exact && exact <= upper, "{form}, {answer}: {exact} not in {lower} to {upper}");
        }
    }
}

fn measure(form: &RandomisedResponse) -> EmpiricalEpsilon {
    let mut entropy = Entropy::seeded(seed(&format!("empirical {form}")));
    let mut other = Entropy::seeded(seed(&format!("empirical′ {form}")));
    let (mut rng, mut other) = (entropy.draw().unwrap(), other.draw().unwrap());
    EmpiricalEpsilon::measure(
        || form.sample(true, &mut rng),
        || form.sample(false, &mut other),
        0.0,
        samples(RESPONSES, LONG_RESPONSES),
        1.0 - FALSE_ALARM,
    )
    .unwrap()
}

#[test]
fn each_form_keeps_its_promise_and_wastes_nothing() {
    for form in forms() {
        let claim = form.guarantee().epsilon().unwrap();
        let found = measure(&form);
        assert_eq!(found.verdict(claim), Verdict::Consistent, "{form}: {found}");
        let least = if long() { 0.98 } else { 0.9 };
        assert!(found.lower_bound > least * claim.to_f64(), "{form}: {found}");
    }
}

/// The mutant: a bias mistaken for ε.
#[test]
fn a_bias_is_not_an_epsilon() {
    for bias in ["0.3", "0.5"] {
        let form = RandomisedResponse::with_bias(&bias.parse().unwrap()).unwrap();
        let careless: Epsilon = bias.parse().unwrap();
        assert_eq!(measure(&form).verdict(&careless), Verdict::Violation, "the mutant was not caught");
    }
}

/// Collections, and people in each. This determines the mean of the estimates to five standard errors of a
/// collection/√20,000, and the variance to 5 %: the χ² law of 20,000 collections is that wide at the level of these
/// tests.
const COLLECTIONS: u64 = 20_000;
const LONG_COLLECTIONS: u64 = 1_000_000;
const PEOPLE: u64 = 200;
/// Two-sided at [`FALSE_ALARM`]: P(|Z| > 4.8917) = 10⁻⁶.
const DEVIATIONS: f64 = 4.8917;

/// The mean of some estimates and the sum of squares about the truth.
struct Moments {
    mean: f64,
    squares: f64,
}

fn collect(form: &RandomisedResponse, holders: u64, estimate: impl Fn(u64) -> f64) -> Moments {
    let mut entropy = Entropy::seeded(seed(&format!("collections of {form}, {holders}")));
    let mut rng = entropy.draw().unwrap();
    let truth = holders as f64 / PEOPLE as f64;
    let n = samples(COLLECTIONS, LONG_COLLECTIONS);
    let mut moments = Moments { mean: 0.0, squares: 0.0 };
    for _ in 0..n {
        let yes = (0..PEOPLE).filter(|&person| form.sample(person < holders, &mut rng)).count() as u64;
        let fraction = estimate(yes);
        moments.mean += fraction / n as f64;
        moments.squares += (fraction - truth).powi(2);
    }
    moments
}

/// Whether the mean is as close to the truth as chance allows.
fn is_unbiased(form: &RandomisedResponse, holders: u64, mean: f64) -> bool {
    let truth = holders as f64 / PEOPLE as f64;
    let deviation = (form.estimator().variance(truth, PEOPLE) / samples(COLLECTIONS, LONG_COLLECTIONS) as f64).sqrt();
    (mean - truth).abs() <= DEVIATIONS * deviation
}

/// Whether the sum of squares follows χ² with as many degrees of freedom as there are collections.
fn has_variance(squares: f64, variance: f64) -> bool {
    let n = samples(COLLECTIONS, LONG_COLLECTIONS);
    let lower = chi_squared_quantile(n, 1.0 - FALSE_ALARM / 2.0).unwrap();
    let upper = chi_squared_quantile(n, FALSE_ALARM / 2.0).unwrap();
    (lower..=upper).contains(&(squares / variance))
}

#[test]
fn estimates_are_unbiased_and_have_the_variance_they_state() {
    for form in forms() {
        for holders in [0, 30, 100, 200] {
            let found = collect(&form, holders, |yes| form.estimate(yes, PEOPLE).unwrap().fraction());
            assert!(is_unbiased(&form, holders, found.mean), "{form}, {holders}: {}", found.mean);
            let variance = form.estimator().variance(holders as f64 / PEOPLE as f64, PEOPLE);
            assert!(has_variance(found.squares, variance), "{form}, {holders}: {}", found.squares / variance);
            assert!(!has_variance(found.squares, 1.1 * variance), "a variance wrong by a tenth was not caught");
        }
    }
}

/// The mutant: the fraction of yes among the responses, mistaken for the fraction of people.
#[test]
fn the_raw_fraction_is_biased() {
    for form in forms() {
        let found = collect(&form, 30, |yes| yes as f64 / PEOPLE as f64);
        assert!(!is_unbiased(&form, 30, found.mean), "the mutant was not caught");
        // It tends to q* + f·(p* − q*) instead.
        let [q, p] = [false, true].map(|answer| form.probability(answer, true).end().to_f64());
        assert!((found.mean - (q + 0.15 * (p - q))).abs() < 0.001, "{form}: {}", found.mean);
    }
}
