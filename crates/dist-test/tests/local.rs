//! The local model: what is estimated from many responses, and what a response reveals.

use std::collections::BTreeMap;

use dist_test::{FALSE_ALARM, samples, seed};
use reticent::audit::{EmpiricalEpsilon, ExpectedLaw, GoodnessOfFit, Verdict, chi_squared_quantile};
use reticent::local::light::{Fields, LightDomain};
use reticent::local::{
    Answer, Answers, Collection, Estimator, FrequencyOracle, KaryResponse, LightTask, OneBitMean, OracleResponse,
    Payload, ProjectiveResponse, Question, Randomiser, Task, UnaryEncoding, ValueTally,
};
use reticent::noise::Entropy;
use reticent::privacy::Epsilon;

/// Collections, and people in each. This determines the mean of the estimates to five standard errors of a
/// collection/√4,000, and the variance to 12 %: the χ² law of 4,000 collections is that wide at the level of these
/// tests.
const COLLECTIONS: u64 = 4_000;
const LONG_COLLECTIONS: u64 = 100_000;
const PEOPLE: u64 = 300;
/// How many of them hold the value of interest.
const HOLDERS: u64 = 90;
/// The number of values; the other people are spread over the rest.
const VALUES: u64 = 12;
/// Two-sided at [`FALSE_ALARM`]: P(|Z| > 4.8917) = 10⁻⁶.
const DEVIATIONS: f64 = 4.8917;
/// A variance that is wrong by this factor is detected.
const WRONG: f64 = 1.25;
/// Responses to each of two answers.
const RESPONSES: u64 = 400_000;
const LONG_RESPONSES: u64 = 20_000_000;

/// The mean of some estimates and the sum of squares about the truth.
#[derive(Default)]
struct Moments {
    mean: f64,
    squares: f64,
}

impl Moments {
    fn of(truth: f64, mut estimate: impl FnMut() -> f64) -> Self {
        let n = samples(COLLECTIONS, LONG_COLLECTIONS);
        let mut moments = Self::default();
        for _ in 0..n {
            let found = estimate();
            moments.mean += found / n as f64;
            moments.squares += (found - truth).powi(2);
        }
        moments
    }

    fn is_unbiased(&self, truth: f64, variance: f64) -> bool {
        let n = samples(COLLECTIONS, LONG_COLLECTIONS) as f64;
        (self.mean - truth).abs() <= DEVIATIONS * (variance / n).sqrt()
    }

    /// Whether the sum of squares follows χ² with as many degrees of freedom as there are collections.
    fn has_variance(&self, variance: f64) -> bool {
        let n = samples(COLLECTIONS, LONG_COLLECTIONS);
        let lower = chi_squared_quantile(n, 1.0 - FALSE_ALARM / 2.0).unwrap();
        let upper = chi_squared_quantile(n, FALSE_ALARM / 2.0).unwrap();
        (lower..=upper).contains(&(self.squares / variance))
    }
}

fn oracles() -> Vec<FrequencyOracle> {
    let mut oracles = Vec::new();
    for epsilon in ["0.7", "2"] {
        let epsilon: Epsilon = epsilon.parse().unwrap();
        oracles.extend(
            ["k-ary", "unary", "projective"].map(|name| FrequencyOracle::named(name, VALUES, &epsilon).unwrap()),
        );
    }
    oracles
}

/// One collection: how many responses support the first value, which the first people hold.
fn supporting(oracle: &FrequencyOracle, rng: &mut impl rand_core::CryptoRng) -> u64 {
    let mut tally = oracle.tally();
    for person in 0..PEOPLE {
        let answer = if person < HOLDERS { 0 } else { 1 + person % (VALUES - 1) };
        tally.add(&oracle.sample(answer, rng)).unwrap();
    }
    oracle.supports(&mut tally).unwrap()[0]
}

#[test]
fn frequencies_are_unbiased_and_have_the_variance_they_state() {
    let truth = HOLDERS as f64 / PEOPLE as f64;
    for oracle in oracles() {
        let name = format!("collections by {} at {}", oracle.name(), oracle.guarantee());
        let mut entropy = Entropy::seeded(seed(&name));
        let mut rng = entropy.draw().unwrap();
        let estimator: &Estimator = oracle.estimator();
        let found =
            Moments::of(truth, || estimator.estimate(supporting(&oracle, &mut rng), PEOPLE).unwrap().fraction());
        let variance = estimator.variance(truth, PEOPLE);
        assert!(found.is_unbiased(truth, variance), "{name}: {}", found.mean);
        assert!(found.has_variance(variance), "{name}: {}", found.squares / variance);
        assert!(!found.has_variance(WRONG * variance), "{name}: a wrong variance was not caught");
        // The mutant: the fraction of supporting responses itself.
        let raw = Moments::of(truth, || supporting(&oracle, &mut rng) as f64 / PEOPLE as f64);
        assert!(!raw.is_unbiased(truth, variance), "{name}: the mutant was not caught");
    }
}

#[test]
fn means_are_unbiased_and_have_the_variance_they_state() {
    let mechanism = OneBitMean::new(-20..=80, &"1".parse().unwrap()).unwrap();
    let mut entropy = Entropy::seeded(seed("one-bit means"));
    let mut rng = entropy.draw().unwrap();
    // All have the same number: the case in which the stated variance is attained.
    let truth = 17.0;
    let found = Moments::of(truth, || {
        let ones = (0..PEOPLE).filter(|_| mechanism.sample(17, &mut rng)).count() as u64;
        mechanism.estimate(ones, PEOPLE).unwrap().mean()
    });
    let (q, gap) = (mechanism.estimator().q(), mechanism.estimator().gap());
    let one = q + gap * 37.0 / 100.0;
    let variance = 100f64.powi(2) * one * (1.0 - one) / PEOPLE as f64 / gap / gap;
    assert!(found.is_unbiased(truth, variance), "{}", found.mean);
    assert!(found.has_variance(variance) && !found.has_variance(WRONG * variance), "{}", found.squares / variance);
}

fn measure(oracle: &FrequencyOracle) -> EmpiricalEpsilon {
    let name = format!("{} at {}", oracle.name(), oracle.guarantee());
    let mut entropies = [seed(&name), seed(&format!("{name}′"))].map(Entropy::seeded);
    let [mut one, mut other] = entropies.each_mut().map(|entropy| entropy.draw().unwrap());
    // The best an adversary can do with a set is to look at the two bits that the answers differ in.
    let seen = |response: OracleResponse| match response {
        OracleResponse::Value(value) => value,
        OracleResponse::Set(set) => 2 * u64::from(set.contains(0)) + u64::from(set.contains(1)),
    };
    EmpiricalEpsilon::measure(
        || seen(oracle.sample(0, &mut one)),
        || seen(oracle.sample(1, &mut other)),
        0.0,
        samples(RESPONSES, LONG_RESPONSES),
        1.0 - FALSE_ALARM,
    )
    .unwrap()
}

#[test]
fn every_oracle_keeps_its_promise_and_wastes_nothing() {
    for oracle in oracles() {
        let claim = oracle.guarantee().epsilon().unwrap().clone();
        let found = measure(&oracle);
        assert_eq!(found.verdict(&claim), Verdict::Consistent, "{}: {found}", oracle.name());
        assert!(found.lower_bound > 0.85 * claim.to_f64(), "{}: {found}", oracle.name());
        let careless = Epsilon::try_from(0.8 * claim.to_f64()).unwrap();
        assert_eq!(found.verdict(&careless), Verdict::Violation, "{}: the mutant was not caught", oracle.name());
    }
}

/// Reports aggregated at once.
const MANY_REPORTS: u64 = 10_000_000;
/// Values of their question.
const MANY_VALUES: u64 = 1_000;
/// How many of them hold the first value; the others are spread over the rest.
const SHARE: u64 = 10;
/// The number of standard errors allowed for each of 2,000 estimates: 2,000·P(|Z| > 6.3) < 10⁻⁶.
const WIDE: f64 = 6.3;

fn holder(person: u64) -> u64 {
    if person.is_multiple_of(SHARE) { 0 } else { 1 + person % (MANY_VALUES - 1) }
}

/// Ten million reports of a thousand values, counted and decoded: every estimate is as close as it claims.
#[test]
fn ten_million_reports_are_aggregated() {
    const BLOCK: u64 = 100_000;
    let epsilon: Epsilon = "1".parse().unwrap();
    let mut truth = vec![0u64; MANY_VALUES as usize];
    (0..MANY_REPORTS).for_each(|person| truth[holder(person) as usize] += 1);

    let k_ary = KaryResponse::new(MANY_VALUES, &epsilon).unwrap();
    let mut entropy = Entropy::seeded(seed("ten million k-ary reports"));
    let mut tally = ValueTally::new(MANY_VALUES as usize);
    let mut responses = vec![0; BLOCK as usize];
    for block in 0..MANY_REPORTS / BLOCK {
        let answers: Vec<u32> = (block * BLOCK..(block + 1) * BLOCK).map(|person| holder(person) as u32).collect();
        k_ary.sample_all(&answers, &mut entropy.draw().unwrap(), &mut responses);
        tally.add_all(&responses).unwrap();
    }
    assert_near(&truth, tally.counts(), k_ary.estimator(), "k-ary");

    // As the collector receives them: report by report.
    let choices: Vec<String> = (0..MANY_VALUES).map(|value| value.to_string()).collect();
    let task = serde_json::json!({ "question": "?", "domain": { "choices": choices }, "epsilon": "1",
        "mechanism": "projective", "minimum-batch": MANY_REPORTS, "expires": "2999-01-01" });
    let task: Task = serde_json::from_value(task).unwrap();
    let Randomiser::Choices(oracle) = task.randomiser() else { panic!("choices are asked for") };
    let mut collection = Collection::new(task);
    let mut entropy = Entropy::seeded(seed("ten million projective reports"));
    let mut rng = entropy.draw().unwrap();
    for person in 0..MANY_REPORTS {
        let OracleResponse::Value(point) = oracle.sample(holder(person), &mut rng) else { panic!("a point") };
        collection.recount(&Payload::Value(point)).unwrap();
    }
    let Answers::Choices(rows) = collection.estimate().unwrap() else { panic!("choices are asked for") };
    let mut nearer = 0;
    for (row, truth) in rows.iter().zip(&truth) {
        let error = (row.count - *truth as f64).abs();
        let standard_error = row.standard_error.unwrap();
        assert!(error < WIDE * standard_error, "{row:?} against {truth}");
        nearer += u32::from(error < 0.1 * standard_error);
    }
    // A test that allowed anything would find all of them close; 8 % are.
    assert!(nearer < 200, "{nearer}");
}

fn assert_near(truth: &[u64], supports: &[u64], estimator: &Estimator, name: &str) {
    for (value, (&support, &truth)) in supports.iter().zip(truth).enumerate() {
        let found = estimator.estimate(support, MANY_REPORTS).unwrap();
        let error = estimator.variance(truth as f64 / MANY_REPORTS as f64, MANY_REPORTS).sqrt() * MANY_REPORTS as f64;
        assert!(
            (found.count() - truth as f64).abs() < WIDE * error,
            "{name}, {value}: {} against {truth}",
            found.count()
        );
    }
}

/// Responses of the browser's device to one answer. This determines a probability of ½ to 0.25 % at the level of these
/// tests.
const LIGHT_RESPONSES: u64 = 1_000_000;
const LONG_LIGHT_RESPONSES: u64 = 10_000_000;

fn light(domain: LightDomain, mechanism: &str, epsilon: &str) -> LightTask {
    LightTask::new(&Fields {
        question: "?",
        domain,
        mechanism,
        epsilon,
        memoisation: "first",
        lifetime_epsilon: epsilon,
        allow_large_epsilon: false,
        minimum_batch: 1,
        time_precision: "none",
        expires: "2999-01-01",
    })
    .unwrap()
}

/// How well the responses to an answer fit the distribution that the library's own mechanism states.
fn fit(task: &LightTask, answer: Answer, law: Vec<f64>, name: &str) -> GoodnessOfFit {
    let mut entropy = Entropy::seeded(seed(name));
    let mut rng = entropy.draw().unwrap();
    let mut observed = BTreeMap::new();
    for _ in 0..samples(LIGHT_RESPONSES, LONG_LIGHT_RESPONSES) {
        let response = match task.randomise(&answer, &mut rng).unwrap() {
            Payload::Value(value) => value as i64,
            Payload::Bit(bit) => i64::from(bit),
            Payload::Set(bytes) => i64::from(bytes[0]),
            Payload::Prefix(_) => panic!("no texts are asked for"),
        };
        *observed.entry(response).or_insert(0) += 1;
    }
    GoodnessOfFit::test(&ExpectedLaw::new(0, 0.0, law, 0.0).unwrap(), &observed).unwrap()
}

/// Whole responses, rounds and all; the enumeration in the library covers one round only.
#[test]
fn the_browsers_device_follows_the_law_that_the_library_states() {
    const CHOICES: u64 = 6;
    let some = |choices: u64| LightDomain::Choices((0..choices).map(|choice| choice.to_string()).collect());
    let choices = || some(CHOICES);
    for text in ["0.7", "1", "2.25"] {
        let epsilon: Epsilon = text.parse().unwrap();
        let check = |mechanism: &str, domain: LightDomain, answer: Answer, law: Vec<f64>| {
            let name = format!("light {mechanism} at {text}");
            let fit = fit(&light(domain, mechanism, text), answer, law, &name);
            println!("{name}: χ² = {:.2} on {}", fit.statistic, fit.degrees_of_freedom);
            assert!(fit.passes(FALSE_ALARM), "{name}: {fit:?}");
        };
        let k_ary = |values: u64, epsilon: &Epsilon| -> Vec<f64> {
            let k_ary = KaryResponse::new(values, epsilon).unwrap();
            (0..values as u32).map(|response| k_ary.probability(3, response).end().to_f64()).collect()
        };
        for values in [4, CHOICES] {
            check("k-ary", some(values), Answer::Choice(3), k_ary(values, &epsilon));
        }
        // The mutant: taken by the coin of an ε that is 5 % larger.
        let wrong = Epsilon::try_from(1.05 * epsilon.to_f64()).unwrap();
        let mutant = fit(&light(choices(), "k-ary", text), Answer::Choice(3), k_ary(CHOICES, &wrong), "light mutant");
        assert!(!mutant.passes(FALSE_ALARM), "not caught at {text}: {mutant:?}");

        let projective = ProjectiveResponse::over_field(CHOICES, &epsilon, 5).unwrap();
        let law = (0..projective.points()).map(|point| projective.probability(2, point).end().to_f64()).collect();
        check("projective-5", choices(), Answer::Choice(2), law);

        let unary = UnaryEncoding::new(CHOICES, &epsilon).unwrap();
        let [own, other] = [true, false].map(|is_answer| unary.probability(is_answer).end().to_f64());
        let bit = |set: u32, value: u64| {
            let one = if value == 1 { own } else { other };
            if set >> value & 1 == 1 { one } else { 1.0 - one }
        };
        let law = (0..1 << CHOICES).map(|set| (0..CHOICES).map(|value| bit(set, value)).product()).collect();
        check("unary", choices(), Answer::Choice(1), law);

        let one = OneBitMean::new(-3..=10, &epsilon).unwrap().probability(1).end().to_f64();
        let integers = LightDomain::Integers { lower: -3, upper: 10 };
        check("one-bit", integers, Answer::Number(1), vec![1.0 - one, one]);
    }
}

/// Simulated surveys. An interval with 95 % coverage is found to cover less than 94 % with probability 10⁻⁶; one with
/// less than 93 % practically always.
const SURVEYS: u64 = 12_000;
const LONG_SURVEYS: u64 = 200_000;
/// The share of simulated surveys in which a printed interval must contain the truth.
const COVERED: f64 = 0.94;
/// People in each, of whom 30 % hold the first choice.
const ASKED: u64 = 100;

/// A survey in which devices memoise as given.
fn survey(domain: serde_json::Value, mechanism: &str, memoisation: &str) -> Task {
    serde_json::from_value(
        serde_json::json!({ "question": "?", "domain": domain, "epsilon": "1", "mechanism": mechanism,
        "memoisation": memoisation, "minimum-batch": ASKED, "expires": "2999-01-01" }),
    )
    .unwrap()
}

fn three() -> serde_json::Value {
    serde_json::json!({ "choices": ["a", "b", "c"] })
}

/// A person's answer: 30 % give the first choice or the largest number.
fn answer(task: &Task, person: u64) -> Answer {
    let holds = person % 10 < 3;
    match task.mechanism() {
        "one-bit" => Answer::Number(if holds { 10 } else { 2 }),
        _ => Answer::Choice(if holds { 0 } else { 1 + person % 2 }),
    }
}

/// The truth about everyone: the mean, or the number of reports of the first choice.
fn truth(task: &Task, reports: u64) -> f64 {
    if task.mechanism() == "one-bit" { 0.3 * 10.0 + 0.7 * 2.0 } else { 0.3 * reports as f64 }
}

/// The printed interval of the first choice or of the mean, if any.
fn printed(answers: &Answers) -> Option<(f64, f64)> {
    let json = serde_json::to_value(answers).unwrap();
    if let Some(ends) = json["choices"][0]["interval"].as_array() {
        return Some((ends[0].as_f64()?, ends[1].as_f64()?));
    }
    let (mean, half_width) = (json["mean"]["mean"].as_f64()?, json["mean"]["error"]["half_width"].as_f64()?);
    Some((mean - half_width, mean + half_width))
}

/// How many of the surveys printed an interval, and how many of the intervals contained the truth, if every device
/// sends its response `times` times.
fn coverage(task: &Task, times: u64, surveys: u64) -> (u64, u64) {
    let name = format!("coverage of {}, {times} reports of each device", task.mechanism());
    let mut entropy = Entropy::seeded(seed(&name));
    let mut rng = entropy.draw().unwrap();
    let randomiser = task.randomiser();
    let (mut intervals, mut covered) = (0, 0);
    for _ in 0..surveys {
        let mut collection = Collection::new(task.clone());
        for person in 0..ASKED {
            let response = match (&randomiser, answer(task, person)) {
                (Randomiser::Choices(oracle), Answer::Choice(choice)) => match oracle.sample(choice, &mut rng) {
                    OracleResponse::Value(value) => Payload::Value(value),
                    OracleResponse::Set(set) => Payload::Set(set.to_bytes()),
                },
                (Randomiser::Mean(mean), Answer::Number(number)) => Payload::Bit(mean.sample(number, &mut rng)),
                _ => panic!("choices or numbers are asked for"),
            };
            (0..times).for_each(|_| collection.recount(&response).unwrap());
        }
        let truth = truth(task, times * ASKED);
        if let Some((lower, upper)) = printed(&collection.estimate().unwrap()) {
            intervals += 1;
            covered += u64::from((lower..=upper).contains(&truth));
        }
    }
    (intervals, covered)
}

/// The printed ± contains the truth, for every mechanism, if each person reports once.
#[test]
fn intervals_cover_where_every_device_reports_once() {
    let numbers = serde_json::json!({ "integers": { "lower": 0, "upper": 10 } });
    for task in [
        survey(three(), "k-ary", "never"),
        survey(three(), "unary", "never"),
        survey(three(), "projective", "never"),
        survey(numbers, "one-bit", "never"),
    ] {
        let surveys = samples(SURVEYS, LONG_SURVEYS);
        let (intervals, covered) = coverage(&task, 1, surveys);
        let share = covered as f64 / surveys as f64;
        assert!(intervals == surveys && share >= COVERED, "{}: {share} of {intervals}", task.mechanism());
    }
}

/// A regression: a device that repeats its memoised response, as `first` and `per-answer` allow, counted as several
/// people: the interval of 1,000 reports of 100 devices, "proved" for 95 %, covered in half of all surveys. Only valid
/// intervals are printed now.
#[test]
fn no_interval_is_printed_that_counts_a_device_more_than_once() {
    let numbers = serde_json::json!({ "integers": { "lower": 0, "upper": 10 } });
    for task in [
        survey(three(), "k-ary", "first"),
        survey(three(), "unary", "per-answer"),
        survey(three(), "projective", "first"),
        survey(numbers, "one-bit", "per-answer"),
    ] {
        let (intervals, covered) = coverage(&task, 10, 1_000);
        assert_eq!(intervals, 0, "{}: printed, and covered in {covered} of 1000 surveys", task.mechanism());
    }
}
