//! Samplers that are wrong on purpose: each must be caught by the test that guards against it.
//!
//! | mutant | caught by |
//! |---|---|
//! | scale × 1.05 (and × 1.015, the smallest error that the sample size detects) | goodness of fit |
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
use reticent::noise::{DiscreteGaussian, DiscreteLaplace, Entropy, Geometric};

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
