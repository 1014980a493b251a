use super::*;

fn number(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Φ-based closed form with 60 digits, see the table of the accounting tests.
#[test]
fn small_and_large_noise_meet_their_reference() {
    for (epsilon, delta, sigma) in [("1", "1e-6", 4.224_678_889_326_835), ("0.01", "1e-12", 578.997_867_061_414_1)] {
        let found = analytic_gaussian_sigma(&epsilon.parse().unwrap(), &delta.parse().unwrap(), &number("1")).unwrap();
        let ratio = found.to_f64() / sigma - 1.0;
        assert!((-1e-15..1e-10).contains(&ratio), "{epsilon} {delta}: {ratio:e}");
    }
}

#[test]
fn sigma_scales_with_sensitivity() {
    let (epsilon, delta) = ("0.5".parse().unwrap(), "1e-9".parse().unwrap());
    let one = analytic_gaussian_sigma(&epsilon, &delta, &number("1")).unwrap();
    let seven = analytic_gaussian_sigma(&epsilon, &delta, &number("7")).unwrap();
    assert!((seven.to_f64() / one.to_f64() - 7.0).abs() < 1e-12);
}

/// The δ at the returned σ is within δ, and a σ that is smaller by 1e-9 is not accepted.
#[test]
fn discrete_sigma_is_the_edge() {
    let cases = [("1", "1e-6", 1), ("0.1", "1e-5", 1), ("3", "1e-9", 5), ("1", "1e-6", 1 << 20), ("10", "1e-3", 1)];
    for (epsilon, delta, sensitivity) in cases {
        let (epsilon, delta): (Epsilon, Delta) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let sigma = discrete_gaussian_sigma(&epsilon, &delta, sensitivity).unwrap();
        assert!(discrete_gaussian_delta(&epsilon, &sigma, sensitivity).unwrap() <= delta, "{sigma}");
        let less = &sigma * &number("0.999999999");
        assert!(discrete_gaussian_delta(&epsilon, &less, sensitivity).unwrap() > delta, "{sigma}");
    }
}

#[test]
fn nonsense_is_refused() {
    let (epsilon, delta): (Epsilon, Delta) = ("1".parse().unwrap(), "1e-6".parse().unwrap());
    for bad in ["0", "-1"] {
        assert!(analytic_gaussian_sigma(&epsilon, &delta, &number(bad)).is_err());
        assert!(analytic_gaussian_delta(&epsilon, &number(bad), &number("1")).is_err());
        assert!(discrete_gaussian_delta(&epsilon, &number(bad), 1).is_err());
    }
    assert!(discrete_gaussian_sigma(&epsilon, &delta, 0).is_err());
    assert!(discrete_gaussian_sigma(&epsilon, &delta, (1 << 40) + 1).is_err());
    assert!(analytic_gaussian_sigma(&epsilon, &"1e-300".parse().unwrap(), &number("1")).is_err());
    assert!(analytic_gaussian_sigma(&"1e-17".parse().unwrap(), &"1e-17".parse().unwrap(), &number("1")).is_err());
}

#[test]
fn more_noise_and_more_epsilon_mean_less_delta() {
    let delta = |epsilon: &str, sigma: &str| {
        analytic_gaussian_delta(&epsilon.parse().unwrap(), &number(sigma), &number("1")).unwrap()
    };
    assert!(delta("1", "4") > delta("1", "4.0001"));
    assert!(delta("1", "4") > delta("1.0001", "4"));
    // Tails so far out that δ underflows stay positive.
    assert!(delta("300", "40").to_f64() > 0.0);
}
