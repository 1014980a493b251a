use std::cell::Cell;

use super::*;
use crate::audit::enumerate::{Law, enumerate};
use crate::noise::Entropy;

fn rational(text: &str) -> Rational {
    text.parse().unwrap()
}

/// Geometric numbers with p = ½: the fair bits before the first 0.
fn fair<B: BitSource + ?Sized>(source: &mut B) -> Result<i64, B::Error> {
    let mut tosses = 0;
    while source.bits(1)? == 1 {
        tosses += 1;
    }
    Ok(tosses)
}

/// Is every point drawn with probability (1−p)^(D+1)/(2^D·D!)·p^r/(1−p), p = ½ and r = max|zᵢ|?
fn follows_the_law<const D: usize>(law: &Law<Option<[i64; D]>>) -> bool {
    let factorial: u64 = (1..=D as u64).product();
    let mut points = vec![[0; D]];
    for place in 0..D {
        points = points.iter().flat_map(|point| (-3..=3).map(|k| with(*point, place, k))).collect();
    }
    points.into_iter().all(|point| {
        let r = point.iter().map(|k: &i64| k.unsigned_abs()).max().unwrap();
        law.admits(&Some(point), &Rational::new(1, factorial << (2 * D as u64 + r)).unwrap())
    })
}

fn with<const D: usize>(mut point: [i64; D], place: usize, value: i64) -> [i64; D] {
    point[place] = value;
    point
}

fn enumerated<const D: usize, const W: u32>(depth: usize) -> Law<Option<[i64; D]>> {
    enumerate(depth, |tape| {
        let mut point = [0; D];
        Ok(round::<W, _>(&mut point, tape, fair)?.then_some(point))
    })
}

#[test]
fn a_round_is_exact() {
    fn check<const D: usize, const W: u32>(depth: usize, most_unresolved: f64) {
        let law = enumerated::<D, W>(depth);
        assert!(follows_the_law(&law), "{D} coordinates, words of {W} bits");
        let open = law.unresolved().to_f64();
        assert!(open < most_unresolved, "{D} coordinates, words of {W} bits: {open}");
    }
    check::<1, 1>(18, 0.05);
    check::<1, 3>(18, 0.05);
    check::<2, 1>(24, 0.12);
}

#[test]
fn one_geometric_number_too_few_is_seen() {
    let law = enumerate(20, |tape| {
        let (mut point, first) = ([0; 2], Cell::new(true));
        let geometric = |tape: &mut _| if first.replace(false) { Ok(0) } else { fair(tape) };
        Ok(round::<1, _>(&mut point, tape, geometric)?.then_some(point))
    });
    assert!(!follows_the_law(&law));
}

#[test]
fn a_radius_that_is_always_accepted_is_seen() {
    let law = enumerate(20, |tape| {
        let radius: i64 = [fair(tape)?, fair(tape)?, fair(tape)?].iter().sum();
        let mut place = || Ok(below(2 * radius.unsigned_abs() + 1, tape)?.cast_signed() - radius);
        Ok(Some([place()?, place()?]))
    });
    assert!(!follows_the_law(&law));
}

/// P(max of m coordinates > t) from the definition P(z) ∝ p^max|zᵢ|: with j of the other coordinates beyond it or not, the
/// number of points whose largest coordinate is r, all and those with m coordinates within t.
fn outside(coordinates: i32, scale: f64, together: i32, t: f64) -> f64 {
    let (mut all, mut inside) = (0.0, 0.0);
    for r in 0..(scale * 200.0) as u64 + 200 {
        let (r, weight) = (r as f64, (-(r as f64) / scale).exp());
        let points = |of: &dyn Fn(f64) -> f64| if r == 0.0 { of(0.0) } else { of(r) - of(r - 1.0) };
        all += weight * points(&|r| (2.0 * r + 1.0).powi(coordinates));
        let within = |r: f64| (2.0 * r.min(t) + 1.0).powi(together) * (2.0 * r + 1.0).powi(coordinates - together);
        inside += weight * points(&within);
    }
    1.0 - inside / all
}

#[test]
fn half_widths_are_the_smallest_that_do_or_hardly_larger() {
    for (coordinates, scale) in [(1, 0.3), (2, 1.0), (3, 7.5), (5, 20.0), (3, 100.0), (8, 300.0)] {
        let noise = DiscreteBox::new(coordinates, &Rational::try_from(scale).unwrap()).unwrap();
        for together in 1..=coordinates.min(3) {
            for level in ["0.5", "0.95", "0.999"] {
                let allowed = 1.0 - level.parse::<f64>().unwrap();
                let t = noise.half_width(together, &rational(level)).unwrap() as f64;
                let outside = |t: f64| outside(coordinates as i32, scale, together as i32, t);
                assert!(outside(t) <= allowed * (1.0 + 1e-6), "{coordinates} {scale} {together} {level}: {t}");
                let least = if scale <= 64.0 { t - 1.0 } else { t * (1.0 - 0.5 / scale) - 2.0 };
                assert!(t == 0.0 || outside(least) > allowed, "{coordinates} {scale} {together} {level}: {t}");
            }
        }
    }
}

/// One coordinate is discrete Laplace noise.
#[test]
fn one_coordinate_is_laplace_noise() {
    for scale in ["0.5", "10", "1000000"] {
        let (one, laplace) = (
            DiscreteBox::new(1, &rational(scale)).unwrap(),
            crate::noise::DiscreteLaplace::new(&rational(scale)).unwrap(),
        );
        assert!((one.variance() / laplace.variance() - 1.0).abs() < 1e-7, "{scale}");
        let half_widths = [one.half_width(1, &rational("0.95")), laplace.half_width(&rational("0.95"))];
        let [one, laplace] = half_widths.map(|half_width| half_width.unwrap() as f64);
        assert!(one >= laplace && one <= laplace * (1.0 + 1e-6), "{scale}: {one} {laplace}");
    }
}

/// Variances over 20,000 draws at every number of words, 5.5 standard errors; no correlation.
#[test]
fn draws_have_the_stated_variance() {
    const DRAWS: usize = 20_000;
    let mut entropy = Entropy::seeded(31);
    for (coordinates, scale) in [(2, "1"), (3, "20"), (3, "1e6"), (10, "1e12"), (60, "70")] {
        let noise = DiscreteBox::new(coordinates, &rational(scale)).unwrap();
        let width = coordinates as usize;
        let mut draws = vec![0; DRAWS * width];
        noise.fill(&mut entropy.draw().unwrap(), &mut draws);
        let variance = noise.variance();
        let mean_of = |of: &dyn Fn(&[i64]) -> f64| draws.chunks(width).map(of).sum::<f64>() / DRAWS as f64;
        // The fourth moment of a coordinate is at most six variances squared, that of Laplace noise.
        let spread = 5.5 * (6.0 / DRAWS as f64).sqrt();
        for place in [0, width - 1] {
            let second = mean_of(&|point| (point[place] as f64).powi(2));
            assert!((second / variance - 1.0).abs() < spread, "{coordinates} {scale}: {second} for {variance}");
        }
        let together = mean_of(&|point| point[0] as f64 * point[1] as f64);
        assert!((together / variance).abs() < spread, "{coordinates} {scale}: {together}");
    }
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    for (coordinates, scale) in [(0, "1"), (257, "1000"), (1, "0.0001"), (9, "1"), (3, "1125899906842624")] {
        assert!(DiscreteBox::new(coordinates, &rational(scale)).unwrap_err().is_parameter(), "{coordinates} {scale}");
    }
    let noise = DiscreteBox::new(3, &rational("1")).unwrap();
    for (together, level) in [(0, "0.95"), (4, "0.95"), (1, "0"), (1, "1")] {
        assert!(noise.half_width(together, &rational(level)).is_err(), "{together} {level}");
    }
}

/// Half-widths of sums hold as often as they say: over 20,000 draws, within 5.5 standard errors of 95 %.
#[test]
fn half_widths_of_sums_hold() {
    const DRAWS: usize = 20_000;
    let mut entropy = Entropy::seeded(12);
    for (coordinates, weights) in [
        (1, &[-2.0][..]),
        (3, &[1.0]),
        (3, &[0.5, 0.5]),
        (3, &[0.5, -0.25, 0.25]),
        (4, &[1.0, 0.0, 1e-3, 7.0]),
        (40, &[0.5, 0.25, 0.25]),
        (256, &[3.0, 1.0, 1.0, 1.0, 2.0, 0.2]),
    ] {
        let noise = DiscreteBox::new(coordinates, &rational("20000")).unwrap();
        let t = noise.half_width_of_sum(weights, &rational("0.95")).unwrap();
        let mut draw = entropy.draw().unwrap();
        let mut point = vec![0; coordinates as usize];
        let held = (0..DRAWS).filter(|_| {
            noise.sample(&mut draw, &mut point);
            weights.iter().zip(&point).map(|(weight, z)| weight * *z as f64).sum::<f64>().abs() <= t
        });
        let held = held.count() as f64 / DRAWS as f64;
        assert!((held - 0.95).abs() < 5.5 * (0.05 * 0.95 / DRAWS as f64).sqrt(), "{coordinates} {weights:?}: {held}");
    }
    let noise = DiscreteBox::new(3, &rational("1000")).unwrap();
    let of_one = |level: &str| {
        let exact = noise.half_width(1, &rational(level)).unwrap() as f64;
        noise.half_width_of_sum(&[1.0], &rational(level)).unwrap() / exact
    };
    for level in ["0.1", "0.95", "0.9999999999"] {
        assert!((1.0 - 1e-4..1.02).contains(&of_one(level)), "{level}: {}", of_one(level));
    }
    for weights in [&[][..], &[0.0], &[1.0; 4], &[f64::NAN], &[f64::INFINITY]] {
        assert!(noise.half_width_of_sum(weights, &rational("0.95")).is_err(), "{weights:?}");
    }
}
