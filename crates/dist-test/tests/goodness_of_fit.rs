//! Do the samplers draw from the distributions they claim?

use dist_test::laws::{self, count, fit};
use dist_test::{FALSE_ALARM, samples, seed};
use reticent::audit::ExpectedLaw;
use reticent::exact::Rational;
use reticent::noise::{
    Coin, DiscreteBox, DiscreteGaussian, DiscreteLaplace, Draw, Entropy, Geometric, NegativeBinomial, RoundedGaussian,
    uniform_below,
};

/// Detects a scale that is wrong by 1.5 % (see `mutants.rs`).
const SAMPLES: u64 = 1_000_000;
const LONG_SAMPLES: u64 = 10_000_000;

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Draws one by one and in bulk, each in blocks of 2^shift (which keeps the number of cells small at large scales), against
/// the law of those blocks.
fn assert_fits(
    name: &str,
    law: &ExpectedLaw,
    shift: u32,
    sample: impl Fn(&mut Draw<'_>) -> i64,
    fill: impl Fn(&mut Draw<'_>, &mut [i64]),
) {
    let mut entropy = Entropy::seeded(seed(name));
    let mut rng = entropy.draw().unwrap();
    let n = samples(SAMPLES, LONG_SAMPLES);
    let one_by_one = count(n, || sample(&mut rng) >> shift);
    let mut bulk = vec![0; n as usize];
    fill(&mut rng, &mut bulk);
    let mut bulk = bulk.into_iter();
    let in_bulk = count(n, || bulk.next().unwrap() >> shift);
    for (way, counts) in [("one by one", one_by_one), ("in bulk", in_bulk)] {
        let fit = fit(law, &counts);
        assert!(fit.passes(FALSE_ALARM), "{name}, {way}\n{fit}");
    }
}

#[test]
fn discrete_laplace() {
    let narrow = ["0.1", "0.5", "1", "3.3", "10", "11.6"].map(|scale| (scale, 0));
    for (scale, shift) in narrow.into_iter().chain([("100", 3), ("1000", 6), ("1000000", 16)]) {
        let noise = DiscreteLaplace::new(&rational(scale)).unwrap();
        let law = laws::laplace(scale.parse().unwrap(), shift);
        let name = format!("discrete Laplace {scale}");
        assert_fits(&name, &law, shift, |rng| noise.sample(rng), |rng, values| noise.fill(rng, values));
    }
}

#[test]
fn discrete_gaussian() {
    let narrow = ["0.3", "1", "2.5", "10"].map(|sigma| (sigma, 0));
    for (sigma, shift) in narrow.into_iter().chain([("50", 2), ("60", 2), ("100", 2), ("1000", 5), ("10000", 8)]) {
        let noise = DiscreteGaussian::with_sigma(&rational(sigma)).unwrap();
        let law = laws::gaussian(sigma.parse().unwrap(), shift);
        let name = format!("discrete Gaussian {sigma}");
        assert_fits(&name, &law, shift, |rng| noise.sample(rng), |rng, values| noise.fill(rng, values));
    }
}

#[test]
fn rounded_gaussian() {
    for (sigma, shift) in [("0.3", 0), ("1", 0), ("5.1", 0), ("100", 2), ("10000", 8)] {
        let noise = RoundedGaussian::with_sigma(&rational(sigma)).unwrap();
        let law = laws::rounded_gaussian(sigma.parse().unwrap(), shift);
        let name = format!("rounded Gaussian {sigma}");
        assert_fits(&name, &law, shift, |rng| noise.sample(rng), |rng, values| noise.fill(rng, values));
    }
}

/// The last of D coordinates, and the largest of all.
#[test]
fn discrete_box() {
    for (coordinates, scale, shift) in [(2, "0.5", 0), (3, "1", 0), (3, "10", 0), (5, "100", 4)] {
        let noise = DiscreteBox::new(coordinates, &rational(scale)).unwrap();
        let mut entropy = Entropy::seeded(seed(&format!("box {coordinates} {scale}")));
        let mut rng = entropy.draw().unwrap();
        let mut point = vec![0; coordinates as usize];
        let mut radii = laws::Counts::new();
        let counts = count(samples(SAMPLES, LONG_SAMPLES), || {
            noise.sample(&mut rng, &mut point);
            *radii.entry(point.iter().map(|k| k.abs()).max().unwrap()).or_default() += 1;
            point[point.len() - 1] >> shift
        });
        let scale: f64 = scale.parse().unwrap();
        let one = fit(&laws::box_coordinate(coordinates as i32, scale, shift), &counts);
        assert!(one.passes(FALSE_ALARM), "{coordinates} {scale}\n{one}");
        let all = fit(&laws::box_radius(coordinates as i32, scale), &radii);
        assert!(all.passes(FALSE_ALARM), "{coordinates} {scale}\n{all}");
    }
}

/// What the blocks above do not show: the last six bits of wide noise are practically uniform (to 10^−9 and better at
/// these scales).
#[test]
fn the_last_bits_of_wide_noise() {
    let uniform = ExpectedLaw::new(0, 0.0, vec![1.0 / 64.0; 64], 0.0).unwrap();
    let mut entropy = Entropy::seeded(seed("last bits"));
    let mut rng = entropy.draw().unwrap();
    for scale in ["100000000000", "1125899906842624"] {
        let laplace = DiscreteLaplace::new(&rational(scale)).unwrap();
        let gaussian = DiscreteGaussian::with_sigma(&rational(scale)).unwrap();
        let counts = count(samples(SAMPLES, LONG_SAMPLES), || laplace.sample(&mut rng) & 63);
        assert!(fit(&uniform, &counts).passes(FALSE_ALARM), "Laplace, scale {scale}");
        let counts = count(samples(SAMPLES, LONG_SAMPLES), || gaussian.sample(&mut rng) & 63);
        assert!(fit(&uniform, &counts).passes(FALSE_ALARM), "Gaussian, σ = {scale}");
        let rounded = RoundedGaussian::with_sigma(&rational(scale)).unwrap();
        let counts = count(samples(SAMPLES, LONG_SAMPLES), || rounded.sample(&mut rng) & 63);
        assert!(fit(&uniform, &counts).passes(FALSE_ALARM), "rounded Gaussian, σ = {scale}");
    }
}

#[test]
fn geometric() {
    for scale in ["0.5", "4", "80"] {
        let noise = Geometric::new(&rational(scale)).unwrap();
        let mut entropy = Entropy::seeded(seed(&format!("geometric {scale}")));
        let mut rng = entropy.draw().unwrap();
        // A geometric number is a negative binomial one of shape 1.
        let law = laws::negative_binomial(1.0, scale.parse().unwrap());
        let fit = fit(&law, &count(samples(SAMPLES, LONG_SAMPLES), || noise.sample(&mut rng)));
        assert!(fit.passes(FALSE_ALARM), "scale {scale}\n{fit}");
    }
}

#[test]
fn negative_binomial() {
    for (shape, r, scale) in [("1/2", 0.5, "1"), ("1/10", 0.1, "10"), ("2/3", 2.0 / 3.0, "100"), ("1", 1.0, "7.25")] {
        let noise = NegativeBinomial::new(&rational(shape), &rational(scale)).unwrap();
        let mut entropy = Entropy::seeded(seed(&format!("negative binomial {shape} {scale}")));
        let mut rng = entropy.draw().unwrap();
        let law = laws::negative_binomial(r, scale.parse().unwrap());
        let fit = fit(&law, &count(samples(SAMPLES, LONG_SAMPLES), || noise.sample(&mut rng)));
        assert!(fit.passes(FALSE_ALARM), "shape {shape}, scale {scale}\n{fit}");
    }
}

/// Ten shares of a tenth, minus ten more, are discrete Laplace noise.
#[test]
fn shares_add_up_to_laplace() {
    let share = NegativeBinomial::new(&rational("1/10"), &rational("5")).unwrap();
    let mut entropy = Entropy::seeded(seed("shares"));
    let mut rng = entropy.draw().unwrap();
    let mut sum = || (0..10).map(|_| share.sample(&mut rng)).sum::<i64>();
    let counts = count(samples(SAMPLES / 4, 4 * SAMPLES), || sum() - sum());
    let fit = fit(&laws::laplace(5.0, 0), &counts);
    assert!(fit.passes(FALSE_ALARM), "{fit}");
}

#[test]
fn uniform_numbers_and_coins() {
    let mut entropy = Entropy::seeded(seed("uniform"));
    let mut rng = entropy.draw().unwrap();
    let n = samples(SAMPLES, LONG_SAMPLES);
    let thirteenths = ExpectedLaw::new(0, 0.0, vec![1.0 / 13.0; 13], 0.0).unwrap();
    let counts = count(n, || uniform_below(13, &mut rng).unwrap() as i64);
    assert!(fit(&thirteenths, &counts).passes(FALSE_ALARM));
    let coins = [
        (Coin::ratio(&rational("1/7")).unwrap(), 1.0 / 7.0),
        (Coin::exp_neg(&rational("2.5")).unwrap(), (-2.5f64).exp()),
        (Coin::lie(&"1".parse().unwrap()), 1.0 / (1.0 + 1f64.exp())),
    ];
    for (coin, p) in coins {
        let law = ExpectedLaw::new(0, 0.0, vec![1.0 - p, p], 0.0).unwrap();
        let fit = fit(&law, &count(n, || coin.toss(&mut rng).into()));
        assert!(fit.passes(FALSE_ALARM), "{coin}\n{fit}");
    }
}
