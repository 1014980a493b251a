//! The exact privacy loss over everything that one unit can contribute, and mutants that must be caught.

use super::*;
use crate::ledger::Receipt;
use crate::noise::Entropy;
use crate::privacy::Adjacency;
use crate::privacy::pld::{Accountant, Mechanism};
use crate::release::joint_level;
use crate::statistic::{Bounds, Contribution, Ends, Grid, Moments, Rows};

const BOTH: [Adjacency; 2] = [Adjacency::AddRemove, Adjacency::Replace];
const GROUPS: usize = 3;
/// Values of a row, and the weights of count, sum and histogram.
const VALUES: std::ops::RangeInclusive<i64> = -1..=1;
const WEIGHTS: [u32; 3] = [2, 3, 1];

/// What one unit adds: per group a count, a sum, and a count for each of the three values.
type Added = [[i64; 5]; GROUPS];

/// Everything that a unit with up to two rows in each of up to two of three groups can add.
fn possibilities() -> Vec<Added> {
    let row = |value: i64| {
        let mut added = [1, value, 0, 0, 0];
        added[(value + 3) as usize] = 1;
        added
    };
    let both = |one: [i64; 5], other: [i64; 5]| [0, 1, 2, 3, 4].map(|place| one[place] + other[place]);
    let mut in_a_group = vec![[0; 5]];
    in_a_group.extend(VALUES.map(row));
    in_a_group.extend(VALUES.flat_map(|one| (one..=1).map(move |other| both(row(one), row(other)))));
    let mut all = Vec::new();
    for a in &in_a_group {
        for b in &in_a_group {
            all.extend([[*a, *b, [0; 5]], [*a, [0; 5], *b], [[0; 5], *a, *b]]);
        }
    }
    all
}

fn contribution(adjacency: Adjacency, groups: u64, rows: u64) -> Contribution {
    Contribution::in_groups(adjacency, groups, Rows::AtMost(rows)).unwrap()
}

fn parts(unit: &Contribution) -> [Part; 3] {
    let sensitivities =
        [unit.of_count(), unit.of_values(*VALUES.start(), *VALUES.end()), unit.of_histogram()].map(Result::unwrap);
    [0, 1, 2].map(|place| Part { sensitivity: sensitivities[place], weight: WEIGHTS[place] })
}

/// The largest loss between any two possible contributions of a unit, with `of` giving the loss of one number: the sum
/// over all numbers.
fn worst_loss(adjacency: Adjacency, of: impl Fn(usize, u64) -> Rational) -> Rational {
    let all = possibilities();
    let others = if adjacency == Adjacency::Replace { all.clone() } else { vec![[[0; 5]; GROUPS]] };
    // Part 0 is the count, part 1 the sum, part 2 the three bins.
    let tables: Vec<Vec<Rational>> = (0..3).map(|part| (0..=8).map(|moved| of(part, moved)).collect()).collect();
    let mut seen = std::collections::BTreeSet::new();
    for one in &all {
        for other in &others {
            let mut moved = [[0u64; 9]; 3];
            for (one, other) in one.iter().zip(other) {
                for place in 0..5 {
                    moved[place.min(2)][one[place].abs_diff(other[place]) as usize] += 1;
                }
            }
            seen.insert(moved);
        }
    }
    let loss = |moved: &[[u64; 9]; 3]| -> Rational {
        let terms = (0..3).flat_map(|part| (1..9).map(move |by| (part, by)));
        terms.map(|(part, by)| &tables[part][by] * &Rational::from(moved[part][by])).sum()
    };
    seen.iter().map(loss).max().unwrap()
}

fn laplace_scales(batch: &Batch) -> Vec<Rational> {
    let scale = |noise: &Law| match noise {
        Law::Laplace(law) => law.scale().clone(),
        _ => panic!("Laplace noise was asked for"),
    };
    batch.noises.iter().map(scale).collect()
}

/// P(K = k)/P(K = k + d) is at most e^(|d|/scale) and reaches it: the loss is known exactly.
fn laplace_loss(adjacency: Adjacency, scales: &[Rational]) -> Rational {
    worst_loss(adjacency, |part, moved| &Rational::from(moved) / &scales[part])
}

#[test]
fn under_pure_epsilon_no_unit_loses_more() {
    let epsilon: Epsilon = "0.7".parse().unwrap();
    for adjacency in BOTH {
        let batch = Batch::new(&parts(&contribution(adjacency, 2, 2)), &Guarantee::Pure(epsilon.clone())).unwrap();
        let loss = laplace_loss(adjacency, &laplace_scales(&batch));
        assert!(loss <= *epsilon.value(), "{adjacency}: {loss}");
        // With two groups of three under replace, four different ones are impossible.
        assert!(adjacency == Adjacency::Replace || loss == *epsilon.value(), "{adjacency}: {loss}");
    }
}

/// The Rényi divergence of order α is at most α·d²/2σ² \[CKS20\].
#[test]
fn under_zcdp_no_unit_loses_more() {
    let rho: Rho = "0.3".parse().unwrap();
    for (adjacency, groups, caught) in
        [(Adjacency::AddRemove, 2, false), (Adjacency::Replace, 2, false), (Adjacency::AddRemove, 1, true)]
    {
        let batch = Batch::new(&parts(&contribution(adjacency, groups, 2)), &Guarantee::Zcdp(rho.clone())).unwrap();
        let loss = worst_loss(adjacency, |part, moved| match &batch.noises[part] {
            Law::Gaussian(law) => Rational::from(moved).square() / (law.sigma_squared() * &Rational::from(2)),
            _ => panic!("discrete Gaussian noise was asked for"),
        });
        assert_eq!(loss > *rho.value(), caught, "{adjacency} {groups}: {loss}");
    }
}

#[test]
fn mutants_lose_more() {
    let guarantee = Guarantee::Pure("0.7".parse().unwrap());
    let epsilon = guarantee.epsilon().unwrap().value();
    let scales = |adjacency, groups, rows| {
        laplace_scales(&Batch::new(&parts(&contribution(adjacency, groups, rows)), &guarantee).unwrap())
    };
    let right = scales(Adjacency::AddRemove, 2, 2);
    // Ignoring groups; ignoring rows; ignoring the adjacency.
    for (adjacency, wrong) in [
        (Adjacency::AddRemove, scales(Adjacency::AddRemove, 1, 2)),
        (Adjacency::AddRemove, scales(Adjacency::AddRemove, 2, 1)),
        (Adjacency::Replace, right.clone()),
    ] {
        assert!(laplace_loss(adjacency, &wrong) > *epsilon);
    }
    // The L2 norm in place of the L1 norm: √8 (rounded up) instead of 4 for the count.
    let unit = contribution(Adjacency::AddRemove, 2, 2);
    let (l1, l2) = (unit.of_count().unwrap().l1().unwrap(), unit.of_count().unwrap().l2_squared().unwrap().isqrt() + 1);
    let mut wrong = right.clone();
    wrong[0] = &right[0] * &Rational::new(l2 as i64, l1).unwrap();
    assert!(laplace_loss(Adjacency::AddRemove, &wrong) > *epsilon);
    // Every part with all of ε.
    let whole: Vec<Rational> = right
        .iter()
        .zip(WEIGHTS)
        .map(|(scale, weight)| scale * &Rational::new(i64::from(weight), 6).unwrap())
        .collect();
    assert!(laplace_loss(Adjacency::AddRemove, &whole) > *epsilon);
}

#[test]
fn under_approximate_privacy_the_narrower_noise_is_taken() {
    let guarantee = Guarantee::Approx("1".parse().unwrap(), "1e-8".parse().unwrap());
    let batch = |groups: u64, parts: usize| {
        let sensitivity = contribution(Adjacency::AddRemove, groups, 1).of_count().unwrap();
        Batch::new(&vec![Part { sensitivity, weight: 7 }; parts], &guarantee).unwrap()
    };
    // Few groups and parts: L1 and L2 are close, and the Laplace law of ε = 1 is narrower than what ρ leaves.
    assert_eq!(batch(4, 1).guarantee(), &Guarantee::Pure("1".parse().unwrap()));
    assert_eq!(batch(4, 1).noise(0).to_string(), "discrete Laplace, scale 4");
    for (groups, parts) in [(100, 1), (1, 40)] {
        let many = batch(groups, parts);
        assert_eq!(many.guarantee(), &guarantee);
        assert!(many.noises.iter().all(|noise| matches!(noise, Law::Rounded(_))), "{groups} {parts}");
        // The noise of zCDP at the largest ρ that fits is wider.
        let rho = Rho::within(guarantee.epsilon().unwrap(), guarantee.delta().unwrap()).unwrap();
        let sensitivity = contribution(Adjacency::AddRemove, groups, 1).of_count().unwrap();
        let zcdp = Batch::new(&vec![Part { sensitivity, weight: 7 }; parts], &Guarantee::Zcdp(rho)).unwrap();
        let ratio = zcdp.noise(0).variance() / many.noise(0).variance();
        assert!((ratio - (5.391_f64 / 5.1).powi(2)).abs() < 0.01, "{groups} {parts}: {ratio}");
    }
}

/// Rounded Gaussian noise: no unit moves all numbers by more than 1/s in the L2 norm, each number in units of its σ, and
/// some unit by as much. The mutant forgets that a unit is in several groups.
#[test]
fn under_approximate_privacy_no_unit_loses_more() {
    let (epsilon, delta): (Epsilon, Delta) = ("0.7".parse().unwrap(), "1e-6".parse().unwrap());
    let budget = analytic_gaussian_sigma(&epsilon, &delta, &Rational::ONE).unwrap().square().recip().unwrap();
    for (adjacency, groups, caught) in
        [(Adjacency::AddRemove, 2, false), (Adjacency::Replace, 2, false), (Adjacency::AddRemove, 1, true)]
    {
        let parts = parts(&contribution(adjacency, groups, 2));
        let batch = Batch::rounded(&parts, &shares(&parts).unwrap(), &epsilon, &delta).unwrap();
        let moved = worst_loss(adjacency, |part, moved| match &batch.noises[part] {
            Law::Rounded(law) => (Rational::from(moved) / law.sigma()).square(),
            _ => panic!("rounded Gaussian noise was asked for"),
        });
        assert_eq!(moved > budget, caught, "{adjacency} {groups}");
        assert!(
            adjacency == Adjacency::Replace || moved > &budget * &"0.999999".parse().unwrap(),
            "{adjacency} {groups}"
        );
    }
}

/// The same seed on two tables: the noise is the same, number for number, whatever the numbers are.
#[test]
fn what_is_drawn_depends_on_the_shape_alone() {
    let unit = contribution(Adjacency::AddRemove, 2, 2);
    for guarantee in [Guarantee::Pure("1".parse().unwrap()), Guarantee::Zcdp("0.1".parse().unwrap())] {
        let batch = Batch::new(&parts(&unit), &guarantee).unwrap();
        let release = |offset: i64| {
            let mut permit = Permit::unaccounted_from(Entropy::seeded(9));
            let values = vec![vec![offset; 2000], vec![-offset; 2000], vec![offset; 6000]];
            batch.release(values, &mut permit).unwrap().into_value()
        };
        let (noise, moved) = (release(0), release(1000));
        for (part, sign) in [1, -1, 1].into_iter().enumerate() {
            assert!(noise[part].iter().zip(&moved[part]).all(|(noise, moved)| noise + 1000 * sign == *moved));
            // Every number has its own noise, as wide as stated: 5.5 standard errors of 2,000 squares.
            let n = noise[part].len() as f64;
            let square = noise[part].iter().map(|&k| (k * k) as f64).sum::<f64>() / n;
            let variance = batch.noise(part).variance();
            assert!((square / variance - 1.0).abs() < 5.5 * (5.0 / n).sqrt(), "{guarantee} {part}: {square}");
        }
    }
}

#[test]
fn one_charge_pays_for_all_parts_once() {
    let unit = contribution(Adjacency::AddRemove, 2, 2);
    let charged = Guarantee::Approx("1".parse().unwrap(), "1e-8".parse().unwrap());
    let receipt = Receipt { dataset: "d".into(), request: "r".into(), entry: 1 };
    let mut permit = Permit::from_durable_charge(receipt, &charged, Entropy::seeded(1));
    let batch = Batch::new(&parts(&unit), &charged).unwrap();
    assert!(batch.release(vec![vec![], vec![]], &mut permit).unwrap_err().is_parameter());
    let values = vec![vec![1, i64::MAX], vec![], vec![i64::MIN; 6]];
    let released = batch.release(values.clone(), &mut permit).unwrap();
    assert_eq!(released.value().iter().map(Vec::len).collect::<Vec<_>>(), [2, 0, 6]);
    let widest = (0..3).map(|part| batch.half_width(part, &"0.95".parse().unwrap()).unwrap()).max().unwrap();
    assert_eq!(released.error_bar().half_width(), widest as f64);
    assert!(batch.release(values, &mut permit).unwrap_err().is_not_permitted());
}

#[test]
fn what_means_nothing_is_refused() {
    let guarantee = Guarantee::Pure("1".parse().unwrap());
    let sensitivity = contribution(Adjacency::AddRemove, 1, 1).of_count().unwrap();
    assert!(Batch::new(&[], &guarantee).is_err());
    assert!(Batch::new(&[Part { sensitivity, weight: 0 }], &guarantee).is_err());
    let fixed = Contribution::overall(Adjacency::Replace, Rows::Exactly(1)).unwrap().of_count().unwrap();
    assert!(Batch::new(&[Part { sensitivity: fixed, weight: 1 }], &guarantee).is_err());
    let tiny = Guarantee::Pure("1e-20".parse().unwrap());
    assert!(Batch::new(&[Part { sensitivity, weight: 1 }], &tiny).is_err());
}

/// The variances of count and centred sum that the documentation of `Ends` states, against those of separate noise on each.
/// Discrete noise at these scales has the variance of continuous noise to one part in 10⁴.
#[test]
fn statistics_made_to_measure_have_less_noise() {
    let unit = contribution(Adjacency::AddRemove, 4, 4);
    let grid = Grid::new(&"0..100".parse::<Bounds>().unwrap());
    let guarantee = Guarantee::Pure("1".parse().unwrap());
    let variances = |sensitivities: &[Sensitivity]| -> Vec<f64> {
        let parts: Vec<Part> = sensitivities.iter().map(|&sensitivity| Part { sensitivity, weight: 1 }).collect();
        let batch = Batch::new(&parts, &guarantee).unwrap();
        batch.noises.iter().map(Law::variance).collect()
    };
    let (count, sum) = (Moments::count_sensitivity(&unit).unwrap(), Moments::sum_sensitivity(&grid, &unit).unwrap());
    let close = |ratio: f64, expected: f64| (ratio / expected - 1.0).abs() < 1e-3;

    let width = (grid.upper() - grid.lower()) as f64;
    let (ends, apart) = (variances(&[Ends::sensitivity(&grid, &unit).unwrap()])[0], variances(&[count, sum]));
    // N = (A + B)/W and S = (A − B)/2.
    assert!(close(2.0 * ends / (width * width) / apart[0], 1.0 / 2.0));
    assert!(close(2.0 * ends / 4.0 / apart[1], 1.0 / 2.0));
}

/// 95 % error bars must hold at least 95 % of the time: over 2,000 groups, at least 92.3 % (5.5 standard errors).
#[test]
fn half_widths_of_counts_sums_and_means_hold_as_often_as_they_say() {
    const RELEASES: usize = 2000;
    let unit = contribution(Adjacency::AddRemove, 2, 2);
    let grid = Grid::new(&"0..150".parse::<Bounds>().unwrap());
    let column = || (0..500).map(|i| Some(f64::from(i * 7919 % 100)));
    let ends = Ends::of(&grid, column());
    let parts = [Part { sensitivity: Ends::sensitivity(&grid, &unit).unwrap(), weight: 1 }];
    for guarantee in [Guarantee::Pure("2".parse().unwrap()), Guarantee::Zcdp("0.2".parse().unwrap())] {
        let batch = Batch::new(&parts, &guarantee).unwrap();
        let values = vec![[ends.above_lower, ends.below_upper].repeat(RELEASES)];
        let released = batch.release(values, &mut Permit::unaccounted_from(Entropy::seeded(4))).unwrap().into_value();
        let level: Rational = "0.95".parse().unwrap();
        let ends_each = batch.half_width(0, &joint_level(&level, 2)).unwrap();
        let ends_sum = batch.noise(0).half_width_of_sum(2, &level).unwrap();
        let mut held = [0; 3];
        for group in released[0].chunks_exact(2) {
            let noisy = Ends { above_lower: group[0], below_upper: group[1] };
            let off = |of: &dyn Fn(&Ends) -> f64| (of(&noisy) - of(&ends)).abs();
            held[0] += usize::from(off(&|e| e.count(&grid)) <= Ends::count_half_width(&grid, ends_sum));
            held[1] += usize::from(off(&|e| e.total(&grid)) <= Ends::total_half_width(&grid, ends_each));
            held[2] += usize::from(off(&|e| e.mean(&grid)) <= noisy.mean_half_width(&grid, ends_each));
        }
        assert!(held.iter().all(|&held| held as f64 >= 0.923 * RELEASES as f64), "{guarantee}: {held:?}");
        // The count's half-width comes from the exact law: it holds no more often than necessary.
        assert!((held[0] as f64) < 0.98 * RELEASES as f64, "{guarantee}: {held:?}");
    }
}

/// With the losses of Laplace noise added up exactly, noise that is 1 % narrower than a batch's would need a δ fifty times as large, or more.
#[test]
fn exact_composition_of_laplace_noise_gains_nothing() {
    let (epsilon, delta): (Epsilon, Delta) = ("1".parse().unwrap(), "1e-6".parse().unwrap());
    let sensitivity = contribution(Adjacency::AddRemove, 1, 1).of_count().unwrap();
    for parts in [2, 4, 7, 8, 20, 50] {
        let same = vec![Part { sensitivity, weight: 1 }; parts];
        let batch = Batch::new(&same, &Guarantee::Approx(epsilon.clone(), delta.clone())).unwrap();
        let is_laplace = matches!(batch.noise(0), Law::Laplace(_));
        assert_eq!(is_laplace, parts < 8, "{parts}");
        // |Laplace noise| of scale b is at most b·ln 20 with probability 95 %, Gaussian noise at most 1.96·σ.
        let deviation = batch.noise(0).variance().sqrt();
        let scale = if is_laplace { parts as f64 } else { 1.96 * deviation / libm::log(20.0) };
        let narrower = Mechanism::laplace(Rational::try_from(0.99 * scale).unwrap()).unwrap();
        let needed = Accountant::new().add(&narrower, parts as u64).unwrap().delta(&epsilon).unwrap();
        assert!(needed.to_f64() > 50.0 * delta.to_f64(), "{parts}: {needed}");
    }
}
