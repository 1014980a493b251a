//! Samplers that are wrong on purpose: each must be caught by the test that guards against it.
//!
//! | mutant | caught by |
//! |---|---|
//! | scale × 1.05 (and × 1.015, the smallest error that the sample size detects) | goodness of fit |
//! | discrete for rounded Gaussian noise of the same σ | goodness of fit |
//! | a radius of box noise from D geometric numbers, or one that is always accepted | goodness of fit |
//! | zero counted twice | goodness of fit |
//! | geometric off by one | goodness of fit |
//! | `≤` for `<` in a comparison of words | enumeration of all words, next to the table in the core library |
//! | a reused seed | comparison of the streams |
//! | δ ignored | empirical lower bound on ε |

use dist_test::laws::{self, Counts, count, fit};
use dist_test::{FALSE_ALARM, seed};
use rand_core::Rng;
use reticent::audit::{EmpiricalEpsilon, Verdict};
use reticent::exact::Rational;
use reticent::noise::{DiscreteGaussian, DiscreteLaplace, Entropy, Geometric, RoundedGaussian, uniform_below};

/// As in `goodness_of_fit.rs`.
const SAMPLES: u64 = 1_000_000;

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

fn assert_caught(name: &str, law: &reticent::audit::ExpectedLaw, counts: &Counts) {
    let fit = fit(law, counts);
    assert!(!fit.passes(FALSE_ALARM), "{name} was not caught: p = {}", fit.p_value);
}

#[test]
fn a_wrong_scale() {
    for (scale, wrong) in [("1", "1.05"), ("10", "10.5"), ("10", "10.15"), ("1000", "1050")] {
        let noise = DiscreteLaplace::new(&rational(wrong)).unwrap();
        let mut entropy = Entropy::seeded(seed(&format!("wrong scale {wrong}")));
        let mut rng = entropy.draw().unwrap();
        let shift = if scale == "1000" { 6 } else { 0 };
        let counts = count(SAMPLES, || noise.sample(&mut rng) >> shift);
        assert_caught("a wrong Laplace scale", &laws::laplace(scale.parse().unwrap(), shift), &counts);
    }
    for (sigma, wrong) in [("1", "1.05"), ("10", "10.5"), ("100", "105")] {
        let noise = DiscreteGaussian::with_sigma(&rational(wrong)).unwrap();
        let mut entropy = Entropy::seeded(seed(&format!("wrong sigma {wrong}")));
        let mut rng = entropy.draw().unwrap();
        let shift = if sigma == "100" { 2 } else { 0 };
        let counts = count(SAMPLES, || noise.sample(&mut rng) >> shift);
        assert_caught("a wrong σ", &laws::gaussian(sigma.parse().unwrap(), shift), &counts);
    }
}

/// Noise whose variance lacks the 1/12 of rounding, and rounded noise of a σ that is wrong by 1.5 %.
#[test]
fn another_gaussian() {
    let discrete = DiscreteGaussian::with_sigma(&rational("0.9")).unwrap();
    let wrong = RoundedGaussian::with_sigma(&rational("5.2")).unwrap();
    let mut entropy = Entropy::seeded(seed("another Gaussian"));
    let mut rng = entropy.draw().unwrap();
    let counts = count(SAMPLES, || discrete.sample(&mut rng));
    assert_caught("discrete Gaussian noise", &laws::rounded_gaussian(0.9, 0), &counts);
    let counts = count(SAMPLES, || wrong.sample(&mut rng));
    assert_caught("a wrong σ", &laws::rounded_gaussian(5.1, 0), &counts);
}

/// Box noise of three coordinates: both mutants, and the sampler that they were made from.
#[test]
fn a_wrong_radius() {
    let geometric = Geometric::new(&rational("10")).unwrap();
    let mut entropy = Entropy::seeded(seed("wrong radius"));
    let mut rng = entropy.draw().unwrap();
    let mut draw = |geometrics: usize, rejects: bool| loop {
        let radius = (0..geometrics).map(|_| geometric.sample(&mut rng)).sum::<i64>();
        let sides = 2 * radius.unsigned_abs() + 1;
        let mut below = |n: u64| uniform_below(n, &mut rng).unwrap();
        if !rejects || (1..=3).all(|i| below(sides + 2 * i - 1) < sides) {
            break below(sides).cast_signed() - radius;
        }
    };
    let law = laws::box_coordinate(3, 10.0, 0);
    assert!(fit(&law, &count(SAMPLES, || draw(4, true))).passes(FALSE_ALARM));
    assert_caught("one geometric number too few", &law, &count(SAMPLES, || draw(3, true)));
    assert_caught("a radius always accepted", &law, &count(SAMPLES, || draw(4, false)));
}

/// A fair sign on a geometric magnitude gives 0 both as +0 and as −0.
#[test]
fn zero_counted_twice() {
    let magnitude = Geometric::new(&rational("5")).unwrap();
    let mut entropy = Entropy::seeded(seed("zero twice"));
    let mut rng = entropy.draw().unwrap();
    let counts = count(SAMPLES, || {
        let sign = if rng.next_u32() & 1 == 0 { 1 } else { -1 };
        sign * magnitude.sample(&mut rng)
    });
    assert_caught("zero counted twice", &laws::laplace(5.0, 0), &counts);
}

/// The number of tosses up to the first success instead of before it.
#[test]
fn geometric_off_by_one() {
    let noise = Geometric::new(&rational("5")).unwrap();
    let mut entropy = Entropy::seeded(seed("off by one"));
    let mut rng = entropy.draw().unwrap();
    let counts = count(SAMPLES, || noise.sample(&mut rng) + 1);
    assert_caught("a geometric number off by one", &laws::negative_binomial(1.0, 5.0), &counts);
    // Two-sided noise from it, as a difference, hides the shift; from a sign and a magnitude it does not.
    let counts = count(SAMPLES, || {
        let sign = if rng.next_u32() & 1 == 0 { 1 } else { -1 };
        sign * (noise.sample(&mut rng) + 1)
    });
    assert_caught("two-sided noise off by one", &laws::laplace(5.0, 0), &counts);
}

/// Two generators with one seed draw the same noise: anyone who knows one of two releases knows both.
#[test]
fn a_reused_seed() {
    const WORDS: usize = 1000;
    let words = |mut entropy: Entropy| -> Vec<u64> {
        let mut rng = entropy.draw().unwrap();
        (0..WORDS).map(|_| rng.next_u64()).collect()
    };
    // Two honest streams of 64-bit words agree anywhere with probability below 1000/2^64.
    let agree = |left: &[u64], right: &[u64]| left.iter().zip(right).filter(|(left, right)| left == right).count();
    let (first, second) = (words(Entropy::from_os().unwrap()), words(Entropy::from_os().unwrap()));
    assert_eq!(agree(&first, &second), 0);
    let (first, second) = (words(Entropy::seeded(9)), words(Entropy::seeded(9)));
    assert!(agree(&first, &second) > 0, "the mutant was not caught");
}

/// Gaussian noise that is wide enough for δ = 0.05 but claims δ = 10^−6.
#[test]
fn delta_ignored() {
    let (honest, careless) = ("4.3", "1.25");
    let verdict = |sigma: &str| {
        let noise = DiscreteGaussian::with_sigma(&rational(sigma)).unwrap();
        let mut entropy = Entropy::seeded(seed(&format!("delta {sigma}")));
        let mut other = Entropy::seeded(seed(&format!("delta′ {sigma}")));
        let (mut rng, mut other) = (entropy.draw().unwrap(), other.draw().unwrap());
        let found = EmpiricalEpsilon::measure(
            || noise.sample(&mut rng),
            || 1 + noise.sample(&mut other),
            1e-6,
            SAMPLES,
            1.0 - FALSE_ALARM,
        );
        found.unwrap().verdict(&"1".parse().unwrap())
    };
    assert_eq!(verdict(honest), Verdict::Consistent);
    assert_eq!(verdict(careless), Verdict::Violation, "the mutant was not caught");
}
